"""The three streams of the process: what they are, and how text leaves through them.

Everything printed passes :meth:`Stream.write`, the one place that redacts. A reader that went away (``| head``) is no
failure of ours: the rest is dropped, and what would only go on telling ends (:class:`ReaderGone`). A closed or full
stdout is one, and :class:`OutputLost` says so.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext

from canon_ops.errors import OutsideError
from canon_ops.hints import TextIO

__all__ = ["OutputLost", "ReaderGone", "Stream", "Streams", "plug_closed_descriptors", "process_streams"]

DEFAULT_WIDTH = 80


class OutputLost(OutsideError):
    """The answer could not be written to stdout: it is closed, or the disk behind it is full."""

    code = "output_lost"


class ReaderGone(Exception):
    """Nobody reads stdout any more, and the command does nothing but tell: it ends, and that is no failure."""


class Stream:
    """One output stream.

    Args:
        file: None when the process was started with the stream closed.
        name: for messages: ``stdout`` or ``stderr``.
        environ: ``COLUMNS`` overrides the measured width.
        must_arrive: a lost line raises :class:`OutputLost`; otherwise it is dropped.
    """

    def __init__(self, file: TextIO | None, *, name: str, environ: Mapping[str, str], must_arrive: bool) -> None:
        self.file = file
        self.name = name
        self._environ = environ
        self._must_arrive = must_arrive
        self._reader_gone = False
        self.redact: Callable[[str], str] = str
        self.interlude: Callable[[], AbstractContextManager[None]] = nullcontext  # around each write: see progress.py
        reconfigure = getattr(file, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")  # an undecodable file name is shown, never a traceback

    @property
    def is_terminal(self) -> bool:
        return _is_terminal(self.file)

    @property
    def width(self) -> int:
        """Columns for tables and wrapped sentences; 80 where nothing can be measured."""
        told = self._environ.get("COLUMNS", "")
        if told.isdecimal() and int(told) > 0:
            return int(told)
        try:
            return os.get_terminal_size(self.file.fileno()).columns or DEFAULT_WIDTH if self.file else DEFAULT_WIDTH
        except (OSError, ValueError):
            return DEFAULT_WIDTH

    @property
    def is_heard(self) -> bool:
        """Whether somebody may still read what is written; no longer once the reader of a pipe has closed it."""
        if self._reader_gone or self.file is None:
            return False
        try:
            descriptor = self.file.fileno()
            kind = os.fstat(descriptor).st_mode
        except (OSError, ValueError):  # a stream in memory
            return True
        if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
            return True
        from select import POLLERR, POLLHUP, poll  # only what follows something asks

        asked = poll()
        asked.register(descriptor, 0)
        return not any(seen & (POLLERR | POLLHUP) for _, seen in asked.poll(0))

    def can_encode(self, text: str) -> bool:
        """Whether ``text`` leaves as it is, or would be escaped."""
        try:
            text.encode(getattr(self.file, "encoding", None) or "ascii")
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    def write(self, text: str, *, redacted: bool = True) -> None:
        """Send ``text`` at once.

        Args:
            redacted: without its secrets, which is how everything leaves but the one that was asked for.

        Raises:
            OutputLost: the stream must arrive, and is closed or full.
        """
        if self._reader_gone or not text:
            return
        try:
            if self.file is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            with self.interlude():
                self.file.write(self.redact(text) if redacted else text)
                self.file.flush()
        except BrokenPipeError:
            self._abandon()
        except (OSError, ValueError) as exc:  # ValueError: the file object was closed
            self._abandon()
            if self._must_arrive:
                reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
                raise OutputLost(
                    f"The answer could not be written to {self.name}: {reason}.",
                    fix="mend what stands behind the pipe or the redirection, and run it again",
                ) from exc

    def _abandon(self) -> None:
        """Drop the rest, and let the interpreter's own flush at exit go to the null device instead of failing."""
        self._reader_gone = True
        if self.file is None:
            return
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.file.fileno())
            os.close(null)
        except (OSError, ValueError):
            return


class Streams:
    """stdin, stdout and stderr of one run."""

    def __init__(
        self, stdin: TextIO | None, stdout: TextIO | None, stderr: TextIO | None, environ: Mapping[str, str]
    ) -> None:
        self.stdin = stdin
        self.out = Stream(stdout, name="stdout", environ=environ, must_arrive=True)
        self.err = Stream(stderr, name="stderr", environ=environ, must_arrive=False)

    @property
    def are_terminals(self) -> bool:
        """Whether a person sits at all three: the condition for asking anything."""
        return _is_terminal(self.stdin) and self.out.is_terminal and self.err.is_terminal


def plug_closed_descriptors() -> None:
    """Open the null device on each of the descriptors 0 to 2 that is closed.

    Without this the next file we open would become descriptor 1 or 2, and a child's output would land in it. The
    Python objects stay None, so that :class:`Stream` still knows that nobody listens.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)


def process_streams(environ: Mapping[str, str]) -> Streams:
    """The real ones."""
    return Streams(sys.stdin, sys.stdout, sys.stderr, environ)


def _is_terminal(file: TextIO | None) -> bool:
    try:
        return file is not None and file.isatty()
    except ValueError:  # closed
        return False
