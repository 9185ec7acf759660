"""Waiting for a condition of the world outside the process, with a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["wait_until"]


def wait_until(holds: Callable[[], object], *, timeout_s: float = 30.0, pause_s: float = 0.02) -> None:
    """Return as soon as ``holds()`` is true; fail the test when it is not in time.

    Args:
        pause_s: between two looks; longer where a look takes from what is waited for.
    """
    deadline = time.monotonic() + timeout_s
    pause = threading.Event()
    while not holds():
        assert time.monotonic() < deadline, f"not true within {timeout_s:g} s: {holds}"
        pause.wait(pause_s)
