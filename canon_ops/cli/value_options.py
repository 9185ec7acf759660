"""The options for a value that must not be an argument, and the question for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from canon_ops.cli.context import Context
from canon_ops.cli.given_value import given_value
from canon_ops.errors import UsageError
from canon_ops.operate.edit_config import refuse_managed
from canon_ops.operate.prompts import Question

__all__ = ["SOURCES", "ask_value", "value_elsewhere", "value_sources"]

SOURCES = ("--stdin", "--from-file", "--from-env")
F = TypeVar("F", bound=Callable[..., Any])


def value_sources(function: F) -> F:
    """Decorate a command with ``--stdin``, ``--from-file`` and ``--from-env``."""
    options = (
        click.option("--stdin", "from_stdin", is_flag=True, help="Take the value from stdin."),
        click.option(
            "--from-file", "file", metavar="FILE", type=click.Path(path_type=Path), help="Take the value from a file."
        ),
        click.option("--from-env", "variable", metavar="NAME", help="Take the value from a variable of this process."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def value_elsewhere(
    context: Context, argument: str | None, *, from_stdin: bool, file: Path | None, variable: str | None
) -> str | None:
    """The value from the one source that was named besides the argument; None when none was.

    Raises:
        UsageError: it is given twice, or the source has none.
    """
    given = given_value(context, from_stdin=from_stdin, file=file, variable=variable, options=SOURCES, what="value")
    if argument is not None and given is not None:
        raise UsageError("The value is given twice.", fix=f"leave out VALUE, or {', '.join(SOURCES)}")
    return given


def ask_value(context: Context, name: str, *, is_secret: bool) -> str:
    """Ask for a value, a secret one without showing it; a home that cannot be found or written is refused first."""
    if (refusal := refuse_managed(context.home)) is not None:
        raise refusal
    question = Question(f"Value of {name}", "--stdin, --from-file FILE or --from-env NAME" if is_secret else "VALUE")
    prompts = context.prompts
    return prompts.secret(question).reveal() if is_secret else prompts.text(question)
