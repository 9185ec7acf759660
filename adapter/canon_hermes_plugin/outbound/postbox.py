"""What the adapter sends without a turn: notices of its own, and what stands in the outbox from before, or once more.

Everything goes behind the final messages of its conversation, under ids that stand on the disk first.

Source: decisions X1, X4, X9.
"""

from __future__ import annotations

from functools import partial

from canon_hermes_plugin.inbox.marks import GAP, GIVEN_UP
from canon_hermes_plugin.outbound.deliveries import Deliveries, Failed, Posted
from canon_hermes_plugin.outbound.effects import Outbound
from canon_hermes_plugin.outbox.operations import Operation
from canon_hermes_plugin.outbox.store import Owed
from canon_hermes_plugin.state.kept import Kept
from canon_hermes_plugin.turn.effects import Final as FinalMessage

__all__ = ["Postbox"]


class Postbox:
    """One connection's.

    Args:
        home_channel: the conversation that hears of what concerns no other; None when there is none.

    Attributes:
        owed: what was not on Canon yet when this was looked at last.
    """

    def __init__(self, outbound: Outbound, deliveries: Deliveries, kept: Kept, home_channel: str | None) -> None:
        self._outbound = outbound
        self._deliveries = deliveries
        self._kept = kept
        self._home_channel = home_channel
        self.owed = Owed()

    async def tell_gaps(self) -> None:
        """The home channel hears, once, of messages that may have been missed."""
        if self._home_channel is not None:
            for gap in await self._kept.inbox.untold_gaps():
                self._say(self._home_channel, GAP, told_gap=gap.number)

    async def tell_given_up(self, conversation_id: str) -> None:
        """A conversation hears that a message of it will not be answered."""
        self._say(conversation_id, GIVEN_UP)

    async def post(self, final: FinalMessage) -> Posted | Failed:
        """Take over what the host says outside of any turn."""
        in_lane = partial(self._outbound.in_lane, final.conversation_id, of_finals=True)
        return await self._deliveries.take(final, in_lane)

    async def look(self) -> None:
        """Send what a person had us send again, from a command in another process."""
        for operation in await self._kept.outbox.pending():
            if self._deliveries.claim(operation):
                conversation_id = operation.messages[-1].conversation_id
                self._outbound.in_lane(conversation_id, partial(self._resume, operation), of_finals=True)
        await self.count()

    async def count(self) -> None:
        """See how much is owed.

        Raises:
            DurableError: the disk does not say.
        """
        self.owed = await self._kept.outbox.owed()

    async def _resume(self, operation: Operation) -> None:
        await self._deliveries.resume(operation)

    def _say(self, conversation_id: str, text: str, *, told_gap: int | None = None) -> None:
        said = partial(self._deliveries.say, conversation_id, text, told_gap=told_gap)
        self._outbound.in_lane(conversation_id, said, of_finals=True)
