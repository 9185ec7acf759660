"""What puts packages into a host's environment: its own pip, uv, or the pip beside us, aimed at it.

The official installer makes the environment with uv and leaves pip out, so the ``pip`` on PATH is somebody else's
(Hermes host, 2.3). Which program it is, is decided here once; what is to be installed, is not.

Every call names the interpreter in full. Settings of the person's own that would lead the packages elsewhere
(``PIP_TARGET``, ``PIP_USER``, ``UV_SYSTEM_PYTHON`` …) are taken out of the program's environment; those that say where
packages come from (an index, a proxy, a certificate) stay.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from canon_ops.errors import OutsideError

__all__ = ["Installer", "InstallerFailed", "choose_installer"]

_LIMIT_S = 900.0  # a cold cache, a slow index and a dependency that is built from source
_TAIL_LINES = 12
_MISLEADING = frozenset(
    {
        "PIP_DRY_RUN", "PIP_IGNORE_INSTALLED", "PIP_NO_DEPS", "PIP_PREFIX", "PIP_PYTHON", "PIP_REPORT",
        "PIP_REQUIRE_VIRTUALENV", "PIP_ROOT", "PIP_TARGET", "PIP_UPGRADE", "PIP_USER",
        "UV_BREAK_SYSTEM_PACKAGES", "UV_DRY_RUN", "UV_NO_DEPS", "UV_PREFIX", "UV_PROJECT_ENVIRONMENT", "UV_PYTHON",
        "UV_SYSTEM_PYTHON", "UV_TARGET", "UV_UPGRADE", "VIRTUAL_ENV",
    }
)  # fmt: skip


class InstallerFailed(OutsideError):
    """pip or uv ended with an error; the message holds the end of what it said."""

    code = "installer_failed"


@dataclass(frozen=True, slots=True)
class Installer:
    """A program that installs into an environment which it is told.

    Attributes:
        name: ``pip`` or ``uv``: the dialect of its arguments and of its answers.
        program: how it is started, up to and without the verb.
    """

    name: str
    program: tuple[str, ...]

    @property
    def is_uv(self) -> bool:
        return self.name == "uv"

    def command(self, python: Path, verb: str, *arguments: str) -> list[str]:
        """The command line that runs ``verb`` (install, uninstall) on the environment of ``python``."""
        aim = ("--python", str(python)) if self.is_uv else ()
        return [*self.program, verb, *aim, *arguments]

    def run(
        self, python: Path, verb: str, *arguments: str, environ: Mapping[str, str], timeout_s: float = _LIMIT_S
    ) -> subprocess.CompletedProcess[str]:
        """Run it without asking anybody anything; standard output and error are in the answer.

        Raises:
            InstallerFailed: it could not be started, ended with an error, or took too long.
        """
        quiet = ("--no-progress",) if self.is_uv else ("--no-input", "--disable-pip-version-check", "--no-color")
        command = self.command(python, verb, *quiet, *arguments)
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                env={name: text for name, text in environ.items() if name not in _MISLEADING},
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as exc:
            raise InstallerFailed(
                f"{self.name} did not finish within {timeout_s:g} s.",
                fix=f"{shlex.join(command)}   (shows where it waits)",
            ) from exc
        except OSError as exc:
            raise InstallerFailed(
                f"{command[0]} cannot be started: {exc.strerror}.", fix=f"ls -l {shlex.quote(command[0])}"
            ) from exc
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING:")]
            told = "\n".join(said[-_TAIL_LINES:]) or f"exit code {done.returncode}"
            raise InstallerFailed(
                f"{self.name} {verb} failed in {python}:\n{told}", fix=f"{shlex.join(command)}   (shows all of it)"
            )
        return done


def choose_installer(
    python: Path, *, has_pip: bool, uv_places: Iterable[Path], environ: Mapping[str, str]
) -> Installer | None:
    """The first that is there: the environment's own pip, a bundled uv, uv on PATH, our own pip aimed at it.

    Args:
        uv_places: where Hermes' own installer keeps uv.
    """
    if has_pip:
        return Installer("pip", (str(python), "-m", "pip"))
    bundled = next((str(path) for path in uv_places if path.exists()), None)
    if uv := bundled or shutil.which("uv", path=environ.get("PATH")):
        return Installer("uv", (uv, "pip"))
    if find_spec("pip") is not None:
        return Installer("pip", (sys.executable, "-m", "pip", "--python", str(python)))
    return None
