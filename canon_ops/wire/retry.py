"""Whether a failed request is worth another attempt, and when: a decision about values, not a sleep.

What happened to a request is an :class:`Outcome`: a status that the server answered, or the way in which the connection
failed. Three policies sort outcomes, by what a repetition could do:

======================  ==========================  =============================================  ==============
policy                  statuses                    transport failures                             attempts
======================  ==========================  =============================================  ==============
READ (A)                408, 425, 429, 500 and up   refused, connect and read timeout, protocol    1, only sorted
IDEMPOTENT (B)          408, 425, 429, 500 and up   every one                                      3
SINGLE (C)              429, 503                    refused, connect timeout                       3
======================  ==========================  =============================================  ==============

IDEMPOTENT is for a write that carries a client id, which makes a repetition harmless. SINGLE is for a write without
one: it is repeated only when the first attempt certainly never reached the handler.

A shell draws ``jitter`` once for each decision and asks :func:`decide` after each failed attempt, with the number of
attempts made so far, until it says :class:`GiveUp`.

Source: Canon wire 2.5, 2.6, 6.6; canon-adapter R7.19, R7.21, Appendix B, D22; decisions X8.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from enum import Enum, StrEnum

from canon_ops.wire.fields import number_in

__all__ = [
    "Again",
    "GiveUp",
    "Outcome",
    "Policy",
    "TransportKind",
    "certainly_not_handled",
    "decide",
    "is_retryable",
    "reconnect_delays",
    "retry_after_s",
]

ATTEMPTS = 3  # Canon wire 2.6
FIRST_DELAY_S = 0.4  # likewise; doubles
RETRY_AFTER_MAX_S = 30.0  # a turn is waiting: a longer pause is the caller's to make, ApiError carries the hint
JITTER = 0.5  # of the delay, on top: never earlier than the schedule or the server's hint says

RECONNECT_FIRST_S = 1.0  # Canon wire 2.6
RECONNECT_MAX_S = 30.0


class TransportKind(StrEnum):
    """How a connection failed, in the words of those who read logs."""

    REFUSED = "no connection"
    """Nothing was sent: no route, no listener, an unknown name, a failed TLS handshake."""
    CONNECT_TIMEOUT = "connect timeout"
    READ_TIMEOUT = "read timeout"
    WRITE_TIMEOUT = "write timeout"
    POOL_TIMEOUT = "no free connection"
    READ_ERROR = "connection broken while reading"
    WRITE_ERROR = "connection broken while writing"
    CLOSE_ERROR = "connection broken while closing"
    PROTOCOL = "broken HTTP"
    """The peer closed in the middle of an answer, or did not speak HTTP."""
    OTHER = "transport failure"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one attempt: the status of an answer, or the kind of a failed connection.

    Neither means that an answer came and could not be read: nobody knows what the server did.
    """

    status: int | None = None
    transport: TransportKind | None = None


class Policy(Enum):
    """What a repetition of the request could do; see the table above."""

    READ = "A"
    IDEMPOTENT = "B"
    SINGLE = "C"


_TRANSPORT = {
    Policy.READ: frozenset({
        TransportKind.REFUSED, TransportKind.CONNECT_TIMEOUT, TransportKind.READ_TIMEOUT, TransportKind.PROTOCOL,
    }),
    Policy.IDEMPOTENT: frozenset(TransportKind),
    Policy.SINGLE: frozenset({TransportKind.REFUSED, TransportKind.CONNECT_TIMEOUT}),
}  # fmt: skip

_ATTEMPTS = {Policy.READ: 1, Policy.IDEMPOTENT: ATTEMPTS, Policy.SINGLE: ATTEMPTS}


@dataclass(frozen=True, slots=True)
class Again:
    """Repeat the request after this pause, in seconds."""

    after_s: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Let the error surface. ``retryable`` tells whether trying later, by whoever can wait, makes sense."""

    retryable: bool


def is_retryable(policy: Policy, outcome: Outcome) -> bool:
    """Whether ``policy`` allows another attempt after ``outcome``."""
    if outcome.transport is not None:
        return outcome.transport in _TRANSPORT[policy]
    status = outcome.status
    if status is None:
        return False
    if policy is Policy.SINGLE:
        return status in (429, 503)
    return status in (408, 425, 429) or status >= 500


def decide(
    policy: Policy,
    outcome: Outcome,
    attempt: int,
    retry_after_s: float | None = None,
    *,
    jitter: float = 0.0,
) -> Again | GiveUp:
    """Decide what follows a failed attempt.

    Args:
        attempt: attempts made so far, the failed one included; 1 or more.
        retry_after_s: the pause that the server asked for; honoured up to 30 s.
        jitter: a random number, 0 or more and under 1, that spreads callers who failed together.
    """
    retryable = is_retryable(policy, outcome)
    if not retryable or attempt >= _ATTEMPTS[policy]:
        return GiveUp(retryable)
    delay_s = FIRST_DELAY_S * 2 ** (attempt - 1)
    hint_s = min(retry_after_s or 0.0, RETRY_AFTER_MAX_S)
    return Again(max(delay_s, hint_s) + delay_s * JITTER * jitter)


def retry_after_s(header: str | None, body_value: object, *, now_ms: int) -> float | None:
    """The pause that an answer asks for, in seconds; None when it asks for none.

    Args:
        header: ``Retry-After``, in seconds or as an HTTP date; it wins.
        body_value: ``retryAfter`` of the error body, in seconds.
    """
    if (from_header := _header_seconds(header, now_ms)) is not None:
        return from_header
    seconds = number_in(body_value)
    return None if seconds is None else max(0.0, float(seconds))


def _header_seconds(header: str | None, now_ms: int) -> float | None:
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    from email.utils import parsedate_to_datetime  # few answers ask for a pause

    try:
        when = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if when.tzinfo is None:  # an HTTP date is always in GMT
        when = when.replace(tzinfo=UTC)
    return max(0.0, when.timestamp() - now_ms / 1000)


def certainly_not_handled(outcome: Outcome) -> bool:
    """Whether a write that ended so has certainly left nothing behind on the server.

    True for what happened before the handler ran, and for a plain refusal. A 409 means that something is there already;
    every other retryable status, a broken connection and an unreadable answer leave the question open.
    """
    if is_retryable(Policy.SINGLE, outcome):
        return True
    status = outcome.status
    return status is not None and status != 409 and status >= 300 and not is_retryable(Policy.IDEMPOTENT, outcome)


def reconnect_delays(rng: random.Random) -> Iterator[float]:
    """Pauses in seconds before one reconnect after the other: 1, 2, 4 … 30, each cut by up to a half at random.

    Take a new iterator once a connection has proved healthy; also a clean end is followed by a pause, because a server
    that closes at once would otherwise be called in a loop.
    """
    delay_s = RECONNECT_FIRST_S
    while True:
        yield delay_s * (1 - 0.5 * rng.random())
        delay_s = min(delay_s * 2, RECONNECT_MAX_S)
