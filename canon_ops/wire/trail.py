"""Blocks as JSON: the live list while a turn runs, and the trail that its final message carries.

Both are bounded, and both keep head and tail: how the turn began and what it did last are what people look for, so the
middle is what goes. (The reference kept the first 30 and the first 20; the bounds and the compact form are its own, the
choice of blocks is not. Source of the choice: defect D38, which wins over R6.27 and R6.28.)

Source: Canon wire 7.6; canon-adapter R6.27-R6.29, R7.20.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from canon_ops.wire.activity import Activity, Block, BlockKind, shorten

__all__ = [
    "LIVE_BLOCKS",
    "METADATA_UNITS",
    "TRAIL_BLOCKS",
    "TRAIL_BYTES",
    "BlockObject",
    "compact",
    "final_trail",
    "fits_metadata",
    "live_blocks",
    "without_repeated_speech",
]

BlockObject: TypeAlias = Mapping[str, Any]

LIVE_BLOCKS: Final = 30  # the server keeps the first 30, Canon wire 4.8
LIVE_HEAD: Final = 10  # of them from the beginning; the rest is the newest
TRAIL_BLOCKS: Final = 20  # Canon wire 7.6
TRAIL_BYTES: Final = 2_500
METADATA_UNITS: Final = 4_096  # UTF-16 code units of the whole metadata, Canon wire 4.4

_LIMITS: Final = {"id": 120, "turnId": 120, "title": 80, "text": 280, "summary": 120}
_CUT: Final = 277  # characters before the dots of a text of 280


def live_blocks(activity: Activity) -> tuple[BlockObject, ...]:
    """At most 30 blocks for the streaming node, speech whole."""
    blocks = activity.blocks
    if len(blocks) > LIVE_BLOCKS:
        blocks = blocks[:LIVE_HEAD] + blocks[-(LIVE_BLOCKS - LIVE_HEAD) :]
    return tuple(_as_object(block) for block in blocks)


def final_trail(activity: Activity) -> tuple[BlockObject, ...]:
    """At most 20 compact blocks whose JSON, as ``{"turnTrail":[...]}``, has at most 2,500 bytes.

    Blocks are taken in turn from the beginning and from the end until one does not fit; the result is in order.
    """
    blocks = [compact(_as_object(block)) for block in activity.blocks]
    room = TRAIL_BYTES - len(_json({"turnTrail": []}).encode("utf-8", "surrogatepass"))
    head: list[BlockObject] = []
    tail: list[BlockObject] = []
    low, high = 0, len(blocks) - 1
    from_head = True
    while low <= high and len(head) + len(tail) < TRAIL_BLOCKS:
        block = blocks[low if from_head else high]
        size = len(_json(block).encode("utf-8", "surrogatepass")) + bool(head or tail)  # the comma between two
        if size > room:
            break
        room -= size
        if from_head:
            head.append(block)
            low += 1
        else:
            tail.append(block)
            high -= 1
        from_head = not from_head
    return (*head, *reversed(tail))


def compact(block: BlockObject) -> BlockObject:
    """The block as a trail carries it: known keys in their order, each within its limit, empty ones left out."""
    result: dict[str, Any] = {}
    for key in ("id", "turnId", "kind", "status", "sequence", "title", "text", "summary"):
        value = block.get(key)
        if value is None or value == "":
            continue
        result[key] = shorten(value, _LIMITS[key]) if key in _LIMITS and isinstance(value, str) else value
    return result


def without_repeated_speech(trail: Sequence[BlockObject], answer: str) -> tuple[BlockObject, ...]:
    """The trail of an answer in several parts, minus the speech that those parts say anyway.

    A block repeats when its text stands in the answer as whole lines, or, having been shortened, as the beginning of a
    line. Speech that the answer does not repeat stays: it was said before a tool. Source: R7.20.
    """
    return tuple(
        block
        for block in trail
        if block.get("kind") != BlockKind.TEXT or not _repeats(str(block.get("text", "")), answer)
    )


def fits_metadata(metadata: Mapping[str, Any]) -> bool:
    """Whether the server accepts metadata of this size."""
    return len(_json(metadata).encode("utf-16-le", "surrogatepass")) // 2 <= METADATA_UNITS


def _as_object(block: Block) -> BlockObject:
    shown = {"id": block.id, "turnId": block.turn_id, "kind": block.kind.value, "status": block.status.value}
    texts = {"title": block.title, "text": block.text, "summary": block.summary}
    return {**shown, "sequence": block.sequence, **{key: text for key, text in texts.items() if text}}


def _repeats(text: str, answer: str) -> bool:
    if not text:
        return True
    lines = f"\n{answer}\n"
    if f"\n{text}\n" in lines:
        return True
    return len(text) == _LIMITS["text"] and text.endswith("...") and f"\n{text[:_CUT]}" in lines


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
