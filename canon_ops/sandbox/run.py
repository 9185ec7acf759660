"""The sandboxes in the foreground, for the command line: serve until SIGINT or SIGTERM, leave nothing behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from canon_ops.sandbox.model.server import ModelSandbox
from canon_ops.sandbox.options import CanonOptions, Endpoints, ModelEndpoints, ModelOptions
from canon_ops.sandbox.server import CanonSandbox

__all__ = ["run_canon", "run_model", "stopped_by_signal"]


def run_canon(options: CanonOptions, announce: Callable[[Endpoints], None]) -> signal.Signals:
    """Serve a Canon server; block until a signal and give it back.

    ``announce`` is called once, when both listeners accept. Main thread only: it takes the signals.
    """
    with stopped_by_signal() as stopped, CanonSandbox(options) as box:
        announce(box.endpoints)
        return stopped()


def run_model(options: ModelOptions, announce: Callable[[ModelEndpoints], None]) -> signal.Signals:
    """Serve a model endpoint; like :func:`run_canon`."""
    with stopped_by_signal() as stopped, ModelSandbox(options) as model:
        announce(model.endpoints)
        return stopped()


@contextmanager
def stopped_by_signal() -> Iterator[Callable[[], signal.Signals]]:
    """Take SIGINT and SIGTERM for the time of the block; the value blocks until one came."""
    came = threading.Event()
    which: list[signal.Signals] = []

    def note(number: int, frame: FrameType | None) -> None:
        which.append(signal.Signals(number))
        came.set()

    def stopped() -> signal.Signals:
        came.wait()
        return which[0]

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
