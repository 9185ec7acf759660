"""Which writes to Canon's live surfaces are noted on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_hermes_plugin.inbox import turns
from canon_hermes_plugin.outbound.surfaces import NotedSurfaces
from canon_hermes_plugin.state.place import state_path
from canon_hermes_plugin.turn.effects import Evidence, TurnClosed
from canon_hermes_plugin.turn.events import Outcome
from canon_ops.wire.ids import ConversationId, TurnId
from canon_ops.wire.requests import StreamingWrite, TurnState
from tests.support.canon_state import OWNER, Rows, opened_state

TURN, ROOM = TurnId("hermes-turn-1"), ConversationId("c1")


class Canon:
    """Takes every write."""

    async def write_streaming(self, write: StreamingWrite) -> None: ...
    async def clear_streaming(self, conversation_id: str) -> None: ...
    async def publish_turn(self, state: TurnState) -> None: ...


@pytest.mark.parametrize(
    ("write", "was_closed"),
    [
        pytest.param(StreamingWrite.blank(ROOM, TURN), True, id="it empties"),
        pytest.param(StreamingWrite(ROOM, text="late", turn_id=TURN), False, id="it shows text"),
        pytest.param(StreamingWrite(ROOM, turn_id=TURN, blocks=[{"title": "grep"}]), False, id="it shows a tool"),
    ],
)
async def test_a_write_that_only_empties_a_node_opens_no_turn(
    tmp_path: Path, write: StreamingWrite, was_closed: bool
) -> None:
    """D24, D37: a turn ends before its node is emptied; noted as open, the next gateway would call it interrupted."""
    async with opened_state(tmp_path) as kept:
        surfaces = NotedSurfaces(Canon(), kept.inbox)
        await kept.inbox.started("m1", turn_id=TURN, conversation_id=ROOM, session="s1")
        kept.inbox.closed(TurnClosed(TURN, ROOM, Outcome.SUCCESS, Evidence.SILENCE), is_stopping=False)
        await surfaces.write_streaming(write)

    (left,) = Rows(state_path(tmp_path))(turns.dead_turns, OWNER)
    assert (left.turn_id, left.was_closed) == (TURN, was_closed)
