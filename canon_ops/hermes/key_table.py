"""The known keys: every variable and configuration key of both platforms, and those of Hermes that decide about them.

The one table behind validation, completion, ``config list``, ``config recommend``, ``env list``, the setup dialogue and
the reference. Keys that are not here are nobody's business: they are kept, and never complained about.

Source: both product documents; canon-adapter 1 and 13, Canon wire 3.8; Borgee 2; Hermes host 2 to 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from canon_ops.hermes.known_key import KeyFile, KeyType, KnownKey
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.settings.environment_ids import DEFAULT_ENVIRONMENT_ID, ENVIRONMENT_IDS

__all__ = ["KNOWN_KEYS", "PLATFORM_FIELDS", "PLATFORM_SHARED"]

_STR, _INT, _FLOAT, _BOOL, _LIST, _MAP = (
    KeyType.STR,
    KeyType.INT,
    KeyType.FLOAT,
    KeyType.BOOL,
    KeyType.LIST,
    KeyType.MAP,
)
_IDS = ENVIRONMENT_IDS
_DELIVERY = ("model", "trusted-only")
_VERBOSITY = ("auto", "verbose", "quiet")
_WORDS = ("true", "false")
_BUSY = ("interrupt", "queue", "steer")

_canon_variable = partial(KnownKey, file=KeyFile.DOTENV)
_borgee_variable = partial(KnownKey, file=KeyFile.DOTENV, platform="borgee")
_hermes_variable = partial(KnownKey, file=KeyFile.DOTENV, platform="hermes")
_canon = partial(KnownKey, file=KeyFile.CONFIG)
_borgee = partial(KnownKey, file=KeyFile.CONFIG, platform="borgee")
_hermes = partial(KnownKey, file=KeyFile.CONFIG, platform="hermes")

# Hermes host 4.2: what Hermes takes over from `platforms.<name>`; everything else belongs below `extra`.
PLATFORM_FIELDS: dict[str, tuple[KeyType, str]] = {
    "enabled": (_BOOL, "Whether the gateway connects the platform."),
    "token": (_STR, "Another place for the platform's key."),
    "api_key": (_STR, "The platform's key; .env is the better place."),
    "home_channel": (_MAP, "chat_id and name of the home channel."),
    "reply_to_mode": (_STR, "Which messages are answered as replies."),
    "gateway_restart_notification": (_BOOL, "Tell the home channel about a restart."),
    "typing_indicator": (_BOOL, "Show that the agent is typing."),
    "typing_status_text": (_STR, "What stands beside the dots; Hermes 0.19 and later."),
    "channel_overrides": (_MAP, "Model, provider and prompt of single conversations."),
    "extra": (_MAP, "The platform's own keys."),
}
PLATFORM_SHARED: dict[str, tuple[KeyType, str]] = {
    "unauthorized_dm_behavior": (_STR, "What strangers get in a direct chat."),
    "notice_delivery": (_STR, "Where Hermes' notices go."),
    "reply_prefix": (_STR, "Text before each answer."),
    "reply_in_thread": (_BOOL, "Answer in threads."),
    "require_mention": (_BOOL, "Only a mention starts a turn in a group."),
    "free_response_channels": (_LIST, "Conversations that need no mention."),
    "mention_patterns": (_LIST, "What counts as a mention."),
    "exclusive_bot_mentions": (_BOOL, "A mention of another bot is none of ours."),
    "dm_policy": (_STR, "Who may write directly."),
    "allow_from": (_LIST, "Who may write directly, by id."),
    "allow_admin_from": (_LIST, "Who may use administrative commands, by id."),
    "user_allowed_commands": (_LIST, "Commands that everybody may use."),
    "group_policy": (_STR, "Who may write in groups."),
    "group_allow_from": (_LIST, "Who may write in groups, by id."),
    "group_allow_admin_from": (_LIST, "Who may use administrative commands in groups."),
    "group_user_allowed_commands": (_LIST, "Commands that everybody may use in groups."),
    "channel_prompts": (_MAP, "Additional prompts of single conversations."),
    "send_read_receipts": (_BOOL, "Mark messages as read; Hermes 0.21 and later."),
    "cron_continuable_surface": (_STR, "Where cron output can be answered; 0.21 and later."),
}

# Hermes host 4.1: `display.platforms.<name>.<setting>`.
_DISPLAY: dict[str, tuple[KeyType, str, tuple[str, ...]]] = {
    "streaming": (_BOOL, "Streaming on this platform alone.", ()),
    "tool_progress": (_STR, "Tool bubbles in the chat.", ("off", "new", "all", "verbose", "log")),
    "tool_progress_grouping": (_STR, "How tool bubbles are grouped.", ("accumulate", "separate")),
    "show_reasoning": (_BOOL, "Put the model's reasoning before the answer.", ()),
    "tool_preview_length": (_INT, "How much of a tool's arguments is shown.", ()),
    "interim_assistant_messages": (_BOOL, "Status bubbles in the middle of a turn.", ()),
    "long_running_notifications": (_BOOL, "Notices about turns that take long.", ()),
    "busy_ack_detail": (_BOOL, "Say what a busy agent is doing.", ()),
    "busy_steer_ack_enabled": (_BOOL, "Confirm a message that steers a turn.", ()),
    "cleanup_progress": (_BOOL, "Remove tool bubbles when a turn ends; 0.21 and later.", ()),
    "live_status": (_STR, "The line that says what a turn does now; 0.21 and later.", ("full", "verb", "off")),
    "reasoning_style": (_STR, "How reasoning is set off; 0.21 and later.", ("code", "blockquote", "subtext")),
}
_ADVICE: dict[str, bool | str] = {  # Canon's page, "Turn streaming & activity trail"
    "display.platforms.canon.interim_assistant_messages": False,
    "display.platforms.canon.tool_progress": "off",
    "display.platforms.canon.show_reasoning": False,
    "platforms.canon.enabled": True,
    "platforms.borgee.enabled": True,
}
_FIELD_DEFAULTS: dict[str, bool | str] = {
    "typing_indicator": True, "gateway_restart_notification": True, "reply_to_mode": "first", "enabled": False,
}  # fmt: skip
_ONLY_DOTENV = "Borgee takes its key from BORGEE_API_KEY alone"


def _extra(name: str, kind: KeyType, help: str, **more: object) -> KnownKey:
    """A key of Canon below ``extra``, in its three spellings. Source: Canon wire 3.8."""
    path, variable = "platforms.canon.extra", f"CANON_{name.upper()}"
    spellings = (f"{path}.{variable.lower()}", f"{path}.{variable}")
    return _canon(f"{path}.{name}", type=kind, help=help, aliases=spellings, **more)  # type: ignore[arg-type]  # fields of KnownKey


def _of_platform(name: str) -> Iterator[KnownKey]:
    """What Hermes reads below ``platforms.<name>`` and ``display.platforms.<name>``."""
    for key, (kind, help) in (PLATFORM_FIELDS | PLATFORM_SHARED).items():
        path = f"platforms.{name}.{key}"
        is_key = key in ("api_key", "token")
        yield KnownKey(
            path, KeyFile.CONFIG, kind, help, platform=name, secret=is_key, recommended=_ADVICE.get(path),
            default=_FIELD_DEFAULTS.get(key), refused=_ONLY_DOTENV if is_key and name == "borgee" else None,
            aliases=(f"gateway.{path}",),
        )  # fmt: skip
    for part, kind, help in (
        ("platform", _STR, "The platform's own name."),
        ("chat_id", _STR, "The conversation for output outside a turn."),
        ("name", _STR, "Label of the home channel."),
        ("thread_id", _STR, "Thread of the home channel."),
        ("user_id", _STR, "Person of the home channel; Hermes 0.21 and later."),
        ("scope_id", _STR, "Scope of the home channel; Hermes 0.21 and later."),
    ):
        yield KnownKey(f"platforms.{name}.home_channel.{part}", KeyFile.CONFIG, kind, help, platform=name)
    for key, (kind, help, allowed) in _DISPLAY.items():
        path = f"display.platforms.{name}.{key}"
        yield KnownKey(path, KeyFile.CONFIG, kind, help, platform=name, allowed=allowed, recommended=_ADVICE.get(path))
    yield KnownKey(f"platform_toolsets.{name}", KeyFile.CONFIG, _LIST, "Toolsets of this platform.", platform=name)
    entry = f"plugins.entries.{PLATFORMS[name].plugin}"
    for key, kind, help in (
        ("allow_tool_override", _BOOL, "The plugin may replace tools; it replaces none."),
        ("allow_gateway_injection", _BOOL, "The plugin may put messages into a session; 0.21 and later."),
        ("settings", _MAP, "What Hermes keeps for the plugin; ours keeps nothing there."),
        ("config", _MAP, "Another name of the plugin's settings."),
    ):
        yield KnownKey(f"{entry}.{key}", KeyFile.CONFIG, kind, help, platform=name)


# fmt: off
KNOWN_KEYS: tuple[KnownKey, ...] = (
    # Canon's variables
    _canon_variable("CANON_API_KEY", type=_STR, help="The agent's key, set directly; needs CANON_ENVIRONMENT_ID.", secret=True),
    _canon_variable("CANON_ENVIRONMENT_ID", type=_STR, help="The environment that owns the key.", allowed=_IDS),
    _canon_variable("CANON_BASE_URL", type=_STR, help="REST API of the environment, when it has no packaged default."),
    _canon_variable("CANON_STREAM_URL", type=_STR, help="Event stream of the environment, when none is packaged."),
    _canon_variable("CANON_RTDB_URL", type=_STR, help="Realtime database of the environment, when none is packaged."),
    _canon_variable("CANON_FIREBASE_API_KEY", type=_STR, help="Public web key of the environment, when none is packaged."),
    _canon_variable("CANON_AGENT", type=_STR, help="The Canon profile to use; needed when there are several."),
    _canon_variable("CANON_ALLOW_ALL_USERS", type=_BOOL, help="Everybody whom Canon lets through may start turns.", allowed=_WORDS),
    _canon_variable("CANON_ALLOWED_USERS", type=_LIST, help="Comma-separated ids of the people who may start turns."),
    _canon_variable("CANON_HOME_CHANNEL", type=_STR, help="Conversation for cron jobs and notices outside a turn."),
    _canon_variable("CANON_HOME_CHANNEL_NAME", type=_STR, help="Label of the home channel.", default="Canon Home"),
    _canon_variable("CANON_TURN_VERBOSITY", type=_STR, help="How much of a turn members see.", allowed=_VERBOSITY, default="auto"),
    _canon_variable("CANON_INBOUND_IMAGE_DELIVERY", type=_STR, help="Who sees images people send.", allowed=_DELIVERY, default="model"),
    _canon_variable("CANON_INBOUND_VISUAL_MEDIA_DELIVERY", type=_STR, help="The same for images and PDFs.", allowed=_DELIVERY, default="model"),
    _canon_variable("CANON_HOME", type=_STR, help="Folder of Canon's local files.", default="~/.canon"),
    _canon_variable("CANON_AGENTS_FILE", type=_STR, help="Place of agents.json, when it is not in CANON_HOME."),
    _canon_variable("CANON_AGENTS_PATH", type=_STR, help="Older name of CANON_AGENTS_FILE."),
    _canon_variable("CANON_AGENTS_JSON_BOOTSTRAP", type=_STR, help="Profiles to add to agents.json at the start.", secret=True),
    _canon_variable("HERMES_CANON_AGENT_NAME", type=_STR, help="Left by Canon's published plugin; nothing here sets or reads it."),
    # Borgee's
    _borgee_variable("BORGEE_API_KEY", type=_STR, help="The agent's Borgee key.", secret=True),
    _borgee_variable("BORGEE_API_KEY_REF", type=_STR, help="Where the keyring holds that key: service/account."),
    # Hermes'
    _hermes_variable("HERMES_CLARIFY_TIMEOUT", type=_INT, help="Seconds to wait for an answer.", default="300", minimum=5, maximum=1800),
    _hermes_variable("HERMES_APPROVAL_TIMEOUT", type=_INT, help="Seconds to wait for an approval.", default="300", minimum=5, maximum=1800),
    _hermes_variable("HERMES_ALLOW_PRIVATE_URLS", type=_BOOL, help="Media may come from private addresses.", allowed=_WORDS),
    _hermes_variable("GATEWAY_ALLOWED_USERS", type=_LIST, help="Ids of people who may start turns, on every platform."),
    _hermes_variable("GATEWAY_ALLOW_ALL_USERS", type=_BOOL, help="Everybody may start turns, on every platform.", allowed=_WORDS),
    _hermes_variable("GATEWAY_MULTIPLEX_PROFILES", type=_BOOL, help="One process for all profiles; both platforms refuse it.", allowed=_WORDS),
    _hermes_variable("BORGEE_HOME_CHANNEL", type=_STR, help="Borgee channel for cron jobs and notices.", platform="borgee"),
    _hermes_variable("HERMES_GATEWAY_LOCK_DIR", type=_STR, help="Folder of the locks between gateways."),
    _hermes_variable("HERMES_HOME", type=_STR, help="The Hermes home; never in .env.", refused="it is read before .env is found"),
    # config.yaml: what makes a plugin load
    _hermes("_config_version", type=_INT, help="The form of the file; Hermes counts it up when it migrates.", minimum=0),
    _hermes("plugins.enabled", type=_LIST, help="Plugins that Hermes may load."),
    _hermes("plugins.disabled", type=_LIST, help="Plugins that never load; beats the other list."),
    _hermes("plugins.hook_callback_timeout", type=_FLOAT, help="Seconds a plugin's hook may take; Hermes 0.21 and later."),
    # what Hermes reads of each platform
    *(key for name in PLATFORMS for key in _of_platform(name)),
    # Canon's own
    _extra("environment_id", _STR, "The environment that owns the key.", allowed=_IDS, default=DEFAULT_ENVIRONMENT_ID),
    _extra("base_url", _STR, "REST API of the environment."),
    _extra("stream_url", _STR, "Event stream of the environment."),
    _extra("rtdb_url", _STR, "Realtime database of the environment."),
    _extra("firebase_api_key", _STR, "Public web key of the environment."),
    _extra("api_key", _STR, "The agent's key; .env is the better place.", secret=True),
    _extra("turn_verbosity", _STR, "How much of a turn members see.", allowed=_VERBOSITY, default="auto"),
    _extra("inbound_image_delivery", _STR, "Who sees images people send.", allowed=_DELIVERY, default="model"),
    _extra("inbound_visual_media_delivery", _STR, "The same for images and PDFs.", allowed=_DELIVERY, default="model"),
    _canon(
        "platforms.canon.extra.agent", type=_STR, help="The Canon profile to use.",
        aliases=tuple(f"platforms.canon.extra.{name}" for name in ("profile", "canon_agent", "CANON_AGENT")),
    ),
    # Borgee's own block
    _borgee("borgee.enabled", type=_BOOL, help="Whether the gateway connects Borgee.", recommended=True),
    _borgee("borgee.base_url", type=_STR, help="The Borgee server: an https origin."),
    _borgee("borgee.agent_id", type=_STR, help="Refuse to start as any other agent."),
    _borgee("borgee.allow_insecure_loopback", type=_BOOL, help="Plain http to a server on this machine.", default=False),
    _borgee("borgee.max_concurrent_dispatches", type=_INT, help="Turns at the same time.", default=4, minimum=1, maximum=32),
    _borgee("borgee.drain_timeout_seconds", type=_FLOAT, help="How long a stop waits for running turns.", default=30, minimum=0, maximum=600),
    _borgee("borgee.display.busy_input_mode", type=_STR, help="Borgee needs queue here or at the top.", allowed=_BUSY, recommended="queue"),
    _borgee("borgee.api_key", type=_STR, help="Refused: Borgee's key stands in .env.", secret=True, refused=_ONLY_DOTENV),
    _borgee("borgee.token", type=_STR, help="Refused: Borgee's key stands in .env.", secret=True, refused=_ONLY_DOTENV),
    _borgee("platforms.borgee.extra.api_key", type=_STR, help="Refused: Borgee's key stands in .env.", secret=True, refused=_ONLY_DOTENV),
    _borgee("platforms.borgee.extra.token", type=_STR, help="Refused: Borgee's key stands in .env.", secret=True, refused=_ONLY_DOTENV),
    # Hermes' settings that decide how a platform behaves
    _hermes("streaming.enabled", type=_BOOL, help="One growing message a turn, on every platform.", default=False, recommended=True),
    _hermes("streaming.transport", type=_STR, help="How partial answers are shown.", allowed=("auto", "edit", "draft", "off"), default="auto", recommended="auto", aliases=("streaming.mode",)),
    _hermes("streaming.edit_interval", type=_FLOAT, help="Seconds between two previews of an answer.", default=0.8, minimum=0),
    _hermes("streaming.buffer_threshold", type=_INT, help="Characters between two previews of an answer.", default=24, minimum=0),
    _hermes("streaming.cursor", type=_STR, help="What stands at the end of a growing answer.", default=" ▉"),
    _hermes("streaming.fresh_final_after_seconds", type=_FLOAT, help="Send the final answer anew after this time.", default=0, minimum=0),
    _hermes("approvals.mode", type=_STR, help="Who decides on sensitive commands; manual keeps people deciding.", allowed=("manual", "smart", "off"), recommended="manual"),
    _hermes("approvals.timeout", type=_INT, help="Seconds to wait for an approval.", minimum=1),
    _hermes("approvals.cron_mode", type=_STR, help="What cron jobs may do without a person.", default="deny"),
    _hermes("gateway.multiplex_profiles", type=_BOOL, help="One process for all profiles; both platforms refuse it.", default=False, recommended=False, aliases=("multiplex_profiles",)),
    _hermes("gateway.multiplex_profile_allowlist", type=_LIST, help="The profiles of such a process; Hermes 0.21 and later."),
    _hermes("gateway.platform_connect_timeout", type=_FLOAT, help="Seconds a platform may take to connect.", default=30, minimum=1),
    _hermes("gateway.delivery_ledger", type=_BOOL, help="Resend answers that a crash may have lost.", default=True),
    _hermes("gateway.write_sessions_json", type=_BOOL, help="Keep a readable mirror of the sessions.", default=True),
    _hermes("session_reset", type=_MAP, help="When a session ends by itself.", aliases=("gateway.session_reset",)),
    _hermes("reset_triggers", type=_LIST, help="Words that begin a new session.", aliases=("gateway.reset_triggers",)),
    _hermes("quick_commands", type=_MAP, help="Commands of one's own.", aliases=("gateway.quick_commands",)),
    _hermes("group_sessions_per_user", type=_BOOL, help="A session for each person in a group; Borgee needs one for all.", default=True, aliases=("gateway.group_sessions_per_user",)),
    _hermes("thread_sessions_per_user", type=_BOOL, help="A session for each person in a thread.", default=False, aliases=("gateway.thread_sessions_per_user",)),
    _hermes("unauthorized_dm_behavior", type=_STR, help="What strangers get in a direct chat.", allowed=("pair", "ignore"), default="pair", aliases=("gateway.unauthorized_dm_behavior",)),
    _hermes("display.busy_input_mode", type=_STR, help="What a message does to a running turn; Borgee needs queue.", allowed=_BUSY, default="interrupt"),
    _hermes("display.busy_text_mode", type=_STR, help="Older name of display.busy_input_mode."),
    _hermes("display.busy_ack_enabled", type=_BOOL, help="Confirm a message to a busy agent.", default=True),
    _hermes("display.tool_progress", type=_STR, help="Tool bubbles in the chat, on every platform.", allowed=("off", "new", "all", "verbose", "log")),
    _hermes("agent.clarify_timeout", type=_INT, help="Seconds to wait for an answer to a question.", default=3600, minimum=0),
    _hermes("agent.gateway_timeout", type=_INT, help="Seconds without activity before a turn ends.", default=1800, minimum=0),
    _hermes("agent.max_turns", type=_INT, help="Steps of one run of the agent."),
    _hermes("agent.gateway_startup_warmup_timeout", type=_FLOAT, help="Seconds to warm up at the start; Hermes 0.21 and later."),
    _hermes("agent.gateway_startup_restore_drain_timeout", type=_FLOAT, help="Seconds to resume sessions; Hermes 0.21 and later."),
    _hermes("tools.tool_search.enabled", type=_STR, help='Hide tools behind a search; "off" in quotes shows them.', default="auto"),
    _hermes("security.allow_lazy_installs", type=_BOOL, help="Hermes may install packages while it runs.", default=True),
    _hermes("security.tirith_enabled", type=_BOOL, help="Download and use the command scanner.", default=True),
    _hermes("onboarding.profile_build", type=_STR, help="Add a note to the very first message.", default="ask"),
    _hermes("auxiliary.title_generation.enabled", type=_BOOL, help="One more model call for each new session.", default=True),
    _hermes("kanban.dispatch_in_gateway", type=_BOOL, help="Run the background dispatcher in the gateway.", default=True),
)
# fmt: on
