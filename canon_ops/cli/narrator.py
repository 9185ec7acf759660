"""Showing the demo: a story at a terminal, records in a pipe, a conversation on stderr beside a JSON document."""

from __future__ import annotations

import re
from contextlib import ExitStack

from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Diff, Fields, Mark, Table
from canon_ops.cli.plain import render as records
from canon_ops.cli.progress import spinner
from canon_ops.cli.session import Session
from canon_ops.cli.streams import Stream
from canon_ops.cli.terminal import BOLD, DIM, Canvas, mark_of, paint, render, visible, wrapped
from canon_ops.demo.narration import Narrator, StepReport

__all__ = ["RecordNarrator", "StoryTeller", "narrator_for"]

_INDENT = "     "
_KEEP = "\N{NO-BREAK SPACE}"  # a number and its unit stay on one line
_BAR, _ASCII_BAR = "│ ", "| "


def narrator_for(context: Context) -> Narrator:
    """Whoever fits the stream; under ``--json`` stdout belongs to the document, so the story goes to stderr."""
    session = context.session
    if session.options.json:
        return StoryTeller(session, session.streams.err, silent=session.options.quiet)
    return StoryTeller(session, session.streams.out) if session.for_people else RecordNarrator(session.streams.out)


class RecordNarrator:
    """One record for everything that happens: kind first."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def begin(self, number: int, count: int, title: str) -> None:
        return

    def tell(self, text: str) -> None:
        self._write(Fields((("note", text),)))

    def grow(self, text: str) -> None:
        self._write(Fields((("preview", text),)))

    def diff(self, text: str) -> None:
        self._write(Diff(text))

    def end(self, step: StepReport) -> None:
        mark = Mark.OK if step.ok else Mark.ERROR
        row = (mark.value, step.name, f"{step.duration_s:.3f}", step.detail, step.fix or "")
        self._write(Table((), (row,)))

    def _write(self, block: Block) -> None:
        self._stream.write(records((block,)))


class StoryTeller:
    """Numbered steps, sentences below them, and the answer as it is written."""

    def __init__(self, session: Session, stream: Stream, *, silent: bool = False) -> None:
        self._session = session
        self._stream = stream
        self._canvas: Canvas = session.canvas(stream)
        self._silent = silent
        self._grown = ""
        self._column = 0
        self._blank = False
        self._waiting = ExitStack()  # the spinner between the beginning of a step and its first words

    def begin(self, number: int, count: int, title: str) -> None:
        self._write(f"{paint(f'{number:2}/{count}', DIM, colour=self._canvas.colour)} {self._bold(title)}\n")
        if not self._silent:
            self._waiting.enter_context(spinner(self._session, title))

    def tell(self, text: str) -> None:
        self._finish_growing()
        self._write(f"{_INDENT} {self._wrapped(visible(text), margin=6)}\n")

    def grow(self, text: str) -> None:
        """Write what is new; a text that was rewritten from the start begins a line of its own."""
        if not text.startswith(self._grown) or not self._grown:
            self._finish_growing()
            self._new_line()
        for piece in re.findall(r"\s+|\S+", visible(text[len(self._grown) :])):
            self._piece(piece)
        self._grown = text

    def diff(self, text: str) -> None:
        drawn = render((Diff(text),), self._canvas)
        self._write("".join(f"{_INDENT} {line}\n" for line in drawn.splitlines()))

    def end(self, step: StepReport) -> None:
        self._finish_growing()
        mark = mark_of(Mark.OK if step.ok else Mark.ERROR, self._canvas)
        told = self._wrapped(f"{visible(step.detail)} ({step.duration_s:.1f}{_KEEP}s)", margin=8)
        self._write(f"{_INDENT} {mark} {told.replace(_KEEP, ' ')}\n")

    def _wrapped(self, text: str, *, margin: int) -> str:
        return "\n".join(wrapped(text, self._canvas.width, margin))

    def _piece(self, piece: str) -> None:
        """A word on the line where it fits; the blank before it is written with it, and never at a line's end."""
        if piece.isspace():
            self._blank = self._column > 0
            return
        blank = " " if self._blank else ""
        if self._column and self._column + len(blank + piece) > self._canvas.width - len(_INDENT) - 3:
            self._write("\n")
            self._new_line()
            blank = ""
        self._blank = False
        self._write(blank + piece)
        self._column += len(blank + piece)

    def _new_line(self) -> None:
        bar = _BAR if self._canvas.unicode else _ASCII_BAR
        self._write(f"{_INDENT} {paint(bar, DIM, colour=self._canvas.colour)}")
        self._column, self._blank = 0, False

    def _finish_growing(self) -> None:
        if self._grown:
            self._write("\n")
        self._grown = ""

    def _bold(self, text: str) -> str:
        return paint(text, BOLD, colour=self._canvas.colour)

    def _write(self, text: str) -> None:
        self._waiting.close()
        if not self._silent:
            self._stream.write(text)
