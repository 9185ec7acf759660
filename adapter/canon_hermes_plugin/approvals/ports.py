"""What the approvals of a gateway need of the outside: two calls to Canon, and a place where wakes are kept.

Source: canon-adapter R10.31-R10.33; Canon wire 9.3-9.9; decisions A5; D34, D48.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from canon_hermes_plugin.approvals.entry import Decision, Entry
from canon_ops.wire.interactions import ApprovalAnswer, ApprovalReceipt, ApprovalRequest

__all__ = ["CanonPort", "Wake", "WakePort", "WakeRefused", "wake_of"]


class CanonPort(Protocol):
    """The two calls. Both raise :class:`canon_ops.client.errors.RequestFailed`."""

    async def create(self, request: ApprovalRequest) -> ApprovalReceipt: ...

    async def consume(self, conversation_id: str, approval_id: str, *, cancel: bool = False) -> ApprovalAnswer: ...


@dataclass(frozen=True, slots=True)
class Wake:
    """The turn that tells the agent what the human decided.

    Attributes:
        key: the message id of the turn; the inbox takes it once.
        session_key: the session that asked; None: the conversation's own.
    """

    key: str
    text: str
    conversation_id: str
    user_id: str
    session_key: str | None
    approval_id: str
    decision: Decision


class WakeRefused(RuntimeError):
    """The decision stands, and may start no turn as things are now (D48); it is tried again."""


class WakePort(Protocol):
    """Where wakes go. :class:`WakeRefused` says that one may not be there at all."""

    async def look(self, conversation_id: str) -> None:
        """Find out whether a turn may start there; it may take its time, so no lease is held meanwhile (R10.33)."""
        ...

    async def wake(self, wake: Wake) -> None:
        """Return once the wake is on the disk; raise when it is not (A5)."""
        ...


def wake_of(entry: Entry) -> Wake:
    """The wake that is owed for a decision."""
    decision = entry.decision
    assert decision is not None, "a wake is owed for a decision only"  # noqa: S101
    said = f"Canon approval {entry.approval_id} resolved: {decision}"
    summary = _one_line(entry.summary)
    return Wake(
        key=f"canon-detached-approval:{entry.approval_id}",
        text=f"{said} — {summary}" if summary else said,
        conversation_id=entry.conversation_id,
        user_id=entry.responded_by or "canon-approval",
        session_key=entry.requesting_session_key,
        approval_id=entry.approval_id,
        decision=decision,
    )


def _one_line(text: str) -> str:
    """A line break in what a model once wrote must not look like another decision, or like our own words (D34)."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
