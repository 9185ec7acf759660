"""Between two calls that belong together no signal raises; afterwards it does."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from canon_ops.cli.errors import Terminated
from canon_ops.cli.run import signals_raise
from canon_ops.runtime.held_signals import signals_held


@pytest.mark.parametrize(
    ("number", "kind"),
    [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated), (signal.SIGHUP, Terminated)],
)
def test_a_signal_takes_effect_after_the_block(number: signal.Signals, kind: type[BaseException]) -> None:
    """As the handler says that was there before, which is there again."""
    done: list[str] = []

    with signals_raise():
        before = signal.getsignal(number)
        with pytest.raises(kind), signals_held():
            os.kill(os.getpid(), number)
            done.append("all of it")

        assert signal.getsignal(number) == before
    assert done == ["all of it"]


def test_what_the_caller_ignores_stays_ignored() -> None:
    """``nohup`` means it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_held():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_error_of_the_block_passes() -> None:
    """The handlers are back."""
    before = signal.getsignal(signal.SIGINT)

    with pytest.raises(ZeroDivisionError), signals_held():
        raise ZeroDivisionError

    assert signal.getsignal(signal.SIGINT) is before


def test_another_thread_may_use_it() -> None:
    """No signal raises there, so there is nothing to hold."""
    done: list[str] = []

    def work() -> None:
        with signals_held():
            done.append("all of it")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert done == ["all of it"]
