"""The one door to Hermes: every host symbol that this plugin touches is named here and nowhere else.

Nothing of the host is imported with this module. :func:`load_host` imports what an adapter needs when the host asks for
one; the functions below ask for single things at the moment they are needed.

Source: Borgee 8.7; decisions F5, H3.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from canon_ops.operate.hermes_prompts import HostPrompts

__all__ = [
    "MAX_MESSAGE_CHARS",
    "PLATFORM_NAME",
    "Host",
    "HostCommands",
    "HostFacts",
    "HostIncomplete",
    "HostLocks",
    "home_folder",
    "host_prompts",
    "is_multiplexing",
    "load_host",
    "platform_entry_fields",
    "read_host_facts",
]

PLATFORM_NAME: Final = "borgee"
MAX_MESSAGE_CHARS: Final = 4096  # doubly encoded, the longest text still fits a frame of 32 KiB; Borgee 6.3


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What the audited table is asked with; ``version`` is None when the host does not say."""

    version: str | None
    python: str
    platform: str


def read_host_facts() -> HostFacts:
    """The host's version and where it runs; it never raises."""
    try:
        version = importlib.import_module("hermes_cli").__version__
    except (ImportError, AttributeError):
        version = None
    found = version if isinstance(version, str) and version else None
    return HostFacts(found, f"{sys.version_info.major}.{sys.version_info.minor}", sys.platform)


def is_multiplexing() -> bool:
    """Whether this process serves several profiles; a host that cannot be asked counts as one that does."""
    try:
        return bool(importlib.import_module("agent.secret_scope").is_multiplex_active())
    except Exception:  # the probe is the host's code: whatever it raises, the answer is "unknown"
        return True


def home_folder() -> Path:
    """The Hermes home that this process works on."""
    return Path(importlib.import_module("hermes_constants").get_hermes_home())


def host_prompts() -> HostPrompts:
    """The prompts of ``hermes setup``; they end the program when a person presses Ctrl-C at a question."""
    from canon_ops.operate.hermes_prompts import prompts_of  # a gateway asks nobody

    return prompts_of(importlib.import_module("hermes_cli.setup"))


def platform_entry_fields() -> frozenset[str]:
    """The arguments that this host's ``register_platform`` takes; a newer one would fail the whole plugin."""
    return frozenset(field.name for field in fields(importlib.import_module("gateway.platform_registry").PlatformEntry))


class HostLocks:
    """Hermes' locks between processes. Source: Hermes host, 9.9."""

    def acquire(self, scope: str, identity: str, metadata: Mapping[str, str]) -> tuple[bool, Mapping[str, Any] | None]:
        taken, owner = importlib.import_module("gateway.status").acquire_scoped_lock(scope, identity, dict(metadata))
        return bool(taken), owner if isinstance(owner, Mapping) else None

    def release(self, scope: str, identity: str) -> None:
        importlib.import_module("gateway.status").release_scoped_lock(scope, identity)


class HostCommands:
    """What Hermes takes for a command, and whether it waits for an answer."""

    def resolve(self, name: str) -> str | None:
        """The canonical name of one of Hermes' own commands or aliases; None for any other word."""
        found = importlib.import_module("hermes_cli.commands").resolve_command(name)
        return str(found.name) if found is not None else None

    def bypasses(self, name: str) -> bool:
        """Whether Hermes runs that command while its session is busy."""
        return bool(importlib.import_module("hermes_cli.commands").should_bypass_active_session(name))

    def is_plugin_command(self, name: str) -> bool:
        """Whether a plugin brought that command."""
        lookup = importlib.import_module("hermes_cli.plugins").get_plugin_command_handler
        return lookup(name.replace("_", "-")) is not None

    def is_question_open(self, session_key: str) -> bool:
        """Whether the running turn waits for a person's answer."""
        pending = importlib.import_module("tools.clarify_gateway").get_pending_for_session
        return pending(session_key, include_choice_prompts=True) is not None


def takes_several(clarify_id: str) -> bool:
    """Whether more than one of a waiting question's choices may be chosen; hosts before 0.22 know no such question."""
    entries = getattr(importlib.import_module("tools.clarify_gateway"), "_entries", None)
    waiting = entries.get(clarify_id) if isinstance(entries, Mapping) else None
    return bool(getattr(waiting, "multi_select", False))


def await_text(clarify_id: str) -> None:
    """Have the host read the next message of the session as the answer; one without choices is so already."""
    importlib.import_module("tools.clarify_gateway").mark_awaiting_text(clarify_id)


@dataclass(frozen=True, slots=True)
class Host:
    """The host's classes, by role. It ships no type information, so they are ``Any``."""

    version: str
    base_adapter: type[Any]
    message_event: Callable[..., Any]
    text_type: Any
    send_result: Callable[..., Any]
    session_key: Callable[..., str]
    _platform_enum: Any

    @property
    def platform(self) -> Any:
        """The host's enum member of our platform; made once when the host's enum does not know it yet."""
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


class HostIncomplete(Exception):
    """An audited version that lacks something which that version has: it was changed by hand."""


@cache
def load_host() -> Host:
    """Import what an adapter uses of the host; called by the adapter factory, after the audit.

    Raises:
        HostIncomplete: the host lacks something that every audited version has.
    """
    try:
        base = importlib.import_module("gateway.platforms.base")
        return Host(
            version=importlib.import_module("hermes_cli").__version__,
            base_adapter=base.BasePlatformAdapter,
            message_event=base.MessageEvent,
            text_type=base.MessageType.TEXT,
            send_result=base.SendResult,
            session_key=importlib.import_module("gateway.session").build_session_key,
            _platform_enum=importlib.import_module("gateway.config").Platform,
        )
    except (ImportError, AttributeError) as error:
        raise HostIncomplete(
            f"This Hermes lacks what Borgee relies on ({error}); it is not as it was released. "
            "Fix: canon-ops doctor --only host.contract"
        ) from error
