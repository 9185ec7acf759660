"""``canon-ops explain``: what a check or an error code is about, without a network and without a host."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

import click

from canon_ops.cli.checks import EVERY_CHECK
from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Line, Raw, Result
from canon_ops.doctor.check import Check
from canon_ops.errors import NotFoundError

__all__ = ["Explained", "command"]

_WIDTH = 76


class NothingToExplain(NotFoundError):
    """Neither a check nor an error code has this name."""

    code = "nothing_to_explain"


@dataclass(frozen=True, slots=True)
class Explained:
    """``data`` of ``canon-ops.explain/1``.

    Attributes:
        title: the check's question, or how the error ends the program.
        by_hand: how to repair it without this program.
        related: variables, configuration paths and files that it is about.
        exit_code: with which an error ends the program; null for a check.
        retryable: whether the same call may work later; null for a check.
    """

    kind: Literal["check", "error"]
    name: str
    title: str
    cause: str
    matters: str
    by_hand: str
    related: tuple[str, ...]
    exit_code: int | None
    retryable: bool | None


@declare(
    "explain",
    data=Explained,
    examples=("canon-ops explain plugin.denied", "canon-ops explain config_duplicate_key --json"),
)
@click.argument("check_id", metavar="CHECK|CODE")
def command(context: Context, check_id: str) -> Result:
    """Explain a check or an error code: cause, why it matters, and how to repair it by hand.

    It works without a network and without a Hermes. `canon-ops doctor --list` names the checks; a code stands in the
    errors of a --json document.
    """
    check = next((each for each in EVERY_CHECK if each.id == check_id), None)
    explained = _of_check(check) if check is not None else _of_error(check_id)
    parts = [
        ("Cause", explained.cause),
        ("Why it matters", explained.matters),
        ("By hand", explained.by_hand),
        ("About", ", ".join(explained.related)),
    ]
    view: list[Block] = [Line(f"{explained.name}: {explained.title}")]
    view += [Raw(_section(title, text, context)) for title, text in parts if text]
    if check is not None:
        view.append(Line(f"\nAsk it: canon-ops doctor --only {check.id}", for_people_only=True))
    return Result(explained, view)


def _section(title: str, text: str, context: Context) -> str:
    """A heading and its sentences, wrapped for people and whole for a pipe."""
    if not context.session.for_people:
        return f"{title}: {text}"
    from canon_ops.cli.terminal import wrapped

    width = min(context.session.streams.out.width, _WIDTH)
    return "\n".join(["", title, *(f"  {line.strip()}" for line in wrapped(text, width, 2))])


def _of_check(check: Check) -> Explained:
    about = check.about
    assert about is not None  # noqa: S101 - a test holds every check to it
    return Explained(
        "check", check.id, check.question, about.cause, about.matters, about.by_hand, about.related, None, None
    )


def _of_error(code: str) -> Explained:
    from canon_ops.cli.error_catalogue import EXIT_MEANINGS, error_facts

    known = error_facts()
    if code not in known:
        near = get_close_matches(code, [*known, *(check.id for check in EVERY_CHECK)], n=1, cutoff=0.75)
        fix = f"canon-ops explain {near[0]}" if near else "canon-ops doctor --list"
        raise NothingToExplain(f"{code!r} is neither a check nor an error code.", fix=fix)
    facts = known[code]
    again = "The same call may work later." if facts.retryable else "The same call fails again until that is done."
    return Explained(
        kind="error",
        name=code,
        title=f"an error, with exit code {int(facts.exit_code)}",
        cause=" ".join(facts.sentences),
        matters=EXIT_MEANINGS[facts.exit_code],
        by_hand=f"The message of the error names its place and the command that mends it (fix:). {again}",
        related=(),
        exit_code=int(facts.exit_code),
        retryable=facts.retryable,
    )
