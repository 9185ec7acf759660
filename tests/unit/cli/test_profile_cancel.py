"""``canon-ops profile cancel``: a registration that nobody waits for any more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.canon_files import DEV_BINDING
from tests.unit.cli.conftest import Runner

TOKEN = "poll_9dd0c47fa1b2"


def entry(profile: str, **changes: object) -> dict[str, object]:
    return {
        "profile": profile,
        "clientType": "hermes",
        "localRegistrationId": "hermes-" + "0" * 32,
        "requestId": "req_1",
        "pollToken": TOKEN,
        "ownerPhone": "+4930123456",
        "later": {"unknown": True},
        **DEV_BINDING,
        **changes,
    }


@pytest.fixture
def file(home: Path) -> Path:
    (home / ".hermes").mkdir()
    (home / ".canon").mkdir(mode=0o700)
    file = home / ".canon" / "pending-registrations.json"
    file.write_text(json.dumps({"new": entry("new"), "theirs": entry("theirs", clientType="codex")}))
    file.chmod(0o600)
    return file


def names(file: Path) -> set[str]:
    return set(json.loads(file.read_text()))


def test_the_only_one_needs_no_name(program: Runner, file: Path) -> None:
    """It goes, another program's stays, and undo brings it back byte for byte."""
    before = file.read_bytes()

    ran = program("profile", "cancel", "--yes", "--json")

    data = ran.json["data"]
    assert ran.code == 0
    assert (data["canon_profile"], data["was_due"], data["request_id"]) == ("new", "poll", "req_1")
    assert names(file) == {"theirs"}
    assert program("undo", "--yes").code == 0
    assert file.read_bytes() == before


def test_the_plan_says_what_is_lost_and_hides_the_token(program: Runner, file: Path) -> None:
    """``--dry-run --diff`` writes nothing."""
    before = file.read_bytes()

    ran = program("profile", "cancel", "new", "--dry-run", "--diff")

    assert ran.code == 0
    assert "Request req_1 stays with its owner until it expires" in ran.out
    assert '"req_1"' in ran.out
    assert TOKEN not in ran.out + ran.err
    assert file.read_bytes() == before


def test_nothing_goes_without_a_word(program: Runner, file: Path) -> None:
    """Nobody can be asked: exit 2, and the option that would have answered."""
    ran = program("profile", "cancel", "new")

    assert (ran.code, names(file)) == (2, {"new", "theirs"})
    assert "add --yes" in ran.err


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"requestId": None, "pollToken": None}, "Nothing is known to have been sent."),
        ({"credentialAgentId": "agent_2"}, "Agent agent_2 and its key are saved already and stay"),
    ],
    ids=["not sent", "not acknowledged"],
)
def test_each_stage_loses_something_else(program: Runner, file: Path, changes: dict[str, object], told: str) -> None:
    """What is said follows from how far it came."""
    file.write_text(json.dumps({"new": entry("new", **changes)}))

    assert told in program("profile", "cancel", "--dry-run").out


@pytest.mark.parametrize(
    ("entries", "words", "code", "told"),
    [
        ({}, (), 1, "No registration is under way."),
        ({"new": entry("new")}, ("other",), 1, "of the Canon profile other is under way; there is one of new."),
        ({"a": entry("a"), "b": entry("b")}, (), 2, "Several registrations are unfinished: a, b."),
        ({"theirs": entry("theirs", clientType="codex")}, ("theirs",), 1, "codex"),
    ],
    ids=["none", "another", "several", "of another program"],
)
def test_what_is_not_ours_or_not_there_stays(
    program: Runner, file: Path, entries: dict[str, object], words: tuple[str, ...], code: int, told: str
) -> None:
    """One sentence, one cure, nothing written."""
    file.write_text(json.dumps(entries))

    ran = program("profile", "cancel", *words, "--yes")

    assert ran.code == code
    assert told in ran.err
    assert "fix:" in ran.err
    assert names(file) == set(entries)
