"""Canon inside Hermes' own programs: ``hermes gateway setup`` on a terminal, and ``hermes canon …``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.candidate import loaded_as, name_of
from tests.support.terminal import CTRL_C, DOWN, ENTER, UP, Screen

HERMES = str(Path(sys.executable).with_name("hermes"))
ENABLED = json.dumps([name_of("canon-hermes")]) + "\n"

pytestmark = pytest.mark.host


def enable(home: Path, plugin: str) -> None:
    (name,) = loaded_as([plugin], home)
    (home / "config.yaml").write_text(f"# {home.name}\nplugins:\n  enabled: [{name}]\n")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A user with a Hermes home whose plugin is enabled, and a second Hermes profile."""
    for home in (tmp_path / ".hermes", tmp_path / ".hermes" / "profiles" / "work"):
        home.mkdir(parents=True)
        enable(home, "canon-hermes")
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm", "LANG": "C.UTF-8"}


@pytest.fixture
def canon() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions(auto_approve=True, approve_after_polls=1)) as box:
        yield box


class HermesScreen(Screen):
    """A terminal with Hermes on it, wiped by each ENTER: what an answered list has left there looks like the next."""

    def type(self, keys: str) -> None:
        if ENTER in keys:
            self.wipe()
        super().type(keys)


def choose(screen: HermesScreen, label: str, *, key: str = DOWN) -> None:
    """Wait for a list of Hermes, move in it until the row with ``label`` is marked, and take it."""
    screen.wait_for(lambda text: "ENTER/SPACE select" in text and label in text)
    for _ in range(40):
        here = screen.wait_for(lambda text: marked_row(text) is not None)
        if label in str(marked_row(here)):
            screen.type(ENTER)
            return
        screen.type(key)
        screen.wait_for(lambda text, here=here: marked_row(text) not in (None, marked_row(here)))  # type: ignore[misc]
    raise AssertionError(f"no row with {label}\n{screen.text}")


def marked_row(text: str) -> str | None:
    """The row that the arrow of a list stands at; None while it is on its way."""
    rows = [line for line in text.splitlines() if "→ (" in line]
    return rows[-1].strip() if rows else None


def reach_canon(screen: HermesScreen) -> None:
    """From the beginning of ``hermes gateway setup`` to our first question."""
    screen.wait_for("Select a platform to configure")
    choose(screen, "Canon", key=UP)
    screen.wait_for("How does this Hermes home get its Canon agent?")


def answer(screen: Screen, question: str, text: str) -> None:
    """Type a line when the newest lines of the screen ask for it, wherever they were broken."""
    flat = question.replace(" ", "")
    screen.wait_for(lambda shown: flat in "".join(shown.splitlines()[-2:]).replace(" ", ""))
    screen.type(f"{text}{ENTER}")


@pytest.mark.parametrize(
    "columns", [60, pytest.param(80, marks=pytest.mark.long), pytest.param(200, marks=pytest.mark.long)]
)
def test_an_agent_is_registered_inside_hermes_setup(
    environ: dict[str, str], canon: CanonSandbox, columns: int, tmp_path: Path
) -> None:
    """From Hermes' menu to a bound profile; one question is gone back to; Hermes' own dialogue goes on afterwards."""
    ends = canon.endpoints
    with HermesScreen([HERMES, "gateway", "setup"], environ, columns=columns, rows=60, echo=True) as screen:
        reach_canon(screen)
        choose(screen, "Register or reconnect an agent")
        answer(screen, "Canon profile", "wrong")
        choose(screen, "Back to the question before")
        answer(screen, "Canon profile", "ops")
        choose(screen, "canon-dev-v1")
        answer(screen, "(y/n)", "n")
        answer(screen, "API URL", ends.api)
        answer(screen, "Stream URL", ends.stream)
        answer(screen, "RTDB URL", ends.api)
        answer(screen, "Firebase web key", "loopback")
        answer(screen, "Agent's name", "Ops")
        answer(screen, "What it is for", "")
        answer(screen, "Agent id to reconnect", "")
        answer(screen, "Phone number", "555")
        screen.wait_for("begin with + and the country code")
        answer(screen, "Phone number", "+1 555 0100")
        answer(screen, "(y/n)", "y")
        text = screen.wait_for("Canon is set up")
        assert "is with the owner" in text
        answer(screen, "Press Enter to go on", "")
        screen.wait_for("Select a platform to configure")

    agents = json.loads((tmp_path / ".canon" / "agents.json").read_text())
    assert agents["ops"]["agentName"] == "Ops"
    assert "CANON_AGENT=ops" in (tmp_path / ".hermes" / ".env").read_text()
    assert b"agk_live" not in screen.raw


def test_leaving_the_dialogue_leaves_hermes_setup_running(environ: dict[str, str], tmp_path: Path) -> None:
    """Ctrl-C at one of our questions: nothing is written, and Hermes' menu comes back."""
    with HermesScreen([HERMES, "gateway", "setup"], environ, rows=60, echo=True) as screen:
        reach_canon(screen)
        choose(screen, "Register or reconnect an agent")
        screen.wait_for(lambda shown: "Canon profile" in "".join(shown.splitlines()[-1:]))
        screen.type(CTRL_C)
        screen.wait_for("Canon is left as it is.")
        screen.type(ENTER)
        screen.wait_for("Select a platform to configure")

    assert not (tmp_path / ".canon").exists()
    assert not (tmp_path / ".hermes" / ".env").exists() or "CANON" not in (tmp_path / ".hermes" / ".env").read_text()


def hermes(environ: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HERMES, *words], env=environ, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("words", "code", "out", "err"),
    [
        (["config", "get", "--", "plugins.enabled"], 0, ENABLED, ""),
        (["--help"], 0, "Usage: hermes canon [OPTIONS] COMMAND", ""),
        (["nosuch"], 2, "", "fix: hermes canon --help"),
        (["setup", "--use-profile", "nobody", "--no-input"], 4, "", "Error: "),
        pytest.param(*(["config", "get", "plugins.enabled"], 0, ENABLED, ""), marks=pytest.mark.long),
        pytest.param(*(["--version"], 0, "hermes canon ", ""), marks=pytest.mark.long),
        pytest.param(*([], 0, "Usage: hermes canon [OPTIONS] COMMAND", ""), marks=pytest.mark.long),
        pytest.param(
            *(["config", "get", "--help"], 0, "Usage: hermes canon config get [OPTIONS] KEY", ""),
            marks=pytest.mark.long,
        ),
        pytest.param(*(["config", "get", "nosuch"], 1, "", "Error: nosuch is not set"), marks=pytest.mark.long),
        pytest.param(*(["doctor", "--nosuch"], 2, "", "Error: No such option: --nosuch."), marks=pytest.mark.long),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_words_behind_hermes_canon_reach_the_program(
    environ: dict[str, str], words: list[str], code: int, out: str, err: str
) -> None:
    """Options, help, ends of options and exit codes are those of canon-ops; the platform is canon."""
    done = hermes(environ, "canon", *words)

    assert (done.returncode, done.stdout[: len(out)]) == (code, out), done.stderr
    assert err in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["-p", "work", "canon"], ["canon"]], ids=["before", "after"])
def test_hermes_profile_option_chooses_the_home(environ: dict[str, str], words: list[str], tmp_path: Path) -> None:
    """``hermes -p work canon …`` and ``hermes canon … -p work`` work on that profile's home."""
    behind = [] if "-p" in words else ["-p", "work"]
    done = hermes(environ, *words, "config", "get", "plugins.enabled", "--json", *behind)

    document = json.loads(done.stdout)
    assert document["hermes_profile"] == "work"
    assert document["data"]["file"] == str(tmp_path / ".hermes" / "profiles" / "work" / "config.yaml")


def test_a_wrong_call_is_one_document_with_the_right_schema(environ: dict[str, str]) -> None:
    """The words of the program's own name do not slip into the schema's."""
    document = json.loads(hermes(environ, "canon", "config", "nosuch", "--json").stdout)

    assert (document["schema"], document["exit_code"]) == ("canon-ops.config/1", 2)


def test_words_behind_hermes_borgee_reach_the_program(environ: dict[str, str], tmp_path: Path) -> None:
    """L9: the same program where Borgee is enabled; a group that needs a platform means Borgee."""
    for file in tmp_path.glob(".hermes/**/config.yaml"):
        enable(file.parent, "borgee")

    version = hermes(environ, "borgee", "--version")
    refused = hermes(environ, "borgee", "setup", "--no-input", "--json")

    assert version.stdout.startswith("hermes borgee "), version.stderr
    document = json.loads(refused.stdout)
    assert (document["schema"], document["errors"][0]["code"]) == ("canon-ops.setup.borgee/1", "answer_missing")
