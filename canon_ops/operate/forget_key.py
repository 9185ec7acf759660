"""Taking a key out of the history, once it is not in the files any more.

Every commit keeps the texts from before it, so a key that has moved to the keyring, or was removed, would stay behind
in plain text. The entries that hold it go, and with them the way to undo them.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection, Hashable
from pathlib import Path
from typing import TypeVar

from canon_ops.errors import CanonOpsError
from canon_ops.files.history import History, NoSuchEntry
from canon_ops.operate.writing import Writing
from canon_ops.settings.secret import Secret

__all__ = ["forget_key", "taken_out"]

Value = TypeVar("Value", bound=Hashable)


def forget_key(writing: Writing, folder: Path, key: Secret) -> tuple[str, ...]:
    """Remove the history entries of ``folder`` that hold ``key``.

    Returns:
        The ids that went.

    Raises:
        LockTimeout, DiskError: some of it is still there.
    """
    plain = key.reveal()
    needles = {plain.encode(), json.dumps(plain)[1:-1].encode()}
    gone: list[str] = []
    with writing.transaction(folder) as transaction:  # for its lock
        history = transaction.history
        # The oldest first: the newest tells which key it was, should this be interrupted; see taken_out.
        for record in reversed(history.records()):
            entry = history.folder / record.id
            if not any(needle in text for text in _texts(entry) for needle in needles):
                continue
            history.forget(record)
            gone.append(record.id)
    return tuple(gone)


def taken_out(folder: Path, command: str, values_in: Callable[[Path, bytes], Collection[Value]]) -> list[Value]:
    """What ``command`` took out of a file and the history still tells of: the newest first, each once.

    A key here means that a run was killed before it forgot it; a reference to the keyring, that there was one.

    Args:
        command: as the history calls it.
        values_in: the keys, or the references, in a text of a file.

    Raises:
        DiskError: the history cannot be read.
    """
    history, found = History(folder), dict[Value, None]()
    for record in history.records():
        if record.label != command or record.outcome != "done":
            continue
        with contextlib.suppress(CanonOpsError):  # a text that is gone, or that nobody can read
            before = history.texts(record, "before")
            try:
                after = history.texts(record, "after")
            except NoSuchEntry:  # the entry itself was being forgotten, and this text went first
                after = tuple(None for _ in before)
            for file, was, now in zip(record.files, before, after, strict=True):
                left = values_in(Path(file.path), now or b"")
                found |= dict.fromkeys(one for one in values_in(Path(file.path), was or b"") if one not in left)
    return list(found)


def _texts(entry: Path) -> list[bytes]:
    texts: list[bytes] = []
    for file in entry.iterdir():
        with contextlib.suppress(OSError):
            texts.append(file.read_bytes())
    return texts
