"""From what is delivered to receipts: together, in order, each for itself where one cannot be stored. Borgee 1.8."""

from __future__ import annotations

import asyncio
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.records import NewReceipt, Status
from borgee_hermes.inbox.schema import SCHEMA
from borgee_hermes.inbox.store import Inserted
from canon_ops.durable import Database
from canon_ops.durable.opening import open_for_writing
from canon_ops.durable.problems import DiskFull
from tests.support.borgee_adapter import rows, staged, until
from tests.support.borgee_session import BURST, said

pytestmark = pytest.mark.host


class Counted(sqlite3.Connection):
    """Each COMMIT waits once for the disk: the log is synchronised with it (``synchronous = FULL``)."""

    commits = 0

    def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        Counted.commits += sql == "COMMIT"
        return super().execute(sql, *arguments)


def counted(home: Path) -> Inbox:
    path = inbox_file(home)
    connect = partial(open_for_writing, path, SCHEMA, factory=Counted)
    return Inbox(path, database=Database(path, SCHEMA, connect=connect))


async def never(_event: Any, _adapter: Any) -> None:
    await asyncio.Event().wait()


async def test_a_burst_of_five_hundred_costs_a_few_commits(own_home: Path) -> None:
    """One wait for the disk stores what has come meanwhile; the order is that of arrival, and each is acknowledged only
    when it is there."""
    async with staged(own_home, never, inbox=counted, max_concurrent_dispatches=1, drain_timeout_seconds=0.05) as stage:
        stage.session.deliver(said())
        await until(lambda: stage.texts)
        before = Counted.commits

        deliveries = [stage.session.deliver(said(f"text {n}", message_id=f"b-{n}")) for n in range(500)]
        for delivery in deliveries:
            assert await delivery.settled is True

        assert Counted.commits - before <= 12
        assert [row.message_id for row in await asyncio.to_thread(rows, own_home)][1:] == [f"b-{n}" for n in range(500)]


async def test_a_single_message_waits_for_nobody(own_home: Path) -> None:
    """Nothing collects: what comes alone is stored alone, at once."""
    async with staged(own_home, never, inbox=counted, max_concurrent_dispatches=1, drain_timeout_seconds=0.05) as stage:
        stage.session.deliver(said())
        await until(lambda: stage.texts)
        for n in range(3):
            before = Counted.commits
            assert await stage.session.deliver(said(f"text {n}", message_id=f"s-{n}")).settled is True
            assert Counted.commits - before == 1


async def test_a_message_that_cannot_be_stored_takes_no_other_along(own_home: Path) -> None:
    """The adapter is down and nothing of the burst is acknowledged, but what could be stored is there, and what waited
    behind the burst as well."""

    class Refusing(Inbox):
        async def insert(self, new: NewReceipt) -> Inserted:
            if new.source_body == "text 2":
                raise DiskFull("no room")
            return await super().insert(new)

    async with staged(own_home, never, inbox=lambda home: Refusing(inbox_file(home))) as stage:
        deliveries = [stage.session.deliver(said(f"text {n}", message_id=f"m-{n}")) for n in range(100)]

        assert isinstance(await deliveries[0].settled, DiskFull)
        await until(lambda: stage.fatal)

        assert stage.fatal == [("borgee_durable_inbox", False)]
        assert stage.texts == []
        kept = await asyncio.to_thread(rows, own_home)
        assert [row.message_id for row in kept] == [f"m-{n}" for n in range(100) if n != 2]
        assert {row.status for row in kept} == {Status.PENDING}


@pytest.mark.parametrize("trouble", ["the connection is gone too", "the host when it is told"])
async def test_what_else_goes_wrong_over_a_burst_takes_none_behind_it_along(own_home: Path, trouble: str) -> None:
    """Nobody else would take over what is delivered: the adapter goes down, and what waits behind is stored."""

    class Refusing(Inbox):
        async def insert(self, new: NewReceipt) -> Inserted:
            if new.source_body == "text 0" and trouble.startswith("the connection"):
                raise DiskFull("no room")
            return await super().insert(new)

    async with staged(own_home, never, inbox=lambda home: Refusing(inbox_file(home))) as stage:
        if trouble.startswith("the host"):
            stage.adapter._borgee._port.takes_turns = lambda: 1 / 0
        stage.session.deliver(said("text 0", message_id="m-0"), is_stale=trouble.startswith("the connection"))
        for n in range(1, 2 * BURST):
            stage.session.deliver(said(f"text {n}", message_id=f"m-{n}"))

        await until(lambda: stage.fatal)

        assert stage.fatal == [("borgee_durable_inbox", False)]
        kept = {row.message_id for row in await asyncio.to_thread(rows, own_home)}
        assert kept | {"m-0"} == {f"m-{n}" for n in range(2 * BURST)}
