"""What the inbox holds and no adapter wrote is damage, whoever reads it. Borgee 4.2."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from borgee_hermes.inbox import operator, store
from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.inbox.records import Status
from borgee_hermes.inbox.schema import SCHEMA
from canon_ops.durable import read_once, write_once
from canon_ops.durable.problems import Damaged
from tests.support.borgee_receipts import a_receipt

WRONG = {
    "a state": "UPDATE receipts SET status = 'weird'",
    "a kind": "UPDATE receipts SET kind = 'alien'",
    "a class": "UPDATE receipts SET dispatch_class = 'royal'",
    "a text in bytes": "UPDATE receipts SET effective_body = x'ff00'",
    "a text that is no UTF-8": "UPDATE receipts SET source_body = CAST(x'ff' AS TEXT)",
    "a name that is a number": "UPDATE receipts SET author_name = x'31'",
    "a time in words": "UPDATE receipts SET updated_at = 'yesterday'",
    "a time that has no date": "UPDATE receipts SET created_at = 9e99",
    "a time before time": "UPDATE receipts SET created_at = -1e12",
    "a number in words": "UPDATE receipts SET attempt = 'often'",
    "an error in bytes": "UPDATE receipts SET error = x'00'",
    "half a context": "UPDATE receipts SET guild_id = 'g', top_level_channel_id = NULL",
    "a watermark in words": "UPDATE metadata SET value = 'high'",
}
READERS: dict[str, Callable[[Path], Any]] = {
    "get": lambda path: read_once(path, SCHEMA, store.get, 1),
    "open": lambda path: read_once(path, SCHEMA, store.open_receipts),
    "progress": lambda path: read_once(path, SCHEMA, store.progress),
    "listed": lambda path: read_once(path, SCHEMA, operator.listed, tuple(Status)),
    "stats": lambda path: read_once(path, SCHEMA, operator.stats),
    "again": lambda path: write_once(path, SCHEMA, store.insert, a_receipt(), now_s=2.0),
    "claim": lambda path: write_once(path, SCHEMA, store.claim, 1, "t", now_s=2.0),
    "decide": lambda path: write_once(
        path, SCHEMA, operator.decide_alone, "discard", 1, had_session=False, risk_confirmed=False, now_s=2.0
    ),
}


def damaged(path: Path, statement: str) -> None:
    """An inbox with one receipt, and something wrong in it."""
    write_once(path, SCHEMA, store.insert, a_receipt(), now_s=1.0)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement)


@pytest.mark.parametrize("statement", WRONG.values(), ids=WRONG)
def test_what_no_adapter_wrote_is_damage_to_whoever_reads_it(path: Path, statement: str) -> None:
    """Some readers do not look at it; those that do say so, with a cure, and nobody meets a fault of ours."""
    damaged(path, statement)
    told = []

    for read in READERS.values():
        with suppress(Damaged):
            read(path)
            continue
        told.append(read)

    assert told


async def test_a_gateway_says_so_too(path: Path) -> None:
    """What waits is read at the start."""
    damaged(path, WRONG["a class"])
    inbox = Inbox(path)
    await inbox.open()

    with pytest.raises(Damaged, match="royal") as caught:
        await inbox.open_receipts()
    await inbox.close()

    assert caught.value.fix == "canon-ops doctor --only borgee.inbox"
