"""THE resolution: which agent, which key, which environment, and where each of it came from.

Either a key is set directly, then its environment must be named and profiles are not consulted; or a profile of
agents.json is chosen, then its stored snapshot counts and endpoint settings do not. Nothing is guessed in between.

The command line and the gateway plugin both call :func:`resolve`; the functions that the host calls at every
configuration load (:func:`is_configured`, :func:`enablement_seed`) never raise and never touch a keyring: a key that
lives there comes back as a reference.

Source: Canon wire 3.8; canon-adapter R1.12, R1.13, D61.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from canon_ops.errors import CanonOpsError
from canon_ops.lean import dataclass, field
from canon_ops.settings.environments import BINDING_FIELDS, ENVIRONMENTS, Connection, connection_for
from canon_ops.settings.options import home_channel
from canon_ops.settings.problems import AmbiguousProfile, EnvironmentMissing, NotConfigured, UnknownProfile
from canon_ops.settings.profiles import (
    BOOTSTRAP_VARIABLE,
    AgentProfile,
    AgentsFile,
    KeyReference,
    merge_bootstrap,
)
from canon_ops.settings.provenance import Found, Origin, Setting, Source
from canon_ops.settings.secret import Secret
from canon_ops.settings.surroundings import Surroundings

__all__ = [
    "Profiles",
    "Resolution",
    "chosen_profile",
    "direct_key",
    "enablement_seed",
    "given_choice",
    "is_configured",
    "load_profiles",
    "resolve",
]

# Field → (environment variable, names below `extra`). The attribute names of the platform block are for the key only.
_ENDPOINTS = {
    "base_url": "CANON_BASE_URL",
    "stream_url": "CANON_STREAM_URL",
    "rtdb_url": "CANON_RTDB_URL",
    "firebase_api_key": "CANON_FIREBASE_API_KEY",
}
_KEY_VARIABLE = "CANON_API_KEY"
_KEY_ATTRIBUTES = ("api_key", "token")
_ENVIRONMENT_VARIABLE = "CANON_ENVIRONMENT_ID"
_PROFILE_VARIABLE = "CANON_AGENT"
_PROFILE_KEYS = ("agent", "profile", "canon_agent", "CANON_AGENT")


@dataclass(frozen=True, slots=True)
class Resolution:
    """What is in force.

    Args:
        api_key: the key; None when the profile holds only a reference to the keyring.
        api_key_ref: that reference; None when the key itself is here.
        agent_id, agent_name: known from a profile; with a direct key only Canon knows them.
        profile: the Canon profile; None with a direct key.
        settings: provenance of every value by field name (``api_key``, ``base_url``, …, ``profile``).
        agents_data: the new bytes of agents.json when bootstrapped profiles are to be written there; None otherwise.
    """

    connection: Connection
    api_key: Secret | None
    api_key_ref: KeyReference | None
    agent_id: str | None
    agent_name: str | None
    profile: str | None
    settings: Mapping[str, Setting]
    agents_data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Profiles:
    """The profiles as they count: the file with the bootstrapped ones added.

    Args:
        bootstrapped: the names that came from the bootstrap variable and are not in the file yet.
        data: the bytes to write when the file changes through that; None when nothing is to be written.
    """

    agents: AgentsFile
    bootstrapped: frozenset[str]
    data: bytes | None = field(default=None, repr=False)

    def source_of(self, name: str) -> Source:
        """Whether a profile stands in the file or came from the bootstrap variable."""
        return Source.BOOTSTRAP if name in self.bootstrapped else Source.AGENTS_FILE


def resolve(surroundings: Surroundings) -> Resolution:
    """Find the credential in force.

    Raises:
        NotConfigured: there is none.
        EnvironmentMissing: a direct key without its environment.
        UnknownProfile, ForeignProfile, UnboundProfile, AmbiguousProfile: the choice of a profile fails.
        DamagedFile, BadBootstrap, UnreadableDotenv: something cannot be read.
        UnknownEnvironment, BadEndpoint, MissingEndpoint, ForeignDatabase, BadOption: a value is wrong.
    """
    key = direct_key(surroundings)
    if key is not None and isinstance(key.value, Secret):
        return _from_direct_key(surroundings, key, key.value)
    return _from_profile(surroundings, key)


def is_configured(surroundings: Surroundings) -> bool:
    """Whether :func:`resolve` succeeds; for the host's check functions, which may not raise."""
    try:
        resolve(surroundings)
    except CanonOpsError:
        return False
    return True


def enablement_seed(surroundings: Surroundings) -> dict[str, object] | None:
    """What the host puts into the platform's ``extra`` when the environment alone enables it; None when it does not.

    The complete snapshot is in it, so that a custom environment survives the way through the host (D61). A profile is
    named, never copied: its key stays in its file.
    """
    try:
        found = resolve(surroundings)
        channel = home_channel(surroundings)
    except CanonOpsError:
        return None
    seed: dict[str, object] = {field: getattr(found.connection, field) for field in BINDING_FIELDS}
    if found.profile is not None:
        seed["agent"] = found.profile
    elif found.api_key is not None:
        seed["api_key"] = found.api_key.reveal()
    if channel is not None and channel.origin.source in (Source.MANAGED, Source.PROCESS, Source.DOTENV):
        seed["home_channel"] = {"chat_id": channel.chat_id, "name": channel.name}
    return seed


def given_choice(surroundings: Surroundings) -> dict[str, Setting]:
    """What somebody has chosen, by the names of a resolution's settings, where :func:`resolve` refuses the whole.

    Raises:
        UnreadableDotenv, BadOption: not even that can be read.
    """
    key = direct_key(surroundings)
    if key is not None and isinstance(key.value, Secret):
        return {"api_key": key}
    choice = chosen_profile(surroundings)
    return {"profile": choice} if choice is not None and choice.value else {}


def load_profiles(surroundings: Surroundings) -> Profiles:
    """Read agents.json and add what the bootstrap variable brings.

    Raises:
        DamagedFile, BadBootstrap, UnreadableDotenv.
    """
    in_file = AgentsFile.parse(surroundings.agents, file=surroundings.agents_file)
    bootstrap = surroundings.gateway_environ.get(BOOTSTRAP_VARIABLE)
    merged, added = merge_bootstrap(in_file, bootstrap)
    is_rewritten = bool(added) or (bool(bootstrap) and surroundings.agents is None)
    return Profiles(merged, added, merged.data if is_rewritten else None)


def direct_key(surroundings: Surroundings) -> Setting | None:
    """A key that is set directly, and what it hides; None when nobody sets one."""
    return surroundings.find(_KEY_VARIABLE, _keys("api_key", _KEY_VARIABLE), attributes=_KEY_ATTRIBUTES)


def chosen_profile(surroundings: Surroundings) -> Setting | None:
    """The name that ``CANON_AGENT`` or the configuration gives; None when nobody chooses a profile."""
    return surroundings.find(_PROFILE_VARIABLE, _PROFILE_KEYS)


def _from_direct_key(surroundings: Surroundings, key: Setting, secret: Secret) -> Resolution:
    environment = surroundings.find(_ENVIRONMENT_VARIABLE, _keys("environment_id", _ENVIRONMENT_VARIABLE))
    if environment is None or not environment.value:
        raise EnvironmentMissing(key.origin, tuple(ENVIRONMENTS))
    given = {name: surroundings.find(variable, _keys(name, variable)) for name, variable in _ENDPOINTS.items()}
    settings = {name: setting for name, setting in given.items() if setting is not None and setting.value}
    connection = connection_for(
        str(environment.value),
        **{name: str(setting.value) for name, setting in settings.items()},
        origins={"environment_id": environment.origin} | {name: setting.origin for name, setting in settings.items()},
    )
    shown = {"api_key": key, "environment_id": environment}
    for name, variable in _ENDPOINTS.items():
        # The value after cleaning is the one in force; a blank setting lets the packaged value through.
        blank = given[name]
        origin = settings[name].origin if name in settings else Origin(Source.DEFAULT, variable)
        shadows = settings[name].shadows if name in settings else (blank.shadows if blank else ())
        shown[name] = Setting(variable, getattr(connection, name), origin, shadows)
    return Resolution(connection, secret, None, None, None, None, MappingProxyType(shown))


def _from_profile(surroundings: Surroundings, blank_key: Setting | None) -> Resolution:
    profiles = load_profiles(surroundings)
    choice = chosen_profile(surroundings)
    profile = _chosen_profile(surroundings, profiles, choice)
    source = profiles.source_of(profile.name)
    connection = profile.connection(surroundings.agents_file, source)

    def stored(name: str, value: str | Secret, shadows: tuple[Found, ...] = ()) -> Setting:
        return Setting(name, value, Origin(source, f"{profile.name}.{name}", surroundings.agents_file), shadows)

    only = Setting(_PROFILE_VARIABLE, profile.name, Origin(source, profile.name, surroundings.agents_file))
    key_name = "apiKey" if profile.api_key else "apiKeyRef"
    reference = profile.api_key_ref
    key_value = profile.api_key or (reference.text if reference else "")
    shown: dict[str, Setting] = {
        "profile": choice if choice and choice.value else only,
        "api_key": stored(key_name, key_value, blank_key.shadows if blank_key else ()),
        "agent_id": stored("agentId", profile.agent_id or ""),
        "agent_name": stored("agentName", profile.agent_name or ""),
    }
    for ours, theirs in BINDING_FIELDS.items():
        shown[ours] = stored(theirs, getattr(connection, ours), _ignored(surroundings, ours))
    return Resolution(
        connection=connection,
        api_key=profile.api_key,
        api_key_ref=profile.api_key_ref,
        agent_id=profile.agent_id,
        agent_name=profile.agent_name,
        profile=profile.name,
        settings=MappingProxyType(shown),
        agents_data=profiles.data,
    )


def _chosen_profile(surroundings: Surroundings, profiles: Profiles, choice: Setting | None) -> AgentProfile:
    """The named profile, or the only one for Hermes; usable or refused."""
    ours = profiles.agents.for_hermes()
    file = surroundings.agents_file
    if choice is not None and choice.value:
        profile = profiles.agents.profile(str(choice.value))
        if profile is None:
            raise UnknownProfile(str(choice.value), [each.name for each in ours], file, choice.origin)
    elif len(ours) == 1:
        profile = ours[0]
    elif ours:
        raise AmbiguousProfile([each.name for each in ours], file)
    else:
        raise NotConfigured(file, foreign=len(profiles.agents.entries))
    profile.require_usable(file)
    return profile


def _ignored(surroundings: Surroundings, name: str) -> tuple[Found, ...]:
    """Endpoint settings that a profile's snapshot overrules."""
    variable = _ENDPOINTS.get(name, _ENVIRONMENT_VARIABLE)
    setting = surroundings.find(variable, _keys(name, variable))
    if setting is None:
        return ()
    return (Found(setting.value, setting.origin), *setting.shadows) if setting.value else setting.shadows


def _keys(name: str, variable: str) -> tuple[str, str, str]:
    """The three spellings below ``extra``."""
    return name, variable.lower(), variable
