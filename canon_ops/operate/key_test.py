"""Does a platform take a key, and as whom?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from canon_ops.hermes.borgee_block import borgee_extra
from canon_ops.hermes.config_file import read_config
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.keyring.access import Keyring
from canon_ops.operate.borgee_answers import OtherAgent, WhoIs
from canon_ops.operate.canon_profiles import named_profile
from canon_ops.operate.identify import identify
from canon_ops.operate.profile_key import key_in_force, key_of_borgee, key_of_profile
from canon_ops.operate.setup_answers import KeyOfAnotherAgent
from canon_ops.runtime.clock import Clock
from canon_ops.settings.borgee import read_borgee, startup_refusal
from canon_ops.settings.borgee_key import borgee_key
from canon_ops.settings.credentials import load_profiles, resolve
from canon_ops.settings.problems import BorgeeKeyInConfig, reconnect_command

__all__ = ["KeyTested", "ask_whose_borgee_key", "ask_whose_key"]


@dataclass(frozen=True, slots=True)
class KeyTested:
    """Whose key it is.

    Attributes:
        canon_profile, environment_id: Canon's; Borgee has neither.
        base_url: of the server that was asked.
        origin: where the key stands, in words.
    """

    platform: Literal["canon", "borgee"]
    canon_profile: str | None
    environment_id: str | None
    base_url: str
    agent_id: str | None
    agent_name: str | None
    origin: str


def ask_whose_key(
    home: HermesHome,
    environ: Mapping[str, str],
    canon_profile: str | None,
    keyring: Keyring,
    *,
    clock: Clock,
    timeout_s: float,
) -> KeyTested:
    """Ask with the key of a profile, or with the one in force.

    Raises:
        NotConfigured and its kin: there is no credential.
        KeyringProblem, KeyringEntryMissing: its key cannot be had.
        EnvironmentMismatch, Unauthorized, Forbidden, RequestFailed, ServiceUnavailable: Canon does not confirm.
        KeyOfAnotherAgent: it is another agent's than the profile says.
    """
    surroundings = surroundings_from_disk(home.path, environ)
    if canon_profile is not None:
        profiles = load_profiles(surroundings)
        profile = named_profile(profiles, canon_profile)
        connection = profile.connection(profiles.agents.file, profiles.source_of(canon_profile))
        key, expected = key_of_profile(profile, keyring), profile.agent_id
        place = profile.api_key_ref.text + " in the keyring" if profile.api_key_ref else profiles.agents.file
        origin = f"{canon_profile}.apiKey, {place}"
    else:
        found = resolve(surroundings)
        connection, canon_profile, expected = found.connection, found.profile, found.agent_id
        key, origin = key_in_force(found, keyring), found.settings["api_key"].origin.describe()
    again = reconnect_command(canon_profile, expected)
    identity = identify(connection, key, fix=again, clock=clock, timeout_s=timeout_s)
    if expected is not None and identity.agent_id != expected:
        raise KeyOfAnotherAgent(str(canon_profile), expected, identity.agent_id, surroundings.agents_file)
    return KeyTested(
        "canon",
        canon_profile,
        connection.environment_id,
        connection.base_url,
        identity.agent_id,
        identity.display_name,
        origin,
    )


def ask_whose_borgee_key(home: HermesHome, environ: Mapping[str, str], keyring: Keyring, *, who_is: WhoIs) -> KeyTested:
    """Ask the Borgee server of a home whose key it is.

    Args:
        who_is: asks; nothing is asked while a gateway has the agent's one connection.

    Raises:
        ConfigSyntaxError, BadEndpoint, BorgeeKeyInConfig: config.yaml names no server that may be asked.
        BorgeeKeyMissing, BadOption, KeyringProblem, KeyringEntryMissing: there is no key, or it cannot be had.
        OtherAgent: it is a person's, or not of the agent that ``borgee.agent_id`` asks for.
        CanonOpsError: what ``who_is`` raises.
    """
    extra = borgee_extra(read_config(home.config_file))
    if isinstance(refusal := startup_refusal(extra), BorgeeKeyInConfig):
        raise refusal
    options = read_borgee(extra)
    found = borgee_key(surroundings_from_disk(home.path, environ))
    agent = who_is(options, key_of_borgee(found, keyring))
    if agent.role != "agent":
        raise OtherAgent(
            f"The Borgee key belongs to the {agent.role} {agent.display_name} ({agent.agent_id}), not to an agent",
            fix=home.own_command("setup borgee --new-key"),
        )
    if options.agent_id and options.agent_id != agent.agent_id:
        raise OtherAgent(
            f"The Borgee key belongs to {agent.agent_id}, and borgee.agent_id asks for {options.agent_id}",
            fix=home.own_command(f"setup borgee --keep-key --agent-id {agent.agent_id}"),
        )
    origin = found.setting.origin.describe()
    if found.api_key_ref is not None:
        origin = f"{found.api_key_ref.text} in the keyring, {origin}"
    return KeyTested("borgee", None, None, options.origin, agent.agent_id, agent.display_name or None, origin)
