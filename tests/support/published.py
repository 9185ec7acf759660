"""Hosts with the published Canon plugin, each in a virtual environment of its own below ``.hosts/``, made once.

The published package is a black box: it is installed and started, its source is not read.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from canon_ops.files.lock import FileLock

__all__ = ["PUBLISHED_0_14_1", "published_host"]

CHECKOUT = Path(__file__).resolve().parents[2]
PUBLISHED_0_14_1 = ("hermes-agent==0.19.0", "canon-hermes-plugin==0.14.1")
INSTALL_LIMIT_S = 600


def published_host(name: str, requirements: tuple[str, ...], *, without_dependencies: tuple[str, ...] = ()) -> Path:
    """The interpreter of the environment ``name``, made when it is missing or was made from other requirements."""
    folder = CHECKOUT / ".hosts" / name
    stamp, wanted = folder / ".requirements", "\n".join([*requirements, *without_dependencies])
    folder.parent.mkdir(exist_ok=True)
    python = folder / "bin" / "python"
    with FileLock(folder.with_suffix(".lock"), timeout_s=INSTALL_LIMIT_S):
        if not stamp.exists() or stamp.read_text() != wanted:
            _run(sys.executable, "-m", "venv", "--clear", str(folder))
            _pip(python, *requirements)
            if without_dependencies:
                _pip(python, "--no-deps", *without_dependencies)
            stamp.write_text(wanted)
    return python


def _pip(python: Path, *arguments: str) -> None:
    _run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_LIMIT_S, check=False)
    assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stderr[-4000:]}"
