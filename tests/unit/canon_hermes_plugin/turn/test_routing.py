"""What becomes of each send and edit: the table, row by row."""

from __future__ import annotations

from typing import Any

import pytest

from canon_hermes_plugin.turn import registry
from canon_hermes_plugin.turn.events import Ended, Kind, Opening, Outcome, Silenced, Staged
from canon_hermes_plugin.turn.registry import Caller, Turns
from canon_hermes_plugin.turn.routing import (
    Auxiliary,
    Duplicate,
    Marks,
    Open,
    Plain,
    Replay,
    Route,
    Stage,
    Stale,
    route_edit,
    route_send,
)
from canon_ops.wire.dispatch import TurnSemantics
from canon_ops.wire.ids import ConversationId, SessionKey, TurnId, stream_message_id
from tests.support.pure_desk import PureDesk

NOW = 1_790_000_000_000
C1 = ConversationId("c1")
A, B = TurnId("turn-A"), TurnId("turn-B")
DRAFT: dict[str, Any] = {"expect_edits": True}
NOTIFY: dict[str, Any] = {"notify": True}
NOBODY = Caller()
OWN = Caller(bound=A)


def a_turn(turns: Turns, turn: TurnId, **fields: Any) -> Turns:
    opening = Opening(turn, C1, quiet=False, session=SessionKey(turn), **fields)
    return registry.open_turn(turns, opening, now_ms=NOW).turns


ONE = a_turn(Turns(), A)
TWO = a_turn(ONE, B)
FAILED = registry.apply(ONE, A, Ended(Outcome.FAILURE), now_ms=NOW).turns
FAILED_BESIDE = registry.apply(TWO, A, Ended(Outcome.FAILURE), now_ms=NOW).turns
CANCELLED = registry.apply(ONE, A, Ended(Outcome.CANCELLED), now_ms=NOW).turns
ANNOUNCED = registry.announce(ONE, A, Opening(B, C1, quiet=False, session=SessionKey(A)))
ANSWERED = registry.apply(ANNOUNCED, A, Staged("first", True), now_ms=NOW).turns


@pytest.mark.parametrize(
    ("turns", "caller"),
    [
        pytest.param(ONE, OWN, id="own run"),
        pytest.param(ONE, NOBODY, id="beside a turn"),
        pytest.param(ANNOUNCED, OWN, id="a follow-up is announced"),
        pytest.param(ANSWERED, OWN, id="the first answer is there"),
        pytest.param(Turns(), NOBODY, id="no turn"),
    ],
)
@pytest.mark.parametrize(
    ("metadata", "is_draft"),
    [
        ({"expect_edits": True}, True),
        ({"expect_edits": True, "notify": True}, False),
        ({}, False),
        (None, False),
        ({"notify": True}, False),
    ],
)
def test_s7_46_what_a_draft_is(turns: Turns, caller: Caller, metadata: object, is_draft: bool) -> None:
    """S7.46: ``expect_edits`` alone begins one; with ``notify`` beside it the text is finished, as with that alone."""
    route = route_send(turns, C1, caller, Marks.read(metadata), connected=True)

    assert (isinstance(route, Stage | Open) and not route.finalized) is is_draft
    if isinstance(metadata, dict) and metadata.get("notify"):
        assert route == route_send(turns, C1, caller, Marks.read(NOTIFY), connected=True)


@pytest.mark.parametrize(
    ("turns", "caller", "marks", "route"),
    [
        pytest.param(ONE, OWN, {}, Auxiliary(A), id="own run, unmarked"),
        pytest.param(ONE, NOBODY, {}, Auxiliary(A), id="S7.51-another task"),
        pytest.param(TWO, NOBODY, {}, Auxiliary(None), id="S7.51-two turns"),
        pytest.param(ONE, OWN, DRAFT, Stage(A, False, is_new=True), id="own draft"),
        pytest.param(ONE, OWN, NOTIFY, Stage(A, True, is_new=True), id="own answer"),
        pytest.param(ONE, NOBODY, NOTIFY, Open(Kind.OWN, True), id="S7.49-a command's reply"),
        pytest.param(ONE, NOBODY, DRAFT, Open(Kind.OWN, False), id="a draft beside the turn"),
        pytest.param(Turns(), NOBODY, {"job_id": "j1"}, Plain(), id="a job's report"),
        pytest.param(Turns(), NOBODY, {"job_id": "j1", **NOTIFY}, Plain(), id="a job's report, to be noticed"),
        pytest.param(ONE, NOBODY, {"job_id": "j1", **NOTIFY}, Open(Kind.OWN, True), id="a job's report beside a turn"),
        pytest.param(
            ONE, OWN, {"is_approval_prompt": True}, Open(Kind.OWN, True, semantics=TurnSemantics.CONTROL), id="prompt"
        ),
        pytest.param(
            FAILED,
            OWN,
            {"is_approval_prompt": True},
            Open(Kind.OWN, True, semantics=TurnSemantics.CONTROL),
            id="prompt of a turn that is over",
        ),
        pytest.param(FAILED, OWN, {}, Open(Kind.OWN, True), id="notice"),
        pytest.param(FAILED_BESIDE, OWN, {}, Open(Kind.OWN, True), id="notice beside another turn"),
        pytest.param(FAILED, OWN, NOTIFY, Stale(), id="an answer after a failure"),
        pytest.param(CANCELLED, OWN, {}, Stale(), id="unmarked after a stop"),
        pytest.param(CANCELLED, OWN, NOTIFY, Stale(), id="an answer after a stop"),
        pytest.param(ANNOUNCED, OWN, {}, Stage(A, True, is_new=True), id="first answer, follow-up announced"),
        pytest.param(ANNOUNCED, OWN, DRAFT, Stage(A, False, is_new=True), id="the first answer begins to stream late"),
        pytest.param(ANNOUNCED, OWN, NOTIFY, Stage(A, True, is_new=True), id="the first answer, whole and late"),
        pytest.param(ANSWERED, OWN, DRAFT, Stage(A, False, is_new=True), id="more of the first answer"),
        pytest.param(ANSWERED, OWN, {}, Auxiliary(A), id="unmarked, but the first answer is there"),
        pytest.param(ANNOUNCED, NOBODY, {}, Auxiliary(A), id="unmarked from another task"),
        pytest.param(ANSWERED, OWN, NOTIFY, Stage(B, True, is_new=True), id="the follow-up's answer"),
        pytest.param(Turns(), NOBODY, {}, Plain(), id="no turn, unmarked"),
        pytest.param(Turns(), NOBODY, DRAFT, Open(Kind.LOOSE, False), id="no turn, draft"),
        pytest.param(Turns(), NOBODY, NOTIFY, Open(Kind.LOOSE, True), id="no turn, answer"),
    ],
)
def test_where_a_send_goes(turns: Turns, caller: Caller, marks: dict[str, Any], route: Route) -> None:
    """Each row of the table in the module docstring."""
    assert route_send(turns, C1, caller, Marks.read(marks), connected=True) == route


@pytest.mark.parametrize("marks", [{}, DRAFT, NOTIFY])
def test_s2_15_after_a_disconnect_nothing_is_written(marks: dict[str, Any]) -> None:
    """S2.15, R2.7: sends and edits succeed and do nothing."""
    assert route_send(ONE, C1, OWN, Marks.read(marks), connected=False) == Stale()
    assert route_edit(ONE, C1, OWN, A, finalize=True, connected=False) == Stale()
    assert Stale().raw == {"suppressedStaleOutput": True}


STREAM_A = stream_message_id(A, "0" * 32)


@pytest.mark.parametrize(
    ("turns", "caller", "message_id", "finalize", "route"),
    [
        pytest.param(ONE, OWN, STREAM_A, False, Stage(A, False, STREAM_A), id="a segment"),
        pytest.param(ONE, OWN, A, True, Stage(A, True), id="the turn itself"),
        pytest.param(ONE, NOBODY, STREAM_A, True, Stage(A, True, STREAM_A), id="named by its id"),
        pytest.param(ANNOUNCED, OWN, STREAM_A, True, Stage(A, True, STREAM_A), id="the first turn's last edit"),
        pytest.param(CANCELLED, OWN, STREAM_A, True, Stale(), id="a segment of a closed turn"),
        pytest.param(CANCELLED, NOBODY, STREAM_A, True, Stale(), id="from another task too"),
        pytest.param(CANCELLED, NOBODY, A, True, Stale(), id="a closed turn by name"),
        pytest.param(Turns(), NOBODY, STREAM_A, True, Stale(), id="a segment nobody remembers"),
        pytest.param(ONE, OWN, "m-9", True, Auxiliary(A), id="own run, foreign message"),
        pytest.param(ONE, NOBODY, "m-9", True, Open(Kind.OWN, True, TurnId("m-9")), id="beside a turn"),
        pytest.param(Turns(), NOBODY, "m-9", True, Open(Kind.LOOSE, True, TurnId("m-9")), id="no turn, finished"),
        pytest.param(Turns(), NOBODY, "m-9", False, Open(Kind.LOOSE, False, TurnId("m-9")), id="no turn, draft"),
    ],
)
def test_where_an_edit_goes(turns: Turns, caller: Caller, message_id: str, finalize: bool, route: Route) -> None:
    """An edit goes to what it names, unless that is over."""
    assert route_edit(turns, C1, caller, message_id, finalize=finalize, connected=True) == route


def test_s7_49_a_commands_reply_is_its_own_message() -> None:
    """S7.49: it is delivered at once, and the turn's answer does not contain it."""
    desk = PureDesk()
    turn = desk.open()

    desk.send(NOBODY, "Status: fine", **NOTIFY)
    at_once = list(desk.texts)
    desk.tool(turn)
    desk.send(turn, "The answer.", **NOTIFY)
    desk.complete(turn)

    assert at_once == ["Status: fine"]
    assert desk.texts == ["Status: fine", "The answer."]
    reply, answer = desk.sent
    assert "turnId" not in reply.metadata
    assert "turnTrail" not in reply.metadata
    assert reply.message_id != answer.message_id
    assert [state for state, turn_id in desk.states if turn_id != "hermes-turn-1"] == []


@pytest.mark.parametrize("case", ["silenced", "answered"])
def test_s7_50_a_commands_reply_touches_nothing(case: str) -> None:
    """S7.50: a silenced turn stays silent, a staged answer is still delivered."""
    desk = PureDesk()
    turn = desk.open()
    if case == "silenced":
        desk.event(turn, Silenced())
    else:
        desk.send(turn, "The answer.", **NOTIFY)

    desk.send(NOBODY, "Status: fine", **NOTIFY)
    desk.complete(turn)

    assert desk.texts == (["Status: fine"] if case == "silenced" else ["Status: fine", "The answer."])


def test_s7_52_a_draft_outside_a_turn_is_delivered_when_it_is_finished() -> None:
    """S7.52: one message with the finalised text, and the chat does not stay busy."""
    desk = PureDesk()

    draft = desk.send(NOBODY, "pre", **DRAFT).message_id
    assert draft is not None
    desk.edit(NOBODY, draft, "pre and post", finalize=True)
    desk.settle()

    assert desk.texts == ["pre and post"]
    assert desk.state_names == ["streaming", "completed"]
    assert desk.cleared == [draft]
    assert desk.turns.live == {}


def test_a_finished_draft_is_finished_once() -> None:
    """R7.6, D53: finishing it again is a duplicate, editing it again is ignored."""
    desk = PureDesk()
    draft = desk.send(NOBODY, "pre", **DRAFT).message_id
    assert draft is not None
    desk.edit(NOBODY, draft, "whole", finalize=True)
    desk.settle()

    again = desk.edit(NOBODY, draft, "whole", finalize=True)
    late = desk.edit(NOBODY, draft, "late")

    assert again.raw == late.raw == {"duplicateFinal": True, "turnId": draft}
    assert desk.texts == ["whole"]


def test_s7_36_an_unsettled_message_is_repeated_not_doubled() -> None:
    """S7.36: after lost responses a send or a finalising edit repeats the same operation."""
    desk = PureDesk(hold_finals=True)
    answer = desk.send(NOBODY, "hello", **NOTIFY)
    assert answer.message_id is not None

    by_send = route_send(desk.turns, C1, NOBODY, Marks.read(NOTIFY), connected=True)
    by_edit = route_edit(desk.turns, C1, NOBODY, answer.message_id, finalize=True, connected=True)

    assert by_send == by_edit == Replay(TurnId(answer.message_id))


def test_a_draft_beside_a_turn_is_delivered_only_when_finished() -> None:
    """R7.2, last row: no preview while the turn is open; the finished text is its own message."""
    desk = PureDesk()
    turn = desk.open()
    draft = desk.send(NOBODY, "beside", **DRAFT).message_id
    assert draft is not None

    desk.edit(NOBODY, draft, "beside, more")
    shown = list(desk.streams)
    desk.edit(NOBODY, draft, "beside, whole", finalize=True)
    desk.send(turn, "The answer.", **NOTIFY)
    desk.complete(turn)

    assert shown == []
    assert desk.texts == ["beside, whole", "The answer."]


def test_routes_know_their_raw_objects() -> None:
    """The host's result says what happened."""
    assert Auxiliary(A).raw == {"suppressedAuxiliary": True, "turnId": A}
    assert Stage(A, True).raw == {"streaming": True, "turnId": A, "finalPending": True}
    assert Duplicate(A).raw == {"duplicateFinal": True, "turnId": A}
