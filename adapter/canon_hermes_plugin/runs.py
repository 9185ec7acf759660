"""The host's runs: each is noted in the inbox before the turns hear of it, and its end decides about its message.

The order is the point. A run is on the disk before the agent acts; a follow-up when the host takes it from its queue; a
message that the host put into another's run when its session is idle, because only then nothing of it can be left.

What is ours (own_offers.py) needs more: a run of its own, or one of a message into which the host has merged it.

Source: decisions X1-X3; D27.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from canon_hermes_plugin import binding
from canon_hermes_plugin.desk import TurnDesk
from canon_hermes_plugin.inbound.gate import Request
from canon_hermes_plugin.inbound.inflow import Inflow
from canon_hermes_plugin.inbound.own_messages import is_own
from canon_hermes_plugin.inbox.items import Item, Settlement
from canon_hermes_plugin.media.intake import Intake
from canon_hermes_plugin.ports import Arrival, HostPort, Reply
from canon_hermes_plugin.state.kept import Kept
from canon_hermes_plugin.turn.effects import Evidence, TurnClosed
from canon_hermes_plugin.turn.events import Outcome
from canon_hermes_plugin.turn.routing import Marks
from canon_ops.wire.ids import ConversationId

__all__ = ["Runs"]


class Runs:
    """What the host begins and ends while the adapter is connected."""

    def __init__(self, desk: TurnDesk, port: HostPort, kept: Kept, inflow: Inflow, intake: Intake) -> None:
        self._desk = desk
        self._port = port
        self._kept = kept
        self._inflow = inflow
        self._intake = intake
        self._is_stopping = False
        self._put_off: dict[str | None, str] = {}  # message -> its turn, which has not really begun
        self._announced: dict[str, TurnClosed] = {}  # session -> the end of a follow-up that may never begin

    def stop(self) -> None:
        """The adapter disconnects: what ends from now on was not finished."""
        self._is_stopping = True

    async def start(self, arrival: Arrival, session_key: str, *, is_resumed: bool) -> Request | None:
        """The host begins a run in this task.

        Args:
            is_resumed: the host starts a session by itself and says nothing for what.

        Returns:
            The message whose run died with the last gateway, when this run is for it.
        """
        adopted = await self._adopted(session_key) if is_resumed else None
        if adopted is not None:
            arrival = Arrival.of(adopted)
        put_off = self._put_off.pop(arrival.message_id, None)
        arrival = replace(arrival, turn_id=arrival.turn_id or put_off)
        arrival = replace(arrival, turn_id=self._desk.fresh_turn_id(arrival))
        self._intake.begins(str(arrival.turn_id), arrival.conversation_id, arrival.message_id)
        try:
            await self._kept.inbox.started(
                arrival.item_id,
                turn_id=str(arrival.turn_id),
                conversation_id=arrival.conversation_id,
                session=session_key,
                merged=arrival.merged_items,
            )
        finally:  # a run that is stopped in this very moment still owes its message an end
            self._inflow.own.begun(arrival.item_ids)
            self._desk.start(arrival, session_key)
        return adopted

    async def complete(self, session_key: str, outcome: str) -> None:
        """The run has ended, or the host has put its message back into the queue, which looks the same."""
        turn = self._desk.running(session_key)
        message_id = turn.opening.source_message_id if turn is not None else None
        put_off = message_id is not None and self._port.holds(message_id)
        if put_off and turn is not None:
            self._put_off[message_id] = str(turn.id)
        elif turn is not None and message_id is not None and turn.has_no_trace:
            self._port.note_joined(message_id)
        # The host calls a run that it cut off a success, and half an answer an answer; the next gateway runs it again.
        cut_off = message_id is not None and self._ends() and turn is not None and turn.cut
        is_stopped = self._ends() or outcome == Outcome.CANCELLED
        self._port.run_ended(session_key, turn.unread if turn is not None else (), is_stopped=is_stopped)
        await self._desk.complete(session_key, outcome, put_off=put_off, cut_off=cut_off)
        self._forget_follow_up(session_key)
        if not self._port.is_gate_open() or self._ends():
            return
        if not self._port.queue_depth(session_key):
            self._kept.inbox.absorb(session_key, but=self._inflow.not_with_host())
            self._intake.idle(session_key)
        self._inflow.own.look_after(session_key)

    def announce(self, session_key: str, arrival: Arrival) -> None:
        """The host has taken the next message of a running session from its queue."""
        self._forget_follow_up(session_key)
        put_off = self._put_off.pop(arrival.message_id, None)
        turn_id = self._desk.fresh_turn_id(replace(arrival, turn_id=arrival.turn_id or put_off))
        arrival = replace(arrival, turn_id=turn_id)
        self._intake.begins(turn_id, arrival.conversation_id, arrival.message_id)
        if arrival.item_ids:
            conversation_id = ConversationId(arrival.conversation_id)
            self._kept.inbox.begins(
                arrival.item_id,
                turn_id=turn_id,
                conversation_id=conversation_id,
                session=session_key,
                merged=arrival.merged_items,
            )
            self._announced[session_key] = TurnClosed(turn_id, conversation_id, Outcome.SUCCESS, Evidence.NONE)
        self._inflow.own.begun(arrival.item_ids)
        self._desk.announce(session_key, arrival)

    def joins(self, turn_id: str, session_key: str, arrival: Arrival) -> None:
        """Words of a message are in a running turn."""
        for item_id in arrival.item_ids:
            self._kept.inbox.joins(turn_id, item_id, session=session_key)

    def leaves(self, arrival: Arrival) -> None:
        """They were not read there, and the message waits."""
        for item_id in arrival.item_ids:
            self._kept.inbox.leaves(item_id)

    def _forget_follow_up(self, session_key: str) -> None:
        """The run is over, or further: what was announced in it has begun, or the host has thought better of it."""
        never = self._announced.pop(session_key, None)
        if never is None:
            return
        has_begun = self._desk.knows(never.turn_id)
        waits = self._port.follow_up_over(session_key, has_begun=has_begun) or self._ends()
        if not has_begun:
            self.closed(never if waits else replace(never, outcome=Outcome.CANCELLED))

    def closed(self, effect: TurnClosed) -> None:
        """A turn is over. What is ours has reached nobody when the run was stopped before its model was called."""
        items = self._kept.inbox.covered(effect.turn_id)
        item_id, noted = items.head, effect
        if item_id is not None and self._inflow.own.knows(item_id) and not effect.ran and not self._ends():
            noted = replace(effect, outcome=Outcome.SUCCESS)  # a success without evidence decides nothing
        runs_again = self._kept.inbox.closed(noted, is_stopping=self._ends())
        for each in (*items.joined, *([item_id] if item_id is not None else [])):
            self._inflow.own.ended(each, runs_again=runs_again)
        if not effect.goes_on:
            self._intake.ended(effect.turn_id)
        self._desk.closed(effect)

    def dropped(self, arrivals: tuple[Arrival, ...]) -> None:
        """A person has everything dropped that waited; what is ours is offered again when the session is idle."""
        for item_id in [item_id for arrival in arrivals for item_id in arrival.item_ids]:
            if not self._inflow.own.knows(item_id):
                self._kept.inbox.settle(item_id, Settlement.CANCELLED)

    def refused(self, arrival: Arrival) -> None:
        """A message reached nobody, and its author knows; nobody needs its files."""
        self._intake.let_go(arrival.conversation_id, arrival.message_id)
        if arrival.item_id is not None:
            self._kept.inbox.settle(arrival.item_id, Settlement.REPLY)

    async def send(self, conversation_id: str, text: str, *, reply_to: str | None, metadata: Any) -> Reply:
        """Whatever the host says; in the middle of a hand-over it is the answer to the command that is handed over."""
        item_id = binding.handed_item() if Marks.read(metadata).notify else None
        reply = await self._desk.send(conversation_id, text, reply_to=reply_to, metadata=metadata)
        if item_id is not None:
            self._kept.inbox.settle(item_id, Settlement.REPLY)
        return reply

    def _ends(self) -> bool:
        return self._is_stopping or self._port.is_stopping()

    async def _adopted(self, session_key: str) -> Request | None:
        item = self._kept.adoption.adopt(session_key)
        if item is None:
            return None
        try:
            return await self._inflow.adopted(item)
        except asyncio.CancelledError:
            self._never_known(item, session_key)
            raise

    def _never_known(self, item: Item, session_key: str) -> None:
        """A run is stopped before the host hears which message it is for: it is that message's run all the same."""
        if is_own(item.payload):
            self._inflow.own.put_off(item)
            return
        arrival = Arrival(item.conversation_id, item_id=item.item_id, turn_id=item.turn_id)
        turn_id = self._desk.fresh_turn_id(arrival)
        self._kept.inbox.begins(
            item.item_id, turn_id=turn_id, conversation_id=item.conversation_id, session=session_key
        )
        self._desk.start(replace(arrival, turn_id=turn_id), session_key)
