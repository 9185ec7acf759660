"""One run of a command: from arguments to exit code.

The order, once: signals become exceptions, click parses and calls one command, the command returns a :class:`Result`
or raises, and the answer leaves in the form that was asked for. Every way out of :func:`run` is an exit code; nothing
prints a traceback unless ``--verbose`` asks for it.
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

import click

from canon_ops.cli.context import Program, Session
from canon_ops.cli.errors import Failure, Terminated, failure_of
from canon_ops.cli.lazy import root_group
from canon_ops.cli.output import Result
from canon_ops.cli.streams import OutputLost, Streams
from canon_ops.errors import ExitCode

__all__ = ["run"]


def run(
    program: str, platform: str, arguments: Sequence[str], environ: Mapping[str, str], streams: Streams
) -> ExitCode:
    """Carry out one command line; see :func:`canon_ops.cli.main.start`."""
    session = Session(Program(program, platform), arguments, environ, streams)
    with _signals_raise():
        return _run(session)


def _run(session: Session) -> ExitCode:
    try:
        result = _invoke(session)
        if result is None:  # help or --version, already written
            return ExitCode.DONE
        _print_result(session, result)
        return result.exit_code
    except OutputLost as exc:  # nothing more can be said on stdout
        session.streams.err.write(f"Error: {exc.what}\n")
        return exc.exit_code
    except BaseException as exc:
        failure = failure_of(exc)
        try:
            _print_failure(session, failure, exc)
        except OutputLost as lost:
            session.streams.err.write(f"Error: {lost.what}\n")
        return failure.exit_code


def _invoke(session: Session) -> Result | None:
    root = root_group()
    try:
        with root.make_context(session.program.name, list(session.arguments), obj=session) as ctx:
            result: Result = root.invoke(ctx)
            return result
    except click.exceptions.Exit as exc:
        if exc.exit_code:
            raise click.UsageError("Nothing was asked for.") from exc
        return None
    except click.UsageError as exc:
        session.words = tuple(exc.ctx.command_path.split()[1:]) if exc.ctx else ()
        raise


def _print_result(session: Session, result: Result) -> None:
    out = session.streams.out
    if session.options.json:
        out.write(_document(session, result.exit_code, result))
        return
    if session.for_people:
        from canon_ops.cli import terminal

        out.write(terminal.render(result.view, session.canvas(out)))
    else:
        from canon_ops.cli import plain

        out.write(plain.render(result.view))
    for problem in result.problems:
        _print_problem(session, Failure(problem, result.exit_code))


def _print_failure(session: Session, failure: Failure, exc: BaseException) -> None:
    if failure.is_ours and session.options.verbose:
        session.streams.err.write("".join(traceback.format_exception(exc)))
    if session.options.json:
        session.streams.out.write(_document(session, failure.exit_code, Result({}, problems=(failure.problem,))))
    else:
        _print_problem(session, failure)


def _print_problem(session: Session, failure: Failure) -> None:
    """``Error: sentence``, the place, the cure: for people, on stderr."""
    from canon_ops.cli.terminal import BOLD, RED, paint, visible

    problem, err = failure.problem, session.streams.err
    colour = session.canvas(err).colour
    lines = [f"{paint('Error:', RED, colour=colour)} {visible(problem.message)}"]
    if problem.file is not None:
        place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part is not None)
        lines.append(f"  at {visible(place)}")
    if problem.fix is not None:
        lines.append(f"  {paint('fix:', BOLD, colour=colour)} {visible(problem.fix)}")
    if failure.exit_code in (ExitCode.INTERRUPTED, ExitCode.TERMINATED):
        lines = [visible(problem.message)]
    err.write("".join(f"{line}\n" for line in lines))


def _document(session: Session, exit_code: ExitCode, result: Result) -> str:
    from canon_ops.cli.envelope import document, schema_name

    profile, home = session.hermes_names()
    return document(
        schema=schema_name(session.words, session.schema_version),
        exit_code=exit_code,
        hermes_profile=profile,
        hermes_home=home,
        canon_profile=result.canon_profile,
        data=result.data,
        problems=result.problems,
        redact=session.redact,
        ascii_only=not session.streams.out.can_encode("✓"),
    )


@contextmanager
def _signals_raise() -> Iterator[None]:
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
