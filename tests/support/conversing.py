"""Reading what a Canon sandbox saw of a turn: its states, its node, its answers."""

from __future__ import annotations

from typing import Any

from canon_ops.sandbox.server import CanonSandbox
from tests.support.waiting import wait_until

__all__ = ["answer_to", "finals_to", "states_of", "wait_closed"]

CLOSED = ("completed", "interrupted")


def states_of(box: CanonSandbox, turn_id: str, conversation_id: str | None = None) -> list[str]:
    """The states that were published for a turn, in order."""
    return [state["state"] for state in box.human.turns(conversation_id) if state.get("turnId") == turn_id]


def wait_closed(box: CanonSandbox, turn_id: str, conversation_id: str | None = None) -> None:
    """Return once a turn has been closed on Canon."""
    wait_until(lambda: states_of(box, turn_id, conversation_id)[-1:] in (["completed"], ["interrupted"]))


def finals_to(box: CanonSandbox, message_id: str) -> list[dict[str, Any]]:
    """Every finished answer to a message so far."""
    return list(box.wait("answer", to=message_id))


def answer_to(box: CanonSandbox, message_id: str, *, timeout_s: float = 60) -> dict[str, Any]:
    """The one finished answer to a message, after its turn has closed."""
    first = box.wait("answer", to=message_id, timeout_s=timeout_s)[0]
    wait_closed(box, first["metadata"]["turnId"], first["conversationId"])
    (answer,) = finals_to(box, message_id)
    return dict(answer)
