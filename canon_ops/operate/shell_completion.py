"""Where shells look for completion scripts of a user, and putting ours there or taking it away again.

A file is ours when its first lines say so; another one is never overwritten and never removed. The shells' own
configuration is left alone unless the caller asks for it; then a block between two marks is added, and removed again.

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
from typing import ClassVar, Literal

from canon_ops.errors import RefusedError
from canon_ops.files.transaction import Transaction, edit_files
from canon_ops.hermes.homes import user_home
from canon_ops.hermes.surroundings import read_optional
from canon_ops.operate.preferences import preferences_file
from canon_ops.operate.writing import Writing, Written

__all__ = [
    "ForeignScript",
    "Place",
    "Scripts",
    "Shell",
    "State",
    "install_scripts",
    "place_of",
    "state_of",
    "uninstall_scripts",
]

Scripts = Mapping[str, str]
State = Literal["current", "outdated", "foreign", "absent"]

_OURS = b"completion for canon-"  # in the first two lines of each script
_BEGIN, _END = "# >>> completion by canon-ops", "# <<< completion by canon-ops"
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


class ForeignScript(RefusedError):
    """A script of the same name that is not ours."""

    code: ClassVar[str] = "completion_foreign"


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
    if any(data is not None and not _is_ours(data) for data, _ in found):
        return "foreign"
    if all(data is None for data, _ in found):
        return "absent"
    return "current" if all(data == text for data, text in found) else "outdated"


def install_scripts(writing: Writing, place: Place, scripts: Scripts, *, edit_rc: bool) -> Written:
    """Put the scripts where the shell looks for them; all files or none.

    Args:
        edit_rc: also make the shell's configuration find them, where it would not.

    Raises:
        ForeignScript: another program's file is in the way.
        LockTimeout, ChangedUnderUs, DiskError: nothing was written.
    """

    def once(transaction: Transaction) -> Written:
        for name, text in scripts.items():
            file = place.folder / name
            _require_ours(file, transaction.read(file))
            transaction.stage(file, text.encode())
        if edit_rc and place.line and not place.is_loaded:
            before = transaction.read(place.rc_file) or b""
            parting = b"" if not before or before.endswith(b"\n") else b"\n"
            transaction.stage(place.rc_file, before + parting + f"{_BEGIN}\n{place.line}\n{_END}\n".encode())
        return writing.commit(transaction)

    return edit_files(once, lambda: writing.transaction(preferences_file(writing.environ).parent))


def uninstall_scripts(writing: Writing, place: Place, scripts: Scripts) -> Written:
    """Remove the scripts, and the block in the shell's configuration; what is not ours stays.

    Raises:
        ForeignScript: a script of that name is another program's.
        LockTimeout, ChangedUnderUs, DiskError: nothing was removed.
    """

    def once(transaction: Transaction) -> Written:
        for name in scripts:
            file = place.folder / name
            data = transaction.read(file)
            _require_ours(file, data)
            if data is not None:
                transaction.stage(file, None)
        rc = transaction.read(place.rc_file)
        if rc is not None and (without := _without_block(rc)) != rc:
            transaction.stage(place.rc_file, without)
        return writing.commit(transaction)

    return edit_files(once, lambda: writing.transaction(preferences_file(writing.environ).parent))


def _require_ours(file: Path, data: bytes | None) -> None:
    if data is not None and not _is_ours(data):
        raise ForeignScript(f"{file} is not from canon-ops.", fix=f"mv {shlex.quote(str(file))} ~/", file=str(file))


def _is_ours(data: bytes) -> bool:
    return any(_OURS in line for line in data.splitlines()[:2])


def _without_block(data: bytes) -> bytes:
    begin, end = _BEGIN.encode(), _END.encode()
    before, found, rest = data.partition(begin)
    _, closed, after = rest.partition(end + b"\n")
    return before + after if found and closed else data
