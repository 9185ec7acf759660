"""What the operator chooses beside credentials: verbosity, media delivery, home channel, who may speak.

Every option is read like a credential, the environment before the configuration. An unknown value is refused at the
start rather than ignored: an operator who turned something off must not get it all the same.

Source: canon-adapter R1.13, R1.15; Canon wire 3.8; decision C2.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

from canon_ops.lean import dataclass
from canon_ops.settings.problems import BadOption
from canon_ops.settings.provenance import Origin, Setting, Source
from canon_ops.settings.surroundings import PLATFORM_PATH, Surroundings

__all__ = [
    "HomeChannel",
    "MediaDelivery",
    "Options",
    "TurnVerbosity",
    "UserAccess",
    "home_channel",
    "read_options",
    "user_access",
]

DEFAULT_HOME_CHANNEL_NAME = "Canon Home"
_TRUE = frozenset({"true", "1", "yes"})  # what the host takes for true
_FALSE = frozenset({"false", "0", "no", "off", ""})  # what people mean by false


class MediaDelivery(Enum):
    """Who sees media that a person sends."""

    MODEL = "model"  # Hermes' ordinary path
    TRUSTED_ONLY = "trusted-only"  # bytes only through current_canon_inbound_media()


class TurnVerbosity(Enum):
    """How much of a turn's middle the members of a conversation see."""

    AUTO = "auto"  # verbose in direct chats, quiet in groups
    VERBOSE = "verbose"
    QUIET = "quiet"


@dataclass(frozen=True, slots=True)
class HomeChannel:
    """The conversation for output that belongs to no turn."""

    chat_id: str
    name: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class UserAccess:
    """Which people may start turns, as far as this installation is concerned; Canon has its own rules before it.

    Args:
        allow_all: ``CANON_ALLOW_ALL_USERS`` is true.
        allowed: the user ids of ``CANON_ALLOWED_USERS``; None when no list is set.
        misread: the switch, when it holds neither a yes nor a no, and counts as no.
    """

    allow_all: bool
    allowed: frozenset[str] | None
    misread: Setting | None = None

    def is_listed(self, user_id: str) -> bool:
        """Whether the list, or a ``*`` in it, holds this person; false without a list."""
        return self.allowed is not None and (user_id in self.allowed or "*" in self.allowed)


@dataclass(frozen=True, slots=True)
class Options:
    """The three options that are fixed while the adapter lives (R1.15)."""

    inbound_image_delivery: MediaDelivery
    inbound_visual_media_delivery: MediaDelivery
    turn_verbosity: TurnVerbosity
    settings: Mapping[str, Setting]


_Choice = TypeVar("_Choice", MediaDelivery, TurnVerbosity)


def read_options(surroundings: Surroundings) -> Options:
    """Read the three options; an unset or empty one has its default.

    Raises:
        BadOption: names the variable and the allowed values.
    """
    settings: dict[str, Setting] = {}

    def choose(key: str, default: _Choice) -> _Choice:
        variable = f"CANON_{key.upper()}"
        setting = surroundings.find(variable, (key, variable.lower(), variable))
        word = str(setting.value).lower() if setting else ""
        settings[key] = (
            setting
            if setting and word
            else Setting(variable, default.value, Origin(Source.DEFAULT, variable), setting.shadows if setting else ())
        )
        if not setting or not word:
            return default
        kind = type(default)
        if word not in {each.value for each in kind}:
            raise BadOption(variable, repr(word), [each.value for each in kind], setting.origin)
        return kind(word)

    return Options(
        choose("inbound_image_delivery", MediaDelivery.MODEL),
        choose("inbound_visual_media_delivery", MediaDelivery.MODEL),
        choose("turn_verbosity", TurnVerbosity.AUTO),
        settings,
    )


def home_channel(surroundings: Surroundings) -> HomeChannel | None:
    """``CANON_HOME_CHANNEL``, else the ``home_channel`` of the platform block; None when neither names one."""
    setting = surroundings.find("CANON_HOME_CHANNEL")
    if setting and setting.value:
        label = surroundings.find("CANON_HOME_CHANNEL_NAME")
        name = str(label.value) if label else ""
        return HomeChannel(str(setting.value), name or DEFAULT_HOME_CHANNEL_NAME, setting.origin)
    configured = surroundings.platform.get("home_channel")
    if isinstance(configured, Mapping):
        chat_id, name = (str(configured.get(key) or "").strip() for key in ("chat_id", "name"))
        if chat_id:
            origin = Origin(Source.CONFIG, f"{PLATFORM_PATH}.home_channel", surroundings.config_file)
            return HomeChannel(chat_id, name or DEFAULT_HOME_CHANNEL_NAME, origin)
    return None


def user_access(surroundings: Surroundings) -> UserAccess:
    """The allowlist and the allow-all switch, which the host and we read from the environment alone."""
    everyone = surroundings.find("CANON_ALLOW_ALL_USERS")
    listed = surroundings.find("CANON_ALLOWED_USERS")
    ids = frozenset(part.strip() for part in str(listed.value).split(",") if part.strip()) if listed else frozenset()
    word = str(everyone.value).lower() if everyone is not None else ""
    return UserAccess(
        allow_all=word in _TRUE, allowed=ids or None, misread=None if word in _TRUE | _FALSE else everyone
    )
