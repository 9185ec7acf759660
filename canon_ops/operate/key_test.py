"""Does Canon take a key, and as whom?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.keyring.access import Keyring
from canon_ops.operate.canon_profiles import named_profile
from canon_ops.operate.identify import identify
from canon_ops.operate.profile_key import key_in_force, key_of_profile
from canon_ops.operate.setup_answers import KeyOfAnotherAgent
from canon_ops.runtime.clock import Clock
from canon_ops.settings.credentials import load_profiles, resolve

__all__ = ["KeyTested", "ask_whose_key"]


@dataclass(frozen=True, slots=True)
class KeyTested:
    """Whose key it is.

    Attributes:
        origin: where the key stands, in words.
    """

    canon_profile: str | None
    environment_id: str
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
    again = home.own_command(f"setup canon --canon-profile {canon_profile}" if canon_profile else "setup canon")
    identity = identify(connection, key, fix=again, clock=clock, timeout_s=timeout_s)
    if expected is not None and identity.agent_id != expected:
        raise KeyOfAnotherAgent(str(canon_profile), expected, identity.agent_id, surroundings.agents_file)
    return KeyTested(
        canon_profile, connection.environment_id, connection.base_url, identity.agent_id, identity.display_name, origin
    )
