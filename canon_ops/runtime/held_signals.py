"""Signals that wait: for the few calls between which an exception out of nowhere would leave something behind.

The command line lets SIGINT, SIGTERM and SIGHUP raise wherever the main thread is. That is right nearly everywhere, and
wrong between the making of a folder and the note that it has to go.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["signals_held"]

_HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_held() -> Iterator[None]:
    """For the length of the block a signal is only noted; it takes effect at the end, as it would have done before.

    For short blocks. Outside of the main thread, where no signal raises, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    handlers = {number: signal.getsignal(number) for number in _HELD}
    before = {number: handler for number, handler in handlers.items() if handler not in (signal.SIG_IGN, None)}
    try:
        for number in before:
            signal.signal(number, note)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])  # the first of several: they all say that this has to end
