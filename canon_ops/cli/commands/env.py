"""``canon-ops env``: the variables of a Hermes profile, read as its gateway reads them, edited one line at a time."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from pathlib import Path

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.env_view import about_shell, edit_sentence, lint_view, masked_value, place_words
from canon_ops.cli.given_value import refuse_argument
from canon_ops.cli.output import Block, Line, Mark, Problem, Raw, Result, Table
from canon_ops.cli.session import WriteOptions
from canon_ops.cli.value_options import ask_value, value_elsewhere, value_sources
from canon_ops.cli.writer_view import diff_of, first_line
from canon_ops.errors import ExitCode, RefusedError, UsageError
from canon_ops.files.dotenv_editor import NAME_RULE, is_name
from canon_ops.files.dotenv_lint import EnvProblem
from canon_ops.files.dotenv_readers import Reader
from canon_ops.hermes.keys import KeyFile, find_key, is_secret_name, is_secret_variable, may_be_shown, near_key
from canon_ops.lean import dataclass
from canon_ops.operate.edit_env import EnvEdited, EnvFixed, fix_env, lint_env, set_variable, unset_variable
from canon_ops.operate.list_credentials import Place
from canon_ops.operate.read_env import Variable, find_variable, list_variables
from canon_ops.operate.unseen import restart_notice
from canon_ops.operate.writing import Written
from canon_ops.settings.secret import Secret

__all__ = ["get_command", "lint_command", "list_command", "set_command", "unset_command"]

_READERS = {reader.value: reader for reader in Reader}


@dataclass(frozen=True, slots=True)
class VariableReport:
    """One variable in force.

    Attributes:
        value: null where it is masked.
        masked: it is secret, or of a name that nobody here knows.
        platform: ``canon``, ``borgee`` or ``hermes``; null for an unknown name.
        hides: where the same name stands and does not count.
    """

    name: str
    value: str | None
    masked: bool
    platform: str | None
    place: Place
    hides: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class VariableList:
    """``data`` of ``canon-ops.env.list/1``."""

    file: Path
    variables: tuple[VariableReport, ...]


@dataclass(frozen=True, slots=True)
class VariableFound:
    """``data`` of ``canon-ops.env.get/1``; ``value`` is null where it is masked, and when it is absent."""

    name: str
    found: bool
    value: str | None
    masked: bool
    place: Place | None
    hides: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class EnvChange:
    """``data`` of ``canon-ops.env.set/1`` and ``canon-ops.env.unset/1``.

    Attributes:
        before, after: null where they are masked, and where the file sets nothing.
        duplicates: lines that set the same name earlier, and count for nothing.
        also_set_by: what sets the name besides the file: ``process`` when this shell exports another value.
        restart: what makes a running gateway read the change; null when none runs.
    """

    name: str
    masked: bool
    before: str | None
    after: str | None
    changed: bool
    duplicates: tuple[int, ...]
    also_set_by: str | None
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    restart: str | None
    dry_run: bool


@dataclass(frozen=True, slots=True)
class LintReport:
    """``data`` of ``canon-ops.env.lint/1``.

    Attributes:
        problems: what is there, or with ``--fix`` what is left.
        fixed: what ``--fix`` put right, or would.
    """

    file: Path
    problems: tuple[EnvProblem, ...]
    fixed: tuple[EnvProblem, ...]
    changed: bool
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    restart: str | None
    dry_run: bool


@declare("env list", data=VariableList, examples=("canon-ops env list", "canon-ops env list --all --json"))
@click.option("--all", "everything", is_flag=True, help="Also the known variables that have a default and no value.")
def list_command(context: Context, everything: bool) -> Result:
    """List the variables in force, masked, with where each comes from and what it hides.

    Shown is what a gateway started here would have: .env beats the environment of its process. Values are shown of
    known variables only, and never of secret ones.
    """
    found = list_variables(context.home, context.environ, unset=everything)
    rows = [
        (
            each.name,
            each.value if may_be_shown(each.name, each.value) else masked_value(context, each.value),
            place_words(each.place),
            ", ".join(place_words(place) for place in each.hides),
        )
        for each in found
    ]
    report = VariableList(context.home.env_file, tuple(_reported(each) for each in found))
    if not rows:
        nothing = Line(f"Nothing is set, in {context.home.env_file} or elsewhere.", for_people_only=True)
        return Result(report, (nothing,))
    return Result(report, (Table(("variable", "value", "from", "hides"), rows),))


@declare(
    "env get",
    data=VariableFound,
    examples=("canon-ops env get CANON_AGENT", "canon-ops env get CANON_API_KEY --reveal"),
)
@click.argument("name")
@click.option("--reveal", is_flag=True, help="Print a masked value; into a pipe or a file only with --yes.")
def get_command(context: Context, name: str, reveal: bool) -> Result:
    """Print the value that a gateway started here has for a variable.

    The exit code is 1 when nothing sets it, and when it is masked and would leave the terminal. As in `env list`, a
    value is masked when it is secret, and when nobody here knows the variable.
    """
    found = find_variable(context.home, context.environ, name)
    if found is None:
        where = f"in {context.home.env_file} or in the environment"
        problem = Problem("env_absent", f"Nothing sets {name}, {where}.", _way_to_set(context, name))
        return Result(VariableFound(name, False, None, False, None, ()), (), ExitCode.FAILED, (problem,))
    masked = not may_be_shown(name, found.value)
    if masked:
        context.redact.add(found.value)
    report = VariableFound(name, True, None if masked else found.value, masked, found.place, found.hides)
    if not masked:
        return Result(report, (Raw(f"{found.value}\n"),))
    if reveal:
        _agree_to_reveal(context, name)
        return Result(report, (Raw(f"{found.value}\n"),), reveals=True)
    if not context.session.for_people and not context.options.json:
        raise RefusedError(
            f"{_why_masked(name, found.value)}, and this is no terminal.",
            fix=f"canon-ops env get {shlex.quote(name)} --reveal --yes",
        )
    if not context.options.json:
        again = context.home.own_command(f"env get {shlex.quote(name)} --reveal")
        context.say(f"{_why_masked(name, found.value)}; to see it: {again}")
    return Result(report, (Raw(f"{Secret(found.value).hint()}\n"),))


def _way_to_set(context: Context, name: str) -> str:
    if find_key(name, KeyFile.CONFIG):
        return context.home.own_command(f"config get {name}")
    return context.home.own_command(f"env set {shlex.quote(name)}") if is_name(name) else NAME_RULE


def _why_masked(name: str, value: str) -> str:
    if is_secret_variable(name, value):
        return f"{name} is secret"
    return f"The variable {name} is not known here: its value may be secret"


def _readers(_ctx: click.Context, _option: click.Parameter, text: str) -> frozenset[Reader]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in _READERS]:
        raise UsageError(f"There is no reader {unknown[0]!r}.", fix=f"--readers {','.join(_READERS)}")
    if Reader.DOTENV.value not in names:
        raise UsageError("The gateway itself reads with dotenv; it is always meant.", fix="--readers hermes,dotenv")
    return frozenset(_READERS[name] for name in names)


@declare(
    "env set",
    data=EnvChange,
    writes=True,
    examples=(
        "canon-ops env set CANON_AGENT desk",
        "canon-ops env set BORGEE_API_KEY",
        "pass show borgee | canon-ops env set BORGEE_API_KEY --stdin",
    ),
)
@click.argument("name")
@click.argument("value", required=False)
@value_sources
@click.option(
    "--readers", metavar="LIST", default=",".join(_READERS), show_default=True, callback=_readers,
    help="Who must read the value alike: the gateway, Hermes' commands, a shell that sources the file.",
)  # fmt: skip
def set_command(
    context: Context,
    write: WriteOptions,
    name: str,
    value: str | None,
    from_stdin: bool,
    file: Path | None,
    variable: str | None,
    readers: Collection[Reader],
) -> Result:
    """Set one variable in the .env of the Hermes profile; every other line stays as it is.

    A secret is never an argument: it comes from a hidden prompt, from stdin, from a file or from another variable. Of
    several lines with the name the last one counts, and is edited. A value may begin with a dash behind --.
    """
    given = value_elsewhere(context, value, from_stdin=from_stdin, file=file, variable=variable)
    if value is not None and is_secret_variable(name, value):
        raise refuse_argument(name, f"canon-ops env set {shlex.quote(name)}")
    is_secret = is_secret_name(name)
    text = value if value is not None else given if given is not None else ask_value(context, name, is_secret=is_secret)
    if is_secret:
        text = text.strip()
        context.redact.add(text)
    _hint_at_typo(context, name)
    done = set_variable(context.writing(f"env set {name}", write), name, text, readers=readers)
    return _edited(context, done, write)


@declare(
    "env unset",
    data=EnvChange,
    writes=True,
    examples=("canon-ops env unset CANON_API_KEY", "canon-ops env unset CANON_BASE_URL --dry-run --diff"),
)
@click.argument("name")
def unset_command(context: Context, write: WriteOptions, name: str) -> Result:
    """Remove a variable from the .env of the Hermes profile, every line of it.

    The history of changes keeps the value, so that `undo` can bring it back; `creds remove` makes it forget a key.
    """
    return _edited(context, unset_variable(context.writing(f"env unset {name}", write), name), write)


@declare(
    "env lint",
    data=LintReport,
    writes=True,
    examples=("canon-ops env lint", "canon-ops env lint --fix --dry-run --diff"),
)
@click.option(
    "--fix",
    is_flag=True,
    help="Remove earlier copies, a byte-order mark and CRs; quote what the readers take differently.",
)
def lint_command(context: Context, write: WriteOptions, fix: bool) -> Result:
    """Name each line of .env that is skipped, counts for nothing, or is read differently by the gateway and others.

    The exit code is 1 when something is left. What --fix does keeps every value that the gateway reads,
    and gives the first name its own where a byte-order mark hid it.
    """
    done = EnvFixed((), lint_env(context.home), Written()) if not fix else fix_env(context.writing("env lint", write))
    written = done.written
    notice = _notice(context, written, write)
    report = LintReport(
        context.home.env_file,
        done.left,
        done.fixed,
        written.changed,
        written.files,
        written.diff,
        written.history_id,
        notice,
        write.dry_run,
    )
    view = lint_view(context, done, write, notice, fix=fix)
    if not done.left:
        return Result(report, view)
    count = len(done.left)
    problem = Problem(
        "env_findings", f"{count} {'line' if count == 1 else 'lines'} of .env to look at.", file=str(report.file)
    )
    return Result(report, view, ExitCode.FAILED, (problem,))


def _agree_to_reveal(context: Context, name: str) -> None:
    if context.options.json:
        raise UsageError("No secret is ever put into JSON.", fix=f"canon-ops env get {shlex.quote(name)} --reveal")
    if not context.session.streams.out.is_terminal and not context.options.yes:
        raise RefusedError(
            f"{name} may be secret, and stdout is no terminal.",
            fix=f"canon-ops env get {shlex.quote(name)} --reveal --yes",
        )


def _hint_at_typo(context: Context, name: str) -> None:
    near = near_key(name, KeyFile.DOTENV)
    if near is not None:
        context.say(f"Hint: {name} is not a known variable; {near} is.")


def _edited(context: Context, done: EnvEdited, write: WriteOptions) -> Result:
    written, name = done.written, done.name
    masked = not all(may_be_shown(name, value or "") for value in (done.before, done.after))
    notice = _notice(context, written, write)
    shell = context.environ.get(name)
    report = EnvChange(
        name,
        masked,
        None if masked else done.before,
        None if masked else done.after,
        written.changed,
        done.duplicates,
        "process" if shell is not None and shell != done.after else None,
        written.files,
        written.diff,
        written.history_id,
        notice,
        write.dry_run,
    )
    view: list[Block] = [first_line(context, written), Line(edit_sentence(done, write, masked=masked), Mark.OK)]
    if done.duplicates:
        lines = ", ".join(map(str, done.duplicates))
        fix = context.home.own_command("env lint --fix")
        view.append(Line(f"Line {lines} sets {name}, too, and counts for nothing: {fix}", Mark.WARNING))
    if done.to_utf8:
        sentence = "The file is not UTF-8: the gateway reads it as Latin-1, the hermes command replaces such characters"
        view.append(Line(f"{sentence}: {done.to_utf8}", Mark.WARNING))
    if report.also_set_by:
        view.append(Line(about_shell(name, done.after), Mark.WARNING))
    view += [Line(notice, Mark.WARNING)] if notice else []
    return Result(report, [*view, *diff_of(written, write)])


def _notice(context: Context, written: Written, write: WriteOptions) -> str | None:
    return restart_notice(context.home, context.environ) if written.changed and not write.dry_run else None


def _reported(each: Variable) -> VariableReport:
    masked = not may_be_shown(each.name, each.value)
    return VariableReport(each.name, None if masked else each.value, masked, each.platform, each.place, each.hides)
