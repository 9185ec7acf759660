"""A program on a real pseudo-terminal, and the screen as a person would see it.

Tests read prompts from the rendered screen and type only what it asks for.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from types import TracebackType
from typing import NamedTuple, Protocol, Self

import pexpect
import pyte

__all__ = ["Run", "Screen"]

ENTER, ESCAPE, DOWN, UP, CTRL_C, CTRL_D = "\r", "\x1b", "\x1b[B", "\x1b[A", "\x03", "\x04"


class _AnsweringScreen(pyte.HistoryScreen):
    """A screen that answers when the program asks where the cursor is, as terminals do."""

    def __init__(self, columns: int, rows: int, answer: Callable[[str], None]) -> None:
        super().__init__(columns, rows, history=1000)
        self._answer = answer

    def write_process_input(self, data: str) -> None:
        self._answer(data)


class OnTerminal(Protocol):
    """A program that is on a terminal already: what a screen needs of a ``pexpect.spawn``."""

    @property
    def exitstatus(self) -> int | None: ...
    @property
    def signalstatus(self) -> int | None: ...
    def send(self, keys: str, /) -> object: ...
    def read_nonblocking(self, size: int, timeout: float) -> bytes: ...
    def isalive(self) -> bool: ...
    def kill(self, number: int) -> None: ...
    def close(self, force: bool = False) -> None: ...


class Run(NamedTuple):
    """Characters of one line that look alike; ``colour`` is pyte's name, or six hexadecimal digits."""

    text: str
    colour: str
    bold: bool


def _runs(cells: Sequence[pyte.screens.Char]) -> list[Run]:
    looks = groupby(cells, key=lambda cell: (cell.fg, cell.bold))
    runs = [Run("".join(cell.data for cell in group), *look) for look, group in looks]
    while runs and not runs[-1].text.strip():
        runs.pop()
    return [*runs[:-1], runs[-1]._replace(text=runs[-1].text.rstrip())] if runs else []


class Screen:
    """One program on a terminal of ``columns`` x ``rows``.

    As a context manager it ends the program on the way out, when it still runs. ``echo`` is how the terminal begins: a
    shell's line editor shows nothing where it is off.
    """

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        *,
        columns: int = 80,
        rows: int = 40,
        echo: bool = False,
    ) -> None:
        self._look_at(
            pexpect.spawn(
                command[0], list(command[1:]), env=dict(environ), dimensions=(rows, columns), timeout=5, echo=echo
            ),
            columns,
            rows,
        )

    @classmethod
    def of(cls, child: OnTerminal, *, columns: int, rows: int) -> Self:
        """The screen of a terminal of that size on which a program runs already."""
        screen = cls.__new__(cls)
        screen._look_at(child, columns, rows)
        return screen

    def _look_at(self, child: OnTerminal, columns: int, rows: int) -> None:
        self._screen = _AnsweringScreen(columns, rows, self._answer)
        self._stream = pyte.ByteStream(self._screen)
        self._child = child
        self.raw = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close(force=True)

    @property
    def text(self) -> str:
        """Everything on the screen, with what scrolled off, trailing blanks removed."""
        gone = ["".join(line[x].data for x in range(self._screen.columns)) for line in self._screen.history.top]
        return "\n".join(line.rstrip() for line in [*gone, *self._screen.display]).strip("\n")

    @property
    def rows(self) -> list[list[Run]]:
        """What ``text`` holds, line by line, with its colours; blank lines at the end removed."""
        lines = [*self._screen.history.top, *(self._screen.buffer[y] for y in range(self._screen.lines))]
        rows = [_runs([line[x] for x in range(self._screen.columns)]) for line in lines]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def type(self, keys: str) -> None:
        """Press keys."""
        self._child.send(keys)

    def wipe(self) -> None:
        """Forget what the screen shows, as a person does who has read it; ``raw`` keeps everything."""
        self._screen.reset()

    def wait_for(self, seen: str | Callable[[str], bool], *, timeout_s: float = 20.0) -> str:
        """Read until the screen shows ``seen``; gives the screen's text."""
        look = seen if callable(seen) else lambda text: seen in text
        deadline = time.monotonic() + timeout_s
        while not look(self.text):
            if time.monotonic() > deadline:
                raise AssertionError(f"not on the screen in {timeout_s:g} s: {seen}\n---\n{self.text}\n---")
            if not self._read() and not self._child.isalive():
                self._read()
                if look(self.text):
                    break
                raise AssertionError(f"the program ended without: {seen}\n---\n{self.text}\n---")
        return self.text

    def finish(self, *, timeout_s: float = 20.0) -> int:
        """Read to the end and give the exit code; a death by signal is 128 + its number, as in a shell."""
        deadline = time.monotonic() + timeout_s
        while self._read() or self._child.isalive():
            if time.monotonic() > deadline:
                raise AssertionError(f"still running after {timeout_s:g} s\n---\n{self.text}\n---")
        while self._read():  # what it wrote between the last look and its end
            pass
        self._child.close()
        status, number = self._child.exitstatus, self._child.signalstatus
        return status if status is not None else 128 + (number or 0)

    def kill(self) -> None:
        """SIGKILL, as a power cut would."""
        self._child.kill(signal.SIGKILL)

    def _answer(self, data: str) -> None:
        self._child.send(data)

    def _read(self) -> bool:
        try:
            data = self._child.read_nonblocking(65536, timeout=0.1)
        except pexpect.TIMEOUT:
            return False
        except pexpect.EOF:
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)
