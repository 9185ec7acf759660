"""``canon-ops setup canon`` as a person meets it: the real script on a pseudo-terminal, Canon on loopback.

Prompts are read from the rendered screen, and only what it asks for is typed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.terminal import CTRL_C, DOWN, ENTER, Screen

SCRIPT = str(Path(sys.executable).with_name("canon-ops"))

# The dialogue of a new registration: a piece of what the screen shows, and the keys that answer it.
QUESTIONS = [
    ("How does this Hermes home get its Canon agent?", ENTER),
    ("Canon profile (hermes)", f"ops{ENTER}"),
    ("Which Canon environment owns the agent?", f"{DOWN}{ENTER}"),
    ("Agent's name (Hermes)", f"Ops{ENTER}"),
    ("What it is for", ENTER),
    ("Agent id to reconnect", ENTER),
    ("Phone number of the agent's owner", f"+1 (555) 0100{ENTER}"),
    ("Ask the owner at +15550100?", "y"),
]


@pytest.fixture
def canon() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions(auto_approve=True, approve_after_polls=0)) as box:
        yield box


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"}


def words(box: CanonSandbox) -> list[str]:
    ends = box.endpoints
    return [SCRIPT, "setup", "canon", "--base-url", ends.api, "--stream-url", ends.stream]


def is_asked(question: str, columns: int) -> object:
    """Whether the screen shows a question, wherever its line was broken."""
    flat = question.replace(" ", "")
    return lambda text: flat in text.replace("\n", "").replace(" ", "") and columns


def answer(screen: Screen, questions: list[tuple[str, str]], columns: int = 80) -> None:
    for question, keys in questions:
        screen.wait_for(is_asked(question, columns))  # type: ignore[arg-type]
        screen.type(keys)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_from_the_first_question_to_a_bound_profile(
    environ: dict[str, str], canon: CanonSandbox, columns: int, tmp_path: Path
) -> None:
    """A person answers eight questions; the owner approves; profile and key are kept."""
    with Screen(words(canon), environ, columns=columns, rows=50) as screen:
        answer(screen, QUESTIONS, columns)
        code = screen.finish(timeout_s=60)
        text = screen.text

    assert code == 0, text
    agents = json.loads((tmp_path / ".canon" / "agents.json").read_text())
    assert agents["ops"]["apiKey"].startswith("agk_live_sandbox_")
    assert "CANON_AGENT=ops" in (tmp_path / ".hermes" / ".env").read_text()
    flat = text.replace("\n", "").replace(" ", "")
    assert "✓Ops(agent_000001)answersforthisprofileoncanon-dev-v1,keptasCanonprofileops." in flat
    assert "agk_live" not in text


@pytest.mark.parametrize("asked", range(len(QUESTIONS)), ids=lambda index: QUESTIONS[index][0])
def test_ctrl_c_at_any_question_writes_nothing(
    environ: dict[str, str], canon: CanonSandbox, asked: int, tmp_path: Path
) -> None:
    """Exit 130, no request, no file, no traceback."""
    with Screen(words(canon), environ) as screen:
        answer(screen, [*QUESTIONS[:asked], (QUESTIONS[asked][0], CTRL_C)])
        code = screen.finish()
        text = screen.text

    assert code == 130
    assert text.splitlines()[-1] == "Interrupted."
    assert "Traceback" not in text
    assert canon.human.registrations() == []
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_number_is_asked_again(environ: dict[str, str], canon: CanonSandbox) -> None:
    """The complaint is on the screen; the number is shown back before it is used."""
    with Screen(words(canon), environ) as screen:
        answer(screen, QUESTIONS[:6])
        screen.wait_for("Phone number of the agent's owner")
        screen.type(f"555{ENTER}")
        screen.wait_for(lambda text: "8" in text.splitlines()[-1] or "+" in text.splitlines()[-1])
        screen.type("\x7f" * 3 + f"+15550100{ENTER}")
        screen.wait_for("Ask the owner at +15550100?")
        screen.type("y")

        assert screen.finish(timeout_s=60) == 0


def test_ctrl_c_after_the_request_keeps_it_and_says_so(environ: dict[str, str], tmp_path: Path) -> None:
    """The owner has not decided: the pending entry stays, the message names it, and the next run goes on with it."""
    with CanonSandbox(CanonOptions()) as canon:
        with Screen(words(canon), environ) as screen:
            answer(screen, QUESTIONS)
            screen.wait_for("is with the owner")
            screen.type(CTRL_C)
            code = screen.finish()
            text = screen.text
        (request,) = canon.human.registrations()
        assert (code, request["status"]) == (130, "pending")
        assert str(request["request_id"]) in text
        canon.human.approve()

        with Screen([*words(canon), "--canon-profile", "ops"], environ) as screen:
            code = screen.finish(timeout_s=60)
            text = screen.text

        assert code == 0, text
        assert len(canon.human.registrations()) == 1
        assert "ops" in json.loads((tmp_path / ".canon" / "agents.json").read_text())
