"""Going back in a dialogue: what was answered is remembered, and one answer at a time is forgotten."""

from __future__ import annotations

import pytest

from canon_ops.operate.prompts import Choice, MissingAnswer, Question, Unattended
from canon_ops.operate.rewinding import Rewinding
from tests.support.scripted_prompts import BACK, ScriptedPrompts

SIZES = (Choice("s", "Small"), Choice("l", "Large"))


def order(prompts: Rewinding) -> tuple[str, ...]:
    """A dialogue with a branch: only a large one is asked about its colour."""
    name = prompts.text(Question("Name?", "--name"), default="Ann")
    prompts.note(f"Hello {name}.")
    size = prompts.choose(Question("Size?", "--size"), SIZES, default="s")
    with prompts.progress("Looking") as tell:
        tell("Still looking")
    colour = prompts.text(Question("Colour?", "--colour"), default="red") if size == "l" else ""
    key = prompts.secret(Question("Key?", "--key"))
    sure = prompts.confirm(Question("Sure?", "--yes"), default=True)
    return name, size, colour, key.reveal(), str(sure)


def lead(*script: tuple[str, str | bool | None]) -> tuple[tuple[str, ...], ScriptedPrompts]:
    person = ScriptedPrompts(*script)
    rewinding = Rewinding(person)
    result = rewinding.lead(lambda: order(rewinding))
    person.assert_finished()
    return result, person


def test_a_dialogue_without_going_back_is_as_it_was() -> None:
    """Each question once, each note once."""
    result, person = lead(("--name", "Bo"), ("--size", "s"), ("--key", "k"), ("--yes", True))

    assert result == ("Bo", "s", "", "k", "True")
    assert (person.said, person.shown) == (["Hello Bo."], ["Still looking"])


def test_going_back_asks_the_question_before_and_nothing_else() -> None:
    """Earlier answers stand; what follows is asked anew; notes on the way are not told again."""
    result, person = lead(
        ("--name", "Bo"), ("--size", "s"), ("--key", BACK), ("--size", "l"), ("--colour", "blue"), ("--key", "k"),
        ("--yes", True),
    )  # fmt: skip

    assert result == ("Bo", "l", "blue", "k", "True")
    assert person.asked == ["Name?", "Size?", "Key?", "Size?", "Colour?", "Key?", "Sure?"]
    assert person.said == ["Hello Bo."]


def test_going_back_again_and_again_reaches_the_first_question() -> None:
    """The first question offers no way back; a changed first answer is told anew."""
    result, person = lead(
        ("--name", "Bo"), ("--size", "l"), ("--colour", "blue"), ("--key", BACK), ("--colour", BACK), ("--size", BACK),
        ("--name", "Cy"), ("--size", "s"), ("--key", "k"), ("--yes", False),
    )  # fmt: skip

    assert result == ("Cy", "s", "", "k", "False")
    assert person.said == ["Hello Bo.", "Hello Cy."]


def test_the_earlier_answer_is_the_new_default() -> None:
    """Whoever goes back, however far, and presses Enter keeps what was there; a secret is typed again."""
    result, _ = lead(
        ("--name", "Bo"), ("--size", "l"), ("--colour", "blue"), ("--key", "k"), ("--yes", BACK), ("--key", BACK),
        ("--colour", BACK), ("--size", None), ("--colour", None), ("--key", "other"), ("--yes", True),
    )  # fmt: skip

    assert result == ("Bo", "l", "blue", "other", "True")


def test_a_question_aside_is_not_remembered() -> None:
    """It belongs to trouble that may be gone at the next pass; going back passes it by."""
    person = ScriptedPrompts(
        ("--name", "Bo"), ("now", "s"), ("--size", BACK), ("--name", "Cy"), ("now", "l"), ("--size", "s"),
    )  # fmt: skip
    rewinding = Rewinding(person)

    def dialogue() -> tuple[str, str]:
        name = rewinding.text(Question("Name?", "--name"))
        rewinding.aside.choose(Question("Now?", "now"), SIZES)
        return name, rewinding.choose(Question("Size?", "--size"), SIZES)

    assert rewinding.lead(dialogue) == ("Cy", "s")


def test_what_the_dialogue_raises_comes_through() -> None:
    """A missing answer and Ctrl-C end it at once."""
    rewinding = Rewinding(Unattended())

    with pytest.raises(MissingAnswer):
        rewinding.lead(lambda: order(rewinding))
