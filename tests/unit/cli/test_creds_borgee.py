"""``creds test --platform borgee`` against the loopback Borgee, through the client that a gateway uses."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from borgee_hermes.locks.identity import CREDENTIAL_SCOPE, identities
from borgee_hermes.loopback.server import BorgeeSandbox
from canon_ops.settings.secret import Secret
from tests.support.borgee_boxes import borgee_box
from tests.support.canon_homes import User, user_at
from tests.support.held_locks import hold_lock
from tests.support.keyring_backend import keyring_variables
from tests.unit.cli.conftest import Runner

ASK = ("creds", "test", "--platform", "borgee")


@pytest.fixture
def borgee() -> Iterator[BorgeeSandbox]:
    with borgee_box() as box:
        yield box


@pytest.fixture
def user(home: Path, borgee: BorgeeSandbox) -> User:
    """Somebody whose Hermes is set up for that server."""
    user = user_at(home)
    config(user, borgee.endpoints.base_url)
    user.write_env(f"X=1\nBORGEE_API_KEY={borgee.endpoints.agent_key}\n")
    return user


def config(user: User, base_url: str, **more: object) -> None:
    block = {"base_url": base_url, "allow_insecure_loopback": True, **more}
    user.write_config(json.dumps({"borgee": block}))


def greetings(box: BorgeeSandbox) -> int:
    return sum(each["what"] == "upgrade" for each in box.journal())


def test_the_server_says_who_the_key_is(program: Runner, user: User, borgee: BorgeeSandbox) -> None:
    """Agent, server and the place of the key; the key itself is nowhere in it."""
    data = program(*ASK, "--json").json["data"]
    told = program(*ASK, terminal=True)

    assert data == {
        "platform": "borgee",
        "canon_profile": None,
        "environment_id": None,
        "base_url": borgee.endpoints.base_url,
        "agent_id": "agent_sandbox",
        "agent_name": "Aide",
        "origin": f"BORGEE_API_KEY in {user.env_file}, line 2",
    }
    assert "Borgee takes the key." in told.out
    assert "Aide (agent_sandbox)" in told.out
    assert borgee.endpoints.agent_key not in told.out + told.err
    assert greetings(borgee) == 2


def test_under_its_own_name_no_platform_has_to_be_named(program: Runner, user: User, borgee: BorgeeSandbox) -> None:
    """``hermes borgee creds test`` asks Borgee, and ``creds remove`` means its key (decisions L9)."""
    asked = program("creds", "test", "--json", name="hermes borgee")
    removed = program("creds", "remove", "--yes", "--json", name="hermes borgee")

    assert asked.json["data"]["platform"] == removed.json["data"]["platform"] == "borgee"
    assert user.env_file.read_text() == "X=1\n"


def test_a_key_in_the_keyring_is_fetched(
    program: Runner, user: User, borgee: BorgeeSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference leads to it; an entry that is missing is exit 4, and nobody is asked (decisions C1)."""
    file = tmp_path / "entries.json"
    for name, value in keyring_variables(file).items():
        monkeypatch.setenv(name, value)
    user.write_env("BORGEE_API_KEY_REF=canon-ops/borgee\n")
    file.write_text(json.dumps({"canon-ops/borgee": borgee.endpoints.agent_key}))

    there = program(*ASK, "--json")
    file.write_text("{}")
    gone = program(*ASK, "--json")

    assert there.json["data"]["origin"].startswith("canon-ops/borgee in the keyring, BORGEE_API_KEY_REF in ")
    assert (gone.code, gone.json["errors"][0]["code"]) == (4, "keyring_entry_missing")
    assert greetings(borgee) == 1


def test_a_gateway_that_has_the_connection_keeps_it(program: Runner, user: User, borgee: BorgeeSandbox) -> None:
    """Exit 5 with its process, and no connection is made; a lock that a dead process left keeps nobody out."""
    key = Secret(borgee.endpoints.agent_key)
    identity = identities(user.hermes, borgee.endpoints.base_url, key).resource
    hold_lock(CREDENTIAL_SCOPE, identity, os.environ)

    held = program(*ASK, "--json")
    before = greetings(borgee)
    hold_lock(CREDENTIAL_SCOPE, identity, os.environ, lives=False)

    assert (held.code, held.json["errors"][0]["code"], before) == (5, "borgee_in_use", 0)
    assert str(os.getpid()) in held.json["errors"][0]["message"]
    assert program(*ASK).code == 0


def test_what_the_server_does_not_confirm_is_told_by_its_exit_code(
    program: Runner, user: User, borgee: BorgeeSandbox
) -> None:
    """4 for a key that is refused, another agent's or a person's; 3 for a server that is away; the key is not shown."""
    person = borgee.human.add_agent("Pat", role="member")
    other = borgee.human.add_agent("Second")
    origin = borgee.endpoints.base_url
    cases: tuple[tuple[str, str, dict[str, object], int, str], ...] = (
        ("bgr_of_nobody", origin, {}, 4, "bpp.auth_failed"),
        (person["agent_key"], origin, {}, 4, "borgee_other_agent"),
        (other["agent_key"], origin, {"agent_id": "agent_sandbox"}, 4, "borgee_other_agent"),
        (other["agent_key"], "http://127.0.0.1:9", {}, 3, "bpp.connect_failed"),
    )
    for key, address, more, code, error in cases:
        user.write_env(f"BORGEE_API_KEY={key}\n")
        config(user, address, **more)

        ran = program(*ASK, "--json")

        assert (ran.code, ran.json["errors"][0]["code"]) == (code, error)
        assert key not in ran.out + ran.err


def test_without_a_server_or_a_key_nobody_is_asked(program: Runner, user: User, borgee: BorgeeSandbox) -> None:
    """No key, no server, a key in config.yaml, a Canon profile for Borgee: each is told for what it is."""
    key = borgee.endpoints.agent_key
    user.write_env("X=1\n")
    keyless = program(*ASK, "--json")
    user.write_env(f"BORGEE_API_KEY={key}\n")
    config(user, borgee.endpoints.base_url, api_key=key)
    in_config = program(*ASK, "--json")
    user.write_config("borgee: {enabled: true}\n")
    nowhere = program(*ASK, "--json")
    both = program(*ASK, "--canon-profile", "ops", "--json")

    assert (keyless.code, keyless.json["errors"][0]["code"]) == (4, "borgee_key_missing")
    assert in_config.json["errors"][0]["code"] == "borgee_key_in_config"
    assert nowhere.code != 0
    assert both.code == 2
    assert greetings(borgee) == 0
    assert key not in in_config.out + in_config.err
