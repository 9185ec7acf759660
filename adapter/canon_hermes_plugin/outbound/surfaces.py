"""Canon's live surfaces, with a note on the disk before a turn first shows something there, and after its node is gone.

After a crash the note says whose node may still stand. Source: defect D37.
"""

from __future__ import annotations

from canon_hermes_plugin.inbox.keeper import Inbox
from canon_hermes_plugin.outbound.effects import LiveSurfaces
from canon_ops.wire.requests import StreamingWrite, TurnState

__all__ = ["NotedSurfaces"]


class NotedSurfaces:
    """The surfaces as the turns write them."""

    def __init__(self, surfaces: LiveSurfaces, inbox: Inbox) -> None:
        self._surfaces = surfaces
        self._inbox = inbox

    async def write_streaming(self, write: StreamingWrite) -> None:
        if write.turn_id is not None and (write.text or write.blocks):  # what only empties a node shows nothing
            await self._inbox.shows(write.turn_id, write.conversation_id)
        await self._surfaces.write_streaming(write)

    async def clear_streaming(self, conversation_id: str) -> None:
        await self._surfaces.clear_streaming(conversation_id)
        self._inbox.cleared(conversation_id)

    async def publish_turn(self, state: TurnState) -> None:
        await self._surfaces.publish_turn(state)
