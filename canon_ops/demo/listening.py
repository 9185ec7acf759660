"""Listening to the agent as a person with a Canon app does: the live bubble as it grows, then the durable message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from canon_ops.demo.stage import DemoFailed, Stage

__all__ = ["Heard", "listen", "listen_for_answer"]

_ANSWER_S = 60.0  # the first turn of a cold host takes 3 to 4 s; Hermes end-to-end, 1


@dataclass(frozen=True, slots=True)
class Heard:
    """What the agent said.

    Attributes:
        text: of its durable messages.
        grown: the last live state before them; empty when none was seen.
        previews: how many live states there were.
    """

    text: str
    grown: str
    previews: int

    def tell(self, stage: Stage) -> None:
        """Show the text, unless it stands there already as it grew."""
        if self.text != self.grown:
            stage.narrator.tell(f"the agent wrote: {self.text}")


def listen_for_answer(stage: Stage, message_id: str) -> Heard:
    """Listen until the message has its answer.

    Raises:
        DemoFailed: there is none.
    """
    from canon_ops.sandbox.conditions import condition_for

    answered, _ = condition_for(stage.canon.engine, "answer", {"to": message_id})
    return listen(stage, answered)


def listen(stage: Stage, finished: Callable[[], Any]) -> Heard:
    """Show every live state of the agent until ``finished`` gives its durable messages and the turn has closed.

    Raises:
        DemoFailed: it gives none for a minute, or the turn stays open.
    """
    place = (stage.conversation_id, stage.agent_id)
    seen, previews = "", 0
    while True:

        def news(_world: object, seen: str = seen) -> tuple[Any, str] | None:
            node = stage.canon.engine.world.nodes.get(place)
            text = node.text if node else ""
            done = finished()
            return (done, text) if done or (text and text != seen) else None

        done, text = _wait(stage, news, "No answer came")
        if done:
            _wait(stage, "idle", "The turn did not close", conversation_id=stage.conversation_id)
            return Heard("\n".join(str(message["text"]) for message in done), seen, previews)
        seen, previews = text, previews + 1
        stage.narrator.grow(text)


def _wait(stage: Stage, what: str | Callable[[Any], Any], failing: str, **match: Any) -> Any:
    try:
        return stage.canon.wait(what, timeout_s=_ANSWER_S, **match)
    except TimeoutError as exc:
        said = f"{failing} for {_ANSWER_S:g} s; the gateway's output ends with:\n{stage.gateway.tail()}"
        raise DemoFailed(said, file=str(stage.log)) from exc
