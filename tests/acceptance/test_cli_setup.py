"""``canon-ops setup canon`` as a person meets it: the real script on a pseudo-terminal, Canon on loopback.

Prompts are read from the rendered screen, and only what it asks for is typed.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.canon_files import profile_entry
from tests.support.terminal import CTRL_C, DOWN, ENTER, ESCAPE, Screen

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
    ("Ask the owner at +15550100?", f"y{ENTER}"),
]


def slow(*values: object) -> Any:
    """A case that belongs to ``make test-surface``."""
    return pytest.param(*values, marks=pytest.mark.long)


def slice_of(cases: Sequence[Any]) -> list[Any]:
    """The last case for every run, the others for ``make test-surface``."""
    *others, last = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [*(slow(*case) for case in others), pytest.param(*last)]


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


def is_asked(question: str) -> Callable[[str], bool]:
    """Whether the screen shows a question, wherever its line was broken."""
    flat = question.replace(" ", "")
    return lambda text: flat in text.replace("\n", "").replace(" ", "")


def answer(screen: Screen, questions: list[tuple[str, str]]) -> None:
    for question, keys in questions:
        screen.wait_for(is_asked(question))
        screen.type(keys)


@pytest.mark.parametrize("columns", [60, slow(80), slow(200)])
def test_from_the_first_question_to_a_bound_profile(
    environ: dict[str, str], canon: CanonSandbox, columns: int, tmp_path: Path
) -> None:
    """A person answers eight questions; the owner approves; profile and key are kept."""
    with Screen(words(canon), environ, columns=columns, rows=50) as screen:
        answer(screen, QUESTIONS)
        code = screen.finish(timeout_s=60)
        text = screen.text

    assert code == 0, text
    agents = json.loads((tmp_path / ".canon" / "agents.json").read_text())
    assert agents["ops"]["apiKey"].startswith("agk_live_sandbox_")
    assert "CANON_AGENT=ops" in (tmp_path / ".hermes" / ".env").read_text()
    flat = text.replace("\n", "").replace(" ", "")
    assert "✓Ops(agent_000001)answersforthisprofileoncanon-dev-v1,keptasCanonprofileops." in flat
    assert "agk_live" not in text
    for whole in ("Register or reconnect an agent", "canon-dev-v1 - development", "who approves it in the"):
        assert whole in text  # lines end between words


@pytest.mark.parametrize("asked", slice_of(range(len(QUESTIONS))), ids=lambda index: QUESTIONS[index][0])
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


@pytest.mark.long
def test_a_wrong_number_is_asked_again(environ: dict[str, str], canon: CanonSandbox) -> None:
    """The complaint is on the screen; the number is shown back before it is used."""
    with Screen(words(canon), environ) as screen:
        answer(screen, QUESTIONS[:6])
        screen.wait_for("Phone number of the agent's owner")
        screen.type(f"555{ENTER}")
        screen.wait_for(lambda text: "8" in text.splitlines()[-1] or "+" in text.splitlines()[-1])
        screen.type("\x7f" * 3 + f"+15550100{ENTER}")
        screen.wait_for("Ask the owner at +15550100?")
        screen.type(f"y{ENTER}")

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


@pytest.mark.parametrize("asked", slice_of(range(1, len(QUESTIONS))), ids=lambda index: QUESTIONS[index][0])
def test_escape_goes_back_one_question(
    environ: dict[str, str], canon: CanonSandbox, asked: int, tmp_path: Path
) -> None:
    """The question leaves the screen, the one before comes again with its answer as default; the end is the same."""
    before, here = QUESTIONS[asked - 1], QUESTIONS[asked]
    with Screen(words(canon), environ, rows=60) as screen:
        answer(screen, QUESTIONS[:asked])
        screen.wait_for(is_asked(here[0]))
        screen.type(ESCAPE)
        screen.wait_for(lambda text: asked_times(text, before[0]) == 2 and asked_times(text, here[0]) == 0)
        screen.type(ENTER)
        screen.wait_for(lambda text: asked_times(text, here[0]) == 1)
        screen.type(here[1])
        answer(screen, QUESTIONS[asked + 1 :])
        code = screen.finish(timeout_s=60)
        text = screen.text

    assert code == 0, text
    assert list(json.loads((tmp_path / ".canon" / "agents.json").read_text())) == ["ops"]
    assert canon.human.registrations()[0]["name"] == "Ops"
    assert text.count("(Esc: the question before; Ctrl-C: leave)") == 1


def asked_times(text: str, question: str) -> int:
    """How often the screen shows a question, whatever stands in its brackets."""
    return text.replace("\n", "").replace(" ", "").count("?" + question.split(" (")[0].rstrip("?").replace(" ", ""))


def test_what_is_wrong_shows_while_it_is_typed(environ: dict[str, str], canon: CanonSandbox) -> None:
    """Live: the complaint changes with each key, and is gone when the number will do."""
    with Screen(words(canon), environ) as screen:
        answer(screen, QUESTIONS[:6])
        screen.wait_for("Phone number of the agent's owner")
        screen.type("4")
        screen.wait_for("begin with + and the country code")
        screen.type("\x7f+155")
        screen.wait_for("it has 3 digits; 8 to 15 are possible")
        screen.type("50100")
        screen.wait_for(lambda text: "are possible" not in text and is_asked("+15550100")(text))


def test_the_wait_shows_the_request_and_counts_down(environ: dict[str, str]) -> None:
    """While the owner thinks: the request's id, and less and less time."""
    with CanonSandbox(CanonOptions()) as canon, Screen([*words(canon), "--wait", "90"], environ) as screen:
        answer(screen, QUESTIONS)
        screen.wait_for("Waiting for the owner: 1:30 left (Ctrl-C: go on later), request reg_000001")
        screen.wait_for("Waiting for the owner: 1:27 left")
        canon.human.approve()
        assert screen.finish(timeout_s=30) == 0


def test_a_wrong_environment_is_told_at_once(environ: dict[str, str], canon: CanonSandbox, tmp_path: Path) -> None:
    """The service is another one: a person chooses again and goes on; nothing was written before."""
    with Screen(words(canon), environ, rows=60) as screen:
        answer(screen, [*QUESTIONS[:2], (QUESTIONS[2][0], ENTER)])
        screen.wait_for("does not match")
        screen.wait_for("What now?")
        assert not (tmp_path / ".canon").exists()
        screen.type(ENTER)  # answer the question before otherwise
        screen.wait_for(lambda text: text.count("Which Canon environment") == 2)
        screen.type(f"{DOWN}{ENTER}")
        answer(screen, QUESTIONS[3:])

        assert screen.finish(timeout_s=60) == 0


# A call of the wizard's, whether it comes after the last question, and what the next run still asks. Canon acts on the
# call, and its answer does not arrive before the kill.
KEPT = [(question, ENTER) for question, _ in QUESTIONS[2:6]]  # not known to be with Canon: asked, with the old answers
NETWORK_STEPS: list[tuple[str, str, bool, list[tuple[str, str]]]] = [
    ("GET", "/healthz/", False, QUESTIONS[2:]),
    ("GET", "/health", False, QUESTIONS[2:]),
    ("POST", "/agents/register", True, [(question.replace("(Hermes)", "(Ops)"), keys) for question, keys in KEPT]),
    ("GET", "/agents/status/*", True, []),
    ("POST", "/agents/status/*/ack", True, []),
]


@pytest.mark.parametrize(
    ("method", "path", "sent", "asked"), slice_of(NETWORK_STEPS), ids=lambda value: str(value)[:20]
)
def test_a_wizard_killed_after_a_network_step_is_resumed(
    environ: dict[str, str],
    canon: CanonSandbox,
    method: str,
    path: str,
    sent: bool,
    asked: list[tuple[str, str]],
    tmp_path: Path,
) -> None:
    """SIGKILL when Canon has acted: the next run remembers the answers, and finishes the same request."""
    fault = canon.fault("delay", method=method, path=path, seconds=60.0, commit=True, times=1)
    with Screen(words(canon), environ, rows=60) as screen:
        answer(screen, QUESTIONS[: 8 if sent else 3])
        screen.wait_for(lambda _text: fault.fired == 1, timeout_s=30)
        screen.kill()
        assert screen.finish() == 128 + 9
    before = [request["request_id"] for request in canon.human.registrations()]
    assert len(before) == int(sent)

    with Screen([*words(canon), "--canon-profile", "ops"], environ, rows=60) as screen:
        answer(screen, asked)
        code = screen.finish(timeout_s=60)
        text = screen.text

    assert code == 0, text
    after = canon.human.registrations()
    assert len(after) == 1
    assert not sent or after[0]["request_id"] == before[0]
    assert list(json.loads((tmp_path / ".canon" / "agents.json").read_text())) == ["ops"]
    assert json.loads((tmp_path / ".canon" / "pending-registrations.json").read_text()) == {}
    assert "CANON_AGENT=ops" in (tmp_path / ".hermes" / ".env").read_text()


@pytest.mark.parametrize("path", ["/healthz/", "/health", "/agents/me"])
@pytest.mark.parametrize("way", [slow("use-profile"), "key"])
def test_a_wizard_killed_before_it_knows_whose_key_it_is_begins_anew(
    environ: dict[str, str], canon: CanonSandbox, way: str, path: str, tmp_path: Path
) -> None:
    """SIGKILL after a network step of the two ways without a registration: no file, and the same words lead to it."""
    ends = canon.endpoints
    agents = tmp_path / ".canon" / "agents.json"
    pasted = [("Agent key", f"{ends.agent_key}{ENTER}")] if way == "key" else []
    before = [] if path != "/agents/me" else pasted
    command = [*words(canon), "--environment", ends.environment_id, "--way", "key"]
    if way == "use-profile":
        profile = profile_entry(
            agentId="agent_sandbox", apiKey=ends.agent_key, environmentId=ends.environment_id,
            baseUrl=ends.api, streamUrl=ends.stream,
        )  # fmt: skip
        agents.parent.mkdir(mode=0o700)
        agents.touch(mode=0o600)
        agents.write_text(json.dumps({"ops": profile}))
        command = [SCRIPT, "setup", "canon", "--use-profile", "ops"]
    kept = agents.read_bytes() if agents.exists() else None
    fault = canon.fault("delay", method="GET", path=path, seconds=60.0, commit=True, times=1)
    with Screen(command, environ, rows=60) as screen:
        answer(screen, before)
        screen.wait_for(lambda _text: fault.fired == 1, timeout_s=30)
        screen.kill()
        assert screen.finish() == 128 + 9
    assert not (tmp_path / ".hermes").exists()
    assert (agents.read_bytes() if agents.exists() else None) == kept

    with Screen(command, environ, rows=60) as screen:
        answer(screen, pasted)
        code = screen.finish(timeout_s=60)
        text = screen.text

    assert code == 0, text
    assert canon.human.registrations() == []
    assert ends.agent_key not in text
    line = "CANON_AGENT=ops" if way == "use-profile" else f"CANON_API_KEY={ends.agent_key}"
    assert line in (tmp_path / ".hermes" / ".env").read_text()


@pytest.mark.long
def test_doctors_advice_about_a_revoked_key_leads_to_the_same_agent(
    environ: dict[str, str], canon: CanonSandbox, tmp_path: Path
) -> None:
    """The finding's command, pasted as it is, asks for the owner alone; afterwards doctor is content."""
    with Screen(words(canon), environ, rows=60) as screen:
        answer(screen, QUESTIONS)
        assert screen.finish(timeout_s=60) == 0
    agent = json.loads((tmp_path / ".canon" / "agents.json").read_text())["ops"]
    assert accepted(environ)["status"] == "ok"
    canon.human.revoke(agent["agentId"])
    finding = accepted(environ)
    assert finding["status"] == "error"
    command = shlex.split(finding["fix"]["command"])
    assert command[0] == "canon-ops"

    with Screen([SCRIPT, *command[1:]], environ, rows=60) as screen:
        screen.wait_for(f"Reconnecting Ops ({agent['agentId']})")
        answer(screen, QUESTIONS[6:])
        code = screen.finish(timeout_s=60)
        text = screen.text

    assert code == 0, text
    assert accepted(environ)["status"] == "ok"
    again = json.loads((tmp_path / ".canon" / "agents.json").read_text())["ops"]
    assert (again["agentId"], again["agentName"]) == (agent["agentId"], "Ops")
    assert again["apiKey"] != agent["apiKey"]


def accepted(environ: dict[str, str]) -> dict[str, Any]:
    """What doctor says about the key."""
    words = [SCRIPT, "doctor", "--only", "creds.accepted", "--json"]
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False, timeout=60)
    (check,) = json.loads(done.stdout)["data"]["checks"]
    return dict(check)
