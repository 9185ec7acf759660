"""What busy sessions mean for the turns: the listener of dispatcher.py, and who decides at the door (door.py).

It lives as long as the adapter, because the host wires its handler before anything is connected; while nothing is,
there are no turns, and what happens to messages is the inbox's to find out at the next start.

Source: Canon adapter R5.6, R5.16, R8.7; D4, D10, D11, D12.
"""

from __future__ import annotations

from collections.abc import Collection

from canon_hermes_plugin.desk import TurnDesk
from canon_hermes_plugin.inbound.acknowledging import Acknowledgements
from canon_hermes_plugin.interactions.gate import Open, Said, Verdict, judge
from canon_hermes_plugin.interactions.people import People
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
        self._people: People | None = None

    def connect(self, runs: Runs, acknowledgements: Acknowledgements, people: People | None = None) -> None:
        """Something can be told and written down from now on."""
        self._connected = (runs, acknowledgements)
        self._people = people

    def disconnect(self) -> None:
        """Not any more."""
        self._connected = self._people = None

    # --- at the door ----------------------------------------------------------------------------------------------

    def judge(self, said: Said, session_key: str) -> Verdict:
        """Whether a message may reach what its session waits with; while nothing is connected, nobody is asked."""
        if self._people is None:
            return judge(said, Open(), owner_id=None)
        return self._people.judge(said, session_key)

    def answer(self, session_key: str, text: str) -> bool:
        """Answer the question that a session waits with; False when it waits with none any more."""
        return self._people is not None and self._people.answer(session_key, text)

    async def refuse(self, arrival: Arrival, sentence: str) -> None:
        """Nothing comes of a message; its author is told, and then it is settled."""
        if self._people is None or self._connected is None:
            return
        if await self._people.refuse(arrival.conversation_id, arrival.message_id, sentence):
            self._connected[0].refused(arrival)
            self._connected[1].accepted(arrival)

    # --- in the running turn --------------------------------------------------------------------------------------

    def author_of(self, session_key: str) -> str | None:
        """The person whose turn runs in the session."""
        turn = self._turn(session_key)
        return turn.opening.responder_id if turn is not None else None

    def steered(self, session_key: str, arrival: Arrival, number: int) -> None:
        """Words of a message are in the running turn: they lift its silence, and their authority goes with them."""
        turn = self._turn(session_key)
        if turn is not None:
            self._desk.apply(turn.id, SteeringAccepted(number, arrival.authority, arrival.repeats))
            if self._connected is not None:
                self._connected[0].joins(turn.id, session_key, arrival)

    def unsteered(self, arrival: Arrival) -> None:
        """They were taken back unread."""
        if self._connected is not None:
            self._connected[0].leaves(arrival)

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
