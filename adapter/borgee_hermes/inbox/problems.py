"""What the inbox refuses, beside what the database room says (:class:`~canon_ops.durable.DurableError`)."""

from __future__ import annotations

from canon_ops.durable.problems import Damaged
from canon_ops.errors import InternalError, RefusedError, UsageError

__all__ = ["ReceiptDiffers", "RiskNotConfirmed", "SessionNotReset", "UnknownContent", "requeue_advice"]


class ReceiptDiffers(InternalError):
    """One identity, two contents: what arrived is not what was stored under its key."""

    code = "receipt_differs"


class RiskNotConfirmed(UsageError):
    """A requeue runs the text again, and its tools and messages may have had their effect already."""

    code = "risk_not_confirmed"

    def __init__(self, ingest_seq: int) -> None:
        super().__init__(
            f"Running receipt {ingest_seq} again may repeat what its first run did; that needs a risk confirmation",
            fix=requeue_advice(ingest_seq),
        )


def requeue_advice(ingest_seq: int) -> str:
    """The command that lets a receipt run again, with the word that it needs."""
    return f"canon-ops inbox requeue {ingest_seq} --confirm-duplicate-side-effect-risk"


class SessionNotReset(RefusedError):
    """The receipt's session still has the interrupted turn in it, so nothing was decided."""

    code = "session_not_reset"


class UnknownContent(Damaged):
    """A whole database, with something in it that no adapter writes."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"Borgee's inbox holds what no adapter wrote there: {what}"[:200],
            fix="canon-ops doctor --only borgee.inbox",
        )
