"""Finding the interpreter that really runs Hermes.

"pip on PATH" is often somebody else's: the official installer keeps Hermes in an environment of its own, made by uv and
without pip. So the interpreter is found from what people start, in this order, and the first with a Hermes in it wins:

1. ``--python``, when given; nothing else is tried then;
2. the interpreter that runs canon-ops, when somebody named it: ``…/bin/python -m canon_hermes_plugin.cli`` (product
   page of Canon, "Install"), a script by its path, ``hermes canon``;
3. the ``hermes`` command on PATH, through its first line, a wrapper's ``exec``, or what ``hermes --version`` prints:
   who types ``canon-ops`` means the Hermes that they get when they type ``hermes`` (decision record 0050);
4. the places where the official installer puts the command, and its folders;
5. the interpreter that runs canon-ops after all.

Whatever the way, the interpreter itself is then asked (host_call.py): the version comes from the host's code, never
from a distribution's name, which forks and checkouts do not share.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from string import Template

from canon_ops.errors import OutsideError
from canon_ops.hermes.audited import Audited, Refused, audit, way_to_hermes
from canon_ops.hermes.host_call import HostFacts, HostUnusable, host_facts
from canon_ops.hermes.installer import Installer, choose_installer

__all__ = [
    "HostInstallation",
    "HostNotFound",
    "HowFound",
    "Layout",
    "find_host",
    "find_hosts",
    "installing_here",
    "interpreter_of",
    "is_running_host",
    "or_make_one",
]

_SCRIPT_BYTES = 4096
_WRAPPERS = 3  # a wrapper of a wrapper of the launcher; more is a loop
_VERSION_S = 20.0
_EXEC = re.compile(r"""^\s*(?:'''exec'|exec)\s+(.+)$""", re.MULTILINE)
_INSTALL_FOLDER = re.compile(r"^Install directory:\s*(.+?)\s*$", re.MULTILINE)
_ENVIRONMENTS = ("venv", ".venv")
_COMMAND_FOLDERS = ("~/.local/bin", "/usr/local/bin")  # where the official installer puts the command
_SHARED_CHECKOUT = Path("/usr/local/lib/hermes-agent")


class HostNotFound(OutsideError):
    """There is no Hermes where we looked."""

    code = "host_not_found"


class HowFound(Enum):
    """The way that led to an interpreter; the value completes "found through …"."""

    OPTION = "--python"
    RUNNING = "the interpreter that runs canon-ops"
    LAUNCHER = "the hermes command"
    CHECKOUT = "the official installer's folder"


class Layout(Enum):
    """How the host is laid out, as far as it decides what may be done to it."""

    VENV = "virtual environment"
    CHECKOUT = "source checkout with its own environment"
    SYSTEM = "Python without a virtual environment"
    NIX = "Nix store"
    CONTAINER = "container image"


@dataclass(frozen=True, slots=True)
class HostInstallation:
    """One Hermes, and the interpreter that runs it.

    Attributes:
        hermes_command: the launcher, where there is one.
        installer: None when packages cannot be put there by us: read-only, Nix, a container image, no pip and no uv.
    """

    python: Path
    hermes_command: Path | None
    how: HowFound
    layout: Layout
    installer: Installer | None
    facts: HostFacts

    @property
    def version(self) -> str | None:
        """``hermes_cli.__version__``; None when its source does not say."""
        return self.facts.hermes.version if self.facts.hermes else None

    @property
    def installing(self) -> str:
        """The command that installs into this environment, up to what is installed."""
        return shlex.join(self.installer.command(self.python, "install")) if self.installer else "pip install"

    def audit(self) -> Audited | Refused:
        """Whether the platforms answer for it (audited.py)."""
        return audit(self.version, self.facts.python, self.facts.platform, installing=self.installing)

    @property
    def is_running_interpreter(self) -> bool:
        return self.facts.prefix == Path(sys.prefix)


@dataclass(frozen=True, slots=True)
class _Candidate:
    python: Path
    how: HowFound
    command: Path | None = None


def find_host(environ: Mapping[str, str], *, python: str | Path | None = None) -> HostInstallation:
    """The host that commands act on.

    Args:
        environ: PATH, HOME and HERMES_HOME lead to it.
        python: what ``--python`` said: the host's interpreter, or the folder of its environment.

    Raises:
        HostNotFound: no interpreter with a Hermes in it; the message says where we looked.
    """
    if python is not None:
        return _told(Path(python).expanduser(), environ)
    tried: list[str] = []
    for host in _walk(environ, tried):
        return host
    raise HostNotFound(
        f"No Hermes was found: {'; '.join(tried)}.",
        fix="canon-ops install --python PATH-OF-THE-HERMES-ENVIRONMENT/bin/python" + or_make_one(),
    )


def or_make_one() -> str:
    """What follows the cure for whoever has no Hermes, as a comment of the shell; empty where no way was tried."""
    way = way_to_hermes(sys.platform, platform.python_version(), "~/hermes-venv")
    return f"   # none yet? {way}" if way else ""


def find_hosts(environ: Mapping[str, str]) -> tuple[HostInstallation, ...]:
    """Every host that can be found, each once, the one of :func:`find_host` first."""
    found: dict[Path, HostInstallation] = {}
    for host in _walk(environ, []):
        found.setdefault(host.facts.prefix, host)
    return tuple(found.values())


def interpreter_of(launcher: Path, environ: Mapping[str, str], *, depth: int = _WRAPPERS) -> Path | None:
    """The Python behind a ``hermes`` command, read from the script; None when its text does not say.

    Understands a first line that names Python, the ``/bin/sh`` form that pip and uv write for long paths,
    ``env python``, and shell wrappers that ``exec`` another launcher or ``python -m hermes_cli.main``.
    """
    try:
        text = launcher.read_bytes()[:_SCRIPT_BYTES].decode("utf-8", errors="replace")
    except OSError:
        return None
    first, _, rest = text.partition("\n")
    if not first.startswith("#!"):
        return None
    program, *arguments = first[2:].split() or [""]
    if Path(program).name == "env" and arguments:
        program = shutil.which(arguments[-1], path=environ.get("PATH")) or arguments[-1]
    if Path(program).name.startswith("python"):
        return Path(program)
    for line in _EXEC.findall(rest):
        with suppress(ValueError):  # an unbalanced quote: not a line we understand
            target = Path(Template(shlex.split(line)[0]).safe_substitute(environ))
            if target.name.startswith("python") and target.exists():
                return target
            if target.is_file() and depth > 0:
                return interpreter_of(target, environ, depth=depth - 1)
    return None


def is_running_host(environ: Mapping[str, str], *, program: str | None = None) -> bool:
    """Whether the interpreter that runs us comes first and has a Hermes, as far as files tell; nobody is asked.

    Args:
        program: how we were started; None for what this process says.
    """
    if find_spec("hermes_cli") is None:
        return False
    if not _is_on_path(program or sys.argv[0], environ):
        return True
    launcher = _on_path(environ)
    python = interpreter_of(launcher, environ) if launcher else None
    return python is not None and python.parent == Path(sys.executable).parent


def _is_on_path(program: str, environ: Mapping[str, str]) -> bool:
    """Whether typing its bare name starts this very program: then no interpreter was named."""
    found = shutil.which(Path(program).name, path=environ.get("PATH", os.defpath))
    return found is not None and Path(found).resolve() == Path(program).resolve()


def _on_path(environ: Mapping[str, str]) -> Path | None:
    found = shutil.which("hermes", path=environ.get("PATH", os.defpath))
    return Path(found) if found else None


def _told(python: Path, environ: Mapping[str, str]) -> HostInstallation:
    if python.is_dir():
        python = python / "bin" / "python"
    fix = "canon-ops doctor --only host.found   (without --python, it says which one is found)"
    if not python.exists():
        raise HostNotFound(f"There is no interpreter at {python}.", fix=fix)
    candidate = _Candidate(python.absolute(), HowFound.OPTION)
    facts = host_facts(candidate.python, environ=environ)
    if facts.hermes is None:
        raise HostNotFound(f"{python} has no Hermes in it.", fix=fix)
    return _installation(candidate, facts, environ)


def _walk(environ: Mapping[str, str], tried: list[str]) -> Iterator[HostInstallation]:
    """The candidates that hold a Hermes; for the others a phrase is added to ``tried``."""
    if find_spec("hermes_cli") is None:
        tried.append(f"{sys.executable} has none in it")
    seen: set[Path] = set()
    for candidate in _candidates(environ, tried):
        if candidate.python in seen or not candidate.python.exists():
            continue
        seen.add(candidate.python)
        try:
            facts = host_facts(candidate.python, environ=environ)
        except HostUnusable as exc:
            tried.append(exc.what.rstrip("."))
            continue
        if facts.hermes is None:
            tried.append(f"{candidate.python} has none in it")
            continue
        yield _installation(candidate, facts, environ)


def _candidates(environ: Mapping[str, str], tried: list[str]) -> Iterator[_Candidate]:
    if is_running_host(environ):
        yield _Candidate(Path(sys.executable), HowFound.RUNNING)
    on_path = _on_path(environ)
    if on_path is None:
        tried.append("no hermes command on PATH")
    known = [Path(folder.replace("~", environ.get("HOME", "~"))).expanduser() / "hermes" for folder in _COMMAND_FOLDERS]
    for launcher in ([on_path] if on_path else []) + known:
        if not launcher.exists():
            continue
        python = interpreter_of(launcher, environ) or _from_version(launcher, environ)
        if python is None:
            tried.append(f"{launcher} does not say which Python it runs")
        else:
            yield _Candidate(python, HowFound.LAUNCHER, launcher)
    checkouts = [*(root / "hermes-agent" for root in _roots(environ)), _SHARED_CHECKOUT]
    for checkout in checkouts:
        for python in _environments_in(checkout):
            yield _Candidate(python, HowFound.CHECKOUT)
    tried.append(f"no environment in {' or '.join(map(str, checkouts))}")
    if find_spec("hermes_cli") is not None:
        yield _Candidate(Path(sys.executable), HowFound.RUNNING)


def installing_here(environ: Mapping[str, str]) -> str:
    """The command that installs into the environment of the running interpreter, up to what is installed."""
    python, bundled = Path(sys.executable), [root / "bin" / "uv" for root in _roots(environ)]
    installer = choose_installer(python, has_pip=find_spec("pip") is not None, uv_places=bundled, environ=environ)
    return shlex.join(installer.command(python, "install")) if installer else "pip install"


def _roots(environ: Mapping[str, str]) -> list[Path]:
    """Folders that may be the Hermes root: the default one, HERMES_HOME, and the root of a profile there."""
    roots = [Path(environ["HOME"], ".hermes")] if environ.get("HOME") else []
    if told := environ.get("HERMES_HOME", "").strip():
        home = Path(told)
        roots.append(home.parent.parent if home.parent.name == "profiles" else home)
    return list(dict.fromkeys(roots))


def _environments_in(checkout: Path) -> list[Path]:
    pythons = [checkout / name / "bin" / "python" for name in _ENVIRONMENTS]
    return [python for python in pythons if python.exists()]


def _from_version(launcher: Path, environ: Mapping[str, str]) -> Path | None:
    """The Python of the folder that ``hermes --version`` names: a checkout, or a site-packages."""
    try:
        said = subprocess.run(
            [str(launcher), "--version"],
            capture_output=True,
            text=True,
            env=dict(environ),
            timeout=_VERSION_S,
            check=False,
            stdin=subprocess.DEVNULL,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _INSTALL_FOLDER.search(said)
    if match is None:
        return None
    folder = Path(match[1])
    prefix = folder.parents[2] if folder.name == "site-packages" else folder
    return next(iter([*_environments_in(folder), *([p] if (p := prefix / "bin" / "python").exists() else [])]), None)


def _installation(candidate: _Candidate, facts: HostFacts, environ: Mapping[str, str]) -> HostInstallation:
    beside = candidate.python.parent / "hermes"
    layout = _layout(facts)
    return HostInstallation(
        python=candidate.python,
        hermes_command=candidate.command or (beside if beside.exists() else None),
        how=candidate.how,
        layout=layout,
        installer=_installer(facts, layout, environ),
        facts=facts,
    )


def _layout(facts: HostFacts) -> Layout:
    folder = facts.hermes.folder if facts.hermes else facts.site
    if folder.is_relative_to("/nix/store"):
        return Layout.NIX
    with suppress(OSError):
        if (folder / ".install_method").read_text(encoding="utf-8", errors="replace").strip() == "docker":
            return Layout.CONTAINER
    if facts.hermes and facts.hermes.is_checkout:
        return Layout.CHECKOUT
    return Layout.VENV if facts.is_venv else Layout.SYSTEM


def _installer(facts: HostFacts, layout: Layout, environ: Mapping[str, str]) -> Installer | None:
    if layout in (Layout.NIX, Layout.CONTAINER) or not facts.site_writable or facts.externally_managed:
        return None
    bundled = [root / "bin" / "uv" for root in _roots(environ)]
    return choose_installer(facts.executable, has_pip=facts.has_pip, uv_places=bundled, environ=environ)
