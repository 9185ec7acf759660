"""``status``, ``gateway``, ``logs`` and ``explain`` as commands: what each shows, and with which exit code."""

from __future__ import annotations

import ast
import json
import os
import re
from pathlib import Path

import pytest

import borgee_hermes
import canon_hermes_plugin
import canon_ops
from canon_ops.cli.checks import EVERY_CHECK
from canon_ops.cli.error_catalogue import EXIT_MEANINGS, error_facts
from tests.unit.cli.conftest import Runner

KEY = "agk_live_0123456789abcdef"
LOG = f"""\
2026-11-30 22:33:08,120 INFO gateway.run: Starting
2026-11-30 22:33:09,001 WARNING canon_hermes_plugin.runtime: The stream was lost: {KEY}
2026-11-30 22:33:09,002 ERROR gateway.run: It broke
Traceback (most recent call last):
ValueError: hunter2-hunter2
"""


@pytest.fixture
def hermes(home: Path) -> Path:
    """A Hermes home with a log that quotes what it should not."""
    folder = home / ".hermes"
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "gateway.log").write_text(LOG)
    (folder / ".env").write_text("OTHER_PASSWORD=hunter2-hunter2\n")
    return folder


def test_logs_are_records_without_secrets(program: Runner, hermes: Path) -> None:
    """A record a line into a pipe, the traceback in its record, and neither shaped nor known secrets."""
    ran = program("logs")

    assert ran.code == 0
    assert ran.out.splitlines() == [
        "2026-11-30 22:33:08,120\tINFO\tgateway.run\tStarting",
        "2026-11-30 22:33:09,001\tWARNING\tcanon_hermes_plugin.runtime\tThe stream was lost: [REDACTED]",
        "2026-11-30 22:33:09,002\tERROR\tgateway.run\tIt broke\\nTraceback (most recent call last):\\n"
        "ValueError: [REDACTED]",
    ]


def test_logs_at_a_terminal_are_marked(program: Runner, hermes: Path) -> None:
    """Warnings and errors are seen at a glance; a traceback is indented."""
    ran = program("logs", "--color", "never", terminal=True)

    assert ran.out == (
        "  2026-11-30 22:33:08,120  INFO  gateway.run  Starting\n"
        "! 2026-11-30 22:33:09,001  WARNING  canon_hermes_plugin.runtime  The stream was lost: [REDACTED]\n"
        "✗ 2026-11-30 22:33:09,002  ERROR  gateway.run  It broke\n"
        "    Traceback (most recent call last):\n"
        "    ValueError: [REDACTED]\n"
    )


@pytest.mark.parametrize(
    ("options", "levels"),
    [
        (("--level", "warning"), ["WARNING", "ERROR"]),
        (("--platform", "canon"), ["WARNING"]),
        (("--grep", "ValueError|Start"), ["INFO", "ERROR"]),
        (("-n", "1"), ["ERROR"]),
        (("-n", "0"), []),
    ],
)
def test_logs_are_filtered(options: tuple[str, ...], levels: list[str], program: Runner, hermes: Path) -> None:
    """By gravity, by platform, by expression, by count."""
    ran = program("logs", *options, "--json")

    assert [record["level"] for record in ran.json["data"]["records"]] == levels


def test_a_wrong_expression_is_a_wrong_call(program: Runner, hermes: Path) -> None:
    """Exit 2, with what is wrong about it."""
    ran = program("logs", "--grep", "a(")

    assert (ran.code, "no regular expression" in ran.err) == (2, True)


def test_no_log_is_told(program: Runner, hermes: Path) -> None:
    """Exit 1, and what would write one."""
    ran = program("logs", "--file", "agent")

    assert (ran.code, ran.out) == (1, "")
    assert "fix: hermes gateway run" in ran.err


def test_status_at_a_terminal(program: Runner, hermes: Path) -> None:
    """One line a part; what is in the way follows with its cure."""
    state = {"gateway_state": "running", "pid": os.getpid(), "platforms": {"canon": {"state": "connected"}}}
    (hermes / "gateway_state.json").write_text(json.dumps(state))
    (hermes / "config.yaml").write_text("plugins: {enabled: [canon-hermes]}\nplatforms: {canon: {enabled: true}}\n")

    ran = program("status", "--python", "/nonexistent", "--color", "never", terminal=True)

    lines = ran.out.splitlines()
    assert ran.code == 0
    assert " ".join(ran.out.split()).startswith(f"Hermes profile default ({hermes})")
    assert "Canon           enabled, switched on; connected" in lines
    assert any(line.startswith(f"Gateway         running, pid {os.getpid()}, since ") for line in lines)
    assert any(line.startswith("✗ host") for line in lines)
    assert "  fix: canon-ops setup canon" in lines


def test_status_of_all_profiles(program: Runner, hermes: Path) -> None:
    """A row a profile."""
    (hermes / "profiles" / "work").mkdir(parents=True)

    ran = program("status", "--all-profiles", "--json")

    assert [one["hermes_profile"] for one in ran.json["data"]["profiles"]] == ["default", "work"]


def test_gateway_status_is_1_without_a_gateway(program: Runner, hermes: Path) -> None:
    """The answer is given all the same, with the command that starts one."""
    ran = program("gateway", "status", "--json")

    assert (ran.code, ran.json["data"]["running"], ran.json["data"]["gateway"]["state"]) == (1, False, "never")
    assert ran.json["errors"][0]["fix"] == "hermes gateway run"


@pytest.mark.parametrize("check", EVERY_CHECK, ids=lambda check: check.id)
def test_every_check_is_explained(check: object, program: Runner) -> None:
    """Whole sentences from the check itself: why, and how to mend it without this program."""
    told = program("explain", getattr(check, "id", ""), "--json").json["data"]

    assert told["kind"] == "check"
    for part in ("cause", "matters"):
        assert told[part].endswith(".") and len(told[part].split()) >= 4, part
    assert len(told["by_hand"].split()) >= 3  # a command may say it all


TELLERS = {"Problem": 0, "EnvProblem": 0, "InTheWay": 1}  # the argument of each that is a code
OURS = Path(canon_ops.__file__).parents[1]
ROOMS = [OURS / "canon_ops", Path(canon_hermes_plugin.__file__).parent, Path(borgee_hermes.__file__).parent]
SERVER_SIDE = ("sandbox", "loopback")  # the codes of Canon and of Borgee, as the loopback servers say them
CODE = re.compile(r"[a-z]+(_[a-z0-9]+)*")


def codes_in_the_source() -> set[str]:
    """Every code that the program tells as a plain word instead of through a class of errors."""
    found: set[str] = set()
    for file in (file for room in ROOMS for file in room.rglob("*.py") if not {*file.parts} & {*SERVER_SIDE}):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                place = TELLERS.get(getattr(node.func, "id", getattr(node.func, "attr", "")))
                told = [node.args[place]] if place is not None and len(node.args) > place else []
                told += [word.value for word in node.keywords if word.arg == "code"]
                words = [one.value for one in told if isinstance(one, ast.Constant) and isinstance(one.value, str)]
                found |= {word for word in words if CODE.fullmatch(word)}
    return found


def test_every_error_code_is_explained() -> None:
    """Each has a sentence about itself, and its exit code a meaning; also one that no class stands behind."""
    facts = error_facts()

    told = codes_in_the_source()
    assert {"config_absent", "env_duplicate", "gateway_crashed", "usage"} <= told
    assert told - facts.keys() == set()
    assert len(facts) > 100
    assert [code for code, one in facts.items() if not one.sentences[0].endswith(".")] == []
    assert {one.exit_code for one in facts.values()} <= set(EXIT_MEANINGS)


@pytest.mark.parametrize("code", ["gateway_not_running", "interrupted", "config_alias"])
def test_a_code_of_a_document_can_be_asked_about(code: str, program: Runner) -> None:
    """With a class behind it or without one."""
    told = program("explain", code, "--json").json["data"]

    assert (told["kind"], told["name"]) == ("error", code)
    assert len(told["cause"].split()) > 4 and told["matters"].endswith(".")


def test_an_error_is_explained_to_people(program: Runner) -> None:
    """Under headings, wrapped at the width of the terminal."""
    ran = program("explain", "config_alias", "--color", "never", terminal=True)

    assert ran.code == 0
    assert ran.out.startswith("config_alias: an error, with exit code 1\n\nCause\n  The place is reached only through")
    assert max(map(len, ran.out.splitlines())) <= 80


def test_a_near_name_is_offered(program: Runner) -> None:
    """A typo costs one more call, not a search."""
    ran = program("explain", "plugin.denid")

    assert (ran.code, "fix: canon-ops explain plugin.denied" in ran.err) == (1, True)
