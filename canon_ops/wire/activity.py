"""What a turn does while it works, as a list of blocks: speech and tool calls in the order they began.

One :class:`Activity` belongs to one turn, never to a conversation: two members of a group may have turns open at the
same time, and the tools of one must not appear in the other's trail. The value is immutable, so a hook on a worker
thread and a trail being built cannot meet halfway.

Speech comes in segments. A segment is *open* while the host still edits it; a tool call seals it, and speech after the
tool opens the next one. A late edit of a sealed segment corrects its block and nothing else.

How a block becomes JSON, and which blocks are shown when there are too many, stands in trail.py.

Source: Canon wire 7.6; canon-adapter R6.20-R6.26.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from canon_ops.wire.ids import TurnId

__all__ = ["Activity", "Block", "BlockKind", "BlockStatus", "preview", "shorten"]

PREVIEW_CHARS: Final = 280  # Canon wire 7.6
TITLE_CHARS: Final = 80
BLOCKS_REMEMBERED: Final = 240  # ours: eight times what a live view can show; a longer turn forgets its middle


class BlockKind(StrEnum):
    """What a block stands for."""

    TEXT = "text"
    TOOL = "tool"
    PLAN = "plan"
    APPROVAL = "approval"
    INPUT = "input"
    STATUS = "status"


class BlockStatus(StrEnum):
    """How far a block has come."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    PENDING = "pending"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Block:
    """One step of a turn.

    ``sequence`` counts from 1 in the order of creation and never changes; ``text`` of speech is kept whole.
    """

    id: str
    turn_id: TurnId
    kind: BlockKind
    status: BlockStatus
    sequence: int
    title: str = ""
    text: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Activity:
    """The blocks of one turn and the two things that decide where the next event lands.

    Attributes:
        blocks: in order of sequence.
        open_text: id of the speech block that is still being written.
        segments: ids of every speech block ever opened; also of those whose block was forgotten.
        nameless: tool calls without a call id that have not finished, oldest first, as (tool name, block id).
    """

    turn_id: TurnId
    blocks: tuple[Block, ...] = ()
    open_text: str | None = None
    segments: frozenset[str] = frozenset()
    nameless: tuple[tuple[str, str], ...] = ()
    next_sequence: int = 1

    def block(self, block_id: str) -> Block | None:
        """The block with this id."""
        return next((block for block in reversed(self.blocks) if block.id == block_id), None)

    def has_segment(self, stream_message_id: str) -> bool:
        """Whether this stream message was ever a segment of the turn."""
        return _text_id(stream_message_id) in self.segments

    def speech(self, text: str, *, stream_message_id: str | None, finalized: bool) -> Activity:
        """Record the whole text of a segment so far.

        Args:
            stream_message_id: the segment; None means the open one, or a new one when there is text.
            finalized: the host will not edit it any more.
        """
        if stream_message_id is not None:
            block_id = _text_id(stream_message_id)
        elif self.open_text is not None:
            block_id = self.open_text
        elif text:
            block_id = _text_id(f"{self.turn_id}:{len(self.segments) + 1}")
        else:
            return self
        activity = self
        if block_id not in self.segments:
            activity = replace(self.seal_speech(), open_text=block_id, segments=self.segments | {block_id})
        elif self.block(block_id) is None:
            return self  # a forgotten segment: there is nothing left to correct
        done = finalized or activity.open_text != block_id
        status = BlockStatus.COMPLETED if done else BlockStatus.RUNNING
        return activity._put(block_id, BlockKind.TEXT, status, text=text)

    def seal_speech(self) -> Activity:
        """Close the open segment; later speech without an id opens a new one."""
        if self.open_text is None:
            return self
        return replace(self, blocks=_with_status(self.blocks, {self.open_text}, BlockStatus.COMPLETED), open_text=None)

    def tool_started(self, name: str, *, call_id: str | None, args: object) -> Activity:
        """Record a tool call. It does not seal speech: whether it may is decided by whoever knows the caller."""
        if call_id:
            block_id, nameless = f"tool:{call_id}", self.nameless
        else:
            block_id = f"tool:{name or 'tool'}:{self.next_sequence}"
            nameless = (*self.nameless, (name, block_id))
        activity = replace(self, nameless=nameless)
        return activity._put(block_id, BlockKind.TOOL, BlockStatus.RUNNING, title=_title(name), text=preview(args))

    def tool_finished(
        self, name: str, *, call_id: str | None, args: object, result: object, status: str, duration_ms: object
    ) -> Activity:
        """Record the end of a tool call; calls without an id end in the order in which they started, per name."""
        activity = self
        if call_id:
            block_id = f"tool:{call_id}"
        else:
            running = next((entry for entry in self.nameless if entry[0] == name), None)
            block_id = running[1] if running else f"tool:{name or 'tool'}:{self.next_sequence}"
            activity = replace(self, nameless=tuple(entry for entry in self.nameless if entry != running))
        before = activity.block(block_id)
        return activity._put(
            block_id,
            BlockKind.TOOL,
            BlockStatus.FAILED if status in {"failed", "error", "blocked"} else BlockStatus.COMPLETED,
            title=_title(name),
            text=preview(result) or (before.text if before else "") or preview(args),
            summary=_milliseconds(duration_ms),
        )

    def subagent_stopped(
        self, *, child_session_id: str | None, role: str, summary: object, status: str, duration_ms: object
    ) -> Activity:
        """Record what a delegated child reported."""
        return self._put(
            f"subagent:{child_session_id or role}",
            BlockKind.STATUS,
            BlockStatus.FAILED if status in {"failed", "error"} else BlockStatus.COMPLETED,
            title=_title(role),
            text=preview(summary) if isinstance(summary, str) else "",
            summary=_milliseconds(duration_ms),
        )

    def finished(self) -> Activity:
        """Close everything that never reported its end; the turn is over."""
        running = {block.id for block in self.blocks if block.status is BlockStatus.RUNNING}
        return replace(
            self, blocks=_with_status(self.blocks, running, BlockStatus.COMPLETED), open_text=None, nameless=()
        )

    def _put(
        self, block_id: str, kind: BlockKind, status: BlockStatus, *, title: str = "", text: str = "", summary: str = ""
    ) -> Activity:
        """Create the block, or merge into it: what is empty here keeps its value there."""
        before = self.block(block_id)
        if before is None:
            block = Block(block_id, self.turn_id, kind, status, self.next_sequence, title, text, summary)
            blocks = _bounded((*self.blocks, block))
            return replace(self, blocks=blocks, next_sequence=self.next_sequence + 1)
        after = replace(
            before,
            kind=kind,
            status=status,
            title=title or before.title,
            text=text if kind is BlockKind.TEXT else text or before.text,
            summary=summary or before.summary,
        )
        return replace(self, blocks=tuple(after if block is before else block for block in self.blocks))


def preview(value: object) -> str:
    """A value in at most 280 characters on one line; empty when there is nothing to show. Source: R6.23."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = value
    else:
        try:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        except (TypeError, ValueError, RecursionError):
            text = str(value)
    return shorten(" ".join(text.split()), PREVIEW_CHARS)


def shorten(text: str, limit: int) -> str:
    """``text`` in at most ``limit`` characters; what is cut ends in three dots and has exactly the limit's length."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _text_id(segment: str) -> str:
    return f"text:{segment}"


def _title(name: str) -> str:
    return name[:TITLE_CHARS]  # a live title is cut without dots, Canon wire 7.6


def _milliseconds(duration_ms: object) -> str:
    try:
        whole = int(duration_ms)  # type: ignore[call-overload]  # anything goes in, what int() refuses is no duration
    except (TypeError, ValueError, OverflowError):
        return ""
    return f"{whole} ms" if whole >= 0 else ""


def _with_status(blocks: Iterable[Block], ids: set[str], status: BlockStatus) -> tuple[Block, ...]:
    return tuple(replace(block, status=status) if block.id in ids else block for block in blocks)


def _bounded(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    if len(blocks) <= BLOCKS_REMEMBERED:
        return blocks
    head = BLOCKS_REMEMBERED // 4
    return blocks[:head] + blocks[head + 1 :]
