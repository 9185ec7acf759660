"""A receipt and its states.

::

    (insert) pending ──claim──> processing ──> completed | failed
                                     ├──> in_doubt ──> quarantined ──discard──> failed
                                     └──(deadline)───> quarantined ──requeue──> pending
    (insert) completed              for events that start no turn

There is no way out of quarantine but a person's decision. A claim that Hermes has not been shown may be given back
(processing to pending, docs/decisions/0055): nobody has to decide about what did not begin.

Source: Borgee 4.2, 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from borgee_hermes.bpp.events import ConversationContext, Kind

__all__ = [
    "SAID",
    "UNDECIDED",
    "DispatchClass",
    "NewReceipt",
    "OpenReceipt",
    "Outcome",
    "Progress",
    "Receipt",
    "Status",
]

SAID = frozenset({Kind.MESSAGE, Kind.MENTION})  # what may start a turn


class DispatchClass(StrEnum):
    """Which lane a receipt may take while its session is busy."""

    ORDINARY = "ordinary"  # waits for its turn
    CONTROL = "control"  # a command, or the answer to a question that the running turn asks
    URGENT_STOP = "urgent_stop"  # /stop


class Status(StrEnum):
    """Where a receipt is."""

    PENDING = "pending"  # nobody has taken it yet
    PROCESSING = "processing"  # claimed: Hermes may be at work on it
    COMPLETED = "completed"  # done, or nothing to do
    FAILED = "failed"  # ended without success, or discarded by a person
    IN_DOUBT = "in_doubt"  # claimed, and nobody knows how far Hermes came
    QUARANTINED = "quarantined"  # in doubt, its session suspended; waits for a person

    @property
    def is_open(self) -> bool:
        """Whether the watermark stops in front of it."""
        return self in (Status.PENDING, Status.PROCESSING, Status.IN_DOUBT)


UNDECIDED = frozenset({Status.PROCESSING, Status.IN_DOUBT, Status.QUARANTINED})
"""What a person may have to decide about: for the first two only when whoever had claimed it is gone."""


class Outcome(StrEnum):
    """How a receipt came to its state: stable words for operators and scripts."""

    IGNORED_EDITED = "ignored_edited"
    IGNORED_DELETED = "ignored_deleted"
    IGNORED_REACTION = "ignored_reaction"
    IGNORED_SELF_AUTHORED = "ignored_self_authored"
    IGNORED_OUTBOUND_ECHO = "ignored_outbound_echo"
    HERMES_COMPLETED = "hermes_completed"
    HERMES_CANCELLED = "hermes_cancelled"
    HERMES_FAILED = "hermes_failed"
    INLINE_COMPLETED = "inline_completed"  # a command that ran beside the session's turn
    DISPATCH_FAILED = "dispatch_failed"
    PROCESS_INTERRUPTED = "process_interrupted"
    HOST_DROPPED = "host_dropped"  # Hermes took the text behind a running turn and never ran it
    QUARANTINED_SUSPENDED = "quarantined_after_session_suspension"
    QUARANTINED_NO_SESSION = "quarantined_without_existing_session"
    TIMEOUT_SUSPENDED = "control_timeout_after_session_suspension"
    TIMEOUT_NO_SESSION = "control_timeout_without_existing_session"
    OPERATOR_DISCARDED = "operator_discarded"
    OPERATOR_REQUEUED = "operator_risk_confirmed_requeue"


@dataclass(frozen=True, slots=True)
class NewReceipt:
    """A receipt before it is stored. Every text is storable (see :func:`~borgee_hermes.inbox.identity.storable`).

    Attributes:
        source_body: the text as it was said; ``effective_body`` is what Hermes gets.
        source_created_at: the wire's own number, milliseconds as a rule.
        forced_queue: the person asked that it waits (``/queue``), whatever it looks like.
        status: pending, or completed with an ``outcome`` when no turn starts.
        context: where in Borgee it was said; the model needs the Server's id for its channel tools.
    """

    kind: Kind
    channel_id: str
    channel_type: str
    message_id: str
    author_id: str
    author_name: str
    session_key: str
    source_body: str
    effective_body: str
    source_created_at: int
    payload_hash: str
    dedupe_key: str
    dispatch_class: DispatchClass = DispatchClass.ORDINARY
    forced_queue: bool = False
    status: Status = Status.PENDING
    outcome: Outcome | None = None
    context: ConversationContext | None = None


@dataclass(frozen=True, slots=True)
class OpenReceipt:
    """What the scheduler knows of a receipt that is not settled."""

    ingest_seq: int
    session_key: str
    dispatch_class: DispatchClass
    status: Status


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the work has come.

    Attributes:
        watermark: everything up to there is settled.
        open: receipts that are not; ``oldest_s`` is when the first of them was stored, in seconds since the epoch.
        running: those of them whose turn runs.
    """

    watermark: int = 0
    open: int = 0
    running: int = 0
    oldest_s: float | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """A row.

    Attributes:
        ingest_seq: the order of arrival; never used twice.
        attempt: how often it was claimed.
        outcome: one of :class:`Outcome`, or a word of another version.
        created_at, updated_at: seconds since the epoch.
    """

    ingest_seq: int
    kind: Kind
    channel_id: str
    channel_type: str
    message_id: str
    author_id: str
    author_name: str
    session_key: str
    source_body: str
    effective_body: str
    reply_to_id: str | None
    source_created_at: int
    payload_hash: str
    dedupe_key: str
    dispatch_class: DispatchClass
    forced_queue: bool
    status: Status
    claim_token: str | None
    attempt: int
    outcome: str | None
    error: str | None
    created_at: float
    updated_at: float
    context: ConversationContext | None = None
