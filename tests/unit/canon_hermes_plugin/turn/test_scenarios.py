"""Section 6 as the host's calls: what of a run is shown, and what becomes of it at the end.

Conversation ``c1``, turn ``hermes-turn-1``, a direct chat unless a test says otherwise.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from canon_hermes_plugin.turn.events import (
    Ended,
    InputAsked,
    InputClosed,
    Outcome,
    Silenced,
    SteeringAccepted,
    ToolFinished,
    ToolStarted,
)
from canon_hermes_plugin.turn.registry import Caller, Turns
from canon_ops.wire.ids import TurnId
from canon_ops.wire.messages import ReplyAuthority
from canon_ops.wire.trail import final_trail
from tests.support.pure_desk import PureDesk

NOBODY = Caller()
DRAFT: dict[str, Any] = {"expect_edits": True}
NOTIFY: dict[str, Any] = {"notify": True}
TURN = TurnId("hermes-turn-1")


def trail_kinds(desk: PureDesk) -> list[str]:
    return [block["kind"] for block in desk.sent[-1].metadata.get("turnTrail", ())]


def test_s6_1_a_draft_is_shown_and_not_sent() -> None:
    """S6.1: the beginning of a draft becomes one write of the node and no message."""
    desk = PureDesk()
    turn = desk.open()

    answer = desk.send(turn, "partial text", **DRAFT)

    assert desk.texts == []
    assert [(stream.text, stream.status) for stream in desk.streams] == [("partial text", "streaming")]
    assert answer.raw == {"streaming": True, "turnId": TURN, "finalPending": False}
    assert answer.message_id is not None


def test_s6_2_unmarked_sends_are_acknowledged_only() -> None:
    """S6.2: progress of the host is not posted; the answer is, once, when the run completes."""
    desk = PureDesk()
    turn = desk.open()

    progress = [desk.send(turn, "⏳ working"), desk.send(turn, "⏳ still working")]
    desk.send(turn, "The final answer.", **NOTIFY)
    before = list(desk.texts)
    desk.complete(turn)

    assert [(answer.success, answer.message_id) for answer in progress] == [(True, None)] * 2
    assert all(answer.raw["suppressedAuxiliary"] is True for answer in progress)
    assert (before, desk.texts) == ([], ["The final answer."])


def test_s6_3_a_run_that_said_nothing_only_clears() -> None:
    """S6.3: with unmarked sends alone there is no message, and the node is deleted once."""
    desk = PureDesk()
    turn = desk.open()

    desk.send(turn, "⏳ working")
    desk.complete(turn)

    assert (desk.texts, desk.cleared) == ([], [TURN])


def test_s6_4_outside_a_turn_a_send_is_a_message() -> None:
    """S6.4: it notifies, carries no trail, and shows nothing on the node."""
    desk = PureDesk()

    desk.send(NOBODY, "hello")

    (message,) = desk.sent
    assert message.text == "hello"
    assert message.metadata == {"turnSemantics": "turn_complete", "turnComplete": True}
    assert desk.streams == []


def test_s6_5_a_streamed_answer_after_a_tool() -> None:
    """S6.5: nothing is sent before completion; then one message with the trail, and one clear."""
    desk = PureDesk()
    turn = desk.open()
    desk.tool(turn, "grep", duration_ms=42)

    desk.edit(turn, TURN, "growing")
    desk.edit(turn, TURN, "final answer", finalize=True)
    before = list(desk.texts)
    desk.complete(turn)

    assert before == []
    (message,) = desk.sent
    assert message.metadata["turnSemantics"] == "turn_complete"
    assert message.metadata["turnId"] == TURN
    tool, text = message.metadata["turnTrail"]
    assert (tool["kind"], tool["status"], tool["title"], tool["turnId"]) == ("tool", "completed", "grep", TURN)
    assert tool["summary"] == "42 ms"
    assert (text["kind"], text["text"]) == ("text", "final answer")
    growing = next(stream for stream in desk.streams if stream.text == "growing")
    assert growing.kinds == ["tool", "text"]
    assert desk.cleared == [TURN]


def test_s6_6_finalising_twice_sends_once() -> None:
    """S6.6: an equal second finalisation changes nothing."""
    desk = PureDesk()
    turn = desk.open()

    desk.edit(turn, TURN, "answer", finalize=True)
    desk.edit(turn, TURN, "answer", finalize=True)
    desk.complete(turn)

    assert desk.texts == ["answer"]


def test_s6_7_a_second_part_is_joined() -> None:
    """S6.7: an edit that names the turn itself means the last part."""
    desk = PureDesk()
    turn = desk.open()

    desk.edit(turn, TURN, "chunk one", finalize=True)
    desk.send(turn, "chunk two ", **DRAFT)
    desk.edit(turn, TURN, "chunk two done", finalize=True)
    desk.complete(turn)

    assert desk.texts == ["chunk one\nchunk two done"]


def test_s6_8_a_draft_that_is_final_is_sent_at_completion() -> None:
    """S6.8: both marks together stage a finished text."""
    desk = PureDesk()
    turn = desk.open()

    desk.send(turn, "OK", **DRAFT, **NOTIFY)
    before = list(desk.texts)
    desk.complete(turn)

    assert (before, desk.texts) == ([], ["OK"])


def test_s6_9_finalising_a_final_draft_changes_nothing() -> None:
    """S6.9: the edit of the returned id is the same part."""
    desk = PureDesk()
    turn = desk.open()

    answer = desk.send(turn, "OK", **DRAFT, **NOTIFY)
    assert answer.message_id is not None
    desk.edit(turn, answer.message_id, "OK", finalize=True)
    desk.complete(turn)

    assert desk.texts == ["OK"]


def test_s6_10_parts_of_a_fallback_are_one_message() -> None:
    """S6.10: three marked sends are three lines of one answer."""
    desk = PureDesk()
    turn = desk.open()

    for part in (1, 2, 3):
        desk.send(turn, f"part {part}", **NOTIFY)
    desk.complete(turn)

    assert desk.texts == ["part 1\npart 2\npart 3"]


@pytest.mark.parametrize("interleaved", [False, True], ids=["S6.11", "S6.12-concurrently"])
def test_two_turns_of_a_group_keep_their_answers(interleaved: bool) -> None:
    """S6.11, S6.12: each task edits its own turn, and each answer is its own message with its own turn id."""
    desk = PureDesk()
    alice = desk.open("turn-A", session="user-a", quiet=True)
    bob = desk.open("turn-B", session="user-b", quiet=True)
    drafts = {
        alice: desk.send(alice, "Alice", **DRAFT).message_id,
        bob: desk.send(bob, "Bob", **DRAFT).message_id,
    }

    for caller, text in ((alice, "Alice answer"), (bob, "Bob answer")):
        draft = drafts[caller]
        assert draft is not None
        if interleaved:
            desk.edit(caller, draft, text[:7])
        desk.edit(caller, draft, text, finalize=True)
    desk.complete(alice)
    desk.complete(bob)

    assert desk.texts == ["Alice answer", "Bob answer"]
    assert [message.metadata["turnId"] for message in desk.sent] == ["turn-A", "turn-B"]
    assert len({message.message_id for message in desk.sent}) == 2


def test_s6_13_a_tool_seals_only_its_own_turn() -> None:
    """S6.13: a tool in one member's turn leaves the other's staged answer alone."""
    desk = PureDesk()
    alice = desk.open("turn-A", session="user-a", quiet=True)
    bob = desk.open("turn-B", session="user-b", quiet=True)
    desk.send(alice, "Alice", **NOTIFY)
    desk.send(bob, "Bob answer", **NOTIFY)

    desk.tool_started(alice)
    desk.complete(alice)
    desk.complete(bob)

    assert desk.texts == ["Bob answer"]


def test_s6_14_speech_before_a_tool_is_trail() -> None:
    """S6.14: what was said before the tool is in the trail and on the node, and the answer is what came after."""
    desk = PureDesk()
    turn = desk.open()

    desk.edit(turn, TURN, "I will inspect the files.", finalize=True)
    desk.tool(turn, "grep")
    desk.edit(turn, TURN, "The final answer.", finalize=True)
    desk.complete(turn)

    last = next(stream for stream in reversed(desk.streams) if stream.status == "streaming" and stream.blocks)
    assert last.kinds == ["text", "tool", "text"]
    assert desk.texts == ["The final answer."]
    trail = desk.sent[0].metadata["turnTrail"]
    assert [block["kind"] for block in trail] == ["text", "tool", "text"]
    assert [trail[0]["text"], trail[2]["text"]] == ["I will inspect the files.", "The final answer."]
    assert trail[1]["title"] == "grep"


def test_s6_16_a_trail_goes_with_the_message() -> None:
    """S6.16: the message carries the trail, and the turn is forgotten afterwards."""
    desk = PureDesk()
    turn = desk.open()
    desk.tool(turn)
    desk.send(turn, "Done.", **NOTIFY)

    desk.complete(turn)

    assert trail_kinds(desk) == ["tool", "text"]
    assert desk.turns.live == {}


def test_s6_17_a_tool_outside_a_turn_is_not_recorded() -> None:
    """S6.17: without an open turn the hook finds nobody."""
    desk = PureDesk()

    assert desk.event(NOBODY, ToolFinished("grep")) is False
    assert desk.streams == []


def test_s6_17_a_turn_that_is_over_hears_no_tool() -> None:
    """S6.17: while its answer is on its way nothing is recorded in it, whoever calls."""
    desk = PureDesk(hold_finals=True)
    turn = desk.open()
    desk.send(turn, "Done.", **NOTIFY)
    desk.complete(turn)
    before = desk.turns

    for caller in (turn, NOBODY):
        assert desk.event(caller, ToolStarted("grep", "t9")) is False
    assert desk.turns is before
    assert TURN in before.live


@pytest.mark.parametrize("status", ["ok", "error"])
def test_s6_46_a_tool_that_failed_is_told_with_the_answer(status: str) -> None:
    """S6.46: the trail says of each tool how it ended."""
    desk = PureDesk()
    turn = desk.open()
    desk.event(turn, ToolStarted("grep", "t1"))
    desk.event(turn, ToolFinished("grep", "t1", status=status))
    desk.send(turn, "Done.", **NOTIFY)

    desk.complete(turn)

    (tool,) = (block for block in desk.sent[0].metadata["turnTrail"] if block["kind"] == "tool")
    assert tool["status"] == ("completed" if status == "ok" else "failed")


def test_s6_19_a_preview_that_fails_costs_nothing_but_the_preview() -> None:
    """S6.19: both calls succeed and say that the preview was dropped; the whole text is delivered."""
    desk = PureDesk(preview_fails=True)
    turn = desk.open()

    first = desk.send(turn, "part of the text", **DRAFT)
    assert first.message_id is not None
    second = desk.edit(turn, first.message_id, "the whole text", finalize=True)
    desk.complete(turn)

    assert first.raw["previewDropped"] is True
    assert second.raw["previewDropped"] is True
    assert desk.texts == ["the whole text"]


@pytest.mark.parametrize("outcome", [Outcome.FAILURE, Outcome.CANCELLED])
def test_s6_20_a_run_that_failed_takes_its_text_back(outcome: Outcome) -> None:
    """S6.20: nothing is sent, the node is deleted once, and nothing stays staged."""
    desk = PureDesk()
    turn = desk.open()
    desk.send(turn, "staged final", **NOTIFY)

    desk.complete(turn, outcome)

    assert (desk.texts, desk.cleared, desk.turns.live) == ([], [TURN], {})
    assert desk.state_names[-1] == "interrupted"


def test_s6_22_outside_a_turn_a_final_draft_is_sent_once() -> None:
    """S6.22: it is delivered at once; the finalising edit of its id is a duplicate."""
    desk = PureDesk()

    answer = desk.send(NOBODY, "OK", **DRAFT, **NOTIFY)
    assert answer.message_id
    second = desk.edit(NOBODY, answer.message_id, "OK", finalize=True)

    assert desk.texts == ["OK"]
    assert second.raw == {"duplicateFinal": True, "turnId": answer.message_id}


@pytest.mark.parametrize("tool_first", [False, True], ids=["tool-after-segment", "tool-before-segment-ends"])
def test_s6_23_segments_and_tools_alternate(tool_first: bool) -> None:
    """S6.23: three segments and two tools make one message, and a late edit of a sealed segment sends nothing."""
    desk = PureDesk()
    turn = desk.open()
    segments = []
    for number, (start, whole) in enumerate((("Looking", "Looking at it."), ("Found", "Found it."))):
        answer = desk.send(turn, start, **DRAFT)
        assert answer.message_id is not None
        segments.append(answer.message_id)
        if tool_first:
            desk.tool_started(turn, "grep", call_id=f"t{number}")
            desk.edit(turn, answer.message_id, whole, finalize=True)
        else:
            desk.edit(turn, answer.message_id, whole, finalize=True)
            desk.tool_started(turn, "grep", call_id=f"t{number}")
        desk.event(turn, ToolFinished("grep", f"t{number}", result="x"))
    last = desk.send(turn, "Do", **DRAFT).message_id
    assert last is not None
    desk.edit(turn, last, "Done.", finalize=True)

    desk.edit(turn, segments[0], "Looking at it again.", finalize=True)
    desk.complete(turn)
    late = desk.edit(turn, last, "Done!", finalize=True)

    assert len({*segments, last}) == 3
    assert desk.texts == ["Done."]
    trail = desk.sent[0].metadata["turnTrail"]
    assert [block["kind"] for block in trail] == ["text", "tool", "text", "tool", "text"]
    assert [trail[0]["text"], trail[2]["text"], trail[4]["text"]] == ["Looking at it again.", "Found it.", "Done."]
    assert late.raw == {"suppressedStaleOutput": True}


def test_s6_24_equal_segments_are_both_said() -> None:
    """S6.24: a break between two equal texts makes two blocks and two lines."""
    desk = PureDesk()
    turn = desk.open()

    for _ in range(2):
        desk.send(turn, "Repeat this.", **NOTIFY)
    desk.complete(turn)

    assert desk.texts == ["Repeat this.\nRepeat this."]
    assert trail_kinds(desk) == ["text", "text"]


def test_s6_26_equal_texts_are_told_apart_by_their_ids() -> None:
    """S6.26: outside a turn a glyph is text; inside, two equal finals stay two even when one is edited."""
    desk = PureDesk()
    desk.send(NOBODY, "Standalone literal ▉")
    turn = desk.open()

    first = desk.send(turn, "Same final ▉", **NOTIFY)
    second = desk.send(turn, "Same final ▉", **NOTIFY)
    assert second.message_id is not None
    desk.edit(turn, second.message_id, "Same final ▉", finalize=True)
    desk.complete(turn)

    assert first.message_id != second.message_id
    assert desk.texts == ["Standalone literal ▉", "Same final ▉\nSame final ▉"]


@pytest.mark.parametrize("then", ["nothing", "new turn", "reconnect"])
def test_s6_27_a_child_of_a_cancelled_turn_is_not_heard(then: str) -> None:
    """S6.27: its edits, answers and tools do nothing, whatever has happened since."""
    desk = PureDesk()
    child = desk.open()
    draft = desk.send(child, "dead", **DRAFT).message_id
    assert draft is not None
    desk.complete(child, Outcome.CANCELLED)
    desk.connected = then != "reconnect"
    if then == "new turn":
        desk.open("hermes-turn-2")
    before = (list(desk.streams), list(desk.states), list(desk.sent))

    answers = [desk.edit(child, draft, "late", finalize=True), desk.send(child, "late", **NOTIFY)]
    heard = desk.event(child, ToolFinished("grep"))

    assert [answer.raw for answer in answers] == [{"suppressedStaleOutput": True}] * 2
    assert heard is False
    assert (desk.streams, desk.states, desk.sent) == before
    assert all(not turn.activity.blocks for turn in desk.turns.live.values())


def test_s6_28_a_preview_that_ends_after_the_turn_is_cleared_again() -> None:
    """S6.28: the state stays interrupted, the node is deleted twice, nothing is sent."""
    desk = PureDesk(hold_previews=True)
    turn = desk.open()
    desk.send(turn, "slow", **DRAFT)

    desk.complete(turn, Outcome.CANCELLED)
    desk.end_preview()

    assert desk.state_names == ["thinking", "interrupted"]
    assert desk.cleared == [TURN, TURN]
    assert (desk.texts, desk.turns.live) == ([], {})


def test_s6_29_a_quiet_turn_shows_states_only() -> None:
    """S6.29: no narration and no trail, but one streaming state for each step and the answer."""
    desk = PureDesk()
    turn = desk.open(quiet=True)
    desk.tool(turn)

    draft = desk.send(turn, "a", **DRAFT).message_id
    assert draft is not None
    desk.edit(turn, draft, "an answ")
    desk.edit(turn, draft, "an answer", finalize=True)
    desk.complete(turn)

    assert desk.stream_texts == []
    assert desk.texts == ["an answer"]
    assert "turnTrail" not in desk.sent[0].metadata
    assert desk.state_names == ["thinking", "streaming", "streaming", "streaming", "completed"]


def test_s6_30_a_verbose_turn_shows_each_text() -> None:
    """S6.30: both texts were written to the node, and the trail names the tool."""
    desk = PureDesk()
    turn = desk.open()
    desk.tool(turn, "bash")

    desk.edit(turn, TURN, "growing")
    desk.edit(turn, TURN, "Answer.", finalize=True)
    desk.complete(turn)

    assert desk.stream_texts == ["growing", "Answer."]
    assert desk.sent[0].metadata["turnTrail"][0]["title"] == "bash"


def test_s6_31_a_quiet_direct_turn_writes_no_narration() -> None:
    """S6.31: the option rules, not the kind of chat."""
    desk = PureDesk()
    turn = desk.open(quiet=True)

    desk.edit(turn, TURN, "growing")
    desk.edit(turn, TURN, "Answer.", finalize=True)
    desk.complete(turn)

    assert (desk.stream_texts, desk.texts) == ([], ["Answer."])


@pytest.mark.parametrize("quiet", [False, True])
def test_s6_34_a_silenced_turn_leaves_nothing(quiet: bool) -> None:
    """S6.34, S8.17, S8.21, R6.13: the node is emptied, then deleted; the staged answer is not sent."""
    desk = PureDesk()
    turn = desk.open(quiet=quiet)
    desk.streams.clear()
    desk.event(turn, Silenced())

    desk.edit(turn, TURN, "an answer", finalize=True)
    desk.complete(turn)

    assert [(stream.status, stream.text, stream.blocks) for stream in desk.streams] == [("thinking", "", ())]
    assert (desk.texts, desk.cleared) == ([], [TURN])
    assert desk.log.index("RetireNode") < desk.log.index("ClearNode")


def test_s6_35_a_quiet_turn_retires_a_dead_node() -> None:
    """S6.35: its start empties the node and does not delete it."""
    desk = PureDesk()

    desk.open(quiet=True)

    assert [(stream.status, stream.turn, stream.text, stream.blocks) for stream in desk.streams] == [
        ("thinking", TURN, "", ())
    ]
    assert desk.cleared == []


def test_s6_36_a_verbose_turn_starts_without_a_write() -> None:
    """S6.36: its first text overwrites the node."""
    desk = PureDesk()

    desk.open()

    assert desk.streams == []


def test_a_first_write_takes_dead_blocks_away() -> None:
    """D37: a node may hold the blocks of a dead turn; the first write of the next turn says that there are none."""
    desk = PureDesk()
    turn = desk.open()

    desk.send(turn, "hello", **DRAFT)
    desk.pass_ms(1_000)
    desk.edit(turn, TURN, "hello world")

    assert [stream.blocks for stream in desk.streams] == [(), None]


def test_s6_51_a_refused_approval_keeps_the_turn() -> None:
    """S6.51: after a refusal the model answers, and the answer is delivered."""
    desk = PureDesk()
    turn = desk.open()

    desk.event(turn, InputAsked())
    desk.event(turn, InputClosed())
    desk.send(turn, "I did not run it.", **NOTIFY)
    desk.complete(turn)

    assert desk.texts == ["I did not run it."]
    assert desk.state_names == ["thinking", "waiting_input", "tool", "streaming", "completed"]


def test_s6_52_the_notice_of_a_failed_run_is_delivered() -> None:
    """S6.52: it is an own message without turn id, even while another turn is open; marked sends stay suppressed."""
    desk = PureDesk()
    turn = desk.open()
    desk.open("hermes-turn-2", session="s2")
    desk.complete(turn, Outcome.FAILURE)

    notice = desk.send(turn, "Sorry, the model failed.")
    marked = desk.send(turn, "late answer", **NOTIFY)

    (message,) = desk.sent
    assert (notice.success, message.text) == (True, "Sorry, the model failed.")
    assert message.metadata == {"turnSemantics": "turn_complete", "turnComplete": True}
    assert message.message_id is not None
    assert marked.raw == {"suppressedStaleOutput": True}


AUTHORITIES = [ReplyAuthority(f"m{number}", "t" * 31 + str(number), "2030-01-01T00:00:00.000Z") for number in (1, 2)]


def test_s6_53_a_drained_follow_up_is_a_turn_of_its_own() -> None:
    """S6.53: two finals in order, each with its own turn id and authority; the hook closes the last one."""
    desk = PureDesk()
    run = desk.open(authority=AUTHORITIES[0], source_message_id="m1")
    draft = desk.send(run, "first", **DRAFT).message_id
    assert draft is not None
    desk.edit(run, draft, "first answer", finalize=True)

    desk.announce(run, desk.opening("hermes-turn-2", authority=AUTHORITIES[1], source_message_id="m2"))
    desk.typing(run)
    desk.tool(run)
    desk.send(run, "second answer", **NOTIFY)
    desk.complete(run)

    assert desk.texts == ["first answer", "second answer"]
    assert [message.metadata["turnId"] for message in desk.sent] == ["hermes-turn-1", "hermes-turn-2"]
    assert [message.reply_authority for message in desk.sent] == AUTHORITIES
    assert [state for state in desk.states if state[0] in ("thinking", "completed")] == [
        ("thinking", "hermes-turn-1"),
        ("completed", "hermes-turn-1"),
        ("thinking", "hermes-turn-2"),
        ("completed", "hermes-turn-2"),
    ]
    assert [state.active_message_ids for state in desk.published if state.active_message_ids] == [("m1",), ("m2",)]
    assert desk.turns.live == {}


@pytest.mark.parametrize("boundary", ["tool", "marked send"])
def test_a_follow_up_begins_at_the_latest_with_its_first_own_deed(boundary: str) -> None:
    """R6.34: without the typing call, the next tool or marked send is the follow-up's."""
    desk = PureDesk()
    run = desk.open()
    desk.send(run, "first answer", **NOTIFY)
    desk.announce(run, desk.opening("hermes-turn-2"))

    if boundary == "tool":
        desk.tool_started(run)
    answer = desk.send(run, "second answer", **NOTIFY)
    desk.complete(run)

    assert desk.texts == ["first answer", "second answer"]
    assert answer.raw["turnId"] == "hermes-turn-2"


def test_a_short_first_answer_may_begin_after_the_announcement() -> None:
    """R6.34: the host's stream lags behind its run, so a first segment may come after the next message was taken."""
    desk = PureDesk()
    run = desk.open()

    desk.announce(run, desk.opening("hermes-turn-2"))
    draft = desk.send(run, "first answer", **DRAFT).message_id
    assert draft is not None
    desk.edit(run, draft, "first answer", finalize=True)
    desk.typing(run)
    desk.send(run, "second answer", **NOTIFY)
    desk.complete(run)

    assert desk.texts == ["first answer", "second answer"]


def test_s6_54_an_empty_run_publishes_two_states() -> None:
    """S6.54: start and completion without anything between are thinking and completed."""
    desk = PureDesk()
    turn = desk.open()

    desk.complete(turn)

    assert desk.state_names == ["thinking", "completed"]


@pytest.mark.parametrize("announced", [True, False], ids=["S6.58-announced", "S6.58-not-announced"])
def test_an_unmarked_first_answer_counts_only_before_a_follow_up(announced: bool) -> None:
    """S6.58: after the announcement an unmarked send of the run is its first answer, otherwise it is progress."""
    desk = PureDesk()
    run = desk.open()

    if announced:
        desk.announce(run, desk.opening("hermes-turn-2"))
    desk.send(run, "first")
    desk.typing(run)
    desk.send(run, "second", **NOTIFY)
    desk.complete(run)

    assert desk.texts == (["first", "second"] if announced else ["second"])


def test_s6_59_the_last_edits_after_the_announcement_are_the_first_turns() -> None:
    """S6.59: the final of the first turn contains the late edit, the second does not."""
    desk = PureDesk()
    run = desk.open()
    draft = desk.send(run, "first", **DRAFT).message_id
    assert draft is not None

    desk.announce(run, desk.opening("hermes-turn-2"))
    desk.edit(run, draft, "first, to its end", finalize=True)
    desk.typing(run)
    desk.send(run, "second", **NOTIFY)
    desk.complete(run)

    assert desk.texts == ["first, to its end", "second"]


def test_s6_60_a_childs_tool_seals_nothing() -> None:
    """S6.60: a delegated call between draft and finalisation leaves one message with the finalised text."""
    desk = PureDesk()
    turn = desk.open()
    draft = desk.send(turn, "The answer", **DRAFT).message_id
    assert draft is not None

    desk.tool_started(turn, child=True)
    desk.edit(turn, draft, "The answer, whole.", finalize=True)
    desk.complete(turn)

    assert desk.texts == ["The answer, whole."]


def test_s6_61_two_turns_without_session_context() -> None:
    """S6.61: the binding of the task is enough to keep the finals apart."""
    desk = PureDesk()
    first = Caller(desk.open("turn-A", session="user-a", quiet=True).bound)
    second = Caller(desk.open("turn-B", session="user-b", quiet=True).bound)

    desk.send(first, "for A", **NOTIFY)
    desk.send(second, "for B", **NOTIFY)
    desk.complete(second)
    desk.complete(first)

    assert {message.metadata["turnId"]: message.text for message in desk.sent} == {"turn-A": "for A", "turn-B": "for B"}


def test_s8_26_after_a_silence_nothing_is_shown() -> None:
    """S8.26: the silence stops previews and tool activity; only the emptying write and one clear follow."""
    desk = PureDesk()
    turn = desk.open()
    draft = desk.send(turn, "thinking aloud", **DRAFT).message_id
    assert draft is not None
    desk.event(turn, Silenced())
    before = len(desk.streams)

    desk.edit(turn, draft, "thinking aloud, more")
    desk.tool(turn)
    desk.pass_ms(2_000)
    desk.complete(turn)

    assert [(stream.status, stream.text) for stream in desk.streams[before:]] == [("thinking", "")]
    assert (desk.texts, desk.cleared) == ([], [TURN])


def test_a_silence_waits_for_the_write_in_flight() -> None:
    """D65: a text on its way at the silence is emptied after it has arrived, not before."""
    desk = PureDesk(hold_previews=True)
    turn = desk.open()
    desk.send(turn, "thinking aloud", **DRAFT)
    desk.event(turn, Silenced())

    desk.complete(turn)
    assert desk.cleared == []
    desk.end_preview()

    assert desk.streams[-1].status == "thinking"
    assert (desk.cleared, desk.state_names[-1]) == ([TURN], "completed")


def test_s8_16_steering_lifts_a_silence() -> None:
    """S8.16, S8.27: a message injected into the run is answered."""
    desk = PureDesk()
    turn = desk.open()

    desk.event(turn, Silenced())
    desk.event(turn, SteeringAccepted())
    desk.send(turn, "also this", **NOTIFY)
    desk.complete(turn)

    assert desk.texts == ["also this"]


def test_s8_24_silence_is_a_turns_not_a_rooms() -> None:
    """S8.24: of two turns in a group only the caller's own is silenced."""
    desk = PureDesk()
    alice = desk.open("turn-A", session="user-a", quiet=True)
    bob = desk.open("turn-B", session="user-b", quiet=True)
    for caller, text in ((alice, "for A"), (bob, "for B")):
        desk.send(caller, text, **NOTIFY)

    desk.event(alice, Silenced())
    desk.complete(bob)
    desk.complete(alice)

    assert desk.texts == ["for B"]


def test_a_final_waits_for_the_last_text() -> None:
    """The node shows the last text before the final message goes out."""
    desk = PureDesk(hold_previews=True)
    turn = desk.open()
    draft = desk.send(turn, "one", **DRAFT).message_id
    assert draft is not None
    desk.edit(turn, draft, "one two")
    desk.edit(turn, draft, "one two three", finalize=True)

    desk.event(turn, Ended(Outcome.SUCCESS))
    in_flight = len(desk.held_previews)
    desk.end_preview()
    before = (desk.stream_texts[-1], list(desk.texts))
    desk.end_preview()

    assert in_flight == 1
    assert before == ("one two three", [])
    assert desk.texts == ["one two three"]


def test_a_text_that_was_never_finished_is_reported() -> None:
    """D6: a run that ended well with an unfinished text sends nothing and warns."""
    desk = PureDesk()
    turn = desk.open()
    desk.send(turn, "half a sent", **DRAFT)

    desk.complete(turn)

    assert (desk.texts, desk.warnings, desk.cleared) == ([], ["answer_not_finalised"], [TURN])


def test_one_turns_end_keeps_anothers_bubble() -> None:
    """D8: the node belongs to whoever wrote it last; the other's clear is not carried out, its state is said again."""
    desk = PureDesk()
    alice = desk.open("turn-A", session="user-a")
    bob = desk.open("turn-B", session="user-b")
    desk.send(alice, "Alice", **DRAFT)
    desk.send(bob, "Bob writes", **DRAFT)

    desk.complete(alice, Outcome.CANCELLED)

    assert desk.cleared == []
    assert desk.states[-2:] == [("interrupted", "turn-A"), ("streaming", "turn-B")]


def test_s6_21_trails_are_built_while_hooks_report() -> None:
    """S6.21: a thread that reports tools and one that builds trails never meet halfway, because a turn is a value."""
    desk = PureDesk()
    turn = desk.open()
    stop = threading.Event()
    failures: list[BaseException] = []

    def report() -> None:
        number = 0
        try:
            while not stop.is_set():
                number += 1
                desk.tool(turn, "grep", call_id=f"t{number % 40}")
                desk.streams.clear()
        except BaseException as failure:
            failures.append(failure)

    hooks = threading.Thread(target=report)
    hooks.start()
    try:
        for _ in range(1_500):
            final_trail(desk.turns.live[TURN].activity)
    finally:
        stop.set()
        hooks.join()

    assert failures == []


def test_s7_26_a_long_answer_of_a_group_has_no_trail() -> None:
    """S7.26: all parts are delivered, the last notifies, none has a trail, and nothing was shown before."""
    desk = PureDesk()
    turn = desk.open(quiet=True)
    desk.tool(turn)
    desk.send(turn, "ש" * 3_900, **NOTIFY)

    desk.complete(turn)

    assert "".join(desk.texts) == "ש" * 3_900
    assert [part.metadata["turnSemantics"] for part in desk.sent] == ["progress", "progress", "turn_complete"]
    assert not any("turnTrail" in part.metadata for part in desk.sent)
    assert not any(stream.text or stream.blocks for stream in desk.streams)


@pytest.mark.parametrize("quiet", [False, True])
def test_s6_57_only_verbose_turns_publish_a_trail(quiet: bool) -> None:
    """S6.57: the same run with and without narration."""
    desk = PureDesk()
    turn = desk.open(quiet=quiet)
    desk.tool(turn)
    desk.send(turn, "Done.", **NOTIFY)

    desk.complete(turn)

    assert ("turnTrail" in desk.sent[0].metadata) is not quiet


def test_s8_14_a_silence_ends_with_its_turn() -> None:
    """S8.14: the next turn of the session is not silenced."""
    desk = PureDesk()
    first = desk.open()
    silenced = desk.event(first, Silenced())
    desk.complete(first)

    again = desk.event(first, Silenced())
    second = desk.open("hermes-turn-2")
    desk.send(second, "heard", **NOTIFY)
    desk.complete(second)

    assert (silenced, again) == (True, False)
    assert desk.texts == ["heard"]


def test_s8_15_without_a_turn_nobody_is_silenced() -> None:
    """S8.15: the call finds no turn, and nothing is remembered."""
    desk = PureDesk()

    assert desk.event(NOBODY, Silenced()) is False
    assert desk.turns == Turns()


def test_s8_22_an_empty_run_that_was_not_silenced_only_clears() -> None:
    """S8.22: no emptying write, one clear."""
    desk = PureDesk()
    turn = desk.open()

    desk.complete(turn)

    assert (desk.streams, desk.cleared) == ([], [TURN])
