"""Who may start a turn on this installation, and why not.

Canon has decided about membership, blocks and agents before an event reaches us, and the host asks no allowlist for
this platform. What is left is the operator's own list of people: it is enforced here. It names people only; an agent's
message was admitted by Canon's rules for agents. Who is no agent of Canon's own word is a person.

Source: decision C2; canon-adapter R3.3.
"""

from __future__ import annotations

from dataclasses import dataclass

from canon_ops.settings.options import UserAccess
from canon_ops.wire.dispatch import RUN_TURN, should_trigger_agent_turn
from canon_ops.wire.messages import InboundMessage, MessageCreated

__all__ = ["Allowed", "Refused", "may_start_turn"]


@dataclass(frozen=True, slots=True)
class Allowed:
    """The message starts a turn; ``reason`` is for the log."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The message is background only.

    Attributes:
        code: ``verdict``, ``fallback`` or ``not_listed``.
        reason: a sentence for the log.
    """

    code: str
    reason: str


def may_start_turn(created: MessageCreated, access: UserAccess) -> Allowed | Refused:
    """Ask the server's verdict, without one the fallback table, and then the operator's list."""
    message = created.message
    if created.verdict is not None:
        if created.verdict != RUN_TURN:
            return Refused("verdict", f"the server's verdict is {created.verdict!r}")
        reason = "the server's verdict is to run a turn"
    else:
        decision = should_trigger_agent_turn(message.sender_type, message.metadata)
        if not decision.allow:
            return Refused("fallback", decision.reason)
        reason = decision.reason
    if not _is_listed(message, access):
        return Refused("not_listed", f"CANON_ALLOWED_USERS does not list {message.sender_id or 'a sender without id'}")
    return Allowed(reason)


def _is_listed(message: InboundMessage, access: UserAccess) -> bool:
    if access.allow_all or access.allowed is None or message.is_from_agent:
        return True
    return message.sender_id is not None and access.is_listed(message.sender_id)
