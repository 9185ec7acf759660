"""Something is going on: a spinner on stderr where a person watches, one line where ``--verbose`` asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from canon_ops.operate.prompts import Sparing, Tell

if TYPE_CHECKING:
    from canon_ops.cli.session import Session

__all__ = ["spinner"]


@contextmanager
def spinner(session: Session, text: str) -> Iterator[Tell]:
    """Show ``text`` while the block runs; the line is gone afterwards. What the block gets replaces the text."""
    err = session.streams.err
    if session.options.quiet or not err.is_terminal or session.environ.get("TERM") == "dumb":
        session.detail(text)
        yield Sparing(session.detail)
        return
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
    status = console.status(visible(session.redact(text)), spinner="dots" if canvas.unicode else "line")

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
            yield lambda now: status.update(visible(session.redact(now)))
        finally:
            for stream, earlier in zip(streams, before, strict=True):
                stream.interlude = earlier
