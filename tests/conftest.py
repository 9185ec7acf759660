"""What holds for every test process."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """What starts a run in the background may leave it deaf to signals, and its children would inherit that."""
    for number, hears in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, hears)
