"""The key of one agent, wherever it can be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.hermes.homes import resolve_home
from canon_ops.keyring.access import Keyring, KeyringFailed, KeyringLocked, KeyringMissing, KeyringProblem
from canon_ops.operate.agent_key import credential_of_agent
from tests.support.canon_files import DEV_BINDING, KEY, profile_entry
from tests.support.canon_homes import User, user_at
from tests.support.keyring_backend import keyring_variables

REFERENCE = {"service": "canon-ops", "account": "ops"}
AGENT = str(profile_entry()["agentId"])
ENVIRONMENT = str(DEV_BINDING["environmentId"])
MOODS = [("locked", KeyringLocked), ("broken", KeyringFailed), ("crashing", KeyringFailed), (None, KeyringMissing)]


@pytest.fixture
def user(tmp_path: Path) -> User:
    return user_at(tmp_path / "home")


def asked(user: User, mood: str | None) -> str:
    """The key of the agent; without a mood there is no bus at all."""
    environ = {"HOME": str(user.home), "PATH": "/usr/bin"}
    dead = {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={user.home}/none"}
    keyring = Keyring({**environ, **(dead if mood is None else keyring_variables(user.home / "ring", mood))})
    found = credential_of_agent(resolve_home(environ), environ, keyring, environment_id=ENVIRONMENT, agent_id=AGENT)
    return found.api_key.reveal()


@pytest.mark.parametrize(("mood", "error"), MOODS)
def test_a_keyring_that_fails_hinders_nobody_whose_key_is_elsewhere(
    user: User, mood: str | None, error: type[KeyringProblem]
) -> None:
    """BR-44: a second profile of the agent, or the key in force, will do."""
    in_ring = profile_entry(apiKey=None, apiKeyRef=REFERENCE)
    user.write_agents(a=in_ring, b=profile_entry())
    from_profile = asked(user, mood)

    user.write_agents(a=in_ring)
    with pytest.raises(error):
        asked(user, mood)

    assert from_profile == KEY
