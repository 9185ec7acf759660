"""What holds for every test process."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A run that a shell started in the background inherits SIGINT ignored, and its children would not hear Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
