"""What people read when an agent asks them in a channel."""

from __future__ import annotations

from borgee_hermes.question import question_text


def test_a_question_without_choices_is_the_question() -> None:
    """The next message is the answer; a key that the host has put behind it is no part of it."""
    assert question_text("Which colour?\ngateway.clarify.skip_hint", None) == "❓ Which colour?"
    assert question_text("Which colour?", []) == "❓ Which colour?"


def test_choices_have_numbers() -> None:
    """The host reads a number or the words of a choice, or takes the text as it is."""
    assert question_text("Which?", ["red", 2]).split("\n") == [
        "❓ Which?",
        "",
        "  1. red",
        "  2. 2",
        "",
        "Answer with the number, the words of a choice, or in your own words.",
    ]


def test_several_choices_may_be_taken() -> None:
    """A host that lets people take several is answered with several numbers."""
    assert question_text("Which?", ["a", "b"], takes_several=True).endswith(
        "Answer with the numbers, with commas between them, or in your own words."
    )
