"""Putting completion scripts where the shell of a user looks for them (completion_place.py), and taking them away.

The shells' own configuration is left alone unless the caller asks for it; then a block between two marks is added, and
removed again.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import ClassVar

from canon_ops.errors import RefusedError
from canon_ops.files.transaction import Transaction, edit_files
from canon_ops.operate.completion_place import Place, Scripts, is_ours
from canon_ops.operate.preferences import preferences_file
from canon_ops.operate.writing import Writing, Written

__all__ = ["ForeignScript", "install_scripts", "uninstall_scripts"]

_BEGIN, _END = "# >>> completion by canon-ops", "# <<< completion by canon-ops"


class ForeignScript(RefusedError):
    """A script of the same name that is not ours."""

    code: ClassVar[str] = "completion_foreign"


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
    if data is not None and not is_ours(data):
        raise ForeignScript(f"{file} is not from canon-ops.", fix=f"mv {shlex.quote(str(file))} ~/", file=str(file))


def _without_block(data: bytes) -> bytes:
    begin, end = _BEGIN.encode(), _END.encode()
    before, found, rest = data.partition(begin)
    _, closed, after = rest.partition(end + b"\n")
    return before + after if found and closed else data
