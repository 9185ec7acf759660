"""How an answer, or a failure, leaves: in the form that was asked for, on the stream where it belongs."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from canon_ops.cli.errors import Failure
from canon_ops.cli.output import Block, Item, Line, Problem, Result
from canon_ops.cli.session import Session
from canon_ops.errors import ExitCode
from canon_ops.hints import TYPE_CHECKING
from canon_ops.lean import replace

if TYPE_CHECKING:
    from canon_ops.cli.envelope import Json

__all__ = ["deliver", "deliver_failure"]

Aim = Callable[[str | None], str | None]

_ENDED_FROM_OUTSIDE = (ExitCode.INTERRUPTED, ExitCode.TERMINATED)


def deliver(session: Session, result: Result) -> None:
    """Write an answer to stdout; for people its problems go to stderr.

    Raises:
        OutputLost: stdout is closed or full.
    """
    out = session.streams.out
    aim = _aim(session)
    if aim is not None:
        problems = tuple(_aimed(aim, problem) for problem in result.problems)
        view = [_aimed_block(aim, one) for one in result.view]
        result = replace(result, problems=problems, view=view)
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
    if (aim := _aim(session)) is not None:
        failure = replace(failure, problem=_aimed(aim, failure.problem))
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


def _aim(session: Session) -> Aim | None:
    """What aims a cure at the home of this call; None for a call that named none."""
    options = session.options
    if options.hermes_profile is None and options.hermes_home is None:
        return None
    from canon_ops.hermes.aiming import aimed

    return partial(aimed, profile=options.hermes_profile, hermes_home=options.hermes_home)


def _aimed_block(aim: Aim, block: Block) -> Block:
    """A finding's cure, and a line that ends with a command, about the home of the call."""
    if isinstance(block, Item):
        return replace(block, fix=aim(block.fix))
    if isinstance(block, Line) and ": canon-ops " in block.text:
        return replace(block, text=aim(block.text) or "")
    return block


def _aimed(aim: Aim, problem: Problem) -> Problem:
    return replace(problem, fix=aim(problem.fix))


def _aimed_data(aim: Aim, data: Json) -> Json:
    """The data of a document with every ``fix`` in it aimed, as the screen has it."""
    if isinstance(data, list):
        return [_aimed_data(aim, one) for one in data]
    if not isinstance(data, dict):
        return data
    return {
        name: aim(value) if name == "fix" and isinstance(value, str) else _aimed_data(aim, value)
        for name, value in data.items()
    }


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
    from canon_ops.cli.envelope import document, schema_name, to_json

    aim = _aim(session)
    profile, home = session.hermes_names()
    return document(
        schema=schema_name(session.words, session.schema_version),
        exit_code=exit_code,
        hermes_profile=profile,
        hermes_home=home,
        canon_profile=result.canon_profile,
        data=_aimed_data(aim, to_json(result.data)) if aim else result.data,
        problems=result.problems,
        redact=session.redact,
        ascii_only=not session.streams.out.can_encode("✓"),
        one_line=session.is_event_stream,
    )
