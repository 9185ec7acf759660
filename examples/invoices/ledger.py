"""The plugin's own memory, and the rule that one invoice is filed once.

An approval says that filing is allowed. It does not say that it was done, and after a crash it is told again. So the
invoice has a key of its own, made of what it is and not of when it was asked for, and two guards hang on it:

* a row for each key, so that a second request for the same invoice asks nobody again;
* the key travels to whoever files it, and a repetition under the same key is the same filing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Invoice", "Ledger"]


@dataclass(frozen=True)
class Invoice:
    """One invoice. ``state`` is ``waiting``, ``filed`` or ``refused``."""

    number: str
    supplier: str
    amount: str
    approval_id: str | None = None
    state: str = "waiting"

    @property
    def key(self) -> str:
        """The same for the same invoice, for ever."""
        return f"invoice:{self.supplier}:{self.number}"


class Ledger:
    """Invoices and filings. The filings stand in for a tax office: it takes a key once and answers the same again."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "ledger.sqlite3"
        with self._open() as db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS invoices (key TEXT PRIMARY KEY, number TEXT, supplier TEXT, amount TEXT,"
                " approval_id TEXT, state TEXT NOT NULL)"
            )
            db.execute("CREATE TABLE IF NOT EXISTS filings (number INTEGER PRIMARY KEY, key TEXT UNIQUE, amount TEXT)")

    def find(self, key: str) -> Invoice | None:
        with self._open() as db:
            row = db.execute(f"{SELECT} WHERE key = ?", (key,)).fetchone()
        return None if row is None else Invoice(*row)

    def waiting(self) -> list[Invoice]:
        with self._open() as db:
            return [Invoice(*row) for row in db.execute(f"{SELECT} WHERE state = 'waiting' ORDER BY key")]

    def keep(self, invoice: Invoice) -> None:
        """Remember an invoice, or what became of it. Amount and approval go together: a yes is a yes to one amount."""
        with self._open() as db:
            db.execute(
                "INSERT INTO invoices (key, number, supplier, amount, approval_id, state) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (key) DO UPDATE SET"
                " amount = excluded.amount, approval_id = excluded.approval_id, state = excluded.state",
                (invoice.key, invoice.number, invoice.supplier, invoice.amount, invoice.approval_id, invoice.state),
            )

    def file(self, invoice: Invoice) -> int:
        """File it under its key and give the receipt's number; again, the same number."""
        with self._open() as db:
            db.execute(
                "INSERT INTO filings (key, amount) VALUES (?, ?) ON CONFLICT (key) DO NOTHING",
                (invoice.key, invoice.amount),
            )
            return int(db.execute("SELECT number FROM filings WHERE key = ?", (invoice.key,)).fetchone()[0])

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        db = sqlite3.connect(self._file)
        try:
            with db:
                yield db
        finally:
            db.close()


SELECT = "SELECT number, supplier, amount, approval_id, state FROM invoices"
