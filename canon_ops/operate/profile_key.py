"""The key behind a profile or a resolution, fetched from the keyring where that is where it is."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from canon_ops.errors import CredentialError
from canon_ops.keyring.access import Keyring
from canon_ops.settings.borgee_key import BorgeeKey
from canon_ops.settings.credentials import Resolution
from canon_ops.settings.problems import reconnect_command
from canon_ops.settings.profiles import AgentProfile, KeyReference
from canon_ops.settings.secret import Secret

__all__ = ["SERVICE", "KeyMissing", "key_in_force", "key_of_borgee", "key_of_profile", "new_reference"]

SERVICE = "canon-ops"


class KeyMissing(CredentialError):
    """The profile has neither a key nor a reference to one."""

    code = "profile_keyless"


def key_of_profile(profile: AgentProfile, keyring: Keyring) -> Secret:
    """The profile's key; it blocks for as long as the keyring may take.

    Raises:
        KeyMissing: the profile has none.
        KeyringEntryMissing: its reference leads nowhere.
        KeyringProblem: the keyring cannot be used.
    """
    again = reconnect_command(profile.name, profile.agent_id)
    if profile.api_key is not None:
        return profile.api_key
    if profile.api_key_ref is None:
        raise KeyMissing(f"The Canon profile {profile.name} has no key", fix=again)
    return keyring.get(profile.api_key_ref, fix=again)


def key_in_force(found: Resolution, keyring: Keyring) -> Secret:
    """The key that a resolution leads to.

    Raises:
        KeyringEntryMissing, KeyringProblem: as above.
    """
    if found.api_key is not None:
        return found.api_key
    if found.api_key_ref is None:
        raise KeyMissing("The credential in force has no key", fix="canon-ops setup canon")
    return keyring.get(found.api_key_ref, fix=reconnect_command(found.profile, found.agent_id))


def key_of_borgee(found: BorgeeKey, keyring: Keyring) -> Secret:
    """Borgee's key.

    Raises:
        KeyringEntryMissing, KeyringProblem: as above.
    """
    if found.api_key is not None:
        return found.api_key
    if found.api_key_ref is None:
        raise KeyMissing("Borgee has no key", fix="canon-ops env set BORGEE_API_KEY")
    return keyring.get(found.api_key_ref, fix="canon-ops env set BORGEE_API_KEY")


def new_reference(name: str, file: Path) -> KeyReference:
    """Where the key of ``name`` goes: an account of its own for each file, so that two homes never share an entry."""
    place = hashlib.sha256(os.fsencode(file.absolute())).hexdigest()[:8]
    return KeyReference(SERVICE, f"{name}@{place}")
