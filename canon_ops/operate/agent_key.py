"""The credential of one agent, whichever profile of this user holds it.

Several gateways may share one Canon home, each for an agent of its own. What concerns an agent is asked with that
agent's own key and no other.

Source: decisions A1, A4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from canon_ops.errors import CanonOpsError, NotFoundError
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.keyring.access import Keyring, KeyringEntryMissing, KeyringProblem
from canon_ops.operate.profile_key import key_in_force, key_of_profile
from canon_ops.settings.credentials import load_profiles, resolve
from canon_ops.settings.environments import Connection
from canon_ops.settings.secret import Secret

__all__ = ["AgentCredential", "credential_in_force", "credential_of_agent"]


@dataclass(frozen=True, slots=True)
class AgentCredential:
    """Where and as whom to ask."""

    connection: Connection
    api_key: Secret
    agent_id: str | None


def credential_in_force(home: HermesHome, environ: Mapping[str, str], keyring: Keyring) -> AgentCredential:
    """The credential that the gateway of this profile would use.

    Raises:
        NotConfigured and its kin, KeyringProblem, KeyringEntryMissing: there is none.
    """
    found = resolve(surroundings_from_disk(home.path, environ))
    return AgentCredential(found.connection, key_in_force(found, keyring), found.agent_id)


def credential_of_agent(
    home: HermesHome, environ: Mapping[str, str], keyring: Keyring, *, environment_id: str, agent_id: str
) -> AgentCredential:
    """The credential of that agent: that of any profile in agents.json, or the one in force.

    A keyring that fails is no hindrance as long as the key stands somewhere else as well.

    Raises:
        NotFoundError: no profile of this user is that agent's.
        KeyringProblem, KeyringEntryMissing: its key can be had nowhere.
    """
    trouble: KeyringProblem | KeyringEntryMissing | None = None
    surroundings = surroundings_from_disk(home.path, environ)
    profiles = load_profiles(surroundings)
    for profile in profiles.agents.for_hermes():
        if (profile.agent_id, profile.environment_id) == (agent_id, environment_id):
            connection = profile.connection(profiles.agents.file, profiles.source_of(profile.name))
            try:
                return AgentCredential(connection, key_of_profile(profile, keyring), agent_id)
            except (KeyringProblem, KeyringEntryMissing) as exc:
                trouble = trouble or exc
    try:
        in_force = credential_in_force(home, environ, keyring)
    except CanonOpsError as exc:
        raise trouble or exc from exc
    if (in_force.agent_id, in_force.connection.environment_id) == (agent_id, environment_id):
        return in_force
    if trouble is not None:
        raise trouble
    raise NotFoundError(
        f"No Canon profile of this user is the agent {agent_id} of {environment_id}", fix="canon-ops profile list"
    )
