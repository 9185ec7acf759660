"""What a check tells the agent. Pure: an entry, or what is known instead, in; the tool's result out.

``unknown`` is never a denial and never carries a decision: money is not moved on a guess, and not refused on one.

Source: canon-adapter R10.15, R10.20; Canon wire 9.7.
"""

from __future__ import annotations

from typing import Any, Final

from canon_hermes_plugin.approvals.entry import Entry, Status

__all__ = ["not_here", "not_this_agents", "of_entry", "requested", "unclear"]

ASK_AGAIN: Final = "If it is still needed, re-issue the request; do not take this for a refusal."


def requested(entry: Entry) -> dict[str, Any]:
    """The result of a request that Canon has."""
    note = (
        "The human has been asked and may take days. Do not wait: end the turn. "
        "You will be woken with the decision; check_approval tells the state at any time."
    )
    return {
        "status": "pending",
        **_names(entry),
        "expiresAt": entry.fields["expiresAt"],
        **_responder(entry),
        "note": note,
    }


def of_entry(entry: Entry) -> dict[str, Any]:
    """The result of a check, as the entry stands after it."""
    match entry.status:
        case Status.RESOLVED:
            by = {"respondedBy": entry.responded_by} if entry.responded_by else {}
            return {"status": "resolved", "decision": str(entry.decision), **_names(entry), **by}
        case Status.EXPIRED:
            return {"status": "expired", **_names(entry), "note": f"Nobody answered in time. {ASK_AGAIN}"}
        case Status.ORPHANED:
            return {"status": "unknown", **_names(entry), "note": f"{_why_unknown(entry)} {ASK_AGAIN}"}
        case Status.PENDING:
            return {"status": "pending", **_names(entry), "expiresAt": entry.fields["expiresAt"]}
        case Status.CREATING | Status.CONSUMING:
            return _leased(entry)


def unclear(entry: Entry) -> dict[str, Any]:
    """Canon's answer meant nothing; the entry is pending again and will be asked about."""
    note = f"Canon's answer could not be understood; the approval stays open and is looked at again. {ASK_AGAIN}"
    return {"status": "unknown", **_names(entry), "note": note}


def not_this_agents(entry: Entry) -> dict[str, Any]:
    """Canon denies it to this agent, and the entry does not say whose it is."""
    note = f"Canon knows of no such approval of this agent; it may be another one's, and stays open. {ASK_AGAIN}"
    return {"status": "unknown", **_names(entry), "note": note}


def not_here(approval_id: str) -> dict[str, Any]:
    """No approval of this gateway has that id."""
    note = f"No approval with that id is known here. {ASK_AGAIN}"
    return {"status": "unknown", "approvalId": approval_id, "note": note}


def _leased(entry: Entry) -> dict[str, Any]:
    kind, what = (
        ("creation", "is being created") if entry.status is Status.CREATING else ("consume", "is being asked about")
    )
    return {
        "status": "pending",
        **_names(entry),
        "expiresAt": entry.fields["expiresAt"],
        "leaseKind": kind,
        "note": f"The approval {what} by another worker just now; check again in a minute.",
    }


def _why_unknown(entry: Entry) -> str:
    if "abandonedAt" in entry.fields:
        return "An operator gave it up after its time was over; whether it was answered is unknown."
    if entry.fields.get("identityMismatch") is not True:
        return "Canon no longer knows this approval, or never did; whether it was answered is unknown."
    if entry.responded_by:
        return "It was answered by another human than the one who was asked (identity mismatch); that does not count."
    return "Canon omitted authenticated responder identity: nobody knows who answered; that does not count."


def _names(entry: Entry) -> dict[str, Any]:
    return {"approvalId": entry.approval_id, "conversationId": entry.conversation_id}


def _responder(entry: Entry) -> dict[str, Any]:
    return {"responseUserId": entry.response_user_id} if entry.response_user_id else {}
