"""A database of letters in a private folder, in memory where there is one: these tests open hundreds of files."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from canon_ops.durable import Database
from tests.support import letters


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    memory = Path("/dev/shm")  # noqa: S108
    if not memory.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plugins" / "canon" / "state.sqlite3"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Database]:
    async with Database(path, letters.SCHEMA) as database:
        yield database
