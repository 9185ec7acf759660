"""What has to be done about each approval, and why. Pure; the gateway, the doctor and the command all ask here.

Source: canon-adapter R10.40, R10.41, R10.43-R10.45; decisions A1, A4; D47.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from enum import StrEnum

from canon_hermes_plugin.approvals.entry import Entry, Status
from canon_hermes_plugin.state.owner import Owner

__all__ = ["Action", "Need", "Standing", "is_due", "is_of", "nearest_lease_ms", "need_of"]


class Action(StrEnum):
    """The next thing to do about an approval."""

    ASK = "ask"  # consume: ask Canon for the answer
    WAKE = "wake"  # the agent has not heard the decision
    CANCEL = "cancel"  # take a request back that nobody may answer
    SHORTEN = "shorten"  # bring a lease back into reach whose end a wrong clock made
    WAIT = "wait"  # somebody is at it
    NOTHING = "nothing"


class Standing(StrEnum):
    """How an approval stands, for the person who looks at it: whose turn it is."""

    AT_WORK = "at_work"  # a process is at it just now
    WAITING = "waiting"  # the human's turn: Canon has it, and nothing has been heard
    ANSWERED = "answered"  # Canon has said that a human decided; the decision was not collected yet
    OVERDUE = "overdue"  # its time is over, and Canon was not asked how it ended
    IN_DOUBT = "in_doubt"  # a step was begun, and nobody knows how it ended
    UNTOLD = "untold"  # the decision is here, and the agent has not heard it
    TO_TAKE_BACK = "to_take_back"  # it may still be open at Canon although no answer would count
    SETTLED = "settled"

    @property
    def is_somebodys_turn_here(self) -> bool:
        """Whether a gateway or a command has to act; while a human thinks, or another process is at it, none has to."""
        return self not in (Standing.AT_WORK, Standing.WAITING, Standing.SETTLED)


@dataclass(frozen=True, slots=True)
class Need:
    """What to do, how it stands, and why, as a sentence's end; ``until_ms``: when a lease that is waited for ends."""

    action: Action
    standing: Standing
    why: str
    until_ms: float | None = None


def need_of(entry: Entry, *, now_ms: float) -> Need:
    """What the whole pass at a start does about an entry; a live lease is waited for, never taken."""
    lease = entry.lease
    if lease is not None and lease[1].is_live(now_ms):
        kind, claim = lease
        if entry.out_of_reach(now_ms=now_ms) is not None:
            why = f"its {kind} lease ends later than any lease lasts: a clock was wrong"
            return Need(Action.SHORTEN, Standing.IN_DOUBT, why, claim.expires_at_ms)
        return Need(Action.WAIT, Standing.AT_WORK, f"another process holds the {kind} lease", claim.expires_at_ms)
    match entry.status:
        case Status.CREATING:
            why = "its creation was never confirmed, and its lease is over"
            return Need(Action.ASK, Standing.IN_DOUBT, why)
        case Status.CONSUMING:
            why = "whoever asked for the answer did not finish, and the lease is over"
            return Need(Action.ASK, Standing.IN_DOUBT, why)
        case Status.PENDING:
            return _of_pending(entry, now_ms)
    if entry.wake_status is not None and entry.wake_status.is_owed:
        told = f": {entry.wake_error}" if entry.wake_error else ""
        return Need(Action.WAKE, Standing.UNTOLD, f"the agent has not been told of the decision{told}")
    if entry.fields.get("cancelPending") is True:
        why = "its request may still be open at Canon although no answer would count"
        return Need(Action.CANCEL, Standing.TO_TAKE_BACK, why)
    return Need(Action.NOTHING, Standing.SETTLED, _how_it_ended(entry))


def _how_it_ended(entry: Entry) -> str:
    said = {name: str(entry.fields.get(name) or "") for name in ("abandonReason", "creationError")}
    match entry.status:
        case Status.RESOLVED:
            return f"it is settled: {entry.decision} by {entry.responded_by}"
        case Status.EXPIRED:
            return "it is settled: nobody answered in time"
        case _ if said["abandonReason"]:
            return f"an operator gave it up: {said['abandonReason']}"
        case _ if said["creationError"]:
            return f"it was never open: {said['creationError']}"
        case _ if entry.fields.get("identityMismatch") is True and entry.responded_by:
            return f"it was answered by {entry.responded_by} and not by the human who was asked; that does not count"
        case _ if entry.fields.get("identityMismatch") is True:
            return "Canon did not say who answered it; that does not count"
        case _:
            return "Canon no longer knows it, or never did"


def _of_pending(entry: Entry, now_ms: float) -> Need:
    if entry.is_receipt_pending:
        return Need(Action.ASK, Standing.ANSWERED, "Canon has said that it was answered")
    if entry.is_reconcile_pending:
        return Need(Action.ASK, Standing.IN_DOUBT, "the last attempt to ask failed")
    if entry.expires_at_ms <= now_ms:
        return Need(Action.ASK, Standing.OVERDUE, "it is past its expiry")
    return Need(Action.ASK, Standing.WAITING, "it waits for the human")


def is_due(entry: Entry, *, now_ms: float) -> bool:
    """Whether the periodic scan acts on it: an open approval that nothing has happened to is left in peace (R10.40)."""
    need = need_of(entry, now_ms=now_ms)
    if need.standing is Standing.AT_WORK:
        return entry.status is Status.CREATING and entry.is_receipt_pending  # recovery waits for the lease (R10.41)
    return need.standing.is_somebodys_turn_here


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
