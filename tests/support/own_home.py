"""The home of a test process: a folder of its own, so that nothing touches the home of whoever runs the tests.

Most tests make a home for themselves. A host in the test's own process, and what a test has forgotten, find this one.
Tools that are no part of what is tested, like pip, go on finding their settings and their downloads where they are.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from canon_ops.runtime.scratch import Scratch, remove_dead

__all__ = ["move_out", "short_folder"]

_SCRATCHES: Final[list[Scratch]] = []  # they go with the process
_PREFIXES = ("HERMES_", "CANON_", "BORGEE_", "XDG_")
_TOOLS = {
    "PIP_CONFIG_FILE": ".config/pip/pip.conf",
    "PIP_CACHE_DIR": ".cache/pip",
    "UV_CONFIG_FILE": ".config/uv/uv.toml",
    "UV_CACHE_DIR": ".cache/uv",
    "PYENV_ROOT": ".pyenv",
    "NPM_CONFIG_USERCONFIG": ".npmrc",
}


def move_out(environ: MutableMapping[str, str]) -> Path:
    """Give the process of ``environ`` an empty home that goes with it, and no word of another one; gives the new home.

    Settings of Hermes, Canon and Borgee, and the places that override a home's own, are taken out.
    """
    left = Path(environ["HOME"]) if environ.get("HOME") else None
    for variable, place in _TOOLS.items():
        if left is not None and (left / place).exists():
            environ.setdefault(variable, str(left / place))
    for variable in [name for name in environ if name.startswith(_PREFIXES)]:
        del environ[variable]
    remove_dead()  # of test processes that were killed
    scratch = Scratch("tests-")
    _SCRATCHES.append(scratch)
    home = scratch.path / "home"
    home.mkdir()
    environ["HOME"] = str(home)
    return home


def short_folder() -> Path:
    """A new folder with a short path, which goes with the process: also when a host's thread still writes into it."""
    return Path(mkdtemp(dir=_SCRATCHES[-1].path, prefix=""))
