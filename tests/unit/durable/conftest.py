"""A database of letters in a private folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from canon_ops.durable import Database
from tests.support import letters


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plugins" / "canon" / "state.sqlite3"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Database]:
    async with Database(path, letters.SCHEMA) as database:
        yield database
