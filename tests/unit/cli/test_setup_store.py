"""``setup canon --store keyring``: no key of a new credential ever touches a file, and nothing falls back to one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.canon_files import profile_entry
from tests.support.canon_homes import User
from tests.support.keyring_backend import entries_of
from tests.unit.cli.conftest import Runner
from tests.unit.cli.test_setup import endpoints, registering


@pytest.fixture
def canon() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions(auto_approve=True, approve_after_polls=0)) as box:
        yield box


def everything_below(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def test_a_registered_key_goes_straight_to_the_keyring(
    program: Runner, home: Path, canon: CanonSandbox, ring: Path
) -> None:
    """The profile refers to it, Canon has its acknowledgement, and no file below home has ever held it."""
    ran = program("setup", "canon", *registering(canon), "--store", "keyring", "--json")

    (key,) = entries_of(ring).values()
    entry = User(home).agents()["ops"]
    assert (ran.code, ran.json["data"]["store"]) == (0, "keyring")
    assert "apiKey" not in entry
    assert entry["apiKeyRef"]
    assert key.encode() not in everything_below(home)
    assert program("creds", "test").code == 0
    assert (home / ".canon" / "pending-registrations.json").read_text() == "{}\n"


def test_the_preference_is_the_default(program: Runner, home: Path, canon: CanonSandbox, ring: Path) -> None:
    """``keyring.store``; the option beats it."""
    program("preferences", "set", "keyring.store", "keyring")

    assert program("setup", "canon", *registering(canon), "--json").json["data"]["store"] == "keyring"
    again = program("setup", "canon", *registering(canon), "--store", "file", "--start-over", "--json")
    assert again.json["data"]["store"] == "file"
    assert "apiKey" in User(home).agents()["ops"]


@pytest.mark.parametrize("mood", ["locked", "broken"])
def test_a_keyring_that_cannot_be_used_is_found_out_before_anybody_is_asked(
    program: Runner, home: Path, canon: CanonSandbox, ring: Path, monkeypatch: pytest.MonkeyPatch, mood: str
) -> None:
    """No request is sent and nothing is written: never silently to a file."""
    monkeypatch.setenv("TEST_KEYRING_MOOD", mood)

    ran = program("setup", "canon", *registering(canon), "--store", "keyring")

    assert ran.code == 3
    assert canon.human.registrations() == []
    assert not (home / ".canon").exists()


def test_a_keyring_that_fails_in_the_middle_loses_nothing(
    program: Runner, home: Path, canon: CanonSandbox, ring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is not acknowledged, so the next run gets it again: the same request, finished."""
    monkeypatch.setenv("TEST_KEYRING_MOOD", "forgetful")
    failed = program("setup", "canon", *registering(canon), "--store", "keyring")
    monkeypatch.setenv("TEST_KEYRING_MOOD", "")

    done = program("setup", "canon", *registering(canon), "--store", "keyring", "--json")

    assert failed.code == 3
    assert (done.code, done.json["data"]["resumed"]) == (0, True)
    assert len(canon.human.registrations()) == 1
    assert len(entries_of(ring)) == 1


def test_a_pasted_key_in_the_keyring_becomes_a_profile(
    program: Runner, home: Path, canon: CanonSandbox, ring: Path
) -> None:
    """Only a profile can refer to it; the key leaves .env, and the history of .env."""
    key = canon.endpoints.agent_key
    words = ("setup", "canon", *endpoints(canon), "--api-key-stdin")
    program(*words, stdin=key)
    assert key in (home / ".hermes" / ".env").read_text()

    ran = program(*words, "--store", "keyring", "--canon-profile", "desk", "--json", stdin=key)

    assert ran.code == 0
    assert ran.json["canon_profile"] == "desk"
    assert (home / ".hermes" / ".env").read_text() == "CANON_AGENT=desk\n"
    assert list(entries_of(ring).values()) == [key]
    assert key.encode() not in everything_below(home)


def test_a_profile_of_another_agent_is_not_overwritten(
    program: Runner, home: Path, canon: CanonSandbox, ring: Path
) -> None:
    """The name is taken: exit 2, nothing changes."""
    user = User(home)
    user.write_agents(desk=profile_entry(agentId="agent_other"))

    ran = program(
        "setup", "canon", *endpoints(canon), "--api-key-stdin", "--store", "keyring", "--canon-profile", "desk",
        stdin=canon.endpoints.agent_key,
    )  # fmt: skip

    assert ran.code == 2
    assert "desk is the profile of agent_other" in ran.err
    assert user.agents() == {"desk": profile_entry(agentId="agent_other")}
    assert entries_of(ring) == {}


def test_using_a_profile_leaves_its_key_where_it_is(program: Runner, home: Path) -> None:
    """Both options at once are a contradiction, with the command that is meant."""
    User(home).write_agents(ops=profile_entry())

    ran = program("setup", "canon", "--use-profile", "ops", "--store", "keyring")

    assert ran.code == 2
    assert "fix: canon-ops creds move --to keyring --canon-profile ops\n" in ran.err
