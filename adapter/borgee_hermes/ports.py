"""What passes between the adapter class, which knows the host, and everything behind it, which does not.

An *event* below is the host's own message object, opaque here: it is made by the port, handed back to it, and found
again by the receipt's number in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from borgee_hermes.inbox.records import Receipt

__all__ = ["Commands", "HostPort", "HostSession", "Reply"]


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a send or an edit; the adapter turns it into the host's ``SendResult``. Hermes never repeats it."""

    success: bool
    message_id: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class HostSession:
    """A session of ours that Hermes remembers.

    Attributes:
        resumes: Hermes would continue its interrupted turn by itself.
    """

    key: str
    resumes: bool


class Commands(Protocol):
    """What the host takes for a command. Everything may raise: it is the host's code, and plugins'."""

    def resolve(self, name: str) -> str | None: ...
    def bypasses(self, name: str) -> bool: ...
    def is_plugin_command(self, name: str) -> bool: ...
    def is_question_open(self, session_key: str) -> bool: ...


class HostPort(Protocol):
    """What the runtime asks of the host. What is marked so blocks and is called on a thread."""

    @property
    def commands(self) -> Commands: ...

    def unready(self) -> str | None:
        """What the host has not installed yet although connecting needs it, or None."""
        ...

    def force_queue_mode(self) -> None:
        """Make the host queue text for a busy session: it sets its own mode after it has built the adapter."""
        ...

    def session_key(self, channel_id: str, channel_type: str) -> str:
        """The session of a channel, as the host builds its key."""
        ...

    # -- a turn -------------------------------------------------------------------------------------------------------

    def event(self, receipt: Receipt) -> Any:
        """The host's message for a receipt."""
        ...

    async def hand_over(self, event: Any) -> None:
        """Give a message to the host; returns when a task has it, or when an inline command is through."""
        ...

    async def run_inline(self, event: Any) -> None:
        """Run a plugin's command beside the session's turn and send its answer; raises when that fails."""
        ...

    def is_busy(self, session_key: str) -> bool:
        """Whether the host runs something in the session."""
        ...

    def busy_sessions(self) -> list[str]:
        """Every session in which the host runs something."""
        ...

    def is_held(self, event: Any) -> bool:
        """Whether the host has put the message aside until its start-up is through."""
        ...

    def takes_turns(self) -> bool:
        """Whether the host begins turns. One that drains only says so to the person, and calls that a success."""
        ...

    def is_stopping(self) -> bool:
        """Whether the host is going down and interrupts what runs."""
        ...

    def runs_begun(self, session_key: str) -> int | None:
        """How often the host has begun to run something in the session; None when it does not count."""
        ...

    def is_notice(self, answer: Any) -> bool:
        """Whether a handler's answer may be the host's own word that it takes no turns now."""
        ...

    async def drain(self) -> None:
        """Return when the host runs nothing of ours any more."""
        ...

    async def cancel_turns(self) -> None:
        """End what the host still runs of ours."""
        ...

    # -- sessions: all of these block ---------------------------------------------------------------------------------

    def sessions(self) -> list[HostSession]:
        """Every Borgee session that the host remembers, by key."""
        ...

    def has_session(self, session_key: str) -> bool: ...

    def suspend(self, session_key: str) -> bool:
        """Make its next message begin afresh; false when the host refused."""
        ...

    def reset(self, session_key: str) -> bool:
        """Begin it afresh now; false when the host refused."""
        ...

    # -- state --------------------------------------------------------------------------------------------------------

    def tools_changed(self) -> None:
        """What our tools can do has changed; the host offers them by what it was told last."""
        ...

    def mark_connected(self) -> None: ...
    def mark_disconnected(self) -> None: ...

    def set_fatal(self, code: str, sentence: str, *, retryable: bool) -> None:
        """Record why the platform is down."""
        ...

    async def tell_fatal(self) -> None:
        """Make the host act on a recorded error; it disconnects this adapter, and tries another if it is retryable."""
        ...


def context_words(receipt: Receipt) -> Mapping[str, str]:
    """Where in Borgee a receipt was said, by the names that the tools use. Source: Borgee 5.6, W7."""
    context = receipt.context
    if context is None:
        return {"channel_id": receipt.channel_id}
    found = {
        "guild_id": context.guild_id,
        "channel_id": receipt.channel_id,
        "top_level_channel_id": context.top_level_channel_id,
        "thread_id": context.thread_id,
        "task_id": context.task_id,
    }
    return {name: value for name, value in found.items() if value}
