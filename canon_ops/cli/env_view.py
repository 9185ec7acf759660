"""The sentences of ``canon-ops env``: what an edit did, where a value stands, what the linter found."""

from __future__ import annotations

from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Item, Line, Mark
from canon_ops.cli.session import WriteOptions
from canon_ops.cli.writer_view import diff_of, first_line
from canon_ops.files.dotenv_lint import EnvProblem
from canon_ops.operate.edit_env import EnvEdited, EnvFixed
from canon_ops.operate.list_credentials import Place
from canon_ops.settings.secret import Secret

__all__ = ["about_shell", "edit_sentence", "lint_view", "masked_value", "place_words"]


def masked_value(context: Context, value: str) -> str:
    """At a terminal a masked value shows its last characters; everywhere else not even those."""
    if not value:
        return ""
    return Secret(value).hint() if context.session.for_people else str(Secret(value))


def place_words(place: Place) -> str:
    """Where a value stands, in words."""
    match place.source:
        case "process":
            return "the process environment"
        case "default":
            return "default"
        case "managed":
            return f"the administrator, in {place.file}"
        case _:
            return f"{place.file}, line {place.line}"


def edit_sentence(done: EnvEdited, write: WriteOptions, *, masked: bool) -> str:
    """What an edit did, or would do."""
    name, would = done.name, write.dry_run
    if not done.written.changed:
        return f"{name} is not set there." if done.after is None else f"{name} has that value already."
    if done.after is None:
        return f"{'Would remove' if would else 'Removed'} {name}."
    what = name if masked else f"{name}={done.after}"
    return f"{'Would set' if would else 'Set'} {what}."


def about_shell(name: str, after: str | None) -> str:
    """Case BR-31: which of two values wins, and where."""
    if after is None:
        return f"This shell exports {name}: a gateway that is started from it still has that value."
    return f"This shell exports another {name}: the gateway takes the one in .env, Hermes' own commands the shell's."


def lint_view(context: Context, done: EnvFixed, write: WriteOptions, notice: str | None, *, fix: bool) -> list[Block]:
    """What was found, put right first; then the change."""
    view: list[Block] = [first_line(context, done.written)] if fix else []
    verb = "would be put right" if write.dry_run else "put right"
    view += [Item(Mark.OK, _at(problem), f"{problem.message} ({verb})") for problem in done.fixed]
    again = context.home.own_command("env lint --fix")
    view += [
        Item(Mark.WARNING, _at(problem), problem.message, again if problem.automatic else problem.fix)
        for problem in done.left
    ]
    if not done.left:
        verb = "would be" if write.dry_run and done.fixed else "is"
        view.append(
            Line(f"Every line of .env {verb} read alike by the gateway, by Hermes' commands and by a shell.", Mark.OK)
        )
    view += [Line(notice, Mark.WARNING)] if notice else []
    return [*view, *diff_of(done.written, write)]


def _at(problem: EnvProblem) -> str:
    return f"line {problem.line}"
