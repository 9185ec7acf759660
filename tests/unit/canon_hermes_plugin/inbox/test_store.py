"""The inbox on disk: once a message, never past a message, nobody else's rows."""

from __future__ import annotations

from typing import Any

from canon_hermes_plugin.inbound.suppressed import CONVERSATIONS
from canon_hermes_plugin.inbox import cursors, store, turns
from canon_hermes_plugin.inbox.cursors import Step
from canon_hermes_plugin.inbox.items import Item, Settlement, State
from canon_hermes_plugin.inbox.recovery import DeadTurn
from canon_hermes_plugin.inbox.store import Receipt
from tests.support.canon_state import ANOTHER, NOW, OWNER, Rows

PAYLOAD = {
    "conversationId": "c1",
    "message": {"id": "m1", "text": "half a \ud83d emoji"},
    "replyAuthority": {"token": "t"},
}


def recorded(rows: Rows, item_id: str = "m1", step: Step | None = None, **more: Any) -> Receipt:
    values = {"owner": OWNER, "conversation": "c1", "payload": PAYLOAD, **more}
    return rows(
        store.record, values["owner"], item_id, values["conversation"], values["payload"], step=step, now_ms=NOW
    )


def started(rows: Rows, item_id: str = "m1", *, session: str = "s1", turn: str = "t1") -> None:
    rows(store.started, OWNER, item_id, session=session, turn_id=turn, now_ms=NOW)


def handed(rows: Rows, item_id: str = "m1", *, session: str = "s1", background: tuple[str, ...] = ()) -> None:
    rows(store.handed, OWNER, item_id, "c1", session=session, background=background, now_ms=NOW)


def states(rows: Rows) -> dict[str, str]:
    return dict(rows.table("SELECT item_id, coalesce(settlement, state) FROM inbox"))


def test_a_message_is_recorded_once(rows: Rows) -> None:
    """The same message again is known; until the host has it, it may still be handed over."""
    first, again = recorded(rows), recorded(rows)
    handed(rows)
    later = recorded(rows)

    assert (first, again, later) == (Receipt.NEW, Receipt.AGAIN, Receipt.KNOWN)
    assert rows(store.unsettled, OWNER) == [Item("m1", "c1", State.HANDED, PAYLOAD, session="s1")]


def test_the_cursor_moves_with_the_receipt(rows: Rows) -> None:
    """X1: one transaction carries both."""
    new = rows(cursors.begin_cursor, OWNER, now_ms=NOW)
    recorded(rows, "m1", Step(None, "e1"))

    assert (new, rows(cursors.cursor, OWNER)) == (True, "e1")
    assert rows(cursors.begin_cursor, OWNER, now_ms=NOW) is False


def test_the_cursor_waits_for_a_step_that_was_not_taken(rows: Rows) -> None:
    """X1: when a write fails and the next ones do not, the cursor stays before the message that is missing."""
    rows(cursors.begin_cursor, OWNER, now_ms=NOW)
    recorded(rows, "m1", Step(None, "e1"))
    # m2 with the step e1 -> e2 failed
    recorded(rows, "m3", Step("e2", "e3"))
    moved = rows(cursors.move_cursor, OWNER, Step("e3", "e4"), now_ms=NOW)
    waiting = rows(cursors.cursor, OWNER)
    rows(cursors.set_cursor, OWNER, "e1", now_ms=NOW)
    recorded(rows, "m2", Step("e1", "e2"))
    recorded(rows, "m3", Step("e2", "e3"))

    assert (moved, waiting, rows(cursors.cursor, OWNER)) == (False, "e1", "e3")


def test_a_run_begins_is_given_back_and_begins_again(rows: Rows) -> None:
    """X2: a run that left no trace does not count, and the next one may have another session and turn."""
    recorded(rows)
    handed(rows)
    started(rows)
    rows(store.give_back, OWNER, "m1", goes_on=True, now_ms=NOW)
    (queued,) = rows(store.unsettled, OWNER)
    started(rows, turn="t2")
    (again,) = rows(store.unsettled, OWNER)

    assert (queued.state, queued.runs, queued.turn_id) == (State.HANDED, 0, "t1")
    assert (again.state, again.turn_id, again.runs) == (State.STARTED, "t2", 1)


def test_a_turn_that_was_told_to_be_over_is_not_kept_for_the_next_run(rows: Rows) -> None:
    """X2: the message waits again, and its next run begins a turn of its own."""
    recorded(rows)
    started(rows)
    rows(store.give_back, OWNER, "m1", goes_on=False, now_ms=NOW)

    (waiting,) = rows(store.unsettled, OWNER)
    assert (waiting.state, waiting.turn_id) == (State.HANDED, None)


def test_a_run_that_died_is_not_forgotten_by_one_without_a_trace(rows: Rows) -> None:
    """X3: given back after a restart, the item still counts as started: its next run is marked."""
    recorded(rows)
    started(rows)  # and the gateway dies
    started(rows)
    rows(store.give_back, OWNER, "m1", goes_on=True, now_ms=NOW)

    (item,) = rows(store.unsettled, OWNER)
    assert (item.state, item.runs) == (State.STARTED, 1)


def test_a_hand_over_that_is_noted_late_takes_nothing_back(rows: Rows) -> None:
    """The run may begin before the hand-over is written down: it stays started, and keeps its background."""
    recorded(rows)
    started(rows)
    handed(rows, background=("[Ann] before",))

    assert rows(store.unsettled, OWNER) == [Item("m1", "c1", State.STARTED, PAYLOAD, ("[Ann] before",), "s1", "t1", 1)]


def test_what_is_settled_keeps_its_id_only(rows: Rows) -> None:
    """Content and authority leave the disk; the first reason stays, and no late call brings the item back."""
    recorded(rows)
    first = rows(store.settle, OWNER, "m1", Settlement.ANSWER, now_ms=NOW)
    second = rows(store.settle, OWNER, "m1", Settlement.FAILURE, now_ms=NOW)
    started(rows)
    handed(rows, background=("x",))
    rows(store.give_back, OWNER, "m1", goes_on=True, now_ms=NOW)

    assert (first, second, recorded(rows)) == (True, False, Receipt.KNOWN)
    assert rows(store.unsettled, OWNER) == []
    assert rows.table("SELECT settlement, payload, background FROM inbox") == [("answer", "", "[]")]


def test_an_idle_session_has_absorbed_what_it_was_given(rows: Rows) -> None:
    """What the host merged into another message never starts; it is settled when the session is idle, ``but`` one."""
    for item in ("merged", "steered", "queued", "elsewhere", "running"):
        recorded(rows, item)
        handed(rows, item, session="s2" if item == "elsewhere" else "s1")
    recorded(rows, "not handed")
    started(rows, "running")

    count = rows(store.absorb, OWNER, "s1", but={"queued"}, now_ms=NOW)

    assert count == 2
    assert states(rows) == {
        "merged": "absorbed",
        "steered": "absorbed",
        "queued": "handed",
        "elsewhere": "handed",
        "running": "started",
        "not handed": "recorded",
    }


def test_the_background_is_bounded_on_the_disk(rows: Rows) -> None:
    """R3.7: as many conversations as in the memory; the one that began first goes, and nobody else's."""
    rows(store.keep_background, ANOTHER, "c0", ("theirs",), step=None, now_ms=NOW)
    for number in range(CONVERSATIONS + 2):
        rows(store.keep_background, OWNER, f"c{number}", ("x",), step=None, now_ms=NOW + number)
    rows(store.keep_background, OWNER, "c2", ("x", "y"), step=None, now_ms=NOW + 1_000)

    kept = rows(store.background, OWNER)

    assert list(kept) == [f"c{number}" for number in range(2, CONVERSATIONS + 2)]
    assert (kept["c2"], rows(store.background, ANOTHER)) == (("x", "y"), {"c0": ("theirs",)})


def test_nobody_touches_another_agents_rows(rows: Rows) -> None:
    """X1: every statement is bound to environment and agent; only the count shows all."""
    for owner in (OWNER, ANOTHER):
        rows(cursors.begin_cursor, owner, now_ms=NOW)
        recorded(rows, "m1", Step(None, "e1"), owner=owner)
        rows(store.keep_background, owner, "c1", ("x",), step=Step("e1", "e2"), now_ms=NOW)
        rows(turns.open_turn, owner, "t1", "c1", now_ms=NOW)
    before = rows(store.unsettled, ANOTHER)

    handed(rows, background=("x",))
    started(rows)
    rows(store.settle, OWNER, "m1", Settlement.ANSWER, now_ms=NOW)
    rows(store.absorb, OWNER, "s1", but=(), now_ms=NOW)
    rows(store.prune, OWNER, kept=0)
    rows(cursors.set_cursor, OWNER, None, now_ms=NOW)
    rows(turns.close_turn, OWNER, "t1")
    rows(turns.forget_closed, OWNER, "c1")

    assert rows(store.unsettled, ANOTHER) == before
    assert (rows(cursors.cursor, ANOTHER), rows(store.background, ANOTHER)) == ("e2", {"c1": ("x",)})
    assert rows(turns.dead_turns, ANOTHER) == [DeadTurn("t1", "c1", NOW)]
    assert (rows(store.unsettled, OWNER), rows(store.background, OWNER), rows(turns.dead_turns, OWNER)) == ([], {}, [])
    assert [(each.owner, each.state, each.count) for each in rows(store.tally)] == [(ANOTHER, State.RECORDED, 1)]


def test_only_the_newest_finished_messages_are_remembered(rows: Rows) -> None:
    """The file does not grow with the number of messages; unfinished ones are never forgotten."""
    recorded(rows, "waits")
    handed(rows, "waits")
    for number in range(6):
        recorded(rows, f"m{number}")
        rows(store.settle, OWNER, f"m{number}", Settlement.ANSWER, now_ms=NOW)

    gone = rows(store.prune, OWNER, kept=4)

    assert gone == 2
    assert rows(store.settled_ids, OWNER, limit=3) == ["m3", "m4", "m5"]
    assert [item.item_id for item in rows(store.unsettled, OWNER)] == ["waits"]


def test_what_came_behind_a_message_that_waits_is_remembered(rows: Rows) -> None:
    """D21: the stream is resumed before it and brings all of them again; up to a limit, the file stays small."""
    recorded(rows, "waits")
    for number in range(6):
        recorded(rows, f"m{number}")
        rows(store.settle, OWNER, f"m{number}", Settlement.ANSWER, now_ms=NOW)

    gone = rows(store.prune, OWNER, kept=2)
    again = [recorded(rows, f"m{number}") for number in range(6)]
    beyond = rows(store.prune, OWNER, kept=2, kept_behind=5)
    handed(rows, "waits")
    rest = rows(store.prune, OWNER, kept=2)

    assert (gone, again, beyond, rest) == (0, [Receipt.KNOWN] * 6, 1, 3)


def test_background_is_kept_until_it_is_taken(rows: Rows) -> None:
    """R3.8: the lines of a conversation wait on disk, and move to the message that takes them."""
    rows(store.keep_background, OWNER, "c1", ("[Ann] one",), step=None, now_ms=NOW)
    rows(store.keep_background, OWNER, "c2", ("[Ben] two",), step=None, now_ms=NOW + 1)
    rows(store.keep_background, OWNER, "c1", ("[Ann] one", "[Ann] \ud83d"), step=None, now_ms=NOW + 2)
    kept = rows(store.background, OWNER)
    recorded(rows)
    handed(rows, background=kept["c1"])

    assert list(kept.items()) == [("c1", ("[Ann] one", "[Ann] \ud83d")), ("c2", ("[Ben] two",))]
    assert (rows(store.background, OWNER), rows(store.unsettled, OWNER)[0].background) == (
        {"c2": ("[Ben] two",)},
        kept["c1"],
    )
