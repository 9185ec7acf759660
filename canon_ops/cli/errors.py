"""From an exception to what the caller sees: problems for the envelope and stderr, and the exit code.

The only place that knows the signals and our own tree together; click's exceptions are for wrong_call.py. What no rule
knows is a fault of ours: it is reported as ``internal``, exit 3, with its traceback only under ``--verbose``.
"""

from __future__ import annotations

from canon_ops.cli.output import Problem
from canon_ops.errors import CanonOpsError, ExitCode
from canon_ops.lean import dataclass

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
    if any(kind.__module__.startswith("click.") for kind in type(exc).__mro__):
        from canon_ops.cli.wrong_call import failure_of_click

        if (found := failure_of_click(exc)) is not None:
            return found
    match exc:
        case CanonOpsError():
            problem = Problem(exc.code, exc.sentence, exc.fix, exc.file, exc.line, exc.column)
            return Failure(problem, exc.exit_code, is_ours=exc.code == "internal")
        case Terminated():
            return Failure(Problem("terminated", "Terminated."), ExitCode.TERMINATED)
        case KeyboardInterrupt() | EOFError():
            return Failure(Problem("interrupted", "Interrupted."), ExitCode.INTERRUPTED)
        case _ if not isinstance(exc, OSError) and (signal := _signal_behind(exc)) is not None:
            return failure_of(signal)
        case OSError(filename=str(path)) if exc.strerror:
            return Failure(Problem("outside", f"{exc.strerror}: {path}", file=path), ExitCode.OUTSIDE)
        case _:
            what = f"A fault in canon-ops: {type(exc).__name__}: {_short(str(exc))}"
            fix = "Run it again with --verbose and report what it prints."
            return Failure(Problem("internal", what, fix), ExitCode.OUTSIDE, is_ours=True)


def _signal_behind(exc: BaseException) -> KeyboardInterrupt | None:
    """The signal that a fault came of: it is raised anywhere, also where a library keeps its books, which then do not
    add up when it cleans up after itself."""
    seen = {id(exc)}
    while (before := exc.__cause__ or exc.__context__) is not None and id(before) not in seen:
        if isinstance(before, KeyboardInterrupt):
            return before
        seen.add(id(before))
        exc = before
    return None


def _short(text: str) -> str:
    """One line of a foreign message; the rest is in the traceback."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
