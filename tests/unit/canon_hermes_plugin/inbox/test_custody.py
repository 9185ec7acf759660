"""The messages of a run: all of them begin with it, end with it, and are handed over again with a mark when it dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_hermes_plugin.inbox import custody
from canon_hermes_plugin.inbox.custody import Covered, Custody
from canon_hermes_plugin.inbox.items import Settlement, State
from canon_hermes_plugin.inbox.recovery import Remedy, remedy_for
from canon_hermes_plugin.state.kept import Kept
from canon_hermes_plugin.state.place import state_path
from canon_hermes_plugin.turn.effects import Evidence, TurnClosed
from canon_hermes_plugin.turn.events import Outcome
from canon_ops.wire.ids import ConversationId, TurnId
from tests.support.canon_state import Rows, an_operation, opened_state

TURN, ROOM, SESSION = TurnId("t1"), ConversationId("c1"), "s1"


def rows_of(home: Path) -> list[tuple[str, str, str | None, str | None, int]]:
    return Rows(state_path(home)).table("SELECT item_id, state, settlement, turn_id, runs FROM inbox ORDER BY number")


def closed(outcome: Outcome, evidence: Evidence) -> TurnClosed:
    return TurnClosed(TURN, ROOM, outcome, evidence)


async def a_run_of_three(kept: Kept) -> None:
    """A picture with a text that the host has merged into it; the words of another message were put in later."""
    for item_id in ("picture", "text", "words", "waits"):
        payload = {"conversationId": ROOM, "message": {"id": item_id, "text": item_id}}
        await kept.inbox.record(item_id, ROOM, payload, event_id=None)
        if item_id != "words":
            kept.inbox.handed(item_id, ROOM, session=SESSION, background=())
    await kept.inbox.started("picture", turn_id=TURN, conversation_id=ROOM, session=SESSION, merged=("text",))
    kept.inbox.joins(TURN, "words", session=SESSION)
    kept.inbox.handed("words", ROOM, session=SESSION, background=())


async def test_what_dies_with_a_run_is_marked(tmp_path: Path) -> None:
    """X3, D60, D12: work may be done for each of them; only the head goes on as the same turn."""
    async with opened_state(tmp_path) as kept:
        await a_run_of_three(kept)
    async with opened_state(tmp_path) as again:
        left = [(item.item_id, remedy_for(item), item.turn_id) for item in again.remains.items]

    died = Remedy.AWAIT_ADOPTION
    assert left == [
        ("picture", died, TURN), ("text", died, None), ("words", died, None), ("waits", Remedy.HAND_OVER, None),
    ]  # fmt: skip


async def test_an_answer_settles_what_it_answers(tmp_path: Path) -> None:
    """X1, X2: all of them in the transaction that writes the answer down, so that a kill afterwards repeats none."""
    async with opened_state(tmp_path) as kept:
        await a_run_of_three(kept)
        await kept.outbox.record(an_operation(turn=TURN))
    async with opened_state(tmp_path) as again:
        left = [item.item_id for item in again.remains.items]

    assert left == ["waits"]
    assert [row[2] for row in rows_of(tmp_path)] == ["answer", "absorbed", "absorbed", None]


@pytest.mark.parametrize(
    ("end", "head", "joined"),
    [
        pytest.param(closed(Outcome.SUCCESS, Evidence.SILENCE), "silence", "absorbed", id="silence"),
        pytest.param(closed(Outcome.SUCCESS, Evidence.RAN), "ran", "absorbed", id="nothing to say"),
        pytest.param(closed(Outcome.FAILURE, Evidence.NONE), "failure", "failure", id="failure"),
        pytest.param(closed(Outcome.CANCELLED, Evidence.NONE), "cancelled", "cancelled", id="stopped"),
    ],
)
async def test_the_end_of_a_run_is_the_end_of_each(tmp_path: Path, end: TurnClosed, head: str, joined: str) -> None:
    """X2: with evidence; what only waits in the session is not touched."""
    async with opened_state(tmp_path) as kept:
        await a_run_of_three(kept)
        assert not kept.inbox.closed(end, is_stopping=False)

    assert [row[2] for row in rows_of(tmp_path)] == [head, joined, joined, None]


async def test_a_run_without_a_trace_gives_all_of_them_back(tmp_path: Path) -> None:
    """X2: the host only queued them, whatever it reports; and an idle session does not settle them."""
    async with opened_state(tmp_path) as kept:
        await a_run_of_three(kept)
        assert kept.inbox.closed(closed(Outcome.SUCCESS, Evidence.NONE), is_stopping=False)
        kept.inbox.absorb("another", but=())  # that one says nothing of this session
        kept.inbox.absorb(SESSION, but=("waits",))

    assert [row[1:] for row in rows_of(tmp_path)] == [("handed", None, None, 0)] * 4


async def test_words_that_were_not_read_leave_the_run(tmp_path: Path) -> None:
    """D12: they wait like any other message, and the run's end is not theirs."""
    async with opened_state(tmp_path) as kept:
        await a_run_of_three(kept)
        kept.inbox.leaves("words")
        kept.inbox.closed(closed(Outcome.SUCCESS, Evidence.RAN), is_stopping=False)

    assert [row[1:3] for row in rows_of(tmp_path)] == [
        ("settled", "ran"), ("settled", "absorbed"), ("handed", None), ("handed", None),
    ]  # fmt: skip


def test_an_item_is_in_one_run() -> None:
    """Words that the host answers as a follow-up are that run's, and no longer the one's before."""
    state = custody.joined(custody.begun(Custody(), "t1", "a", ["b"]), "t1", "c")

    state = custody.begun(state, "t2", "c")

    assert (custody.covered(state, "t1"), custody.covered(state, "t2")) == (Covered("a", ("b",)), Covered("c"))
    assert custody.ended(custody.ended(state, "t1"), "t2") == Custody()


def test_nothing_else_ends_well_for_those_that_joined() -> None:
    """Every settlement and state is decided."""
    after = {each: custody.after_joined(each) for each in (*Settlement, State.HANDED, State.STARTED)}

    assert {each for each, becomes in after.items() if becomes is not each} == {
        Settlement.ANSWER, Settlement.SILENCE, Settlement.RAN,
    }  # fmt: skip
