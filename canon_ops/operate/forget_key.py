"""Taking a key out of the history, once it is not in the files any more.

Every commit keeps the texts from before it, so a key that has moved to the keyring, or was removed, would stay behind
in plain text. The entries that hold it go, and with them the way to undo them.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from canon_ops.operate.writing import Writing
from canon_ops.settings.secret import Secret

__all__ = ["forget_key"]


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
        for record in history.records():
            entry = history.folder / record.id
            if not any(needle in text for text in _texts(entry) for needle in needles):
                continue
            history.forget(record)
            gone.append(record.id)
    return tuple(gone)


def _texts(entry: Path) -> list[bytes]:
    texts: list[bytes] = []
    for file in entry.iterdir():
        with contextlib.suppress(OSError):
            texts.append(file.read_bytes())
    return texts
