"""Turns that may have left something on Canon, on the disk until their node is gone."""

from __future__ import annotations

import pytest

from canon_hermes_plugin.inbox import turns
from canon_hermes_plugin.inbox.recovery import DeadTurn
from tests.support.canon_state import NOW, OWNER, Rows


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_turns_are_known_until_their_node_is_gone(rows: Rows, closed: bool) -> None:
    """D37: a turn that was opened stands on the disk until the conversation's node was deleted after its end."""
    rows(turns.open_turn, OWNER, "t1", "c1", now_ms=NOW)
    if closed:
        rows(turns.close_turn, OWNER, "t1")
    before = rows(turns.dead_turns, OWNER)
    rows(turns.forget_closed, OWNER, "c1")

    assert before == [DeadTurn("t1", "c1", NOW, closed)]
    assert len(rows(turns.dead_turns, OWNER)) == (0 if closed else 1)
