"""A program that edits one home many times, as one of several: ``python -m tests.support.writers HOME NAME COUNT``."""

from __future__ import annotations

import sys
from pathlib import Path

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.files.transaction import Transaction, edit_files


def write(home: Path, name: str, number: int, *, timeout_s: float = 60.0) -> None:
    """One commit over both files: a new key in config.yaml, a new variable in .env."""

    def edit(transaction: Transaction) -> None:
        config = ConfigDocument.parse(transaction.read(home / "config.yaml") or b"")
        dotenv = DotenvDocument.parse(transaction.read(home / ".env") or b"")
        transaction.stage(home / "config.yaml", config.set((name, f"k{number}"), number).data)
        transaction.stage(home / ".env", dotenv.set(f"{name}_{number}", str(number)).data, private=True)
        transaction.commit()

    edit_files(edit, lambda: Transaction(home, timeout_s=timeout_s, label=f"{name} {number}"))


if __name__ == "__main__":
    for step in range(int(sys.argv[3])):
        write(Path(sys.argv[1]), sys.argv[2], step)
