"""One detached approval as it stands in the registry: a view on its JSON object that keeps what it does not know.

The published plugin writes the same file, and a newer version of either may add fields, so an entry is the object as
it was read; what this module names are the fields that decide something. :func:`damage` says whether an object is an
entry at all. One that is not is never turned into one (:mod:`canon_hermes_plugin.approvals.book`).

Source: canon-adapter R10.4-R10.6, Canon wire 9.8, decisions A1 and A3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from canon_hermes_plugin.state.owner import Owner

__all__ = [
    "CREATE_LEASE_MS",
    "LEASE_MS",
    "LONGEST_LEASE_MS",
    "RETENTION_MS",
    "Claim",
    "ClaimKind",
    "Decision",
    "Entry",
    "Status",
    "WakeStatus",
    "damage",
]

CREATE_LEASE_MS: Final = 300_000  # R10.6
LEASE_MS: Final = 60_000  # consuming and waking, R10.6
RETENTION_MS: Final = 14 * 24 * 3_600_000  # R10.6
TEXT_LIMIT: Final = 500  # summary and creationError, R10.5


class Status(StrEnum):
    """Where an approval stands. The last three are terminal: nothing changes them any more."""

    CREATING = "creating"
    PENDING = "pending"
    CONSUMING = "consuming"
    RESOLVED = "resolved"
    EXPIRED = "expired"
    ORPHANED = "orphaned"

    @property
    def is_terminal(self) -> bool:
        return self in _TERMINAL


_TERMINAL = frozenset({Status.RESOLVED, Status.EXPIRED, Status.ORPHANED})


class WakeStatus(StrEnum):
    """How far the turn that tells the agent of the decision has come."""

    PENDING = "pending"
    DELIVERING = "delivering"
    DELIVERED = "delivered"
    BLOCKED = "blocked"  # newer published plugins: refused for now; ours calls that pending, with a wakeError

    @property
    def is_owed(self) -> bool:
        """The agent has not heard the decision."""
        return self is not WakeStatus.DELIVERED


class Decision(StrEnum):
    """What the human said. There is no third word: what is unknown is never a denial."""

    ALLOW = "allow"
    DENY = "deny"


class ClaimKind(StrEnum):
    """What a lease is for; the value is the prefix of its three fields."""

    CREATE = "create"
    CONSUME = "consume"
    WAKE = "wake"


LONGEST_LEASE_MS: Final[Mapping[ClaimKind, int]] = {
    ClaimKind.CREATE: CREATE_LEASE_MS,
    ClaimKind.CONSUME: LEASE_MS,
    ClaimKind.WAKE: LEASE_MS,
}


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to carry out one step, for a time.

    Attributes:
        id: what the holder must show to finish.
        expires_at_ms: from then on anybody may take it over.
        owner: for people; never used to decide (R10.6).
    """

    id: str
    expires_at_ms: float
    owner: str | None = None

    def is_live(self, now_ms: float) -> bool:
        return self.expires_at_ms > now_ms


@dataclass(frozen=True, slots=True)
class Entry:
    """An approval. ``fields`` is the object of the file; :meth:`with_` gives a changed copy."""

    fields: Mapping[str, Any]

    @property
    def approval_id(self) -> str:
        return str(self.fields["approvalId"])

    @property
    def conversation_id(self) -> str:
        return str(self.fields["conversationId"])

    @property
    def status(self) -> Status:
        return Status(self.fields["status"])

    @property
    def expires_at_ms(self) -> float:
        return float(self.fields["expiresAt"])

    @property
    def requested_at_ms(self) -> float | None:
        """When it was reserved; None when the entry does not say."""
        at_ms: Any = self.fields.get("requestedAt")
        return float(at_ms) if is_number(at_ms) else None

    @property
    def summary(self) -> str:
        return self._text("summary")

    @property
    def response_user_id(self) -> str | None:
        """The only human whose answer counts; None: any that Canon names."""
        return self._text("responseUserId") or None

    @property
    def responded_by(self) -> str | None:
        return self._text("respondedBy") or None

    @property
    def decision(self) -> Decision | None:
        return Decision(self.fields["decision"]) if self.status is Status.RESOLVED else None

    @property
    def wake_status(self) -> WakeStatus | None:
        word = self.fields.get("wakeStatus")
        return WakeStatus(word) if word is not None else None

    @property
    def wake_error(self) -> str:
        """Why the last attempt to wake the agent failed; empty when none did, or nobody said."""
        return self._text("wakeError")

    @property
    def requesting_session_key(self) -> str | None:
        return self._text("requestingSessionKey") or None

    @property
    def owner(self) -> Owner | None:
        """None: the published plugin wrote the entry, which does not say whose it is."""
        environment_id, agent_id = self._text("environmentId"), self._text("agentId")
        return Owner(environment_id, agent_id) if environment_id and agent_id else None

    @property
    def is_receipt_pending(self) -> bool:
        return self.fields.get("receiptPending") is True

    @property
    def is_reconcile_pending(self) -> bool:
        return self.fields.get("reconcilePending") is True

    def claim(self, kind: ClaimKind) -> Claim | None:
        """The lease of that kind, live or not; None when there is none."""
        held = self.fields.get(f"{kind}ClaimId")
        if not held:
            return None
        owner = self.fields.get(f"{kind}ClaimOwner")
        return Claim(held, float(self.fields[f"{kind}ClaimExpiresAt"]), owner if isinstance(owner, str) else None)

    @property
    def lease(self) -> tuple[ClaimKind, Claim] | None:
        """The lease under which a step is being carried out just now, live or not."""
        for kind, is_held in (
            (ClaimKind.CREATE, self.status is Status.CREATING),
            (ClaimKind.CONSUME, self.status is Status.CONSUMING),
            (ClaimKind.WAKE, self.wake_status is WakeStatus.DELIVERING),
        ):
            claim = self.claim(kind)
            if is_held and claim is not None:
                return kind, claim
        return None

    def out_of_reach(self, *, now_ms: float) -> tuple[ClaimKind, Claim] | None:
        """The lease in force when it ends later than any lease that is given now could: a clock was wrong.

        Twice as long is not yet taken for that: a clock that is set right by a minute is everyday life.
        """
        lease = self.lease
        if lease is None or lease[1].expires_at_ms - now_ms <= 2 * LONGEST_LEASE_MS[lease[0]]:
            return None
        return lease

    def holds(self, kind: ClaimKind, claim_id: str) -> bool:
        """Whether ``claim_id`` is still the lease of that kind, expired or not (R10.10: nobody else took it)."""
        claim = self.claim(kind)
        return claim is not None and claim.id == claim_id

    def settled_at_ms(self) -> float:
        """When a terminal entry came to its end, as far as it says (R10.7)."""
        for name in ("resolvedAt", "expiresAt"):
            if is_number(self.fields.get(name)):
                return float(self.fields[name])
        return 0.0

    def with_(self, **changes: Any) -> Entry:
        """A copy with fields set."""
        return Entry({**self.fields, **changes})

    def without(self, *names: str) -> Entry:
        """A copy that lacks those fields."""
        return Entry({name: value for name, value in self.fields.items() if name not in names})

    def with_claim(self, kind: ClaimKind, claim: Claim) -> Entry:
        changes: dict[str, Any] = {f"{kind}ClaimId": claim.id, f"{kind}ClaimExpiresAt": claim.expires_at_ms}
        if claim.owner:
            changes[f"{kind}ClaimOwner"] = claim.owner
        return self.without_claim(kind).with_(**changes)

    def without_claim(self, kind: ClaimKind) -> Entry:
        return self.without(f"{kind}ClaimId", f"{kind}ClaimExpiresAt", f"{kind}ClaimOwner")

    def _text(self, name: str) -> str:
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""


def damage(approval_id: str, value: Any) -> str | None:
    """Why ``value`` is no entry, as the end of a sentence that begins with its id; None when it is one.

    Source: R10.4, R10.5, S10.4.
    """
    if not isinstance(value, Mapping):
        return "is no object"
    for check in (_damaged_identity, _damaged_state, _damaged_texts):
        trouble = check(approval_id, value)
        if trouble:
            return trouble
    return None


def _damaged_identity(approval_id: str, value: Mapping[str, Any]) -> str | None:
    if not approval_id or value.get("approvalId") != approval_id:
        return "names another approvalId"
    conversation_id = value.get("conversationId")
    if not isinstance(conversation_id, str) or not conversation_id.strip():
        return "has no conversationId"
    if not is_number(value.get("expiresAt")):
        return "has no expiresAt"
    return None


def _damaged_state(approval_id: str, value: Mapping[str, Any]) -> str | None:
    status = value.get("status")
    if status not in [*Status]:
        return f"has the status {status!r}, which this version does not know"
    wake = value.get("wakeStatus")
    if wake is not None and wake not in [*WakeStatus]:
        return f"has the wakeStatus {wake!r}, which this version does not know"
    if status == Status.RESOLVED and value.get("decision") not in [*Decision]:
        return "is resolved without a decision"
    if status != Status.RESOLVED and wake is not None and wake != WakeStatus.DELIVERED:
        return "owes a wake and has no decision"
    for kind, is_owed in (
        (ClaimKind.CREATE, status == Status.CREATING),
        (ClaimKind.CONSUME, status == Status.CONSUMING),
        (ClaimKind.WAKE, wake == WakeStatus.DELIVERING),
    ):
        held, until = value.get(f"{kind}ClaimId"), value.get(f"{kind}ClaimExpiresAt")
        has_claim = isinstance(held, str) and bool(held) and is_number(until)
        if is_owed and not has_claim:
            return f"lacks the {kind} lease that its state needs"
        if held is not None and not has_claim:
            return f"has half a {kind} lease"
    return None


_TEXTS: Final = (
    "summary",
    "responseUserId",
    "respondedBy",
    "environmentId",
    "agentId",
    "requestingSessionKey",
    "wakeError",
)


def _damaged_texts(approval_id: str, value: Mapping[str, Any]) -> str | None:
    for name in _TEXTS:
        if value.get(name) is not None and not isinstance(value[name], str):
            return f"has a {name} that is no text"
    for name in ("receiptPending", "reconcilePending", "identityMismatch"):
        if value.get(name) is not None and not isinstance(value[name], bool):
            return f"has a {name} that is neither true nor false"
    for name in ("requestedAt", "createdAt", "resolvedAt", "receiptSeenAt", "wakeDeliveredAt", "creationRecoveredAt"):
        if value.get(name) is not None and not is_number(value[name]):
            return f"has a {name} that is no time"
    return None


def is_number(value: Any) -> bool:
    """A finite number that a clock can be compared with; a boolean is none (D50)."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False
