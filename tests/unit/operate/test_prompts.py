"""What happens when nobody can be asked."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import canon_ops
from canon_ops.errors import ExitCode
from canon_ops.operate.prompts import Choice, MissingAnswer, Prompts, Question, Unattended
from canon_ops.operate.writing import ConsentMissing, require_consent
from tests.support.scripted_prompts import ScriptedPrompts

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


@pytest.mark.parametrize(
    ("prompts", "what", "cure"),
    [
        pytest.param(Unattended(), "Nobody could be asked: Write this?", "add --yes", id="nobody was asked"),
        pytest.param(
            ScriptedPrompts(("--yes", False)),
            "Not agreed: Write this?",
            "run it again, and answer yes",
            id="a person said no",
        ),
    ],
)
def test_a_refusal_is_cured_where_it_came_from(prompts: Prompts, what: str, cure: str) -> None:
    """Who was asked and said no is not told of the option that does not ask."""
    with pytest.raises(ConsentMissing) as caught:
        require_consent(prompts, "Write this?")

    error = caught.value
    assert (error.what, error.fix, error.exit_code) == (what, cure, ExitCode.USAGE)


def test_notes_and_progress_are_said() -> None:
    """Both kinds of speech reach the caller's function in order."""
    said: list[str] = []
    prompts = Unattended(said.append)

    prompts.note("one")
    with prompts.progress("two"):
        prompts.note("three")

    assert said == ["one", "two", "three"]


# Questions that take no answer for a yes, and why that loses nothing.
YES_BY_DEFAULT = {
    "canon_ops/operate/borgee_questions.py": "keeps a key, and plain http, that are there already",
    "canon_ops/operate/config_in_editor.py": "asked after an editor that a person sits at",
    "canon_ops/operate/install.py": "decision C3: the first install opens Canon, and says so",
    "canon_ops/operate/setup_questions.py": "shows a number, or an address, that was answered",
    "canon_ops/cli/doctor_work.py": "writes the one new file that --bundle names",
}


def test_no_missing_answer_counts_as_consent() -> None:
    """Whatever takes something away asks with ``require_consent``, which no default answers."""
    folder = Path(canon_ops.__file__).parent
    found = {
        f"canon_ops/{file.relative_to(folder)}"
        for file in folder.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "confirm"
        for word in call.keywords
        if word.arg == "default"
        and not (isinstance(word.value, ast.Constant) and word.value.value is False)
        and isinstance(call.func.value, ast.Name | ast.Attribute)
        and "questionary" not in ast.unparse(call.func.value)
        and "aside" not in ast.unparse(call.func.value)
    }

    assert found == set(YES_BY_DEFAULT)
