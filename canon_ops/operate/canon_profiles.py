"""The Canon profiles of this user as people ask about them: whose key, where it is, what is wrong, who uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from canon_ops.errors import CanonOpsError, CredentialError
from canon_ops.hermes.home_list import homes_beside
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.settings.credentials import Profiles, chosen_profile, load_profiles
from canon_ops.settings.profiles import AgentProfile
from canon_ops.settings.provenance import Source
from canon_ops.settings.surroundings import Surroundings

__all__ = ["NoSuchProfile", "ProfileReport", "list_profiles", "named_profile", "profile_in_use"]

Storage = Literal["file", "keyring", "none"]


class NoSuchProfile(CredentialError):
    """No Canon profile has that name."""

    code = "profile_unknown"

    def __init__(self, name: str, known: tuple[str, ...], agents_file: str) -> None:
        choice = f"it has {', '.join(known)}" if known else "it has none"
        super().__init__(
            f"{agents_file} has no Canon profile {name}; {choice}",
            fix="canon-ops profile list" if known else "canon-ops setup canon",
            file=agents_file,
        )


@dataclass(frozen=True, slots=True)
class ProfileReport:
    """One Canon profile.

    Attributes:
        storage: where the key is; ``none`` when the profile has no key.
        keyring_entry: service and account there, for ``keyring``.
        source: ``agents_file``, or ``bootstrap`` for one that only the bootstrap variable has.
        problems: why it cannot be used, a sentence each; empty when it can.
        hermes_profiles: the Hermes profiles that use it.
        in_use: whether the Hermes profile at hand is among them.
    """

    name: str
    agent_id: str | None
    agent_name: str | None
    environment_id: str | None
    base_url: str | None
    stream_url: str | None
    client_type: str | None
    registered_at: str | None
    storage: Storage
    keyring_entry: str | None
    source: str
    problems: tuple[str, ...]
    hermes_profiles: tuple[str, ...]
    in_use: bool


def list_profiles(home: HermesHome, environ: Mapping[str, str]) -> tuple[ProfileReport, ...]:
    """Every Canon profile that this Hermes home can see, foreign ones included, by name.

    Raises:
        DamagedFile, BadBootstrap, UnreadableDotenv, ConfigUnreadable, OutsideError.
    """
    surroundings = surroundings_from_disk(home.path, environ)
    profiles = load_profiles(surroundings)
    users = _users(home, environ, surroundings.agents_file)
    return tuple(_report(name, profiles, users, home) for name in profiles.agents.names)


def named_profile(profiles: Profiles, name: str) -> AgentProfile:
    """The profile of that name.

    Raises:
        NoSuchProfile: there is none.
    """
    found = profiles.agents.profile(name)
    if found is None:
        raise NoSuchProfile(name, profiles.agents.names, profiles.agents.file)
    return found


def profile_in_use(surroundings: Surroundings) -> str | None:
    """The profile that a home would use; None with a key of its own, without any, or with too many to choose from.

    Raises:
        DamagedFile, BadBootstrap, UnreadableDotenv, BadOption, UnsetReference.
    """
    key = surroundings.find(
        "CANON_API_KEY", ("api_key", "canon_api_key", "CANON_API_KEY"), attributes=("api_key", "token")
    )
    if key is not None and key.value:
        return None
    choice = chosen_profile(surroundings)
    if choice is not None and choice.value:
        return str(choice.value)
    ours = load_profiles(surroundings).agents.for_hermes()
    return ours[0].name if len(ours) == 1 else None


def _users(home: HermesHome, environ: Mapping[str, str], agents_file: str) -> dict[str, list[HermesHome]]:
    """Canon profile to the Hermes homes that use it out of the same agents.json."""
    users: dict[str, list[HermesHome]] = {}
    for each in homes_beside(home, environ):
        try:
            surroundings = surroundings_from_disk(each.path, environ)
            used = profile_in_use(surroundings) if surroundings.agents_file == agents_file else None
        except CanonOpsError:  # another profile's broken file is not what was asked about
            continue
        if used is not None:
            users.setdefault(used, []).append(each)
    return users


def _report(name: str, profiles: Profiles, users: Mapping[str, list[HermesHome]], home: HermesHome) -> ProfileReport:
    profile = named_profile(profiles, name)
    reference = profile.api_key_ref
    storage: Storage = "file" if profile.api_key else "keyring" if reference else "none"
    mine = users.get(name, [])
    return ProfileReport(
        name=name,
        agent_id=profile.agent_id,
        agent_name=profile.agent_name,
        environment_id=profile.environment_id,
        base_url=profile.base_url,
        stream_url=profile.stream_url,
        client_type=profile.client_type,
        registered_at=profile.registered_at,
        storage=storage,
        keyring_entry=reference.text if reference else None,
        source=profiles.source_of(name).value,
        problems=_problems(profile, profiles),
        hermes_profiles=tuple(each.profile_name for each in mine),
        in_use=any(each.path == home.path for each in mine),
    )


def _problems(profile: AgentProfile, profiles: Profiles) -> tuple[str, ...]:
    found: list[str] = []
    if not profile.is_for_hermes:
        found.append(f"It belongs to client type {profile.client_type}, not hermes.")
    elif missing := profile.missing():
        found.append(f"It lacks {', '.join(missing)}.")
    else:
        try:
            profile.connection(profiles.agents.file)
        except CanonOpsError as exc:
            found.append(exc.what)
    if profiles.source_of(profile.name) is Source.BOOTSTRAP:
        found.append("It is not in agents.json yet; the gateway or `profile bind` writes it there.")
    return tuple(found)
