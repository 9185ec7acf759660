"""The host's session values of the running task, read once for a call.

They are the only source of who is meant: the conversation, the human and the session of a call never come from what a
model wrote.

Source: canon-adapter R0.3, R11.4, R11.23, R13.1; D13.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

__all__ = ["HostSession", "conversation_for", "read_session"]

PLATFORM: Final = "canon"
PREFIX: Final = "canon:"


@dataclass(frozen=True, slots=True)
class HostSession:
    """Whose call it is; texts are trimmed, and None when the host has none.

    Attributes:
        conversation_id: of the Canon turn that the task belongs to; None outside of any.
        user_id: the human who opened the turn; None when an agent did.
    """

    conversation_id: str | None = None
    user_id: str | None = None
    user_name: str | None = None
    session_id: str | None = None
    session_key: str | None = None
    message_id: str | None = None

    @property
    def is_canon(self) -> bool:
        """Whether the task belongs to a Canon turn."""
        return self.conversation_id is not None


def read_session(value: Callable[[str], str]) -> HostSession:
    """Read the session; on another platform, or outside of a conversation, it is empty.

    Args:
        value: the host's reader of a session value.
    """

    def text(name: str) -> str | None:
        return value(f"HERMES_SESSION_{name}").strip() or None

    conversation_id = text("CHAT_ID")
    if (text("PLATFORM") or "").lower() != PLATFORM or conversation_id is None:
        return HostSession()
    return HostSession(conversation_id, text("USER_ID"), text("USER_NAME"), text("ID"), text("KEY"), text("MESSAGE_ID"))


def conversation_for(target: object, session: HostSession, home_channel: str | None) -> str:
    """The conversation that a call is about.

    Args:
        target: what the model named, with or without ``canon:``; inside a turn it may only name the turn's own.

    Raises:
        PermissionError: a turn reaches for another conversation (D13).
        ValueError: there is none, or the target is blank.
    """
    named = str(target).strip() if target is not None else ""
    if named.startswith(PREFIX):
        named = named.removeprefix(PREFIX).strip()
        if not named:
            raise ValueError("target names no conversation: write canon:<conversation id>, or leave it out")
    if session.conversation_id is not None:
        if named and named != session.conversation_id:
            raise PermissionError("target names another conversation than the one of this turn; leave it out")
        return session.conversation_id
    if not (named or home_channel):
        raise ValueError("no conversation: name one as target, or set CANON_HOME_CHANNEL")
    return named or str(home_channel)
