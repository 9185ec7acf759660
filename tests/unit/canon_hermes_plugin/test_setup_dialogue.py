"""Setting Canon up inside ``hermes gateway setup``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.host import host_prompts
from canon_hermes_plugin.setup_dialogue import run_setup
from canon_ops.operate.hermes_prompts import HermesPrompts
from canon_ops.operate.prompts import Choice, GoneBack, Question
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.hermes_screen import Screen


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


def write_profile(own_home: Path, box: CanonSandbox) -> None:
    ends = box.endpoints
    profile = {
        "clientType": "hermes",
        "agentId": "agent_sandbox",
        "agentName": "Sandbox Hermes",
        "apiKey": ends.agent_key,
        "environmentId": ends.environment_id,
        "baseUrl": ends.api,
        "streamUrl": ends.stream,
        "rtdbUrl": ends.api,
        "firebaseApiKey": "sandbox-web-key",
        "registeredAt": "2026-01-01T00:00:00.000Z",
    }
    (own_home / "canon_home" / "agents.json").write_text(json.dumps({"ops": profile}), encoding="utf-8")


@pytest.mark.host
def test_a_profile_is_chosen_at_hermes_prompts(own_home: Path, box: CanonSandbox) -> None:
    """R1.11: the same dialogue as the command line, and the home's .env names the profile afterwards."""
    write_profile(own_home, box)
    screen = Screen("profile", "ops", "")

    run_setup(screen.prompts())

    assert "CANON_AGENT=ops" in (own_home / "hermes_home" / ".env").read_text(encoding="utf-8")
    assert screen.told[-1][0] == "success" and "Sandbox Hermes" in screen.told[-1][1]


@pytest.mark.host
def test_what_goes_wrong_is_told_with_its_fix(own_home: Path, box: CanonSandbox) -> None:
    """A foreign environment is told at once; who stops there gets the sentence and a fix, and nothing is written."""
    write_profile(own_home, box)
    box.fault("health-wrong-environment")
    screen = Screen("profile", "ops", "Stop", "")

    run_setup(screen.prompts())

    kinds = [kind for kind, _ in screen.told[-2:]]
    assert (kinds, "does not match environment" in screen.told[-2][1]) == (["error", "info"], True)
    assert not (own_home / "hermes_home" / ".env").exists()


def test_a_line_is_asked_until_it_will_do() -> None:
    """The complaint is shown and the question comes again; a hidden answer is a secret."""
    screen = Screen("7", "seven", "agk_live_0123456789abcdef")
    prompts = HermesPrompts(screen.prompts())

    word = prompts.text(
        Question("A word", "--word", "letters only"), validate=lambda text: None if text.isalpha() else "No digits."
    )
    key = prompts.secret(Question("Key", "--key"))

    assert (word, key.reveal()) == ("seven", "agk_live_0123456789abcdef")
    assert screen.told == [("info", "letters only"), ("error", "No digits.")]
    assert screen.asked == ["A word", "A word", "Key (hidden)"]


def test_choices_show_their_help_and_give_their_value() -> None:
    """The host shows labels; the program gets the value behind the chosen one."""
    screen = Screen("Green")
    prompts = HermesPrompts(screen.prompts())

    chosen = prompts.choose(Question("Colour?", "--colour"), [Choice("r", "Red"), Choice("g", "Green", "calm")])

    assert chosen == "g"


@pytest.mark.parametrize("kind", ["text", "choose", "confirm", "secret"])
def test_every_kind_of_question_can_be_gone_back_from(kind: str) -> None:
    """A lone < at a line, a row of its own in a list."""
    screen = Screen("Back" if kind == "choose" else "<")
    prompts = HermesPrompts(screen.prompts())
    question = Question("Which?", "--which", can_go_back=True)

    with pytest.raises(GoneBack):
        match kind:
            case "text":
                prompts.text(question, validate=lambda text: f"{text} will not do")
            case "choose":
                prompts.choose(question, [Choice("r", "Red")])
            case "confirm":
                prompts.confirm(question, default=True)
            case _:
                prompts.secret(question)


@pytest.mark.parametrize(("typed", "meant"), [("y", True), ("No", False), ("", True)])
def test_yes_and_no_can_be_typed_where_one_may_go_back(typed: str, meant: bool) -> None:
    """The words that Hermes takes, and Enter for the default; anything else is asked again."""
    screen = Screen("maybe", typed)
    prompts = HermesPrompts(screen.prompts())

    assert prompts.confirm(Question("Sure?", "--yes", can_go_back=True), default=True) is meant
    assert ("error", "y or n") in screen.told


@pytest.mark.host
def test_ctrl_c_leaves_our_dialogue_and_not_hermes(own_home: Path) -> None:
    """Hermes' prompts exit at Ctrl-C; the setup function tells that nothing happened, and returns."""

    def leave(*_arguments: Any) -> Any:
        raise SystemExit(1)

    screen = Screen()
    prompts = replace(screen.prompts(), line=leave, choose=leave, confirm=leave)

    run_setup(prompts)

    assert screen.told == [("info", "Canon is left as it is.")]


@pytest.mark.host
def test_the_real_prompts_have_the_shape(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Hermes' own functions take our calls: a line with default, a yes or no, and the three ways to tell."""
    prompts = host_prompts()
    typed = iter(["", "n"])
    monkeypatch.setattr("builtins.input", lambda _text: next(typed))

    answers = (prompts.line("Name", "Ann", False), prompts.confirm("Sure?", True))
    for tell in (prompts.info, prompts.success, prompts.error):
        tell("told")

    assert answers == ("Ann", False)
    assert capsys.readouterr().out.count("told") == 3
