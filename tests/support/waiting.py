"""Waiting for a condition of the world outside the process, with a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["wait_until"]


def wait_until(holds: Callable[[], object], *, timeout_s: float = 30.0) -> None:
    """Return as soon as ``holds()`` is true; fail the test when it is not in time."""
    deadline = time.monotonic() + timeout_s
    pause = threading.Event()
    while not holds():
        assert time.monotonic() < deadline, f"not true within {timeout_s:g} s: {holds}"
        pause.wait(0.02)
