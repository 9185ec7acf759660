"""What can happen to an approval, as values; :mod:`canon_hermes_plugin.approvals.machine` says what follows.

``claim_id`` is new with each attempt; ``process`` names the process for people.

Source: canon-adapter R10.10; Canon wire 9.7.
"""

from __future__ import annotations

from dataclasses import dataclass

from canon_hermes_plugin.approvals.entry import Decision
from canon_hermes_plugin.state.owner import Owner

__all__ = [
    "Activate",
    "Answer",
    "CancelSettled",
    "ClaimConsume",
    "ClaimWake",
    "CreatedLate",
    "Decided",
    "Event",
    "FinishConsume",
    "FinishWake",
    "GiveUp",
    "Gone",
    "NobodyHeard",
    "RejectCreation",
    "RenewWake",
    "Reserve",
    "SeeReceipt",
    "ShortenLease",
    "StillPending",
    "TimedOut",
    "Unclear",
]

# What Canon says when it is asked for the answer.


@dataclass(frozen=True, slots=True)
class Decided:
    """Allow or deny, and by whom; None: Canon did not say, which is as bad as the wrong one."""

    decision: Decision
    responded_by: str | None


@dataclass(frozen=True, slots=True)
class StillPending:
    """Nobody has answered; ``expires_at_ms`` as Canon counts, when it says so."""

    expires_at_ms: float | None = None


@dataclass(frozen=True, slots=True)
class TimedOut:
    """It expired before an answer."""


@dataclass(frozen=True, slots=True)
class Gone:
    """404 or 409: Canon does not know it, or no longer."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """Any other failure, an answer that means nothing, or a cancelled call: to be asked again."""


Answer = Decided | StillPending | TimedOut | Gone | Unclear


# Events.


@dataclass(frozen=True, slots=True)
class Reserve:
    """Before anything is sent.

    Attributes:
        expires_at_ms: what will be asked for.
        expected_responder: the trusted human of the turn; None: Canon's choice.
        session_key: the session that asked, and is to be woken.
    """

    approval_id: str
    conversation_id: str
    claim_id: str
    expires_at_ms: float
    owner: Owner
    summary: str = ""
    expected_responder: str | None = None
    session_key: str | None = None
    process: str | None = None


@dataclass(frozen=True, slots=True)
class Activate:
    """Canon has it: with the expiry and the responder that are in force there."""

    claim_id: str
    expires_at_ms: float
    responder: str | None


@dataclass(frozen=True, slots=True)
class RejectCreation:
    """Canon will never have it; ``why`` is kept for people."""

    claim_id: str
    why: str


@dataclass(frozen=True, slots=True)
class ClaimConsume:
    """Somebody wants to ask Canon for the answer."""

    claim_id: str
    process: str | None = None


@dataclass(frozen=True, slots=True)
class FinishConsume:
    """What came of it; ``wakes``: nobody waits for the result, so the agent has to be woken."""

    claim_id: str
    answer: Answer
    wakes: bool


@dataclass(frozen=True, slots=True)
class SeeReceipt:
    """Canon's message that the human has answered arrived on the stream; its own decision is never trusted."""


@dataclass(frozen=True, slots=True)
class ClaimWake:
    """Somebody wants to put the decision into the inbox."""

    claim_id: str
    process: str | None = None


@dataclass(frozen=True, slots=True)
class RenewWake:
    """The holder is still at it."""

    claim_id: str


@dataclass(frozen=True, slots=True)
class FinishWake:
    """The wake is durable elsewhere, or the attempt failed; ``why`` is kept for people."""

    claim_id: str
    is_delivered: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class CancelSettled:
    """Canon has taken the request back, or does not know it."""


@dataclass(frozen=True, slots=True)
class CreatedLate:
    """Canon has, or may have, a request whose creation was taken over before it got there."""


@dataclass(frozen=True, slots=True)
class NobodyHeard:
    """The check that fetched a decision under ``claim_id`` was given up before it could tell anybody."""

    claim_id: str


@dataclass(frozen=True, slots=True)
class ShortenLease:
    """Somebody sees a lease that ends later than any lease lasts."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """An operator ends what nothing can settle any more; ``why`` is kept for people."""

    why: str


Event = (
    Reserve
    | Activate
    | RejectCreation
    | ClaimConsume
    | FinishConsume
    | SeeReceipt
    | ClaimWake
    | RenewWake
    | FinishWake
    | CancelSettled
    | CreatedLate
    | NobodyHeard
    | ShortenLease
    | GiveUp
)
