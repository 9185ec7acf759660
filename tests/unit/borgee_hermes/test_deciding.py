"""A person's decisions that meet each other, or lose whoever asked for them. Borgee 4.10."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from borgee_hermes.inbox import store
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.records import Outcome, Status
from borgee_hermes.inbox.schema import SCHEMA
from canon_ops.durable import write_once
from tests.support.borgee_adapter import SessionStore, staged, until
from tests.support.borgee_receipts import S1, a_receipt
from tests.support.borgee_session import said

pytestmark = pytest.mark.host


class SlowStore(SessionStore):
    """The host's sessions, where beginning one afresh takes until the test lets it."""

    def __init__(self, *known: str) -> None:
        super().__init__(*known)
        self.begun = 0
        self.may_reset = threading.Event()

    def reset_session(self, session_key: str, display_name: str | None = None) -> Any:
        self.begun += 1
        assert self.may_reset.wait(10)
        return super().reset_session(session_key, display_name)


async def answers(event: Any, _adapter: Any) -> str:
    return f"re: {event.text}"


def left_claimed(home: Path) -> int:
    """A receipt that a gateway which is gone had claimed."""
    path = inbox_file(home)
    seq = write_once(path, SCHEMA, store.insert, a_receipt("old"), now_s=1.0).receipt.ingest_seq
    write_once(path, SCHEMA, store.claim, seq, "token", now_s=1.0)
    return seq


@pytest.mark.parametrize("first", ["discard", "requeue"])
async def test_of_two_decisions_at_once_the_second_finds_nothing_to_decide(own_home: Path, first: str) -> None:
    """It is told so, and above all it does not reset the session under the turn that the first one has set free."""
    seq = await asyncio.to_thread(left_claimed, own_home)
    second = {"discard": "requeue", "requeue": "discard"}[first]
    sessions = SlowStore(S1)
    resets_before_a_turn: list[int] = []

    async def looks(event: Any, _adapter: Any) -> str:
        resets_before_a_turn.append(len(sessions.was_reset))
        return "done"

    async with staged(own_home, looks, sessions=sessions) as stage:
        stage.session.deliver(said("behind", message_id="m-2"))
        await stage.until_row(2, Status.PENDING)
        deciding = [
            asyncio.ensure_future(stage.adapter.remediate_receipt(seq, action, confirm_duplicate_side_effect_risk=True))
            for action in (first, second)
        ]
        await until(lambda: sessions.begun)
        sessions.may_reset.set()

        assert await asyncio.gather(*deciding) == [True, False]
        await stage.until_row(2, Status.COMPLETED)

    assert sessions.was_reset == [S1]
    assert set(resets_before_a_turn) == {1}


async def test_a_decision_whose_asker_is_gone_is_carried_out_whole(own_home: Path) -> None:
    """The row, and the order in which the session goes on, know of it alike: nothing waits for a restart."""
    seq = await asyncio.to_thread(left_claimed, own_home)
    sessions = SlowStore(S1)
    async with staged(own_home, answers, sessions=sessions) as stage:
        stage.session.deliver(said("behind", message_id="m-2"))
        await stage.until_row(2, Status.PENDING)
        deciding = asyncio.ensure_future(stage.adapter.remediate_receipt(seq, "discard"))
        await until(lambda: sessions.begun)

        for _ in range(2):
            deciding.cancel()
            await asyncio.sleep(0)
        sessions.may_reset.set()
        with pytest.raises(asyncio.CancelledError):
            await deciding

        await stage.until_row(seq, Status.FAILED, Outcome.OPERATOR_DISCARDED)
        await stage.until_row(2, Status.COMPLETED, Outcome.HERMES_COMPLETED)
