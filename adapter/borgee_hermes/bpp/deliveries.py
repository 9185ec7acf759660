"""Inbound events between the socket and their one receiver. Pure.

What is handed over is settled before more is: one event, or several at once for a receiver that stores them in one
write. An event that was received is never
dropped, neither because its connection ended nor because the client ends: this generation of the protocol has no
replay, so nobody would send it again. Only the delivery that is open when a connection ends becomes stale, which tells
its receiver that a server with cursors would not have counted the checkpoint.

Source: Borgee 1.8, 8.4, W29; docs/decisions/0043.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from borgee_hermes.bpp.errors import ProtocolCapacity, StaleDelivery
from borgee_hermes.bpp.events import InboundEvent
from borgee_hermes.bpp.limits import Limits

__all__ = ["Handed", "Waiting"]


@dataclass(frozen=True, slots=True)
class Handed:
    """Events in their receiver's hands, in order of arrival, under a number of ours."""

    number: int
    events: tuple[InboundEvent, ...]

    @property
    def event(self) -> InboundEvent:
        """The first of them; the only one, where one was asked for."""
        return self.events[0]


class Waiting:
    """The buffer and the open delivery."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._events: deque[tuple[InboundEvent, int]] = deque()
        self._bytes = 0
        self._number = 0
        self._open: int | None = None
        self.is_taking = True

    def __len__(self) -> int:
        return len(self._events)

    @property
    def can_hand_over(self) -> bool:
        """There is an event, and nobody has one in hands."""
        return bool(self._events) and self._open is None

    def has_room(self, size: int) -> bool:
        """Whether an event of that size can be kept; what is dropped needs no room."""
        limits = self._limits
        is_full = len(self._events) >= limits.waiting_events or self._bytes + size > limits.waiting_event_bytes
        return not (self.is_taking and is_full)

    def add(self, event: InboundEvent, size: int) -> None:
        """Keep an event until it is its turn; one that comes after :meth:`stop` is dropped.

        Raises:
            ProtocolCapacity: the receiver is too far behind.
        """
        if not self.is_taking:
            return
        if not self.has_room(size):
            raise ProtocolCapacity(
                f"{len(self._events)} events ({self._bytes:,} bytes) wait to be taken over; there is no room for more."
            )
        self._events.append((event, size))
        self._bytes += size

    def hand_over(self, most: int = 1) -> Handed | None:
        """The next events, at most so many, open from now on; None when there is none, or something is open."""
        if not self.can_hand_over:
            return None
        taken = [self._events.popleft() for _ in range(min(most, len(self._events)))]
        self._bytes -= sum(size for _, size in taken)
        self._number += 1
        self._open = self._number
        return Handed(self._number, tuple(event for event, _ in taken))

    def settle(self, number: int) -> None:
        """Close the open delivery.

        Raises:
            StaleDelivery: its connection has ended.
        """
        if number != self._open:
            raise StaleDelivery("The connection that this event came over has ended.")
        self._open = None

    def connection_ended(self) -> None:
        """The open delivery is stale from now on; what waits goes on waiting."""
        self._open = None

    def stop(self) -> None:
        """Drop what comes from now on; what waits is still handed over."""
        self.is_taking = False
