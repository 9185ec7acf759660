"""Floor 2: SQLite opened properly, for everything that must outlive a crash. Read database.py first, then batch.py.

The platforms' inboxes and outboxes stand on it (each brings its own schema); commands read and repair through
``read_once`` and ``write_once``. Nobody else opens a database file.
"""

from canon_ops.durable.database import Database
from canon_ops.durable.direct import read_once, write_once
from canon_ops.durable.notices import Notice, require_sqlite
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
    "read_once",
    "require_sqlite",
    "write_once",
]
