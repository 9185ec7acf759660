"""The doctor on a real terminal: read at 60, 80 and 200 columns, in colour and in ASCII, and repairing after a word."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.terminal import ENTER, Screen

SCRIPT = str(Path(sys.executable).with_name("canon-ops"))
ASKED = "config.parse,env.parse,plugin.denied,env.open_access,gateway.running,net.api"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A user whose home has a warning, an error, and things that are in order."""
    home = tmp_path / ".hermes"
    home.mkdir()
    (home / "config.yaml").write_text("plugins:\n  enabled: [canon-hermes]\n  disabled: [canon-hermes]\n")
    (home / ".env").write_text("CANON_ALLOW_ALL_USERS=maybe\n")
    return {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_what_is_worst_stands_last_at_any_width(columns: int, environ: dict[str, str]) -> None:
    """Sentences wrap under themselves; the last lines before the prompt say what is wrong and what repairs it."""
    words = [SCRIPT, "doctor", "--only", ASKED, "--offline"]

    with Screen(words, {**environ, "COLUMNS": str(columns)}, rows=60, columns=columns) as screen:
        code = screen.finish()
        lines = screen.text.rstrip().splitlines()

    assert code == 1
    assert lines[-3:] == [
        "  fix: canon-ops install canon --yes",
        "1 error, 1 warning, 1 info, 2 ok, 1 skipped",
        "canon-ops doctor --fix repairs 2 of these.",
    ]
    marks = [line[0] for line in lines[:-2] if line[1:2] == " " and line[0] != " "]
    assert marks == ["-", "✓", "✓", "i", "!", "✗"]


def test_a_terminal_that_knows_ascii_and_no_colour(environ: dict[str, str]) -> None:
    """Letters for marks, no escape sequence, nothing that had to be written out as a code."""
    plain = {**environ, "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "NO_COLOR": "1"}

    with Screen([SCRIPT, "doctor", "--only", ASKED, "--offline"], plain, rows=60) as screen:
        screen.finish()
        raw = screen.raw.decode()

    assert raw.isascii()
    assert "\x1b[3" not in raw and "\\u" not in raw
    assert "\nx  plugin.denied" in raw.replace("\r", "")


def test_a_repair_is_shown_and_asked_about(environ: dict[str, str]) -> None:
    """The diff is on the screen before the question; no means no, yes means done, and the report is of what is now."""
    words = [SCRIPT, "doctor", "--only", "env.open_access,plugin.denied", "--fix"]
    env_file = Path(environ["HOME"]) / ".hermes" / ".env"

    with Screen(words, environ, rows=60) as screen:
        screen.wait_for("+CANON_ALLOW_ALL_USERS=false")
        screen.wait_for("Carry out 2 repairs?")
        screen.type(f"n{ENTER}")
        refused = screen.finish()
    kept = env_file.read_text()
    with Screen(words, environ, rows=60) as screen:
        screen.wait_for("Carry out 2 repairs?")
        screen.type(f"y{ENTER}")
        done = screen.finish()
        text = screen.text

    assert (refused, kept) == (2, "CANON_ALLOW_ALL_USERS=maybe\n")
    assert (done, env_file.read_text()) == (0, "CANON_ALLOW_ALL_USERS=false\n")
    assert "✓ plugin.denied: repaired" in text
    assert "2 ok" in text.splitlines()[-1]
