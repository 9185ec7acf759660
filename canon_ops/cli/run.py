"""One run of a command: from arguments to exit code.

The order, once: signals become exceptions, click parses and calls one command (a call so plain that it needs no parser
is carried out without: short_call.py), the command returns a :class:`Result` or raises, and the answer leaves in the
form that was asked for. Every way out of :func:`run` is an exit code; nothing prints a traceback unless ``--verbose``
asks for it.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

from canon_ops.cli.delivery import deliver, deliver_failure
from canon_ops.cli.errors import Terminated, failure_of
from canon_ops.cli.output import Result
from canon_ops.cli.session import Program, Session
from canon_ops.cli.short_call import short_call
from canon_ops.cli.streams import OutputLost, ReaderGone, Streams
from canon_ops.errors import ExitCode

__all__ = ["run", "signals_raise"]


def run(
    program: str, platform: str, arguments: Sequence[str], environ: Mapping[str, str], streams: Streams
) -> ExitCode:
    """Carry out one command line; see :func:`canon_ops.cli.main.start`."""
    session = Session(Program(program, platform), arguments, environ, streams)
    with signals_raise():
        return _run(session)


def _run(session: Session) -> ExitCode:
    try:
        result = _invoke(session)
        if result is None:  # help or --version, already written
            return ExitCode.DONE
        deliver(session, result)
        return result.exit_code
    except ReaderGone:
        return ExitCode.DONE
    except OutputLost as exc:  # nothing more can be said on stdout
        _say_lost(session, exc)
        return exc.exit_code
    except BaseException as exc:
        failure = failure_of(exc)
        try:
            deliver_failure(session, failure, exc)
        except OutputLost as lost:
            _say_lost(session, lost)
        return failure.exit_code


def _say_lost(session: Session, lost: OutputLost) -> None:
    session.streams.err.write(f"Error: {lost.what}\n  fix: {lost.fix}\n")


def _invoke(session: Session) -> Result | None:
    call = short_call(session.arguments, session.environ)
    if call is not None:
        return call.carry_out(session)
    from canon_ops.cli.parsing import parse_and_invoke

    return parse_and_invoke(session)


@contextmanager
def signals_raise() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind the run like Ctrl-C does, unless the caller had them ignored (``nohup``)."""

    def terminate(_signal: int, _frame: FrameType | None) -> None:
        raise Terminated

    before = {}
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, terminate)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
