"""What busy sessions mean for the turns: the listener of dispatcher.py.

It lives as long as the adapter, because the host wires its handler before anything is connected; while nothing is,
there are no turns, and what happens to messages is the inbox's to find out at the next start.

Source: Canon adapter R5.6, R5.16, R8.7; D4, D10, D11, D12.
"""

from __future__ import annotations

from collections.abc import Collection

from canon_hermes_plugin.acknowledging import Acknowledgements
from canon_hermes_plugin.desk import TurnDesk
from canon_hermes_plugin.ports import Arrival
from canon_hermes_plugin.runs import Runs
from canon_hermes_plugin.turn.events import InterruptAsked, SteeringAccepted
from canon_hermes_plugin.turn.machine import Turn

__all__ = ["BusyTurns"]


class BusyTurns:
    """The turns of one adapter, as its busy sessions see them."""

    def __init__(self, desk: TurnDesk) -> None:
        self._desk = desk
        self._connected: tuple[Runs, Acknowledgements] | None = None

    def connect(self, runs: Runs, acknowledgements: Acknowledgements) -> None:
        """Something can be told and written down from now on."""
        self._connected = (runs, acknowledgements)

    def disconnect(self) -> None:
        """Not any more."""
        self._connected = None

    def author_of(self, session_key: str) -> str | None:
        """The person whose turn runs in the session."""
        turn = self._turn(session_key)
        return turn.opening.responder_id if turn is not None else None

    def steered(self, session_key: str, arrival: Arrival, number: int) -> None:
        """Words of a message are in the running turn: they lift its silence, and their authority goes with them."""
        turn = self._turn(session_key)
        if turn is not None:
            self._desk.apply(turn.id, SteeringAccepted(number, arrival.authority))

    def command_steers(self, session_key: str) -> None:
        """A command put words into the running turn, past us. Source: R8.7, S8.27."""
        turn = self._turn(session_key)
        if turn is not None:
            self._desk.apply(turn.id, SteeringAccepted())

    def unread_steering(self, session_key: str) -> Collection[int]:
        """What the running turn's model has not read."""
        turn = self._turn(session_key)
        return turn.unread if turn is not None else ()

    def is_interrupted(self, session_key: str) -> bool:
        """Whether the running turn was stopped by us."""
        turn = self._turn(session_key)
        return turn is not None and turn.interrupted

    def interrupting(self, session_key: str) -> None:
        """The running turn is stopped."""
        turn = self._turn(session_key)
        if turn is not None:
            self._desk.apply(turn.id, InterruptAsked())

    def accepted(self, arrival: Arrival) -> None:
        """The host consumes a message."""
        if self._connected is not None:
            self._connected[1].accepted(arrival)

    def dropped(self, arrivals: tuple[Arrival, ...]) -> None:
        """Messages that waited will not run."""
        if self._connected is not None:
            self._connected[0].dropped(arrivals)

    def follow_up_announced(self, session_key: str, arrival: Arrival) -> None:
        """The host answers a message next, in the run that goes on."""
        if self._connected is not None:
            self._connected[0].announce(session_key, arrival)

    def _turn(self, session_key: str) -> Turn | None:
        return self._desk.running(session_key)
