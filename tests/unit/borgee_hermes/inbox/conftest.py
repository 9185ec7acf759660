"""An inbox in memory where there is one: these tests open many files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from borgee_hermes.inbox.place import FILE
from borgee_hermes.inbox.schema import SCHEMA
from canon_ops.durable import Transaction
from canon_ops.durable.batch import Done, Writing, run_batch
from canon_ops.durable.opening import open_for_writing


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    memory = Path("/dev/shm")  # noqa: S108
    if not memory.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)


@pytest.fixture
def path(home: Path) -> Path:
    return home / FILE


@pytest.fixture
def do(path: Path) -> Iterator[Callable[..., Any]]:
    """Call a function of the store in a transaction of its own: ``do(store.claim, 1, "t", now_s=2.0)``."""
    with closing(open_for_writing(path, SCHEMA).connection) as connection:

        def call(function: Callable[..., Any], *args: Any, **more: Any) -> Any:
            def work(transaction: Transaction) -> Any:
                return function(transaction, *args, **more)

            (outcome,) = run_batch(connection, [Writing(work)], path)
            if isinstance(outcome, Done):
                return outcome.value
            raise outcome.error

        yield call
