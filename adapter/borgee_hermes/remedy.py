"""A person's decision about a quarantined receipt, in the gateway that owns the inbox.

The receipt's session is begun afresh first, because the interrupted turn is still in it; only then the row moves.

Source: Borgee 4.10.
"""

from __future__ import annotations

from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.inbox.problems import RiskNotConfirmed, SessionNotReset
from borgee_hermes.inbox.records import Receipt, Status
from borgee_hermes.recovery import HostSessions

__all__ = ["remedy"]


async def remedy(inbox: Inbox, sessions: HostSessions, seq: int, action: str, *, confirm_risk: bool) -> Receipt | None:
    """Discard or requeue; the receipt as it was, or None when it was not quarantined.

    Raises:
        ValueError: another action.
        RiskNotConfirmed: a requeue without the word that effects may come twice.
        SessionNotReset: Hermes kept the session as it is; nothing was decided.
    """
    if action not in ("discard", "requeue"):
        raise ValueError(f"a receipt is discarded or requeued, not {action!r}")
    if action == "requeue" and not confirm_risk:
        raise RiskNotConfirmed(seq)
    receipt = await inbox.get(seq)
    if receipt is None or receipt.status is not Status.QUARANTINED:
        return None
    if not await sessions.reset_if_there(receipt.session_key):
        raise SessionNotReset(f"Hermes did not reset the session {receipt.session_key}, so receipt {seq} stays")
    if action == "discard":
        return receipt if await inbox.discard(seq) else None
    return receipt if await inbox.requeue(seq, risk_confirmed=confirm_risk) else None
