"""Which message starts a turn."""

from __future__ import annotations

import pytest

from canon_ops.wire.dispatch import message_chunk_label, should_trigger_agent_turn, turn_dispatch_kind

SUPPRESS = "suppress_auto_reply"

# One line for each row of the fallback rule: sender type, semantics, reply behaviour -> runs, counts as.
ROWS = [
    pytest.param("human", "progress", SUPPRESS, False, "progress", id="1 human suppressed"),
    pytest.param("human", None, SUPPRESS, False, "turn_complete", id="1 human suppressed, no semantics"),
    pytest.param("ai_agent", "turn_complete", SUPPRESS, False, "turn_complete", id="1 agent suppressed"),
    pytest.param("ai_agent", None, SUPPRESS, False, "progress", id="1 agent suppressed, no semantics"),
    pytest.param("human", None, None, True, "turn_complete", id="2 human"),
    pytest.param("human", "nonsense", "nonsense", True, "turn_complete", id="2 human, unknown values"),
    pytest.param("human", "progress", None, True, "progress", id="3 human progress"),
    pytest.param("human", "turn_complete", "allow_auto_reply", True, "turn_complete", id="4 human complete"),
    pytest.param("human", "control", None, True, "control", id="5 human control"),
    pytest.param("ai_agent", None, None, False, "progress", id="6 agent"),
    pytest.param("ai_agent", "nonsense", "allow_auto_reply", False, "progress", id="6 agent, unknown semantics"),
    pytest.param(None, None, None, False, "progress", id="6 no type"),
    pytest.param("", None, None, False, "progress", id="6 empty type"),
    pytest.param("HUMAN", None, None, False, "progress", id="6 unknown type"),
    pytest.param("ai_agent", "progress", None, False, "progress", id="7 agent progress"),
    pytest.param("ai_agent", "turn_complete", None, True, "turn_complete", id="8 agent complete"),
    pytest.param("", "turn_complete", None, True, "turn_complete", id="8 empty type complete"),
    pytest.param("ai_agent", "control", None, True, "control", id="9 agent control"),
]


@pytest.mark.parametrize(("sender_type", "semantics", "behaviour", "allow", "counts_as"), ROWS)
def test_s3_1_every_row_of_the_fallback_rule(
    sender_type: str | None, semantics: str | None, behaviour: str | None, allow: bool, counts_as: str
) -> None:
    """S3.1, S3.4: the first matching row decides, and every decision gives a reason."""
    given = {"turnSemantics": semantics, "replyBehavior": behaviour}
    metadata = {key: value for key, value in given.items() if value is not None}

    decision = should_trigger_agent_turn(sender_type, metadata)

    assert (decision.allow, decision.semantics) == (allow, counts_as)
    assert decision.reason


def test_s3_1_the_reasons_are_distinct() -> None:
    """S3.1: suppression, human, progress, missing semantics and completion are told apart in the log."""
    reasons = {
        should_trigger_agent_turn("human", {"replyBehavior": SUPPRESS}).reason,
        should_trigger_agent_turn("human", {}).reason,
        should_trigger_agent_turn("ai_agent", {"turnSemantics": "progress"}).reason,
        should_trigger_agent_turn("ai_agent", {}).reason,
        should_trigger_agent_turn("ai_agent", {"turnSemantics": "turn_complete"}).reason,
    }

    assert len(reasons) == 5


def test_s3_2_a_part_of_a_split_answer_never_runs() -> None:
    """S3.2: a leading part is suppressed for any sender, and carries its label."""
    metadata = {
        "turnSemantics": "progress",
        "replyBehavior": SUPPRESS,
        "messageChunk": {"index": 1, "count": 3},
    }

    assert not should_trigger_agent_turn("ai_agent", metadata).allow
    assert not should_trigger_agent_turn("human", metadata).allow
    assert message_chunk_label(metadata) == "1/3"


def test_s3_3_the_last_part_of_an_agents_answer_runs() -> None:
    """S3.3: the part that completes the turn starts ours."""
    metadata = {"turnSemantics": "turn_complete", "messageChunk": {"index": 3, "count": 3}}

    assert should_trigger_agent_turn("ai_agent", metadata).allow
    assert message_chunk_label(metadata) == "3/3"


@pytest.mark.parametrize("metadata", [None, "text", [], 7])
def test_metadata_that_is_no_object_counts_as_empty(metadata: object) -> None:
    """A malformed metadata neither raises nor suppresses."""
    assert should_trigger_agent_turn("human", metadata).allow
    assert message_chunk_label(metadata) is None


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"messageChunk": {"index": "x"}},
        {"messageChunk": {"index": 1, "count": 0}},
        {"messageChunk": {"index": 1}},
        {"messageChunk": {"count": 3}},
        {"messageChunk": {"index": 1, "count": None}},
        {"messageChunk": {"index": True, "count": 2}},
        {"messageChunk": {"index": 1.0, "count": 2}},
        {"messageChunk": "1/3"},
    ],
    ids=str,
)
def test_s3_5_a_malformed_part_has_no_label(metadata: object) -> None:
    """S3.5: only two whole numbers make a label."""
    assert message_chunk_label(metadata) is None


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        ({"turnDispatch": {"kind": "run_turn"}}, "run_turn"),
        ({"turnDispatch": {"kind": "record_only"}}, "record_only"),
        ({"turnDispatch": {"kind": "later_word"}}, "later_word"),
        ({"turnDispatch": {}}, None),
        ({"turnDispatch": {"kind": ""}}, None),
        ({"turnDispatch": {"kind": 1}}, None),
        ({"turnDispatch": "run_turn"}, None),
        ({}, None),
        (None, None),
    ],
    ids=str,
)
def test_s3_6_the_verdict_is_read_only_where_it_is_whole(payload: object, kind: str | None) -> None:
    """S3.6: a verdict is an object with a non-empty kind."""
    assert turn_dispatch_kind(payload) == kind
