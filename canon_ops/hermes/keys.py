"""Every configuration key and variable that the platforms, or Hermes on their behalf, act on: one table.

Validation, completion, `config list`, `config recommend`, `env list`, the dialogue of setup and the reference are all
driven by it. A key that is not here is not wrong: Hermes has hundreds, and other plugins have theirs.

Source: command-line contract 6.3; Canon wire 3.8; canon-adapter R1.15; Hermes host 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial

from canon_ops.settings.environments import DEFAULT_ENVIRONMENT_ID, ENVIRONMENTS

__all__ = ["KNOWN_KEYS", "KeyFile", "KeyType", "KnownKey", "find_key"]


class KeyFile(Enum):
    """Where a key lives."""

    CONFIG = "config.yaml"
    DOTENV = ".env"


class KeyType(Enum):
    """What a value must be; the names are those of ``--type`` where it has one."""

    STR = "str"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    LIST = "list"
    MAP = "map"


@dataclass(frozen=True, slots=True)
class KnownKey:
    """One key.

    Attributes:
        name: dotted path in config.yaml, or the variable's name.
        help: one line.
        platform: ``canon``, ``borgee``, or ``hermes`` for a setting that every platform shares.
        allowed: the only values; empty for any value of the type.
        default: what counts when nobody sets it; None when nothing does.
        secret: never printed, never taken from the command line.
        recommended: what the documentation of the platforms advises, with the reason in ``help``.
    """

    name: str
    file: KeyFile
    type: KeyType
    help: str
    platform: str = "canon"
    allowed: tuple[str, ...] = ()
    default: str | bool | int | float | None = None
    secret: bool = False
    recommended: str | bool | int | None = None

    def problem(self, value: object) -> str | None:
        """Why ``value``, as parsed from the file, does not suit this key; None when it does. Never quotes a secret."""
        if not _is_of(value, self.type):
            shown = "the value" if self.secret else repr(value)
            return f"{self.name} must be {_NOUNS[self.type]}; {shown} is not"
        if self.allowed and value not in self.allowed:
            return f"{self.name} cannot be {value!r}; allowed are {', '.join(self.allowed)}"
        return None


_NOUNS = {
    KeyType.STR: "text",
    KeyType.INT: "a whole number",
    KeyType.FLOAT: "a number",
    KeyType.BOOL: "true or false",
    KeyType.LIST: "a list",
    KeyType.MAP: "a mapping",
}


def _is_of(value: object, kind: KeyType) -> bool:
    match kind:
        case KeyType.STR:
            return isinstance(value, str)
        case KeyType.BOOL:
            return isinstance(value, bool)
        case KeyType.INT:
            return isinstance(value, int) and not isinstance(value, bool)
        case KeyType.FLOAT:
            return isinstance(value, int | float) and not isinstance(value, bool)
        case KeyType.LIST:
            return isinstance(value, list | tuple)
        case KeyType.MAP:
            return isinstance(value, Mapping)


_variable = partial(KnownKey, file=KeyFile.DOTENV, type=KeyType.STR)
_config = partial(KnownKey, file=KeyFile.CONFIG)

_ENVIRONMENT_IDS = tuple(ENVIRONMENTS)
_DELIVERY = ("model", "trusted-only")
_VERBOSITY = ("auto", "verbose", "quiet")
_BOOLEAN_WORDS = ("true", "false")

KNOWN_KEYS: tuple[KnownKey, ...] = (
    # Canon's variables
    _variable("CANON_API_KEY", help="The agent's key, set directly; needs CANON_ENVIRONMENT_ID.", secret=True),
    _variable("CANON_ENVIRONMENT_ID", help="The environment that owns the key.", allowed=_ENVIRONMENT_IDS),
    _variable("CANON_BASE_URL", help="REST API of the environment, when it has no packaged default."),
    _variable("CANON_STREAM_URL", help="Event stream of the environment, when it has no packaged default."),
    _variable("CANON_RTDB_URL", help="Realtime database of the environment, when it has no packaged default."),
    _variable("CANON_FIREBASE_API_KEY", help="Public web key of the environment, when it has no packaged default."),
    _variable("CANON_AGENT", help="The Canon profile to use; needed when agents.json holds several."),
    _variable(
        "CANON_ALLOW_ALL_USERS", help="Everybody whom Canon lets through may start turns.", allowed=_BOOLEAN_WORDS
    ),
    _variable("CANON_ALLOWED_USERS", help="Comma-separated ids of the people who may start turns."),
    _variable("CANON_HOME_CHANNEL", help="Conversation for cron jobs and notices outside a turn."),
    _variable("CANON_HOME_CHANNEL_NAME", help="Label of the home channel.", default="Canon Home"),
    _variable("CANON_TURN_VERBOSITY", help="How much of a turn members see.", allowed=_VERBOSITY, default="auto"),
    _variable("CANON_INBOUND_IMAGE_DELIVERY", help="Who sees images people send.", allowed=_DELIVERY, default="model"),
    _variable(
        "CANON_INBOUND_VISUAL_MEDIA_DELIVERY", help="The same for images and PDFs.", allowed=_DELIVERY, default="model"
    ),
    _variable("CANON_HOME", help="Folder of Canon's local files.", default="~/.canon"),
    _variable("CANON_AGENTS_FILE", help="Place of agents.json, when it is not in CANON_HOME."),
    _variable("CANON_AGENTS_PATH", help="Older name of CANON_AGENTS_FILE."),
    _variable("CANON_AGENTS_JSON_BOOTSTRAP", help="Profiles to add to agents.json at the start.", secret=True),
    # Borgee's
    _variable("BORGEE_API_KEY", help="The agent's Borgee key.", platform="borgee", secret=True),
    # Hermes', where Canon reads them too
    _variable(
        "HERMES_CLARIFY_TIMEOUT", help="Seconds to wait for an answer, 5 to 1800.", platform="hermes", default="300"
    ),
    _variable(
        "HERMES_APPROVAL_TIMEOUT", help="Seconds to wait for an approval, 5-1800.", platform="hermes", default="300"
    ),
    _variable("HERMES_ALLOW_PRIVATE_URLS", help="Media may come from private addresses.", platform="hermes"),
    # config.yaml: what makes the plugin load and the platform run
    _config("plugins.enabled", type=KeyType.LIST, help="Plugins that Hermes may load.", platform="hermes"),
    _config(
        "plugins.disabled", type=KeyType.LIST, help="Plugins that never load; beats the other list.", platform="hermes"
    ),
    _config("platforms.canon.enabled", type=KeyType.BOOL, help="Whether the gateway connects Canon.", recommended=True),
    _config(
        "platforms.canon.api_key", type=KeyType.STR, help="The agent's key; .env is the better place.", secret=True
    ),
    _config("platforms.canon.token", type=KeyType.STR, help="Older name of platforms.canon.api_key.", secret=True),
    _config("platforms.canon.home_channel", type=KeyType.MAP, help="chat_id and name of the home channel."),
    _config("platforms.canon.typing_indicator", type=KeyType.BOOL, help="Show that the agent is typing.", default=True),
    _config(
        "platforms.canon.extra.environment_id",
        type=KeyType.STR,
        help="The environment that owns the key.",
        allowed=_ENVIRONMENT_IDS,
        default=DEFAULT_ENVIRONMENT_ID,
    ),
    _config("platforms.canon.extra.base_url", type=KeyType.STR, help="REST API of the environment."),
    _config("platforms.canon.extra.stream_url", type=KeyType.STR, help="Event stream of the environment."),
    _config("platforms.canon.extra.rtdb_url", type=KeyType.STR, help="Realtime database of the environment."),
    _config("platforms.canon.extra.firebase_api_key", type=KeyType.STR, help="Public web key of the environment."),
    _config(
        "platforms.canon.extra.api_key",
        type=KeyType.STR,
        help="The agent's key; .env is the better place.",
        secret=True,
    ),
    _config("platforms.canon.extra.agent", type=KeyType.STR, help="The Canon profile to use."),
    _config(
        "platforms.canon.extra.turn_verbosity",
        type=KeyType.STR,
        help="How much of a turn members see.",
        allowed=_VERBOSITY,
        default="auto",
    ),
    _config(
        "platforms.canon.extra.inbound_image_delivery",
        type=KeyType.STR,
        help="Who sees images people send.",
        allowed=_DELIVERY,
        default="model",
    ),
    _config(
        "platforms.canon.extra.inbound_visual_media_delivery",
        type=KeyType.STR,
        help="The same for images and PDFs.",
        allowed=_DELIVERY,
        default="model",
    ),
    # config.yaml: what Canon's page recommends
    _config(
        "streaming.enabled",
        type=KeyType.BOOL,
        help="One growing message a turn, on every platform.",
        platform="hermes",
        default=False,
        recommended=True,
    ),
    _config(
        "streaming.transport",
        type=KeyType.STR,
        help="How partial answers are shown.",
        platform="hermes",
        allowed=("auto", "edit", "draft", "off"),
        default="auto",
        recommended="auto",
    ),
    _config("display.platforms.canon.streaming", type=KeyType.BOOL, help="Streaming on Canon alone."),
    _config(
        "display.platforms.canon.interim_assistant_messages",
        type=KeyType.BOOL,
        help="Status bubbles in the middle of a turn.",
        recommended=False,
    ),
    _config(
        "display.platforms.canon.tool_progress",
        type=KeyType.STR,
        help="Tool bubbles; Canon shows tools as activity instead.",
        allowed=("off", "new", "all", "verbose", "log"),
        recommended="off",
    ),
    _config(
        "display.platforms.canon.show_reasoning",
        type=KeyType.BOOL,
        help="Put the model's reasoning before the answer.",
        recommended=False,
    ),
    _config(
        "approvals.mode",
        type=KeyType.STR,
        help="Who decides on sensitive commands; manual keeps people deciding.",
        platform="hermes",
        allowed=("manual", "smart", "off"),
        recommended="manual",
    ),
    _config(
        "gateway.multiplex_profiles",
        type=KeyType.BOOL,
        help="One process for all profiles; Canon and Borgee refuse it.",
        platform="hermes",
        default=False,
        recommended=False,
    ),
    _config(
        "group_sessions_per_user",
        type=KeyType.BOOL,
        help="A session for each person in a group; Borgee needs one for all.",
        platform="hermes",
        default=True,
    ),
    _config(
        "display.busy_input_mode",
        type=KeyType.STR,
        help="What a message does to a running turn; Borgee needs queue.",
        platform="hermes",
        allowed=("interrupt", "queue", "steer"),
        default="interrupt",
    ),
    _config("borgee.base_url", type=KeyType.STR, help="The Borgee server.", platform="borgee"),
    _config("borgee.agent_id", type=KeyType.STR, help="The agent's id on Borgee.", platform="borgee"),
    _config(
        "platforms.borgee.enabled", type=KeyType.BOOL, help="Whether the gateway connects Borgee.", platform="borgee"
    ),
)

_BY_NAME = {(key.file, key.name): key for key in KNOWN_KEYS}


def find_key(name: str, file: KeyFile) -> KnownKey | None:
    """The row of a dotted path or variable; None for one that we do not know, which is no fault."""
    return _BY_NAME.get((file, name))
