"""When a turn's live preview is written: at most one write in flight, the latest text wins, and never too many bytes.

The host edits its draft as fast as the model speaks. Each edit carries the whole text, so writing all of them would
post a long answer hundreds of times. Three rules decide:

* one write at a time: what is offered while a write is in flight waits, and a newer offer replaces it;
* a turn posts at most 24,000 bytes a second, and half a second's worth ahead of that, so that small texts appear at
  once and a long answer slows its own previews down;
* a change of activity alone (a tool started or ended) is written at most twice a second.

``text`` and ``blocks`` are merged into the node field by field, so a write leaves out what has not changed. The first
write of a turn always carries blocks, be they none: the node may still hold those of a turn that died.

Order of calls: :func:`offer` with what changed, then carry out the write it returns or come back at ``wake_ms``;
:func:`finished` when the write has ended, however it ended; :func:`due` when the time has come; :func:`drain` before
the final message, which drops the pace, and :func:`drop` when nothing more may be shown.

Source: canon-adapter R6.17, R6.19, defect D38; Canon wire 4.8.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Final

from canon_ops.wire.trail import BlockObject

__all__ = ["Frame", "Preview", "PreviewStep", "Write", "drain", "drop", "due", "finished", "offer"]

BYTES_PER_SECOND: Final = 24_000  # 59 KB over a minute then posts at most 25 times its size
WRITE_OVERHEAD_BYTES: Final = 300  # ids, status, headers: what an empty write costs
AHEAD_MS: Final = 500  # of the rate: short answers never wait
ACTIVITY_PAUSE_MS: Final = 500  # canon-adapter R6.19


@dataclass(frozen=True, slots=True)
class Frame:
    """What the node should show now.

    Attributes:
        text: the whole draft; None leaves the node's text as it is, because only activity has changed.
        blocks: the turn's activity for the node, empty while there is only speech (``text`` says that already).
    """

    text: str | None
    blocks: tuple[BlockObject, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """One merge write; None leaves a field as it is stored."""

    text: str | None
    blocks: tuple[BlockObject, ...] | None


@dataclass(frozen=True, slots=True)
class Preview:
    """The preview of one turn.

    Attributes:
        text: the last text written, None before the first.
        blocks: the last blocks written, None before the first.
        waiting: the newest frame that has not been written.
        in_flight: a write has been handed out and has not ended.
        started_ms: when the last write was handed out.
        paid_ms: when the rate has made up for everything written so far.
        activity_free_ms: no change of blocks alone is written before this time.
        dropped: the last write failed; the host's results say so as ``previewDropped``.
    """

    text: str | None = None
    blocks: tuple[BlockObject, ...] | None = None
    waiting: Frame | None = None
    in_flight: bool = False
    started_ms: int = 0
    paid_ms: int = 0
    activity_free_ms: int = 0
    dropped: bool = False

    @property
    def is_idle(self) -> bool:
        """Nothing is being written and nothing waits."""
        return self.waiting is None and not self.in_flight


@dataclass(frozen=True, slots=True)
class PreviewStep:
    """The new state, the write to carry out now, and when to call :func:`due`."""

    preview: Preview
    write: Write | None = None
    wake_ms: int | None = None


def offer(preview: Preview, frame: Frame, *, now_ms: int) -> PreviewStep:
    """Take the newest state; a frame that still waits is replaced, but text that nothing newer replaces is kept."""
    waiting = preview.waiting
    if frame.text is None and waiting is not None:
        frame = replace(frame, text=waiting.text)
    return due(replace(preview, waiting=frame), now_ms=now_ms)


def due(preview: Preview, *, now_ms: int) -> PreviewStep:
    """Write what waits if its time has come."""
    frame = preview.waiting
    if frame is None or preview.in_flight:
        return PreviewStep(preview)
    free_ms = preview.paid_ms - AHEAD_MS
    if frame.text is None:
        free_ms = max(free_ms, preview.activity_free_ms)
    if preview.started_ms <= now_ms < free_ms:  # a clock that was set back must not hold the preview for hours
        return PreviewStep(preview, wake_ms=free_ms)
    return _write(preview, frame, now_ms=now_ms)


def drain(preview: Preview, *, now_ms: int) -> PreviewStep:
    """Write what waits without regard to the pace: the final message comes next, and the node must not lag behind."""
    if preview.waiting is None or preview.in_flight:
        return PreviewStep(preview)
    return _write(preview, preview.waiting, now_ms=now_ms)


def finished(preview: Preview, *, delivered: bool) -> Preview:
    """Take note that the write in flight has ended.

    Args:
        delivered: False when it failed. Then nobody knows what the node holds, so the next write carries all of it.
    """
    if delivered:
        return replace(preview, in_flight=False, dropped=False)
    return replace(preview, in_flight=False, dropped=True, text=None, blocks=None)


def drop(preview: Preview) -> Preview:
    """Forget what waits; a write in flight still ends with :func:`finished`."""
    return replace(preview, waiting=None)


def _write(preview: Preview, frame: Frame, *, now_ms: int) -> PreviewStep:
    text = frame.text if frame.text != preview.text else None  # None either way when only activity changed
    blocks = frame.blocks if frame.blocks != preview.blocks else None
    settled = replace(preview, waiting=None)
    if text is None and blocks is None:
        return PreviewStep(settled)
    cost_ms = (_size(text, blocks) + WRITE_OVERHEAD_BYTES) * 1_000 // BYTES_PER_SECOND
    owed_ms = max(preview.paid_ms, now_ms) if preview.started_ms <= now_ms else now_ms
    started = replace(
        settled,
        text=preview.text if frame.text is None else frame.text,
        blocks=frame.blocks,
        in_flight=True,
        started_ms=now_ms,
        paid_ms=owed_ms + cost_ms,
        activity_free_ms=preview.activity_free_ms if text is not None else now_ms + ACTIVITY_PAUSE_MS,
    )
    return PreviewStep(started, Write(text, blocks))


def _size(text: str | None, blocks: tuple[BlockObject, ...] | None) -> int:
    shown = {key: value for key, value in (("text", text), ("blocks", blocks)) if value is not None}
    return len(json.dumps(shown, ensure_ascii=False).encode("utf-8", "surrogatepass"))
