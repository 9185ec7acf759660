"""What the adapter needs of a client: the seam between the platform and the protocol.

:class:`~borgee_hermes.bpp.client.BppClient` is the real one; tests of the adapter bring a small fake. Order of use:
``connect`` once, then one consumer of ``bursts`` or ``deliveries`` that settles each before it takes the next, actions
beside it, ``close`` at the end. Source: Borgee 1.8, 8.1, 8.3, 8.6, 11.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from borgee_hermes.bpp.actions import Action
from borgee_hermes.bpp.errors import BppError
from borgee_hermes.bpp.events import AgentToggle, ConfigUpdate, InboundEvent, ServerRequest
from borgee_hermes.bpp.state import ConnectionState, FaultReason
from borgee_hermes.bpp.values import User

__all__ = ["Applied", "BppSession", "Burst", "ConfigAnswer", "Delivery", "Handlers", "Rejected"]

T = TypeVar("T")


class Burst(Protocol):
    """Inbound events, to be settled together and exactly one way; settling them the same way again is harmless."""

    @property
    def events(self) -> tuple[InboundEvent, ...]:
        """At least one, in order of arrival."""
        ...

    async def checkpoint(self) -> None:
        """They are stored: go on with the next ones. Sends nothing.

        Raises:
            StaleDelivery: its connection has ended meanwhile. What is stored stays stored; just go on.
            DeliveryResolved: they had failed before.
        """
        ...

    async def fail(self, error: BaseException) -> None:
        """One cannot be stored: the client ends for good, because going on would lose the event.

        Raises:
            StaleDelivery: its connection has ended meanwhile; the client goes on, and whoever gives up closes it.
            DeliveryResolved: they had been taken over before.
        """
        ...


class Delivery(Burst, Protocol):
    """One inbound event."""

    @property
    def event(self) -> InboundEvent: ...


@dataclass(frozen=True, slots=True)
class Applied:
    """The new settings are in force."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """They are not."""

    reason: FaultReason = FaultReason.UNKNOWN


ConfigAnswer = Applied | Rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class Handlers:
    """Who answers the server; everything is optional, and without a handler the answer is the polite refusal.

    Attributes:
        toggle: the agent was switched on or off. Called on the loop; must not block or raise.
        config: applies new settings; without one every update is rejected as ``unknown``.
        request: answers a server request with any JSON value; without one: ``no_server_request_handler``.
        stop_turn: ends the running turn of a channel and says whether there was one.
    """

    toggle: Callable[[AgentToggle], None] | None = None
    config: Callable[[ConfigUpdate], Awaitable[ConfigAnswer]] | None = None
    request: Callable[[ServerRequest], Awaitable[Any]] | None = None
    stop_turn: Callable[[str], Awaitable[bool]] | None = None


class BppSession(Protocol):
    """A client as its user sees it. One event loop; no thread of its own."""

    @property
    def state(self) -> ConnectionState: ...

    @property
    def agent_id(self) -> str:
        """Empty until the opening has told it."""
        ...

    @property
    def identity(self) -> User | None:
        """The answer that the opening got, so that nobody has to ask twice; None when the id was given."""
        ...

    @property
    def failure(self) -> BppError | None:
        """Why the state is ``error``; its ``retryable`` says whether a new client makes sense."""
        ...

    async def connect(self) -> None:
        """Return once online. The first connection is tried once; later ones are made anew without end.

        Raises:
            BppError: it did not come about; the client is of no further use.
        """
        ...

    async def close(self) -> None:
        """End everything: pending actions fail. When it returns nothing more comes in, and the iteration ends once what
        came before is handed over. Safe to repeat, and during ``connect``."""
        ...

    def deliveries(self) -> AsyncIterator[Delivery]:
        """What happens in the channels, in order of arrival; for one consumer. It ends with the client, once everything
        that was received is handed over: nobody sends it again."""
        ...

    def bursts(self) -> AsyncIterator[Burst]:
        """The same, with everything that waits at once (some dozens at most): one write stores it."""
        ...

    def stop_deliveries(self) -> None:
        """Take nothing more in: later events are dropped, the iteration ends after the earlier ones, actions go on."""
        ...

    def state_changes(self) -> AsyncIterator[ConnectionState]:
        """The state now, and each newer one; a slow reader sees only the newest. It ends after a final state."""
        ...

    async def act(self, action: Action[T]) -> T:
        """Carry an action out; while reconnecting it waits. Cancelled before it was written, it never goes out.

        Raises:
            BppError: with ``had_no_effect`` where the server has certainly not carried it out.
        """
        ...

    async def report_task_started(self, *, task_id: str, channel_id: str, subject: str, started_at_ms: int) -> None:
        """Tell that work on something began. Raises NotOnline or ProtocolCapacity; nothing is answered."""
        ...

    async def report_task_finished(
        self, *, task_id: str, channel_id: str, outcome: str, reason: str = "", finished_at_ms: int
    ) -> None:
        """Tell how it ended: ``completed``, ``cancelled``, or ``failed`` with one of the six reasons."""
        ...
