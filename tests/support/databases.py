"""Looking at a database file from outside, with plain ``sqlite3``."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

__all__ = ["dump_schema"]


def dump_schema(path: Path) -> list[tuple[str, str]]:
    """Name and definition of everything in the file, by name, with the white space of the definitions evened out."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name, coalesce(sql, '') FROM sqlite_master ORDER BY name").fetchall()
    return [(name, re.sub(r"\s+", " ", sql)) for name, sql in rows]
