"""What has to be done about each approval, and why. Pure; the gateway, the doctor and the command all ask here.

Source: canon-adapter R10.40, R10.41, R10.43-R10.45; decisions A1, A4; D47.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from enum import StrEnum

from canon_hermes_plugin.approvals.entry import Entry, Status
from canon_hermes_plugin.owner import Owner

__all__ = ["Action", "Need", "is_due", "is_of", "nearest_lease_ms", "need_of"]


class Action(StrEnum):
    """The next thing to do about an approval."""

    ASK = "ask"  # consume: ask Canon for the answer
    WAKE = "wake"  # the agent has not heard the decision
    CANCEL = "cancel"  # take a request back that nobody may answer
    WAIT = "wait"  # somebody is at it
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Need:
    """What to do, and why, as a sentence's end; ``until_ms``: when a lease that is waited for ends."""

    action: Action
    why: str
    until_ms: float | None = None


def need_of(entry: Entry, *, now_ms: float) -> Need:
    """What the whole pass at a start does about an entry; a live lease is waited for, never taken."""
    lease = entry.lease
    if lease is not None and lease[1].is_live(now_ms):
        kind, claim = lease
        return Need(Action.WAIT, f"another process holds the {kind} lease", claim.expires_at_ms)
    match entry.status:
        case Status.CREATING:
            return Need(Action.ASK, "its creation was never confirmed, and its lease is over")
        case Status.CONSUMING:
            return Need(Action.ASK, "whoever asked for the answer did not finish, and the lease is over")
        case Status.PENDING:
            return Need(Action.ASK, _why_pending(entry, now_ms))
    if entry.wake_status is not None and entry.wake_status.is_owed:
        told = f": {entry.wake_error}" if entry.wake_error else ""
        return Need(Action.WAKE, f"the agent has not been told of the decision{told}")
    if entry.fields.get("cancelPending") is True:
        return Need(Action.CANCEL, "its request may still be open at Canon although no answer would count")
    return Need(Action.NOTHING, "it is settled")


def _why_pending(entry: Entry, now_ms: float) -> str:
    if entry.is_receipt_pending:
        return "Canon has said that it was answered"
    if entry.is_reconcile_pending:
        return "the last attempt to ask failed"
    return "it is past its expiry" if entry.expires_at_ms <= now_ms else "it is open"


def is_due(entry: Entry, *, now_ms: float) -> bool:
    """Whether the periodic scan acts on it: an open approval that nothing has happened to is left in peace (R10.40)."""
    need = need_of(entry, now_ms=now_ms)
    if need.action is Action.WAIT:
        return entry.status is Status.CREATING and entry.is_receipt_pending  # recovery waits for the lease (R10.41)
    if need.action is Action.ASK and entry.status is Status.PENDING:
        return entry.is_receipt_pending or entry.is_reconcile_pending or entry.expires_at_ms <= now_ms
    return need.action is not Action.NOTHING


def is_of(entry: Entry, owner: Owner, conversations: Container[str]) -> bool:
    """Whether this agent may touch the entry (A1).

    One that names its agent belongs to that agent. One of the published plugin names none: it is this agent's when its
    conversation is; another's is left alone, because Canon would answer 404 for it, and that would orphan it.
    """
    return entry.owner == owner if entry.owner is not None else entry.conversation_id in conversations


def nearest_lease_ms(entries: Iterable[Entry], *, now_ms: float) -> float | None:
    """When the first live lease among ``entries`` ends; None when nobody holds one."""
    ends = [
        claim.expires_at_ms
        for entry in entries
        if (lease := entry.lease) is not None and (claim := lease[1]).is_live(now_ms)
    ]
    return min(ends, default=None)
