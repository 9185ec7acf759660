"""Where shells look for completion scripts of a user, and how ours stand there.

A file is ours when its first lines say so; another one is never overwritten and never removed.

* bash: ``completions`` in ``$BASH_COMPLETION_USER_DIR``, or in ``bash-completion`` of XDG_DATA_HOME; read by
  bash-completion, where that is there.
* zsh: ``zsh/site-functions`` in XDG_DATA_HOME; read when ``fpath`` has it.
* fish: ``fish/completions`` in XDG_CONFIG_HOME; always read.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal

from canon_ops.files.reading import read_optional
from canon_ops.hermes.homes import user_home

__all__ = ["Place", "Scripts", "Shell", "State", "is_ours", "place_of", "state_of"]

Scripts = Mapping[str, str]
State = Literal["current", "outdated", "foreign", "absent"]

_OURS = b"completion for canon-"  # in the first two lines of each script
_BASH_COMPLETION = (
    "/usr/share/bash-completion/bash_completion",
    "/usr/local/share/bash-completion/bash_completion",
    "/opt/homebrew/etc/profile.d/bash_completion.sh",
    "/usr/local/etc/profile.d/bash_completion.sh",
    "/etc/bash_completion",
)


class Shell(Enum):
    """A shell that can be completed in."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one shell looks.

    Attributes:
        folder: takes the scripts.
        rc_file: the shell's own configuration of this user.
        line: what that needs where the shell would not look into ``folder`` by itself; empty for fish.
        loads_itself: the shell finds the scripts without any line.
        has_line: the configuration names the folder already.
    """

    shell: Shell
    folder: Path
    rc_file: Path
    line: str
    loads_itself: bool
    has_line: bool

    @property
    def is_loaded(self) -> bool:
        """Whether a new shell would find a script there."""
        return self.loads_itself or self.has_line


def place_of(shell: Shell, environ: Mapping[str, str]) -> Place:
    """Where ``shell`` looks for the scripts of this user."""
    home = user_home(environ)
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    match shell:
        case Shell.BASH:
            folder = Path(environ.get("BASH_COMPLETION_USER_DIR") or data / "bash-completion") / "completions"
            rc_file = home / ".bashrc"
            line = f". {shlex.quote(str(folder / 'canon-ops'))}"
            itself = any(Path(name).is_file() for name in _BASH_COMPLETION)
        case Shell.ZSH:
            folder, rc_file = data / "zsh" / "site-functions", Path(environ.get("ZDOTDIR") or home) / ".zshrc"
            line = f"fpath=({shlex.quote(str(folder))} $fpath); autoload -Uz compinit && compinit"
            itself = False
        case Shell.FISH:
            config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "fish"
            folder, rc_file, line, itself = config / "completions", config / "config.fish", "", True
    text = (read_optional(rc_file) or b"").decode("utf-8", "replace")
    named = bool(line) and (str(folder) in text or str(folder).replace(str(home), "~", 1) in text)
    return Place(shell, folder, rc_file, line, itself, named)


def state_of(place: Place, scripts: Scripts) -> State:
    """How the scripts at a place stand: the worst of them counts."""
    found = [(read_optional(place.folder / name), text.encode()) for name, text in scripts.items()]
    if any(data is not None and not is_ours(data) for data, _ in found):
        return "foreign"
    if all(data is None for data, _ in found):
        return "absent"
    return "current" if all(data == text for data, text in found) else "outdated"


def is_ours(data: bytes) -> bool:
    """Whether a file with this text is one of our scripts."""
    return any(_OURS in line for line in data.splitlines()[:2])
