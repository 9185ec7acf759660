"""Taking a key out of the history, once it is not in the files any more.

Every commit keeps the texts from before it, so a key that has moved to the keyring, or was removed, would stay behind
in plain text. The entries that hold it go, and with them the way to undo them.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection
from pathlib import Path

from canon_ops.errors import CanonOpsError
from canon_ops.files.history import History, NoSuchEntry
from canon_ops.operate.writing import Writing
from canon_ops.settings.secret import Secret

__all__ = ["forget_key", "keys_taken_out"]


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
        # The oldest first: the newest tells which key it was, should this be interrupted; see keys_taken_out.
        for record in reversed(history.records()):
            entry = history.folder / record.id
            if not any(needle in text for text in _texts(entry) for needle in needles):
                continue
            history.forget(record)
            gone.append(record.id)
    return tuple(gone)


def keys_taken_out(folder: Path, command: str, keys_in: Callable[[Path, bytes], Collection[Secret]]) -> list[Secret]:
    """Keys that ``command`` took out of a file and that the history still has: a run was killed before it forgot them.

    Args:
        command: as the history calls it.
        keys_in: the keys in a text of a file.

    Raises:
        DiskError: the history cannot be read.
    """
    history, found = History(folder), dict[Secret, None]()
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
                left = keys_in(Path(file.path), now or b"")
                found |= dict.fromkeys(key for key in keys_in(Path(file.path), was or b"") if key not in left)
    return list(found)


def _texts(entry: Path) -> list[bytes]:
    texts: list[bytes] = []
    for file in entry.iterdir():
        with contextlib.suppress(OSError):
            texts.append(file.read_bytes())
    return texts
