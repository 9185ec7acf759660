"""The Borgee server in the foreground, for the command line."""

from __future__ import annotations

import signal
from collections.abc import Callable

from borgee_hermes.loopback.options import BorgeeEndpoints, BorgeeOptions
from borgee_hermes.loopback.server import BorgeeSandbox
from canon_ops.sandbox.run import stopped_by_signal

__all__ = ["run_borgee"]


def run_borgee(options: BorgeeOptions, announce: Callable[[BorgeeEndpoints], None]) -> signal.Signals:
    """Serve; block until SIGINT or SIGTERM and give it back.

    ``announce`` is called once, when both listeners accept. Main thread only: it takes the signals.
    """
    with stopped_by_signal() as stopped, BorgeeSandbox(options) as box:
        announce(box.endpoints)
        return stopped()
