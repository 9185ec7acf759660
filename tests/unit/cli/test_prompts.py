"""The dialogue at a real pseudo-terminal: prompts are read from the screen, and only what it asks for is typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.terminal import CTRL_C, CTRL_D, DOWN, ENTER, Screen

DIALOGUE = [sys.executable, "-m", "tests.support.dialogue"]
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
    }


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_each_kind_of_question_takes_its_answer(environ: dict[str, str], columns: int) -> None:
    """A line, a default, an arrow choice, a hidden line, a yes and a no, at every width.

    Whole words and Enter, as people type them: no key of one answer is left over to answer the next question.
    """
    with Screen(DIALOGUE, environ, columns=columns) as screen:
        screen.wait_for("? Name? (Letters only.)")
        screen.type(f"Ada{ENTER}")
        screen.wait_for("? Place? (Bonn)")
        screen.type(ENTER)
        screen.wait_for("» Green")
        screen.type(DOWN)
        screen.wait_for("» Blue")
        screen.type(ENTER)
        screen.wait_for("? Key?")
        screen.type(f"agk_live_0123456789abcdef{ENTER}")
        screen.wait_for("? Sure?")
        screen.type(f"yes{ENTER}")
        screen.wait_for("? Really?")
        screen.type(f"no{ENTER}")
        code = screen.finish()
        text = screen.text

    answers = json.loads(text[text.rindex("{") :].replace("\n", ""))
    assert code == 0
    assert answers == {"name": "Ada", "place": "Bonn", "colour": "b", "key": "…cdef", "sure": True, "really": False}
    assert "0123456789" not in text


def test_a_bad_answer_is_asked_again(environ: dict[str, str]) -> None:
    """The complaint is on the screen, and the answer can be mended."""
    with Screen(DIALOGUE, environ) as screen:
        screen.wait_for("? Name?")
        screen.type(f"R2D2{ENTER}")
        screen.wait_for("R2D2 is no name.")
        screen.type("\x7f" * 4 + f"Robo{ENTER}")

        assert "? Name? (Letters only.) Robo" in screen.wait_for("? Place?")


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D], ids=["ctrl-c", "ctrl-d"])
def test_leaving_a_question_is_130_without_a_traceback(environ: dict[str, str], key: str) -> None:
    """BR-45: Both ways out end the command; no half answer is taken."""
    with Screen(DIALOGUE, environ) as screen:
        screen.wait_for("? Name?")
        screen.type(key)
        code = screen.finish()
        text = screen.text

    assert code == 130
    assert text.splitlines()[-1] == "Interrupted."
    assert "Traceback" not in text


def test_yes_answers_confirmations_and_nothing_else(environ: dict[str, str]) -> None:
    """--yes is consent, not a name."""
    with Screen([*DIALOGUE, "--yes"], environ) as screen:
        screen.wait_for("? Name?")
        screen.type(f"Ada{ENTER}")
        screen.wait_for("? Place?")
        screen.type(ENTER)
        screen.wait_for("» Green")
        screen.type(ENTER)
        screen.wait_for("? Key?")
        screen.type(f"0123456789abcdef{ENTER}")
        code = screen.finish()
        text = screen.text

    assert code == 0
    assert "Sure? Yes (--yes)." in text


@pytest.mark.parametrize("case", ["pipe", "--no-input", "CI"])
def test_nobody_to_ask_names_the_option(environ: dict[str, str], case: str) -> None:
    """BR-45: Piped input is never taken for an answer; the message names what would have answered."""
    if case == "pipe":
        done = subprocess.run(
            DIALOGUE, env=environ, input="Ada\n", text=True, capture_output=True, timeout=60, cwd=ROOT
        )
        code, text = done.returncode, done.stderr
        assert done.stdout == ""
    else:
        more = {"CI": "true"} if case == "CI" else {}
        words = [*DIALOGUE, *([case] if case == "--no-input" else [])]
        with Screen(words, {**environ, **more}) as screen:
            code = screen.finish()
            text = screen.text.replace("\r", "") + "\n"

    assert code == 2
    assert text == "Six questions.\nNot answered: Name? add --name\n"


def test_the_dialogue_speaks_on_stderr(environ: dict[str, str], tmp_path: Path) -> None:
    """What is redirected from stdout holds the answer only; without a terminal there nothing is asked."""
    file = tmp_path / "out"
    command = f"{sys.executable} -m tests.support.dialogue > {file}"

    with Screen(["/bin/sh", "-c", command], environ) as screen:
        code = screen.finish()

    assert (code, file.read_text()) == (2, "")
