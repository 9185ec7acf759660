"""A conversation as a person sees it on a Canon app, at every change: what is posted, what grows on the node.

with Screen(box, room) as screen:
    ...
assert_seamless(screen.sights)

The screen looks under the server's own lock whenever something has changed there. Changes that come faster than it can
look are one sight, as they are for a person.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from canon_ops.sandbox.server import CanonSandbox
from canon_ops.sandbox.stage import WaitTimeout
from canon_ops.sandbox.state import World

__all__ = ["CLOSED", "Screen", "Sight", "assert_seamless"]

LIMIT_S = 600.0
CLOSED = ("completed", "interrupted")


@dataclass(frozen=True, slots=True)
class Sight:
    """What stands there at one moment.

    Attributes:
        posted: of everything that people did not write themselves: origin, turn and text, oldest first.
        node_turn, text, tools: of the node; None, empty and empty without one. A tool is its title and status.
        blocks: how many blocks the node has, those of tools among them.
        turn, state: what was published last.
    """

    posted: tuple[tuple[str, str | None, str], ...] = ()
    node_turn: str | None = None
    text: str = ""
    tools: tuple[tuple[str, str], ...] = ()
    blocks: int = 0
    turn: str | None = None
    state: str | None = None

    @property
    def shows(self) -> str | None:
        """The turn of which something is to be seen on the node."""
        return self.node_turn if self.text or self.blocks else None

    def said(self, turn_id: str) -> list[str]:
        """What is posted of a turn."""
        return [text for _, turn, text in self.posted if turn == turn_id]


class Screen:
    """Looks at one room for as long as it is entered.

    Attributes:
        sights: what was seen, each other than the one before.
    """

    def __init__(self, box: CanonSandbox, conversation_id: str | None = None) -> None:
        self._box = box
        self._room = conversation_id or box.endpoints.conversation_id
        self._done = False
        self._thread = threading.Thread(target=self._watch, name="screen")
        self.sights: list[Sight] = []

    def __enter__(self) -> Screen:
        self.look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done = True
        self._box.engine.act(lambda world, now_ms: None)  # wakes whoever waits
        self._thread.join()

    def look(self) -> None:
        """See what stands there now, without waiting for the screen's own look."""
        self._box.engine.read(self._look)

    def _watch(self) -> None:
        with suppress(WaitTimeout):
            self._box.wait(self._look, timeout_s=LIMIT_S)

    def _look(self, world: World) -> bool:
        sight = _sight(world, self._room)
        if self.sights[-1:] != [sight]:
            self.sights.append(sight)
        return self._done


def _sight(world: World, room: str) -> Sight:
    posted = tuple(
        (message.origin, message.turn_id, message.text or "")
        for message in world.conversations[room].messages.values()
        if message.origin != "human"
    )
    node = next((node for (place, _), node in world.nodes.items() if place == room), None)
    told: dict[str, Any] = next((log.last for (place, _), log in world.turns.items() if place == room and log.last), {})
    blocks = node.blocks if node is not None else []
    return Sight(
        posted,
        node.turn_id if node is not None else None,
        node.text if node is not None else "",
        tuple((block["title"], block["status"]) for block in blocks if block["kind"] == "tool"),
        len(blocks),
        told.get("turnId"),
        told.get("state"),
    )


def assert_seamless(sights: Sequence[Sight]) -> None:
    """What a person may count on, whatever the turns do.

    Nothing that was posted vanishes; what a turn has begun to show is on the screen until something of the turn is
    posted; in the end the node is gone, and the last word about a turn is that it is over.
    """
    shown: set[str] = set()
    for number, sight in enumerate(sights):
        before = sights[number - 1] if number else sight
        assert sight.posted[: len(before.posted)] == before.posted, f"a message vanished: {before} -> {sight}"
        if sight.shows is not None:
            shown.add(sight.shows)
        lost = [turn_id for turn_id in shown if sight.shows != turn_id and not sight.said(turn_id)]
        assert not lost, f"what {lost} showed is nowhere: {before} -> {sight}"
    last = sights[-1]
    assert last.node_turn is None
    assert last.state is None or last.state in CLOSED
