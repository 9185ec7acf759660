"""Writes in their order, shared commits, and one failure that takes nobody with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_hermes_plugin.inbox import store
from canon_hermes_plugin.state.file import StateFile
from canon_hermes_plugin.state.place import state_path
from canon_ops.durable import Transaction
from tests.support.canon_state import NOW, OWNER


def record(transaction: Transaction, item_id: str) -> None:
    store.record(transaction, OWNER, item_id, "c1", {}, step=None, now_ms=NOW)


def break_off(transaction: Transaction) -> None:
    record(transaction, "half")
    raise ValueError("a fault of the caller's")


async def test_a_failure_is_its_callers_alone(tmp_path: Path) -> None:
    """What shared a commit with it is written all the same, in order, and nothing of the failed one stays."""
    file = StateFile(state_path(tmp_path))
    await file.open()

    first, broken, last = file.write(record, "m1"), file.write(break_off), file.write(record, "m2")
    await last

    with pytest.raises(ValueError, match="a fault"):
        await broken
    assert first.done()
    assert [item.item_id for item in await file.read(store.unsettled, OWNER)] == ["m1", "m2"]
    await file.close()


async def test_closing_finishes_what_was_begun(tmp_path: Path) -> None:
    """Nobody waited for the writes, and they are on the disk."""
    file = StateFile(state_path(tmp_path))
    await file.open()
    for number in range(1_200):
        file.write(record, f"m{number}")
    await file.close()

    again = StateFile(state_path(tmp_path))
    await again.open()
    assert len(await again.read(store.unsettled, OWNER)) == 1_200
    await again.close()
