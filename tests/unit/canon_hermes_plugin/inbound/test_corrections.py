"""Corrections on their way to a message, and words taken out of a burst."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_hermes_plugin.inbound.corrections import REMEMBERED, Correction, Corrections, corrected_in, noted, taken


def test_the_newest_text_counts_once() -> None:
    """D59: of several edits the last is taken, and a correction is used once."""
    state = noted(noted(Corrections(), "m1", Correction("one")), "m1", Correction("two"))

    state, correction = taken(state, "m1")

    assert (correction, taken(state, "m1"), taken(state, None)) == (Correction("two"), (state, None), (state, None))


def test_a_message_that_was_taken_back_stays_away() -> None:
    """An edit that overtook the deletion on its way does not bring the message back."""
    state = noted(noted(Corrections(), "m1", Correction(None)), "m1", Correction("back"))

    assert taken(state, "m1")[1] == Correction(None)


def test_corrections_of_nothing_are_forgotten() -> None:
    """The memory is bounded, oldest out."""
    state = Corrections()
    for number in range(REMEMBERED + 1):
        state = noted(state, f"m{number}", Correction("x"))

    assert len(state.waiting) == REMEMBERED
    assert taken(state, "m0")[1] is None


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        ("a", "a", "b", "b"),
        ("a", "a", None, ""),
        ("a\nb\nc", "b", "B", "a\nB\nc"),
        ("a\nb\nc", "b", None, "a\nc"),
        ("a\nb1\nb2\nc", "b1\nb2", "b", "a\nb\nc"),
        ("a\nb", "a", "x\ny", "x\ny\nb"),
        ("a\na", "a", "b", None),
        ("ab\nc", "b", "x", None),
        ("a", "z", "x", None),
        ("a", "a\nb", "x", None),
    ],
)
def test_one_message_of_a_burst_is_corrected(text: str, old: str, new: str | None, result: str | None) -> None:
    """Whole lines that stand there exactly once are meant; anything else nobody can tell."""
    assert corrected_in(text, old, new) == result


def by_lines(text: str, old: str, new: str | None) -> str | None:
    """The rule as it is said, line by line."""
    lines, sought = text.split("\n"), old.split("\n")
    places = [at for at in range(len(lines) - len(sought) + 1) if lines[at : at + len(sought)] == sought]
    if text == old or len(places) != 1:
        return (new or "") if text == old else None
    put = [] if new is None else new.split("\n")
    return "\n".join([*lines[: places[0]], *put, *lines[places[0] + len(sought) :]])


FEW = st.text(alphabet="ab\n", max_size=12)


@given(FEW, FEW, st.none() | FEW)
def test_a_burst_is_read_as_its_lines(text: str, old: str, new: str | None) -> None:
    """However it is searched, whole lines are meant: also empty ones, and those that lie across each other."""
    assert corrected_in(text, old, new) == by_lines(text, old, new)
