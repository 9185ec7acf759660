"""Virtual environments that tests need beside their own, below ``.hosts/`` or ``.rows/``, each made once.

An environment is kept until what it was made from changes: its name says host and Python, and its stamp holds the
requirements and a digest of what pyproject.toml says about installing. An interrupted installation leaves no stamp, so
the next call begins anew. Only the standard library's ``venv`` and pip of the environment itself are used.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from canon_ops.files.lock import FileLock

__all__ = ["CHECKOUT", "Environment", "NotInstalled", "find_python", "minor_of"]

CHECKOUT = Path(__file__).resolve().parents[2]
INSTALL_LIMIT_S = 900


class NotInstalled(Exception):
    """pip, or the interpreter itself, could not make the environment; the text is the end of what it said."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What an environment is made from.

    Attributes:
        name: its folder below ``parent``.
        python: the interpreter that makes it; None is the one that runs this.
        requirements: one ``pip install``, resolved together.
        without_dependencies: a second one, ``--no-deps``.
        checkout_extra: install the checkout itself, editable, with this extra, together with ``requirements``;
            None leaves it out.
        constraints: lines of a constraints file for all of it.
    """

    name: str
    python: str | None = None
    requirements: tuple[str, ...] = ()
    without_dependencies: tuple[str, ...] = ()
    checkout_extra: str | None = None
    constraints: tuple[str, ...] = ()
    parent: str = ".hosts"

    @property
    def folder(self) -> Path:
        return CHECKOUT / self.parent / self.name

    @property
    def interpreter(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def is_made(self) -> bool:
        """It stands, and what it was made from has not changed."""
        stamp = self.folder / ".made-from"
        return stamp.exists() and stamp.read_text(encoding="utf-8") == self.recipe()

    def make(self, *, say: Callable[[str], None] = lambda _: None) -> Path:
        """Its interpreter; the environment is made first when it is missing or was made from something else.

        Raises:
            NotInstalled: the index has not what is asked for, or cannot be reached.
        """
        self.folder.parent.mkdir(exist_ok=True)
        with FileLock(self.folder.with_name(f"{self.name}.lock"), timeout_s=INSTALL_LIMIT_S):
            if not self.is_made:
                say(f"making {self.parent}/{self.name}")
                self._make()
        return self.interpreter

    def _make(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        _run([self.python or sys.executable, "-m", "venv", str(self.folder)])
        constraints = self.folder / "constraints.txt"
        constraints.write_text("".join(f"{line}\n" for line in self.constraints), encoding="utf-8")
        ours = ["-e", f"{CHECKOUT}[{self.checkout_extra}]"] if self.checkout_extra is not None else []
        if self.requirements or ours:
            self._pip("-c", str(constraints), *self.requirements, *ours)
        if self.without_dependencies:
            self._pip("--no-deps", *self.without_dependencies)
        self.folder.joinpath(".made-from").write_text(self.recipe(), encoding="utf-8")

    def _pip(self, *arguments: str) -> None:
        _run([str(self.interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments])

    def recipe(self) -> str:
        """What it is made from, as its stamp holds it."""
        recipe = {
            "requirements": self.requirements,
            "without_dependencies": self.without_dependencies,
            "constraints": self.constraints,
            "checkout": None
            if self.checkout_extra is None
            else [self.checkout_extra, _install_digest(self.checkout_extra)],
        }
        return json.dumps(recipe, indent=1)


def _install_digest(extra: str) -> str:
    """A digest of what pyproject.toml says about installing us with one extra, and with those that the extra names."""
    tables = tomllib.loads(CHECKOUT.joinpath("pyproject.toml").read_text(encoding="utf-8"))
    project = tables["project"]
    extras, wanted = project["optional-dependencies"], [extra]
    for name in wanted:
        own = [one.partition("[")[2].rstrip("]") for one in extras[name] if one.startswith(f"{project['name']}[")]
        wanted += [one for one in own if one not in wanted]
    told = {
        "build": tables["build-system"],
        "project": {name: project[name] for name in ("dependencies", "requires-python", "scripts", "entry-points")},
        "extras": {name: extras[name] for name in wanted},
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def find_python(minor: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """A working interpreter of that minor version: on PATH, or one that pyenv keeps. A shim of pyenv may not work."""
    name = f"python{minor}"
    folders = [Path(folder) for folder in environ.get("PATH", os.defpath).split(os.pathsep) if folder]
    on_path = [shutil.which(name, path=str(folder)) for folder in folders]
    kept = [
        python
        for root in _pyenv_roots(folders, environ)
        for python in sorted(root.glob(f"versions/{minor}.*/bin/{name}"), key=_patch_level, reverse=True)
    ]
    found = _existing([sys.executable, *on_path, *kept])
    return next((path for path in found if minor_of(path) == minor), None)


def _pyenv_roots(folders: Iterable[Path], environ: Mapping[str, str]) -> list[Path]:
    """Where pyenv may keep interpreters: as it is told, where its shims on PATH lie, and its place in the home.

    A shim runs nothing while no version is chosen, and the home of a test is not the one that pyenv was set up for.
    """
    told = [Path(environ["PYENV_ROOT"])] if environ.get("PYENV_ROOT") else []
    shims = [folder.parent for folder in folders if folder.name == "shims"]
    home = [Path(environ["HOME"], ".pyenv")] if environ.get("HOME") else []
    return list(dict.fromkeys([*told, *shims, *home]))


@cache
def minor_of(python: str) -> str | None:
    """``3.13`` of a working interpreter, None of anything else; asked once, because every row of a matrix asks."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _existing(paths: Iterable[str | Path | None]) -> list[str]:
    return list(dict.fromkeys(str(path) for path in paths if path is not None))


def _patch_level(path: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in path.parents[1].name.split(".") if part.isdigit())


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_LIMIT_S, check=False)
    except OSError as exc:
        raise NotInstalled(f"{command[0]}: {exc.strerror}") from exc
    if done.returncode != 0:
        raise NotInstalled(f"{' '.join(command)}\n{done.stderr[-4000:]}")
