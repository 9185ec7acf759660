"""Something is going on: a spinner on stderr where a person watches, one line where ``--verbose`` asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from canon_ops.operate.prompts import Sparing, Tell

if TYPE_CHECKING:
    from canon_ops.cli.session import Session

__all__ = ["spinner"]

_SPINNER_CELLS = 3  # the spinner, the blank behind it, and the last column, at which some terminals wrap


@contextmanager
def spinner(session: Session, text: str) -> Iterator[Tell]:
    """Show ``text`` while the block runs; the line is gone afterwards. What the block gets replaces the text."""
    err = session.streams.err
    if session.options.quiet or not err.is_terminal or session.environ.get("TERM") == "dumb":
        session.detail(text)
        yield Sparing(session.detail)
        return
    from rich.cells import cell_len, set_cell_size
    from rich.console import Console

    from canon_ops.cli.terminal import visible

    canvas = session.canvas(err)
    console = Console(
        file=err.file,
        width=canvas.width,
        force_terminal=True,
        color_system="standard" if canvas.colour else None,
        no_color=not canvas.colour,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
        _environ={},  # the decision about colour and width is ours
    )

    def fitted(text: str) -> str:
        """On one line beside the spinner: a line that wraps cannot be replaced cleanly."""
        shown, room = visible(session.redact(text)), canvas.width - _SPINNER_CELLS
        return shown if cell_len(shown) <= room else set_cell_size(shown, room - 1) + ("…" if canvas.unicode else "~")

    status = console.status(fitted(text), spinner="dots" if canvas.unicode else "line")

    @contextmanager
    def interlude() -> Iterator[None]:
        """Take the spinner off the screen while a sentence is written."""
        status.stop()
        try:
            yield
        finally:
            status.start()

    streams = (err, session.streams.out)
    before = [stream.interlude for stream in streams]
    with status:
        for stream in streams:
            stream.interlude = interlude
        try:
            yield lambda now: status.update(fitted(now))
        finally:
            for stream, earlier in zip(streams, before, strict=True):
                stream.interlude = earlier
