"""From an exception to what the caller sees: problems for the envelope and stderr, and the exit code.

The only place that knows click's exceptions, the signals and our own tree together. What no rule knows is a fault of
ours: it is reported as ``internal``, exit 3, with its traceback only under ``--verbose``.
"""

from __future__ import annotations

from dataclasses import dataclass

import click
from click.core import ParameterSource

from canon_ops.cli.output import Problem
from canon_ops.errors import CanonOpsError, ExitCode

__all__ = ["Failure", "Terminated", "failure_of"]


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP arrived: unwind, give back what was taken, leave with 143.

    It is raised wherever the main thread happens to be, also inside the event loop, which lets only KeyboardInterrupt
    and SystemExit through and takes anything else for a broken connection.
    """


_LONGEST = 200  # characters of a message that nobody here wrote


@dataclass(frozen=True, slots=True)
class Failure:
    """How a run failed.

    Attributes:
        is_ours: a fault of the program; worth a traceback and a report.
    """

    problem: Problem
    exit_code: ExitCode
    is_ours: bool = False


def failure_of(exc: BaseException) -> Failure:
    """Sort ``exc``; never raises."""
    match exc:
        case CanonOpsError():
            problem = Problem(exc.code, _sentence(exc.what), exc.fix, exc.file, exc.line, exc.column)
            return Failure(problem, exc.exit_code, is_ours=exc.code == "internal")
        case click.NoSuchOption():
            return Failure(Problem("usage", _no_such_option(exc), _way_out(exc)), ExitCode.USAGE)
        case click.UsageError():
            return Failure(Problem("usage", *_wrong_usage(exc)), ExitCode.USAGE)
        case click.ClickException():
            return Failure(Problem("usage", exc.format_message()), ExitCode.USAGE)
        case Terminated():
            return Failure(Problem("terminated", "Terminated."), ExitCode.TERMINATED)
        case KeyboardInterrupt() | click.Abort() | EOFError():
            return Failure(Problem("interrupted", "Interrupted."), ExitCode.INTERRUPTED)
        case OSError(filename=str(path)) if exc.strerror:
            return Failure(Problem("outside", f"{exc.strerror}: {path}", file=path), ExitCode.OUTSIDE)
        case _:
            what = f"A fault in canon-ops: {type(exc).__name__}: {_short(str(exc))}"
            fix = "Run it again with --verbose and report what it prints."
            return Failure(Problem("internal", what, fix), ExitCode.OUTSIDE, is_ours=True)


def _short(text: str) -> str:
    """One line of a foreign message; the rest is in the traceback."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _no_such_option(exc: click.NoSuchOption) -> str:
    """The same sentence under every version of click."""
    near = f" Did you mean {exc.possibilities[0]}?" if exc.possibilities else ""
    return f"No such option: {exc.option_name}.{near}"


def _wrong_usage(exc: click.UsageError) -> tuple[str, str | None]:
    """The sentence and its cure: a value that nobody typed comes from a variable, and goes with it."""
    message, variable = exc.format_message(), _variable_of(exc)
    if variable is None:
        return message, _help_of(exc)
    return f"{message} It came from the variable {variable}.", f"unset {variable}   # or give it another value"


def _variable_of(exc: click.UsageError) -> str | None:
    if not isinstance(exc, click.BadParameter) or exc.ctx is None or exc.param is None or exc.param.name is None:
        return None
    from_variable = exc.ctx.get_parameter_source(exc.param.name) is ParameterSource.ENVIRONMENT
    return str(exc.param.envvar) if from_variable else None


def _way_out(exc: click.NoSuchOption) -> str | None:
    """A negative number was taken for an option; everything else is answered by the help page."""
    if exc.option_name[1:2].isdigit():
        return "put -- before a value that begins with a dash"
    return _help_of(exc)


def _sentence(text: str) -> str:
    """Messages of several rooms, ended alike."""
    return text if text.endswith((".", "!", "?", "…", ":")) or "\n" in text else f"{text}."


def _help_of(exc: click.UsageError) -> str | None:
    return f"{exc.ctx.command_path} --help" if exc.ctx else None
