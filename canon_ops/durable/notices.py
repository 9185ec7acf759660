"""What is worth saying about a file that opened well: values for the doctor and the log, never an exception."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from canon_ops.durable.problems import SqliteTooOld
from canon_ops.runtime.mounts import network_file_system

__all__ = ["LINKED_SQLITE", "Notice", "SqliteVersion", "has_wal_reset_bug", "notices_for", "require_sqlite"]

SqliteVersion: TypeAlias = tuple[int, int, int]
LINKED_SQLITE: SqliteVersion = sqlite3.sqlite_version_info


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that works now and may hurt later.

    Attributes:
        code: stable, for scripts: "network_disk", "sqlite_wal_reset".
        message: one sentence.
        fix: a command or a place to look; None when nothing can be advised.
    """

    code: str
    message: str
    fix: str | None = None


def has_wal_reset_bug(version: SqliteVersion) -> bool:
    """Whether two processes that write one WAL file at the same instant can damage it.

    Source: https://sqlite.org/wal.html#walresetbug: present since 3.7.0, gone in 3.51.3, 3.50.7 and 3.44.6.
    """
    mended = version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51, 0) or (3, 44, 6) <= version < (3, 45, 0)
    return version >= (3, 7, 0) and not mended


def notices_for(
    path: Path,
    *,
    version: SqliteVersion = LINKED_SQLITE,
    network: Callable[[Path], str | None] = network_file_system,
) -> tuple[Notice, ...]:
    """What to say about ``path``.

    Args:
        network: names the network file system that a path lies on, or None for a local disk.
    """
    found = []
    kind = network(path.parent)
    if kind:
        found.append(
            Notice(
                "network_disk",
                f"{path} lies on {kind}: SQLite's log and locks are not to be trusted there",
                "move the Hermes home to a local disk",
            )
        )
    if has_wal_reset_bug(version):
        text = ".".join(map(str, version))
        found.append(
            Notice(
                "sqlite_wal_reset",
                f"SQLite {text} can damage a database that two processes write at the same instant (rare; one gateway "
                "and readers are safe)",
                "use a Python with SQLite 3.51.3 or later",
            )
        )
    return tuple(found)


def require_sqlite(least: SqliteVersion, why: str, *, version: SqliteVersion = LINKED_SQLITE) -> None:
    """Refuse to go on under an SQLite older than ``least``.

    Args:
        why: what needs it, as the start of a sentence: "dropping the column raw_cursor".

    Raises:
        SqliteTooOld: naming both versions.
    """
    if version < least:
        wanted, have = (".".join(map(str, each)) for each in (least, version))
        raise SqliteTooOld(
            f"{why} needs SQLite {wanted} or later, and this Python has {have}",
            fix=f"use a Python with SQLite {wanted} or later",
        )
