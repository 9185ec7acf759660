"""Floor 2: SQLite opened properly, for everything that must outlive a crash. Read database.py first, then batch.py.

The platforms' inboxes and outboxes stand on it (each brings its own schema); commands read and repair through
``read_once`` and ``write_once``; the doctor asks ``find_damage`` and ``notices_for``. Nobody else opens such a file.
An example of a store is tests/support/letters.py.
"""

from canon_ops.durable.database import Database
from canon_ops.durable.direct import read_once, write_once
from canon_ops.durable.examine import find_damage
from canon_ops.durable.notices import Notice, notices_for, require_sqlite
from canon_ops.durable.problems import DurableError
from canon_ops.durable.schema import Migration, Schema
from canon_ops.durable.statements import Row, Snapshot, Transaction

__all__ = [
    "Database",
    "DurableError",
    "Migration",
    "Notice",
    "Row",
    "Schema",
    "Snapshot",
    "Transaction",
    "find_damage",
    "notices_for",
    "read_once",
    "require_sqlite",
    "write_once",
]
