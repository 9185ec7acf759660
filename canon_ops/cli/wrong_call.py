"""What click's exceptions mean: the call itself was wrong."""

from __future__ import annotations

import re
import shlex

import click
from click.core import ParameterSource

from canon_ops.cli.errors import Failure
from canon_ops.cli.output import Problem
from canon_ops.errors import ExitCode

__all__ = ["failure_of_click"]

_WORDS = {
    "integer range": "a whole number", "integer": "a whole number", "float range": "a number", "float": "a number",
}  # fmt: skip
_EXTRA = re.compile(r"Got unexpected extra argument \((.*)\)")


def failure_of_click(exc: BaseException) -> Failure | None:
    """The failure behind an exception of click; None for what is none of the caller's making."""
    match exc:
        case click.NoSuchOption():
            return Failure(Problem("usage", _no_such_option(exc), _way_out(exc)), ExitCode.USAGE)
        case click.UsageError():
            return Failure(Problem("usage", *_wrong_usage(exc)), ExitCode.USAGE)
        case click.ClickException():
            return Failure(Problem("usage", exc.format_message()), ExitCode.USAGE)
        case click.Abort():
            return Failure(Problem("interrupted", "Interrupted."), ExitCode.INTERRUPTED)
    return None


def _no_such_option(exc: click.NoSuchOption) -> str:
    """The same sentence under every version of click."""
    near = f" Did you mean {exc.possibilities[0]}?" if exc.possibilities else ""
    return f"No such option: {exc.option_name}.{near}"


def _wrong_usage(exc: click.UsageError) -> tuple[str, str | None]:
    """The sentence and its cure: a value that nobody typed comes from a variable, and goes with it."""
    message, variable = _plain(exc.format_message()), _variable_of(exc)
    if variable is None:
        return _misplaced_profile(exc, message) or (message, _help_of(exc))
    return f"{message} It came from the variable {variable}.", f"unset {variable}   # or give it another value"


def _misplaced_profile(exc: click.UsageError, message: str) -> tuple[str, str] | None:
    """A word too many where a Canon profile is named by an option: most likely that is meant."""
    extra = _EXTRA.fullmatch(message)
    if extra is None or exc.ctx is None or all("--canon-profile" not in param.opts for param in exc.ctx.command.params):
        return None
    command, given = exc.ctx.command_path, exc.ctx.params
    needed = [(param.opts[0], given.get(param.name or "")) for param in exc.ctx.command.params if param.required]
    options = shlex.join(str(part) for pair in (*needed, ("--canon-profile", extra[1])) for part in pair)
    words = command.partition(" ")[2]
    what = f"{words} takes no argument, and got {extra[1]}; a Canon profile is named with --canon-profile."
    return what, f"{command} {options}"


def _plain(message: str) -> str:
    """On one line, without the names of click's own types."""
    message = " ".join(message.split())
    for theirs, ours in _WORDS.items():
        message = message.replace(f" is not a valid {theirs}.", f" is not {ours}.")
    return message


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


def _help_of(exc: click.UsageError) -> str | None:
    return f"{exc.ctx.command_path} --help" if exc.ctx else None
