"""What every ``setup`` command takes beside its own answers: a key from one place, and files of answers.

A command stacks :func:`key_options` and :func:`answers_options` where its help shall show them, collects all options as
``**given``, and lets :func:`take_given` sort them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from canon_ops.cli.answers_file import Answers, load_answers, save_answers
from canon_ops.cli.context import Context
from canon_ops.cli.given_value import given_value
from canon_ops.cli.output import Block, Diff, Line, Mark
from canon_ops.cli.session import WriteOptions
from canon_ops.files.writable import require_place
from canon_ops.operate.unseen import restart_notice
from canon_ops.settings.provenance import Origin
from canon_ops.settings.secret import Secret

__all__ = ["Given", "answers_options", "key_options", "last_lines", "take_given"]

F = TypeVar("F", bound=Callable[..., Any])

_FILE = click.Path(path_type=Path)
_KEY = (
    click.option("--api-key-stdin", is_flag=True, help="Use an agent key, read from stdin."),
    click.option("--api-key-file", metavar="FILE", type=_FILE, help="Use the agent key in FILE."),
    click.option("--api-key-env", metavar="NAME", help="Use the agent key in the environment variable NAME."),
)
_ANSWERS = (
    click.option("--answers", "answers_file", metavar="FILE", type=_FILE, help="Answers as TOML."),
    click.option(
        "--save-answers", "save_to", metavar="FILE", type=_FILE,
        help="Write the answers there as TOML, without any key, for the next machine.",
    ),
)  # fmt: skip


def key_options(function: F) -> F:
    """``--api-key-stdin``, ``--api-key-file``, ``--api-key-env``."""
    return _with(_KEY, function)


def answers_options(function: F) -> F:
    """``--answers``, ``--save-answers``."""
    return _with(_ANSWERS, function)


def _with(options: Iterable[Callable[[F], F]], function: F) -> F:
    for option in reversed(tuple(options)):
        function = option(function)
    return function


@dataclass(frozen=True, slots=True)
class Given:
    """What was answered beforehand.

    Attributes:
        answers: by field of the command's answers; an option beats the file.
        key: of the one place that was named; None when none was.
    """

    answers: dict[str, Any]
    key: Secret | None
    save_to: Path | None

    def keep(self, answers: Answers, *, dry_run: bool) -> None:
        """Write the answers of the dialogue where that was asked for."""
        if self.save_to is not None and not dry_run:
            save_answers(self.save_to, answers)


def take_given(context: Context, of: type[Answers], given: Mapping[str, Any]) -> Given:
    """Sort the options of a ``setup`` command.

    Args:
        given: every option of the command that is an answer, and those of this module.

    Raises:
        BadAnswersFile: the file of answers is none.
        UsageError: the key was given in several places, or the one that was named has nothing.
        CanonOpsError: the place for the answers cannot be written.
    """
    options = dict(given)
    save_to, file = options.pop("save_to"), options.pop("answers_file")
    from_stdin, key_file, variable = (options.pop(f"api_key_{place}") for place in ("stdin", "file", "env"))
    if save_to is not None:
        require_place(save_to)
    answers = load_answers(file, of) if file else {}
    answers |= {name: value for name, value in options.items() if value is not None}
    return Given(answers, _key(context, from_stdin=from_stdin, file=key_file, variable=variable), save_to)


def _key(context: Context, *, from_stdin: bool, file: Path | None, variable: str | None) -> Secret | None:
    options = ("--api-key-stdin", "--api-key-file", "--api-key-env")
    text = given_value(context, from_stdin=from_stdin, file=file, variable=variable, options=options, what="key")
    if text is None:
        return None
    context.redact.add(text.strip())
    return Secret(text.strip())


def last_lines(
    context: Context, write: WriteOptions, *, diff: str, overridden_by: Iterable[Origin], step: str
) -> list[Block]:
    """How every report of a ``setup`` ends: what still beats it, the diff, the gateway's restart, the next step."""
    home = context.home
    view: list[Block] = [
        Line(f"{origin.describe()} still beats this: {origin.to_drop()}.", Mark.WARNING) for origin in overridden_by
    ]
    if write.diff:
        view.append(Diff(diff))
    if not write.dry_run and (notice := restart_notice(home, context.environ)) is not None:
        view.append(Line(notice, Mark.WARNING))
    view.append(Line(f"Next: {home.own_command(step)}", for_people_only=True))
    return view
