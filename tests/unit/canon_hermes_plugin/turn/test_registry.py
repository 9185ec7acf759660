"""Whose turn is meant, who follows whom, and whose text the node holds."""

from __future__ import annotations

import pytest

from canon_hermes_plugin.turn import registry
from canon_hermes_plugin.turn.effects import ClearNode, PublishState, RetireNode, WritePreview
from canon_hermes_plugin.turn.events import (
    Due,
    Ended,
    FinalSettled,
    Opening,
    Outcome,
    PreviewEnded,
    Silenced,
    Staged,
    ToolStarted,
)
from canon_hermes_plugin.turn.machine import LINGER_MS
from canon_hermes_plugin.turn.registry import PAST_TURNS, Caller, Found, Move, Nobody, Turns, find
from canon_ops.wire.ids import ConversationId, SessionKey, TurnId

NOW = 1_790_000_000_000
C1, C2 = ConversationId("c1"), ConversationId("c2")
A, B, C = TurnId("turn-A"), TurnId("turn-B"), TurnId("turn-C")
USER_A, USER_B = SessionKey("user-a"), SessionKey("user-b")


def opened(*openings: Opening) -> Turns:
    turns = Turns()
    for opening in openings:
        turns = registry.open_turn(turns, opening, now_ms=NOW).turns
    return turns


def a(turn: TurnId = A, session: SessionKey | None = USER_A, conversation: ConversationId = C1) -> Opening:
    return Opening(turn, conversation, quiet=False, session=session)


ONE = opened(a())
TWO = opened(a(), a(B, USER_B))
ENDED = registry.apply(TWO, A, Ended(Outcome.CANCELLED), now_ms=NOW).turns


@pytest.mark.parametrize(
    ("turns", "caller", "expected"),
    [
        pytest.param(Turns(), Caller(), Nobody("none"), id="no turn"),
        pytest.param(ONE, Caller(), Found(A), id="the only one"),
        pytest.param(TWO, Caller(), Nobody("ambiguous"), id="two"),
        pytest.param(TWO, Caller(bound=B), Found(B), id="bound"),
        pytest.param(TWO, Caller(bound=B, session=USER_A), Found(B), id="bound wins over session"),
        pytest.param(TWO, Caller(session=USER_A), Found(A), id="session"),
        pytest.param(ONE, Caller(session=USER_B), Nobody("none"), id="D8: a session without a turn gets no other's"),
        pytest.param(ENDED, Caller(bound=A), Nobody("stale"), id="bound to a closed turn"),
        pytest.param(ENDED, Caller(session=USER_A), Nobody("none"), id="its session has none"),
        pytest.param(ENDED, Caller(), Found(B), id="only the other is left"),
        pytest.param(ONE, Caller(bound=TurnId("forgotten")), Nobody("stale"), id="bound to a forgotten turn"),
    ],
)
def test_which_turn_a_call_means(turns: Turns, caller: Caller, expected: Found | Nobody) -> None:
    """R6.8: the task's turn, then the session's, then the only one."""
    assert find(turns, C1, caller) == expected


def test_a_task_of_another_conversation_is_not_bound_here() -> None:
    """A message sent into another conversation is judged by that conversation's turns."""
    turns = opened(a(conversation=C2), a(B, USER_B))

    assert find(turns, C1, Caller(bound=A)) == Found(B)


def test_opening_a_turn_twice_is_our_own_bug() -> None:
    """An id is used once."""
    with pytest.raises(ValueError, match="open already"):
        registry.open_turn(ONE, a(), now_ms=NOW)


def test_a_new_start_finishes_what_the_session_left_open() -> None:
    """A start hook without a completion before it does not merge two answers."""
    turns = registry.apply(ONE, A, Staged("first", True), now_ms=NOW).turns

    move = registry.open_turn(turns, a(B), now_ms=NOW)

    assert move.turns.open_for(USER_A) == move.turns.live[B]
    assert not move.turns.live[A].is_open
    assert [type(effect) for effect in move.effects if not isinstance(effect, WritePreview)][-1] is PublishState
    assert move.turns.live[B].state == "thinking"


def test_a_turn_that_closes_behind_its_successor_says_the_successors_state_again() -> None:
    """R6.34: where the follow-up could not wait for it; what the conversation shows then is who is at work."""
    turns = registry.announce(registry.apply(ONE, A, Staged("first", True), now_ms=NOW).turns, A, a(B))
    turns = registry.apply(turns, A, PreviewEnded(True), now_ms=NOW).turns
    turns = registry.cross(turns, A, now_ms=NOW).turns

    turns = registry.apply(turns, A, FinalSettled(), now_ms=NOW).turns
    move = registry.apply(turns, A, Due(), now_ms=NOW + LINGER_MS)

    told = [(effect.turn_id, effect.state.value) for effect in move.effects if isinstance(effect, PublishState)]
    assert told == [(A, "completed"), (B, "thinking")]


def test_of_several_that_go_on_the_newest_is_shown() -> None:
    """D39: Canon keeps one state a conversation; after an end it is that of the turn that opened last."""
    three = opened(a(), a(B, USER_B), a(C, SessionKey("user-c")))

    move = registry.apply(three, B, Ended(Outcome.CANCELLED), now_ms=NOW)

    told = [(effect.turn_id, effect.state.value) for effect in move.effects if isinstance(effect, PublishState)]
    assert told == [(B, "interrupted"), (C, "thinking")]


def test_a_chain_of_follow_ups_is_followed() -> None:
    """Whoever is bound to the first turn of a run means the one that runs now."""
    turns = ONE
    for before, after in ((A, B), (B, C)):
        turns = registry.announce(turns, A, a(after))
        turns = registry.cross(turns, before, now_ms=NOW).turns

    assert turns.current(A) == C
    assert find(turns, C1, Caller(bound=A)) == Found(C)


def test_without_an_announcement_nothing_is_crossed() -> None:
    """The typing call of an ordinary run changes nothing."""
    assert registry.cross(ONE, A, now_ms=NOW) == Move(ONE)


def test_a_closed_turn_announces_nothing() -> None:
    """An announcement after the end has no run to continue."""
    assert registry.announce(ENDED, A, a(C)) == ENDED


def test_an_announcement_dies_with_its_turn() -> None:
    """A run that failed before the boundary takes its follow-up with it: the host starts that one anew."""
    turns = registry.announce(ONE, A, a(B))

    after = registry.apply(turns, A, Ended(Outcome.CANCELLED), now_ms=NOW).turns

    assert after.announced == {}
    assert registry.cross(after, A, now_ms=NOW).effects == ()


def test_a_childs_tool_crosses_no_boundary() -> None:
    """D63: only a tool of the run itself begins the follow-up."""
    turns = registry.announce(ONE, A, a(B))

    child = registry.apply(turns, A, ToolStarted("grep", delegated=True), now_ms=NOW).turns
    own = registry.apply(turns, A, ToolStarted("grep"), now_ms=NOW).turns

    assert (child.current(A), own.current(A)) == (A, B)
    assert [block.title for block in own.live[B].activity.blocks] == ["grep"]


def shown(turns: Turns, turn: TurnId, text: str) -> Turns:
    move = registry.apply(turns, turn, Staged(text, False), now_ms=NOW)
    assert any(isinstance(effect, WritePreview) for effect in move.effects)
    return registry.apply(move.turns, turn, PreviewEnded(True), now_ms=NOW).turns


@pytest.mark.parametrize(
    ("writers", "clears"),
    [((), True), ((A,), True), ((B,), False), ((A, B), False), ((B, A), True)],
    ids=["nobody", "itself", "the other", "the other last", "itself last"],
)
def test_a_turn_clears_only_its_own_node(writers: tuple[TurnId, ...], clears: bool) -> None:
    """D8: the node belongs to whoever wrote it last."""
    turns = TWO
    for writer in writers:
        turns = shown(turns, writer, f"text of {writer}")

    move = registry.apply(turns, A, Ended(Outcome.CANCELLED), now_ms=NOW)

    assert any(isinstance(effect, ClearNode) for effect in move.effects) is clears


def test_a_quiet_start_does_not_empty_anothers_node() -> None:
    """R6.16 is about dead turns' nodes."""
    turns = shown(ONE, A, "alive")

    move = registry.open_turn(turns, Opening(B, C1, quiet=True, session=USER_B), now_ms=NOW)

    assert not any(isinstance(effect, RetireNode) for effect in move.effects)


def test_a_long_run_knows_itself_after_any_number_of_follow_ups_elsewhere() -> None:
    """R6.34: the task of a run is bound to its first turn; its answer is not taken for one of a run that is over."""
    turns = registry.cross(registry.announce(opened(a()), A, a(B)), A, now_ms=NOW).turns
    for number in range(PAST_TURNS + 1):
        first, second, session = TurnId(f"t{number}"), TurnId(f"u{number}"), SessionKey("user-b")
        turns = registry.open_turn(turns, a(first, session, C2), now_ms=NOW).turns
        turns = registry.cross(registry.announce(turns, first, a(second, session, C2)), first, now_ms=NOW).turns
        turns = registry.apply(turns, second, Ended(Outcome.CANCELLED), now_ms=NOW).turns

    assert find(turns, C1, Caller(A)) == Found(B)
    assert len(turns.successors) == PAST_TURNS


def test_a_silence_does_not_pass_to_the_turn_that_takes_over() -> None:
    """R8.9: the next turn of the session speaks, though the silenced one was still open when it began."""
    silenced = registry.apply(ONE, A, Silenced(), now_ms=NOW).turns

    turns = registry.open_turn(silenced, a(B), now_ms=NOW).turns

    assert (silenced.live[A].silenced, turns.live[B].silenced) == (True, False)


def test_past_turns_are_forgotten_one_by_one() -> None:
    """D42: the oldest goes when there are more than 1,024."""
    turns = Turns()
    for number in range(PAST_TURNS + 1):
        turn = TurnId(f"t{number}")
        turns = registry.open_turn(turns, a(turn), now_ms=NOW).turns
        turns = registry.apply(turns, turn, Ended(Outcome.CANCELLED), now_ms=NOW).turns

    assert len(turns.past) == PAST_TURNS
    assert ("t0" in turns.past, "t1" in turns.past) == (False, True)
    assert turns.live == {}
