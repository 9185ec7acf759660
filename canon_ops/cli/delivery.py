"""How an answer, or a failure, leaves: in the form that was asked for, on the stream where it belongs."""

from __future__ import annotations

import re

from canon_ops.cli.errors import Failure
from canon_ops.cli.output import Problem, Result
from canon_ops.cli.session import Session
from canon_ops.errors import ExitCode
from canon_ops.lean import replace

__all__ = ["deliver", "deliver_failure"]

_ENDED_FROM_OUTSIDE = (ExitCode.INTERRUPTED, ExitCode.TERMINATED)


def deliver(session: Session, result: Result) -> None:
    """Write an answer to stdout; for people its problems go to stderr.

    Raises:
        OutputLost: stdout is closed or full.
    """
    out = session.streams.out
    if result.problems:
        result = replace(result, problems=tuple(_aimed(session, problem) for problem in result.problems))
    if session.options.json:
        session.redact.catch_up()
        out.write(_document(session, result.exit_code, result))
        return
    if session.for_people:
        from canon_ops.cli import terminal

        out.write(terminal.render(result.view, session.canvas(out)), redacted=not result.reveals)
    else:
        from canon_ops.cli import plain

        out.write(plain.render(result.view, is_screen=out.is_terminal), redacted=not result.reveals)
    for problem in result.problems:
        _say_problem(session, Failure(problem, result.exit_code))


def deliver_failure(session: Session, failure: Failure, exc: BaseException) -> None:
    """Write what went wrong: the document on stdout under ``--json``, sentences on stderr otherwise.

    Raises:
        OutputLost: stdout is closed or full.
    """
    session.redact.catch_up()
    failure = replace(failure, problem=_aimed(session, failure.problem))
    if failure.is_ours:
        session.learn_secrets_of_home()
        if session.options.verbose:
            import traceback

            from canon_ops.cli.terminal import visible

            session.streams.err.write(visible("".join(traceback.format_exception(exc))))
    if session.options.json:
        session.streams.out.write(_document(session, failure.exit_code, Result({}, problems=(failure.problem,))))
    else:
        _say_problem(session, failure)


def _say_problem(session: Session, failure: Failure) -> None:
    """``Error: sentence``, the place, the cure."""
    from canon_ops.cli.terminal import BOLD, RED, paint, visible

    problem, err = failure.problem, session.streams.err
    if failure.exit_code in _ENDED_FROM_OUTSIDE:
        err.write(f"{visible(problem.message)}\n")
        return
    canvas = session.canvas(err)
    colour = canvas.colour
    first, *others = _sentence(f"Error: {visible(problem.message)}", canvas.width if err.is_terminal else None)
    lines = [f"{paint('Error:', RED, colour=colour)}{first.removeprefix('Error:')}", *others]
    if (place := _place(problem)) is not None:
        lines.append(f"  at {visible(place)}")
    if problem.fix is not None:
        lines.append(f"  {paint('fix:', BOLD, colour=colour)} {visible(problem.fix)}")
    err.write("".join(f"{line}\n" for line in lines))


def _aimed(session: Session, problem: Problem) -> Problem:
    options = session.options
    if problem.fix is None or (options.hermes_profile is None and options.hermes_home is None):
        return problem
    from canon_ops.cli.aiming import aimed

    fix = aimed(problem.fix, profile=options.hermes_profile, hermes_home=options.hermes_home)
    return replace(problem, fix=fix)


def _place(problem: Problem) -> str | None:
    """Where to look, unless the sentence has said exactly that."""
    if problem.file is None:
        return None
    place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part is not None)
    said = re.search(rf"(?<![^\s(\"'=]){re.escape(place)}(?![^\s)\"',;:.?!]|[.:]\w)", problem.message)
    return None if said else place


def _sentence(text: str, width: int | None) -> list[str]:
    """A message, wrapped where a person reads it; one that has lines of its own keeps them."""
    from canon_ops.cli.terminal import wrapped

    return [text] if width is None or "\n" in text else wrapped(text, width, 0)


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
        one_line=session.is_event_stream,
    )
