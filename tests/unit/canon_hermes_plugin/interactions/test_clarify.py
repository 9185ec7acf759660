"""Questions of the host as Canon's inputs, and the answers as texts."""

from __future__ import annotations

from typing import Any

import pytest

from canon_hermes_plugin.interactions.clarify import (
    CANCELLED,
    LOST,
    HumanWaits,
    answer_text,
    choices_of,
    clarify_request,
    outcome_text,
)


@pytest.mark.parametrize(("value", "seconds"), [("abc", 300), ("1", 5), ("99999", 1_800), (None, 300), ("60", 60)])
def test_how_long_people_have(value: str | None, seconds: int) -> None:
    """S9.11: the environment says it, within limits; what is no number says nothing."""
    names = ("HERMES_CLARIFY_TIMEOUT", "HERMES_APPROVAL_TIMEOUT")

    waits = HumanWaits.read({} if value is None else dict.fromkeys(names, value))

    assert waits == HumanWaits(seconds, seconds)


@pytest.mark.parametrize(
    ("ours", "host", "shown"),
    [(300, 60.0, 60), (300, 3_600.0, 300), (300, None, 300), (300, 1.0, 5), (300, float("inf"), 300)],
)
def test_nobody_is_shown_a_longer_time_than_the_host_waits(ours: int, host: float | None, shown: int) -> None:
    """D17: the shorter of the two."""
    assert HumanWaits.shorter(ours, host) == shown


@pytest.mark.parametrize(
    ("response", "text"),
    [
        pytest.param({"value": " 2026 "}, " 2026 ", id="a value as it is"),
        pytest.param({"answers": {"a": {"answers": [" x ", ""]}}}, "x", id="S9.12-one question"),
        pytest.param({"answers": {"a": ["x", "y"], "b": " z "}}, "a: x, y\nb: z", id="S9.12-two questions"),
        pytest.param({"answers": {"a": ["x"], "b": " "}}, "a: x", id="S9.12-one of two is empty"),
        pytest.param({"value": " ", "answers": {"a": ["x"]}}, "x", id="S9.12-blank value, usable answers"),
        pytest.param({"value": " ", "choice": {"value": "c"}}, " ", id="S9.12-blank value"),
        pytest.param({"choice": {"value": " c "}}, "c", id="S9.12-choice"),
        pytest.param({"choice": {"value": "", "label": "d"}}, "d", id="S9.12-label"),
        pytest.param({"value": 5, "answers": [1], "choice": "x"}, "", id="nothing usable"),
    ],
)
def test_the_text_of_an_answer(response: dict[str, Any], text: str) -> None:
    """S9.12: value, answers, value again, choice."""
    assert answer_text(response) == text


@pytest.mark.parametrize(
    ("response", "waited_s", "text"),
    [
        ({"status": "submitted", "value": "x"}, 300, "x"),
        ({"status": "cancelled"}, 300, CANCELLED),
        ({"status": "unknown"}, 300, LOST),
        ({"status": "timeout"}, 300, "[The user did not answer within 5 minutes.]"),
        ({"status": "timeout"}, 61, "[The user did not answer within 1 minute 1 second.]"),
        ({"status": "other"}, 20, "[The user did not answer within 20 seconds.]"),
        ({}, 0, "[The user did not answer within 1 second.]"),
    ],
)
def test_what_the_host_is_told(response: dict[str, Any], waited_s: float, text: str) -> None:
    """R9.6, D17: the answer, or why there is none, with the time that really passed."""
    assert outcome_text(response, waited_s=waited_s) == text


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        (None, []),
        ("abc", []),
        (["a", " ", 5, None, True], [("a", "a"), ("5", "5"), ("True", "True")]),
        (
            [{"label": " L ", "value": "v"}, {"text": "T"}, {"value": 7}, {"label": ""}],
            [("L", "v"), ("T", "T"), ("7", "7")],
        ),
        (["x" * 500], [("x" * 160, "x" * 400)]),
        ([str(number) for number in range(20)], [(str(number), str(number)) for number in range(12)]),
    ],
)
def test_what_can_be_chosen(choices: Any, expected: list[tuple[str, str]]) -> None:
    """R9.5: at most twelve, with label and value within their limits; blank ones are left out."""
    assert [(one["label"], one["value"]) for one in choices_of(choices)] == expected


def test_the_request() -> None:
    """R9.4: everything that Canon needs to show the question to one human and to find it again."""
    request = clarify_request(
        "c1", "q1", "Which?", ["a"], session_key="k", responder="u1", expires_at_ms=5, turn_id="t1"
    )

    assert request.body() == {
        "interactionKind": "input",
        "conversationId": "c1",
        "inputId": "q1",
        "kind": "clarify",
        "expiresAt": 5,
        "title": "A question",
        "prompt": "Which?",
        "choices": [{"label": "a", "value": "a"}],
        "responseUserId": "u1",
        "turnId": "t1",
        "native": {"runtime": "hermes", "method": "clarify", "requestId": "q1", "sessionKey": "k"},
    }


def test_a_question_has_no_session_rule() -> None:
    """S9.10: what an answer says about rules means nothing for a question, and none is offered."""
    body = clarify_request("c1", "q1", "Which?", None, session_key="k", responder=None, expires_at_ms=5).body()
    ruled = {"status": "submitted", "value": "x", "sessionRule": {"type": "approve-all"}}

    assert "allowSessionRule" not in body and "responseUserId" not in body and "choices" not in body
    assert outcome_text(ruled, waited_s=1) == "x"
