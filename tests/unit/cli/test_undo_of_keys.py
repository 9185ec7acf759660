"""``canon-ops undo`` of commands that moved a key: the files are one half of such a change, the keyring the other."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.support.canon_files import KEY, profile_entry
from tests.support.canon_homes import OTHER_KEY, User, user_at
from tests.support.keyring_backend import entries_of, keyring_variables
from tests.unit.cli.conftest import Runner


@pytest.fixture
def user(home: Path) -> User:
    user = user_at(home)
    user.write_env(f"X=1\nBORGEE_API_KEY={OTHER_KEY}\n")
    return user


SIDES = {"canon": ("--canon-profile", "ops"), "borgee": ("--platform", "borgee")}
sides = pytest.mark.parametrize("side", SIDES.values(), ids=SIDES)


def texts(user: User) -> tuple[bytes, bytes]:
    return user.agents_file.read_bytes(), user.env_file.read_bytes()


@sides
@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["", "dry"])
def test_no_reference_comes_back_without_its_key(
    program: Runner, user: User, ring: Path, side: tuple[str, ...], dry: tuple[str, ...]
) -> None:
    """The key went to its file, and the keyring has it no more: the file keeps it, and the way there is named."""
    program("creds", "move", "--to", "keyring", *side)
    program("creds", "move", "--to", "file", *side)
    before = texts(user)

    ran = program("undo", *dry)

    assert (ran.code, ran.out, texts(user)) == (1, "", before)
    assert "which the keyring does not have any more" in ran.err
    words = shlex.split(ran.err.partition("fix: canon-ops ")[2].splitlines()[0])
    assert program(*words).code == 0
    assert set(entries_of(ring).values()) == {KEY if side == SIDES["canon"] else OTHER_KEY}


@sides
def test_a_removed_key_does_not_seem_to_come_back(
    program: Runner, user: User, ring: Path, side: tuple[str, ...]
) -> None:
    """It is gone for good; the refusal names how to get another one."""
    program("creds", "move", "--to", "keyring", *side)
    program("creds", "remove", "--yes", *side)
    before = texts(user)

    ran = program("undo")

    assert (ran.code, texts(user)) == (1, before)
    again = "setup canon --canon-profile ops" if side == SIDES["canon"] else "env set BORGEE_API_KEY"
    assert f"fix: canon-ops {again}" in ran.err


def test_a_reference_whose_key_is_there_comes_back(program: Runner, user: User, ring: Path) -> None:
    """An entry that stays in the keyring, since another profile refers to it, is no hindrance."""
    program("creds", "move", "--to", "keyring", "--canon-profile", "ops")
    reference = user.agents()["ops"]["apiKeyRef"]
    user.write_agents(
        ops=profile_entry(apiKey=None, apiKeyRef=reference), twin=profile_entry(apiKey=None, apiKeyRef=reference)
    )
    before = texts(user)
    program("creds", "move", "--to", "file", "--canon-profile", "ops")

    assert program("undo").code == 0
    assert texts(user) == before


@pytest.mark.parametrize("mood", ["locked", "broken", "silent"])
def test_a_keyring_that_cannot_be_asked_changes_nothing(
    program: Runner, user: User, ring: Path, mood: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the key is there is not known then: exit 3 with its sentence."""
    program("creds", "move", "--to", "keyring")
    program("creds", "move", "--to", "file")
    before = texts(user)
    for name, value in keyring_variables(ring, mood).items():
        monkeypatch.setenv(name, value)

    ran = program("undo")

    assert (ran.code, texts(user)) == (3, before)
    assert "keyring" in ran.err


def test_a_change_beside_a_reference_asks_no_keyring(
    program: Runner, user: User, ring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reference that stays in the file is no concern of an undo, whatever the keyring is like."""
    program("creds", "move", "--to", "keyring", "--platform", "borgee")
    before = texts(user)
    program("env", "set", "CANON_AGENT", "ops")
    for name, value in keyring_variables(ring, "broken").items():
        monkeypatch.setenv(name, value)

    assert program("undo").code == 0
    assert texts(user) == before
