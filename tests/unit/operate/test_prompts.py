"""What happens when nobody can be asked."""

from __future__ import annotations

import pytest

from canon_ops.errors import ExitCode
from canon_ops.operate.prompts import Choice, MissingAnswer, Prompts, Question, Unattended

PHONE = Question("Owner's phone number", "--owner-phone")


def test_a_missing_answer_names_its_option() -> None:
    """Text, secret and choice without a default end with exit 2 and the option that would have answered."""
    prompts: Prompts = Unattended()

    for ask in (
        lambda: prompts.text(PHONE),
        lambda: prompts.secret(PHONE),
        lambda: prompts.choose(PHONE, [Choice("a", "A")]),
    ):
        with pytest.raises(MissingAnswer, match="Owner's phone number") as caught:
            ask()
        assert caught.value.exit_code is ExitCode.USAGE
        assert caught.value.fix == "add --owner-phone"


def test_defaults_answer_for_nobody() -> None:
    """A default is an answer; a confirmation takes its default, or yes where --yes says so."""
    prompts = Unattended()

    assert prompts.text(PHONE, default="d") == "d"
    assert prompts.choose(PHONE, [Choice("a", "A"), Choice("b", "B")], default="b") == "b"
    assert prompts.confirm(PHONE, default=True) is True
    assert prompts.confirm(PHONE, default=False) is False
    assert Unattended(yes=True).confirm(PHONE, default=False) is True


def test_notes_and_progress_are_said() -> None:
    """Both kinds of speech reach the caller's function in order."""
    said: list[str] = []
    prompts = Unattended(said.append)

    prompts.note("one")
    with prompts.progress("two"):
        prompts.note("three")

    assert said == ["one", "two", "three"]
