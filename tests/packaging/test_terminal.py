"""The screen that tests look at."""

from __future__ import annotations

from tests.support.terminal import Screen


class LateProgram:
    """Says nothing at the first look, and writes its text and ends before somebody asks whether it still runs."""

    exitstatus, signalstatus = 0, None

    def __init__(self) -> None:
        self.pending = b""

    def send(self, keys: str, /) -> None: ...

    def read_nonblocking(self, size: int, timeout: float) -> bytes:
        data, self.pending = self.pending, b""
        return data

    def isalive(self) -> bool:
        self.pending = b"done"
        return False

    def kill(self, number: int) -> None: ...

    def close(self, force: bool = False) -> None: ...


def test_what_a_program_writes_just_before_its_end_is_on_the_screen() -> None:
    """A slow machine gives it time between a look at the terminal and a look at the process."""
    screen = Screen.of(LateProgram(), columns=80, rows=10)

    assert (screen.finish(), screen.text) == (0, "done")
