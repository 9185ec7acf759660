"""Who is writing a database just now, as far as Linux tells: for the sentence of an error."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["writing_process"]

# SQLite's lock for writing the log: one byte of the log's index. Source: sqlite.org/walformat.html, section 2.3.1
WRITE_LOCK_BYTE = 120


def writing_process(path: Path, *, table: str | None = None) -> int | None:
    """The process that holds the write lock of the log of ``path``; None when nobody does, or it is not told.

    Args:
        table: the text of ``/proc/locks``; read from there when None.
    """
    try:
        index = path.with_name(path.name + "-shm").stat()
        text = Path("/proc/locks").read_text(encoding="ascii") if table is None else table
    except (OSError, ValueError):
        return None
    wanted = f"{os.major(index.st_dev):02x}:{os.minor(index.st_dev):02x}:{index.st_ino}"
    for line in text.splitlines():
        # "7: POSIX  ADVISORY  WRITE 4711 fe:00:5678 120 120"; a waiting one has "->" after its number.
        fields = line.split()
        if len(fields) == 8 and fields[1] == "POSIX" and fields[3] == "WRITE" and fields[5] == wanted:
            first, last = int(fields[6]), WRITE_LOCK_BYTE if fields[7] == "EOF" else int(fields[7])
            if first <= WRITE_LOCK_BYTE <= last and int(fields[4]) > 0:
                return int(fields[4])
    return None
