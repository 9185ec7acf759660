"""What an agent may ask for, and what becomes of odd values."""

from __future__ import annotations

from typing import Any

import pytest

from canon_hermes_plugin.approvals.wish import clamp_timeout, read_wish
from canon_ops.wire.interactions import Detail


@pytest.mark.parametrize("words", [{}, {"title": "  "}, {"question": None, "title": []}])
def test_something_must_be_asked(words: dict[str, Any]) -> None:
    """S10.17: neither a title nor a question is no request."""
    with pytest.raises(ValueError, match="title or a question"):
        read_wish(**words)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (999_999_999, 259_200), (None, 259_200), (1, 5), ("60", 60), (60.9, 60), (True, 259_200), (1e999, 259_200),
        (float("nan"), 259_200), ("soon", 259_200), ([], 259_200), (-1, 5), (10**400, 259_200),
    ],
)  # fmt: skip
def test_times_are_bounded(value: object, seconds: int) -> None:
    """S10.1, D50: five seconds to 72 hours; what is no number of seconds is the default."""
    assert read_wish(question="q", timeout_seconds=value).timeout_s == seconds


@pytest.mark.parametrize(("value", "seconds"), [(999_999, 1800), (None, 300), (1, 5)])
def test_blocking_times_are_bounded(value: object, seconds: int) -> None:
    """S10.1: a blocking question has half an hour at most."""
    assert clamp_timeout(value, default=300, most=1800) == seconds


def test_rows() -> None:
    """R10.13: six pairs are looked at, eight options; blank ones are left out, long ones cut."""
    context = {"a": "x" * 600, " ": "no label", "b": " ", "c" * 90: 7, "d": {"nested": 1}, "e": "last", "f": "seventh"}

    wish = read_wish(question="q", context=context, options=["yes", "", None, "no", *"345678", "ninth"])

    assert wish.details == (
        Detail("a", "x" * 500),
        Detail("c" * 80, "7"),
        Detail("e", "last"),
        Detail("Options", "yes, no, 3, 4, 5, 6"),
    )
    assert read_wish(question="q", context=" why ").details == (Detail("Context", "why"),)
    assert read_wish(question="q", context=" ", options="yes").details == ()


def test_names() -> None:
    """R10.12: the question is the summary, the title the tool's name; one stands in for the other."""
    assert (read_wish(title=" t ", question=" q ").summary, read_wish(title=" t ").summary) == ("q", "t")
    assert (read_wish(title=" t ").tool_name, read_wish(question="q").tool_name) == ("t", "Approval")
