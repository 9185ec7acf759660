"""The one door to Hermes: every host symbol that this plugin touches is named here and nowhere else.

Nothing of the host is imported with this module. :func:`load_host` imports what an adapter needs when the host asks
for one, and hands it out as one frozen :class:`Host`; everything behind that door sees attributes, never modules. What
a host version may lack is a row of :data:`HELPERS` with our own fallback, so a difference between hosts is one line of
one table, and a scenario that depends on it reads its expectation there.

Checked by loading the real host of the development environment and comparing each row with it.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from canon_ops.hermes.contract import Use
from canon_ops.hermes.contract_canon import CANON_NEEDS

if TYPE_CHECKING:
    from canon_ops.operate.hermes_prompts import HostPrompts

__all__ = [
    "HELPERS",
    "MAX_MESSAGE_BYTES",
    "PLATFORM_NAME",
    "CommandSources",
    "Helper",
    "Host",
    "HostFacts",
    "HostIncomplete",
    "HumanModules",
    "command_name",
    "has_blocking_approval",
    "home_folder",
    "host_prompts",
    "in_delegated_child",
    "is_asking",
    "load_command_sources",
    "load_host",
    "load_human_modules",
    "multiplex_refusal",
    "platform_entry_fields",
    "read_host_facts",
    "register_toolset_alias",
    "session_value",
]

PLATFORM_NAME: Final = "canon"
MAX_MESSAGE_BYTES: Final = 3_900  # one part of 3,800 and the 100 that the host keeps in reserve; Canon adapter R1.16

MULTIPLEX_ENABLED: Final = (
    "gateway.multiplex_profiles is enabled, and one process would then answer with several Canon identities. "
    "Set gateway.multiplex_profiles: false and run one Hermes gateway process per Canon profile."
)
MULTIPLEX_UNKNOWN: Final = (
    "could not verify whether the Hermes gateway is multiplexing profiles; Canon does not start on a guess. "
    "Set gateway.multiplex_profiles: false and run one Hermes gateway process per Canon profile."
)


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What the audited table is asked with; ``version`` is None when the host does not say."""

    version: str | None
    python: str
    platform: str


def read_host_facts() -> HostFacts:
    """The host's version and where it runs, without importing more of it than its version; it never raises."""
    try:
        version = importlib.import_module("hermes_cli").__version__
    except (ImportError, AttributeError):
        version = None
    found = version if isinstance(version, str) and version else None
    return HostFacts(found, f"{sys.version_info.major}.{sys.version_info.minor}", sys.platform)


def multiplex_refusal(import_module: Callable[[str], Any] = importlib.import_module) -> str | None:
    """Why this process must not hold a Canon adapter, or None.

    A host that cannot be asked counts as multiplexing: two profiles in one process would share task context and
    answer under each other's identity. Source: Canon adapter R1.14.
    """
    try:
        active = import_module("agent.secret_scope").is_multiplex_active()
    except Exception:  # the probe is the host's code: whatever it raises, the answer is "unknown"
        return MULTIPLEX_UNKNOWN
    return MULTIPLEX_ENABLED if active else None


# --- rows: helpers that some audited version lacks -------------------------------------------------------------------


def _inline_text(value: object, *, max_chars: int = 240) -> str:
    """One line without control characters, at most ``max_chars``: the fallback of the host's neutraliser."""
    printable = "".join(char if char.isprintable() else " " for char in str(value or ""))
    line = " ".join(printable.split())
    return line if len(line) <= max_chars else line[: max_chars - 3] + "..."


def _same_text(text: str) -> str:
    """A host without the helper does nothing to the text either."""
    return text


def _nothing_waits(session_key: str, **_more: object) -> None:
    """A host that does not say has nothing that waits: a text is then treated as one."""


def _never() -> bool:
    """A host without the helper runs no delegation with a copy of its parent's context."""
    return False


@dataclass(frozen=True, slots=True)
class Helper:
    """A host function that not every audited version has, and what stands in for it."""

    name: str
    module: str
    attribute: str
    fallback: Callable[..., Any]
    since: str


def _allows_private_urls() -> bool:
    """The variable alone, for a host that does not say what its configuration allows."""
    return os.environ.get("HERMES_ALLOW_PRIVATE_URLS", "").strip().lower() in ("true", "1", "yes")


HELPERS: Final[tuple[Helper, ...]] = (
    Helper("neutralize_inline", "gateway.session", "neutralize_untrusted_inline_text", _inline_text, since="0.19"),
    Helper("close_code_fences", "gateway.stream_consumer", "ensure_closed_code_fences", _same_text, since="0.21"),
    Helper("allows_private_urls", "tools.url_safety", "_global_allow_private_urls", _allows_private_urls, since="0.18"),
    Helper("has_blocking_approval", "tools.approval", "has_blocking_approval", _nothing_waits, since="0.18"),
    Helper("pending_question", "tools.clarify_gateway", "get_pending_for_session", _nothing_waits, since="0.18"),
    Helper("pending_confirmation", "tools.slash_confirm", "get_pending", _nothing_waits, since="0.18"),
    Helper("resolve_command", "hermes_cli.commands", "resolve_command", _nothing_waits, since="0.18"),
    Helper("in_delegated_child", "agent.delegation_context", "is_delegated_child_context", _never, since="0.21"),
)


HELPERS_BY_NAME: Final[Mapping[str, Helper]] = {helper.name: helper for helper in HELPERS}


@cache
def _resolve(helper: Helper) -> Callable[..., Any]:
    try:
        found = getattr(importlib.import_module(helper.module), helper.attribute)
    except (ImportError, AttributeError):
        return helper.fallback
    return found if callable(found) else helper.fallback


# --- the host -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Host:
    """The host's classes and helpers, by role.

    The host ships no type information, so the classes are ``Any``; the code that uses them states what it relies on.

    Attributes:
        draws_prompts: it prepares what it asks about a command, and has the adapter draw that alone.
    """

    version: str
    base_adapter: type[Any]
    draws_prompts: bool
    message_event: Callable[..., Any]
    message_types: Mapping[str, Any]
    send_result: Callable[..., Any]
    session_key: Callable[..., str]
    default_cursor: str
    neutralize_inline: Callable[..., str]
    close_code_fences: Callable[[str], str]
    cache_media: Mapping[str, Callable[[bytes, str], Any]]
    allows_private_urls: Callable[[], bool]
    _platform_enum: Any

    @property
    def platform(self) -> Any:
        """The host's enum member of our platform; made once when the host's enum does not know it yet (R1.16)."""
        enum = self._platform_enum
        try:
            return enum(PLATFORM_NAME)
        except ValueError:
            member = object.__new__(enum)
            member._value_ = PLATFORM_NAME
            member._name_ = PLATFORM_NAME.upper()
            enum._value2member_map_[PLATFORM_NAME] = member
            enum._member_map_[member._name_] = member
            return member


def platform_entry_fields() -> frozenset[str]:
    """The arguments that this host's ``register_platform`` takes; a newer one would fail the whole plugin."""
    return frozenset(field.name for field in fields(importlib.import_module("gateway.platform_registry").PlatformEntry))


def home_folder() -> Path:
    """The Hermes home that this process works on."""
    return Path(importlib.import_module("hermes_constants").get_hermes_home())


def session_value(name: str) -> str:
    """A session value of the running task, such as ``HERMES_SESSION_CHAT_ID``; empty when there is none.

    Raises:
        RuntimeError: this process is no Hermes.
    """
    try:
        context = importlib.import_module("gateway.session_context")
    except ImportError as error:
        raise RuntimeError("the host's session cannot be read: this is no Hermes process") from error
    return str(context.get_session_env(name, "") or "")


def register_toolset_alias(alias: str, toolset: str) -> None:
    """Let a configuration name our toolset by another name."""
    importlib.import_module("tools.registry").registry.register_toolset_alias(alias, toolset)


def in_delegated_child() -> bool:
    """The running task belongs to a delegated child of a turn, not to the turn itself."""
    return bool(_resolve(HELPERS_BY_NAME["in_delegated_child"])())


@dataclass(frozen=True, slots=True)
class HumanModules:
    """Where the host keeps what waits for a person.

    Attributes:
        redact_command: what the host does to a command before it shows it.
        confirming: the command of a session that the host wants confirmed.
        approval_limit: how long the host waits with a command; None where it does not say.
    """

    approvals: Any
    clarify: Any
    redact_command: Callable[[str], str]
    confirming: Callable[[str], Mapping[str, Any] | None] = _nothing_waits
    approval_limit: Callable[[], object] | None = None


@cache
def load_human_modules() -> HumanModules:
    """The host's modules of questions and approvals; asked for at the first question.

    Raises:
        HostIncomplete: the host has none.
    """
    try:
        approvals = importlib.import_module("tools.approval")
        clarify = importlib.import_module("tools.clarify_gateway")
    except ImportError as error:
        raise HostIncomplete(f"This Hermes asks nobody anything ({error}).") from error
    # A gateway has this module long before it asks; anybody else must not load one for the sake of a function.
    redact = getattr(sys.modules.get("gateway.run"), "_redact_approval_command", None)
    confirming = _resolve(HELPERS_BY_NAME["pending_confirmation"])
    limit = _first(("tools.approval", "tools.approval_context"), "_get_approval_timeout")
    return HumanModules(approvals, clarify, redact if callable(redact) else _same_text, confirming, limit)


@dataclass(frozen=True, slots=True)
class CommandSources:
    """Where the host keeps its commands; each part is empty on a host that lacks it.

    Attributes:
        registry: the host's own commands, with those that a gateway does not take.
        is_available: ``(command, open gates)``; whether a gateway takes it.
        busy: the names of those that a gateway runs beside a turn, on a host that does not say it of each.
        enter_platform: makes the running context that of a platform's session.
    """

    registry: Sequence[Any]
    is_available: Callable[[Any, Any], bool]
    config_gates: Callable[[], Any]
    busy: frozenset[str]
    plugin_commands: Callable[[], Sequence[tuple[str, str, str]]]
    bundles: Callable[[], Mapping[str, Any]]
    skills: Callable[[], Mapping[str, Any]]
    disabled_skills: Callable[..., Collection[str]]
    enter_platform: Callable[[str], object]


def _is_for_gateways(command: Any, _gates: Any) -> bool:
    return not command.cli_only


def _nothing(**_more: Any) -> dict[str, Any]:
    return {}


def _optional(module: str, name: str, default: Any) -> Any:
    """A name of a host module, or what stands in where one of them is missing."""
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        return default


def _first(modules: Iterable[str], name: str) -> Any:
    """A name that the host has in one of these modules; None where it has it in none."""
    found = (_optional(module, name, None) for module in modules)
    return next((one for one in found if one is not None), None)


@cache
def load_command_sources() -> CommandSources:
    """The host's commands, skills included; a gateway has loaded all of it."""
    commands = "hermes_cli.commands"
    set_vars = _optional("gateway.session_context", "set_session_vars", _nothing)
    return CommandSources(
        registry=_optional(commands, "COMMAND_REGISTRY", ()),
        is_available=_optional(commands, "_is_gateway_available", _is_for_gateways),
        config_gates=_optional(commands, "_resolve_config_gates", set),
        busy=frozenset(_optional(commands, "ACTIVE_SESSION_BYPASS_COMMANDS", ())),
        plugin_commands=_optional(commands, "_iter_plugin_command_entries", tuple),
        bundles=_optional("agent.skill_bundles", "get_skill_bundles", dict),
        skills=_optional("agent.skill_commands", "get_skill_commands", dict),
        disabled_skills=_optional("agent.skill_utils", "get_disabled_skill_names", _nothing),
        enter_platform=lambda name: set_vars(platform=name),
    )


def has_blocking_approval(session_key: str) -> bool:
    """Whether a command of the session waits for a person's leave; False where the host does not say."""
    return bool(_resolve(HELPERS_BY_NAME["has_blocking_approval"])(session_key))


def command_name(typed: str) -> str | None:
    """The host's own name of a command of its registry, whichever of its names was typed; None for any other."""
    found = _resolve(HELPERS_BY_NAME["resolve_command"])(typed)
    return None if found is None else str(found.name)


def is_asking(session_key: str) -> bool:
    """Whether the agent of the session waits for a person's answer, which the next text there is."""
    return _resolve(HELPERS_BY_NAME["pending_question"])(session_key, include_choice_prompts=True) is not None


def host_prompts() -> HostPrompts:
    """The prompts of ``hermes setup``; they end the program when a person presses Ctrl-C at a question."""
    from canon_ops.operate.hermes_prompts import prompts_of  # a gateway asks nobody

    return prompts_of(importlib.import_module("hermes_cli.setup"))


class HostIncomplete(Exception):
    """An audited version that lacks something which that version has: it was changed by hand."""


@cache
def load_host() -> Host:
    """Import what an adapter uses of the host; called by the adapter factory, after the audit.

    Raises:
        HostIncomplete: the host lacks something that every audited version has.
    """
    try:
        return _load_host()
    except (ImportError, AttributeError) as error:
        raise HostIncomplete(
            f"This Hermes lacks what Canon relies on ({error}); it is not as it was released. "
            "Fix: canon-ops doctor --only host.contract"
        ) from error


def _needed_members() -> list[str]:
    """The methods of the base class that the contract knows no stand-in for: looked for now, not at message time."""
    prefix = "gateway.platforms.base:BasePlatformAdapter."
    return [
        need.path.removeprefix(prefix)
        for need in CANON_NEEDS
        if need.path.startswith(prefix) and need.use in (Use.CALL, Use.OVERRIDE) and need.without is None
    ]


def _load_host() -> Host:
    base = importlib.import_module("gateway.platforms.base")
    if lacking := [name for name in _needed_members() if not hasattr(base.BasePlatformAdapter, name)]:
        raise AttributeError(f"its base adapter has no {' and no '.join(lacking)}")
    config = importlib.import_module("gateway.config")
    helpers = {helper.name: _resolve(helper) for helper in HELPERS}
    return Host(
        version=importlib.import_module("hermes_cli").__version__,
        base_adapter=base.BasePlatformAdapter,
        draws_prompts=hasattr(base.BasePlatformAdapter, "_send_exec_approval_prompt"),
        message_event=base.MessageEvent,
        message_types={member.value: member for member in base.MessageType},
        send_result=base.SendResult,
        session_key=importlib.import_module("gateway.session").build_session_key,
        default_cursor=config.DEFAULT_STREAMING_CURSOR,
        neutralize_inline=helpers["neutralize_inline"],
        close_code_fences=helpers["close_code_fences"],
        cache_media={
            "image": base.cache_image_from_bytes,
            "audio": base.cache_audio_from_bytes,
            "video": base.cache_video_from_bytes,
            "document": base.cache_document_from_bytes,
        },
        allows_private_urls=helpers["allows_private_urls"],
        _platform_enum=config.Platform,
    )
