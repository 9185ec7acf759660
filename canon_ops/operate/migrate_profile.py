"""Binding an older Canon profile to its environment, after Canon has confirmed both the environment and the agent.

Profiles from before environments existed hold a key and perhaps an agent id; they fail closed. Nothing is guessed
here: API and stream must answer for the environment, and the key must be taken there as the agent that the profile
names, before a single field is written.

Source: command-line contract, profile; Canon wire 1.5, 3.6.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

from canon_ops.errors import CredentialError, RefusedError
from canon_ops.files.transaction import ChangedUnderUs
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.keyring.access import Keyring
from canon_ops.operate.canon_profiles import named_profile
from canon_ops.operate.identify import identify
from canon_ops.operate.profile_key import key_of_profile
from canon_ops.operate.prompts import Prompts
from canon_ops.operate.setup_answers import KeyOfAnotherAgent, SetupAnswers
from canon_ops.operate.setup_questions import ask_connection, choose_environment
from canon_ops.operate.writing import Writing, Written, edit_agents
from canon_ops.runtime.clock import Clock
from canon_ops.settings.credentials import load_profiles
from canon_ops.settings.environments import ENVIRONMENTS, Connection
from canon_ops.settings.problems import ForeignProfile, reconnect_command
from canon_ops.settings.profiles import AgentProfile, AgentsFile
from canon_ops.settings.provenance import Source
from canon_ops.settings.records import format_time
from canon_ops.wire.agents import AgentIdentity

__all__ = ["Migrated", "migrate_profile"]


class NothingToMigrate(RefusedError):
    """The profile is bound, to another environment than the one that was given."""

    code = "profile_bound"


class AgentUnknown(CredentialError):
    """Canon takes the key and does not say whose it is."""

    code = "agent_unknown"


@dataclass(frozen=True, slots=True)
class Migrated:
    """What migrating did, or would do.

    Attributes:
        added: the fields that the profile lacked.
    """

    canon_profile: str
    connection: Connection
    agent_id: str
    agent_name: str
    added: tuple[str, ...]
    written: Written


def migrate_profile(
    writing: Writing,
    name: str,
    answers: SetupAnswers,
    prompts: Prompts,
    keyring: Keyring,
    *,
    clock: Clock,
    timeout_s: float,
) -> Migrated:
    """Complete a profile.

    Args:
        answers: the environment and, where it has other endpoints than the packaged ones, its endpoints.

    Raises:
        NoSuchProfile, ForeignProfile, NothingToMigrate: it is not there, not ours, or bound elsewhere.
        KeyMissing, KeyringProblem: it has no key that could be shown to Canon.
        EnvironmentMismatch, Unauthorized, Forbidden, RequestFailed, ServiceUnavailable: Canon does not confirm.
        KeyOfAnotherAgent: the key is not the profile's agent's.
        DamagedFile, LockTimeout, ChangedUnderUs, DiskError: nothing was written.
    """
    profiles = load_profiles(surroundings_from_disk(writing.home.path, writing.environ))
    profile, file = named_profile(profiles, name), profiles.agents.file
    if not profile.is_for_hermes:
        raise ForeignProfile(name, str(profile.client_type), file)
    if answers.environment is None:  # never guessed: the key would be shown there
        known = profile.environment_id if profile.environment_id in ENVIRONMENTS else None
        answers = replace(answers, environment=choose_environment(prompts, known))
    connection = ask_connection(prompts, answers, pending=None, known=profile)
    if not profile.missing():
        if not profile.is_bound_to(connection):
            raise NothingToMigrate(
                f"The Canon profile {name} is bound to {profile.environment_id} already; its key belongs there",
                fix=f"canon-ops setup canon --canon-profile {name} --environment {connection.environment_id}",
                file=file,
            )
        return Migrated(name, connection, str(profile.agent_id), str(profile.agent_name), (), Written())
    key = key_of_profile(profile, keyring)
    again = f"reconnect it: {reconnect_command(name, profile.agent_id)}"
    with prompts.progress(f"Asking {connection.environment_id} whose key it is"):
        identity = identify(connection, key, fix=again, clock=clock, timeout_s=timeout_s)
    fields = _completed(profile, identity, connection, file, now_ms=clock.now_ms())

    def complete(agents: AgentsFile) -> AgentsFile:
        if profiles.source_of(name) is Source.BOOTSTRAP and name not in agents.entries:
            agents = AgentsFile(agents.file, {**agents.entries, name: profile.fields})
        if dict(agents.entries.get(name, {})) != dict(profile.fields):
            raise ChangedUnderUs(f"The Canon profile {name} was changed in the meantime", fix="run it again", file=file)
        return agents.with_fields(name, fields)

    written = edit_agents(writing, complete)
    return Migrated(name, connection, fields["agentId"], fields["agentName"], profile.missing(), written)


def _completed(
    profile: AgentProfile, identity: AgentIdentity, connection: Connection, file: str, *, now_ms: int
) -> dict[str, str]:
    if profile.agent_id is not None and identity.agent_id != profile.agent_id:
        raise KeyOfAnotherAgent(profile.name, profile.agent_id, identity.agent_id, file)
    if identity.agent_id is None:
        raise AgentUnknown(
            f"Canon takes the key of {profile.name} and does not say whose it is",
            fix=f"canon-ops setup canon --canon-profile {shlex.quote(profile.name)}",
        )
    return {
        "agentId": identity.agent_id,
        "agentName": profile.agent_name or identity.display_name or profile.name,
        "registeredAt": profile.registered_at or format_time(now_ms),
        **connection.binding(),
    }
