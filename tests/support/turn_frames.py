"""A turn as Canon saw it, request by request: what was published, what stood on the node, what was posted.

:func:`frames_of` takes the requests of one turn out of the sandbox's journal, in the order of their arrival;
:func:`assert_in_order` holds the order of the wire against them, whatever the scenario (Canon wire 8.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from canon_ops.sandbox.server import CanonSandbox

__all__ = ["Frame", "TurnFrames", "assert_in_order", "frames_of", "texts_grow"]

CLOSED = ("completed", "interrupted")


@dataclass(frozen=True, slots=True)
class Frame:
    """One request: ``state``, ``write``, ``blank``, ``clear`` or ``send``, with its body."""

    kind: str
    body: dict[str, Any]
    number: int


@dataclass(frozen=True, slots=True)
class TurnFrames:
    """The requests of one turn, oldest first; a ``clear`` names no turn and counts while the turn owns the node."""

    turn_id: str
    frames: tuple[Frame, ...]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [frame.body for frame in self.frames if frame.kind == kind]

    @property
    def states(self) -> list[str]:
        return [body["state"] for body in self.of("state")]

    @property
    def texts(self) -> list[str]:
        """The node's text after each write that changed it."""
        return [body["text"] for body in self.of("write") if body.get("text") is not None]

    @property
    def tools(self) -> list[list[tuple[str, str]]]:
        """The node's tools, title and status, after each write that changed the blocks."""
        return [
            [(block["title"], block["status"]) for block in body["blocks"] if block["kind"] == "tool"]
            for body in self.of("write")
            if body.get("blocks") is not None
        ]

    @property
    def kinds(self) -> list[str]:
        """The order of everything, equal neighbours once; states by their name."""
        said = [frame.body["state"] if frame.kind == "state" else frame.kind for frame in self.frames]
        return [one for before, one in zip([None, *said], said, strict=False) if one != before]


def frames_of(box: CanonSandbox, turn_id: str, conversation_id: str | None = None) -> TurnFrames:
    """Everything about one turn."""
    room = conversation_id or box.endpoints.conversation_id
    frames: list[Frame] = []
    owner: str | None = None
    for entry in box.journal():
        body = entry["body"]
        if not isinstance(body, dict) or body.get("conversationId") != room or entry["status"] != 200:
            continue
        kind = _kind(entry["path"], body)
        if kind in ("write", "blank"):
            owner = body.get("turnId")
        named = owner if kind == "clear" else body.get("turnId") or (body.get("metadata") or {}).get("turnId")
        if kind == "clear":
            owner = None
        if kind is not None and named == turn_id:
            frames.append(Frame(kind, body, entry["number"]))
    return TurnFrames(turn_id, tuple(frames))


def _kind(path: str, body: dict[str, Any]) -> str | None:
    if path == "/runtime/turn":
        return "state"
    if path == "/messages/send":
        return "send"
    if path != "/streaming":
        return None
    if body.get("streaming") is False:
        return "clear"
    return "blank" if body.get("status") == "thinking" else "write"


def assert_in_order(turn: TurnFrames) -> None:
    """What every turn keeps: it opens with its message, closes once and last; nothing is written after its answer.

    The answer comes before the node is deleted, the deletion before the closing state, and the node's last text is the
    whole answer.
    """
    numbers = {
        kind: [frame.number for frame in turn.frames if frame.kind == kind] for kind in ("send", "clear", "write")
    }
    closing = [frame.number for frame in turn.frames if frame.kind == "state" and frame.body["state"] in CLOSED]
    first = turn.frames[0].body
    assert (first["state"], len(first.get("activeMessageIds", ()))) == ("thinking", 1)
    assert len(closing) == 1 and closing[0] == turn.frames[-1].number, turn.kinds
    finals = [body for body in turn.of("send") if body["metadata"]["turnSemantics"] == "turn_complete"]
    assert len(finals) <= 1
    if numbers["send"]:
        assert all(number < numbers["send"][0] for number in numbers["write"]), turn.kinds
        assert all(number > numbers["send"][-1] for number in numbers["clear"]), turn.kinds
    if numbers["write"]:
        assert len(numbers["clear"]) == 1 and numbers["clear"][0] < closing[0], turn.kinds
    if turn.texts and turn.of("send"):
        assert turn.texts[-1].split() == " ".join(body["text"] for body in turn.of("send")).split()


def texts_grow(texts: Sequence[str]) -> bool:
    """Whether each text begins with the one before it."""
    return all(later.startswith(earlier) for earlier, later in pairwise(texts))
