"""``canon-ops history`` and ``canon-ops undo``: what this tool changed, and taking it back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Diff, Fields, Line, Mark, Result, Table
from canon_ops.cli.secrets_of_home import learn_text
from canon_ops.cli.session import WriteOptions
from canon_ops.cli.writer_view import diff_of, first_line, restart_line
from canon_ops.files.history import NoSuchEntry
from canon_ops.operate.changes import Change, changes_of, find_change, list_changes, undo_change, unreadable_entries
from canon_ops.operate.dotenv_diff import change_diff
from canon_ops.operate.interrupted import FinishedChange, finish_changes

__all__ = ["finish_command", "list_command", "show_command", "undo_command"]


@dataclass(frozen=True, slots=True)
class ChangeList:
    """``data`` of ``canon-ops.history.list/1``; the newest comes first.

    Attributes:
        unreadable: the folders of entries that are damaged or of a newer release, and so not among ``changes``.
    """

    changes: tuple[Change, ...]
    unreadable: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of an entry; ``diff`` is unified, with secrets masked."""

    path: Path
    diff: str


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """``data`` of ``canon-ops.history.show/1``.

    Attributes:
        files: null when the entry's texts are gone (``creds remove`` takes texts that hold a key out of the history).
    """

    change: Change
    files: tuple[ChangedFile, ...] | None


@dataclass(frozen=True, slots=True)
class UndoReport:
    """``data`` of ``canon-ops.undo/1``.

    Attributes:
        undone: the id of the entry that is taken back, and ``command`` what it was.
        history_id: what ``undo`` takes to take this back again; null for a dry run and for no change.
        kept: what of the entry is no file and stays, with the command that takes it back; null for most entries.
    """

    undone: str
    command: str
    changed: bool
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    dry_run: bool
    kept: str | None = None


@declare("history list", data=ChangeList, examples=("canon-ops history list", "canon-ops history list -n 5 --json"))
@click.option("-n", "--last", metavar="N", type=click.IntRange(min=1), help="Only the newest N.")
def list_command(context: Context, last: int | None) -> Result:
    """List what this tool changed, the newest first.

    It covers the Hermes home, Canon's home and this tool's own settings. How much is kept is a preference:
    history.entries and history.days.
    """
    changes = list_changes(context.home, context.environ)[:last]
    unreadable = unreadable_entries(context.home, context.environ)
    for entry in unreadable:
        context.say(f"Warning: The entry {entry} cannot be read, so it is not listed.")
    if not changes:
        return Result(ChangeList((), unreadable), (Line("Nothing was changed yet.", for_people_only=True),))
    rows = [(each.id, each.command, ", ".join(file.name for file in each.files), each.state) for each in changes]
    return Result(
        ChangeList(changes, unreadable), (Table(("id", "command", "files", "state"), rows, whole=frozenset({0})),)
    )


@declare("history show", data=ChangeReport, examples=("canon-ops history show 20260101T120000.000Z-1a2b",))
@click.argument("id")
def show_command(context: Context, id: str) -> Result:
    """Show one change: when, by which command, and the difference that it made; secrets are masked.

    ID is an id of history list, or its unique beginning.
    """
    context.session.learn_secrets_of_home()
    change = find_change(context.home, context.environ, id)
    pairs = [("id", change.id), ("time", change.time), ("command", change.command), ("state", _state(change))]
    pairs += [("file", str(file)) for file in change.files]
    try:
        texts = changes_of(change)
    except NoSuchEntry as gone:
        report = ChangeReport(change, None)
        return Result(report, (Fields(pairs), Line(f"Its texts cannot be shown: {gone.what}.", Mark.INFO)))
    for file in texts:
        for text in (file.before, file.after):
            learn_text(context.redact, file.path, text or b"")
    files = tuple(ChangedFile(file.path, change_diff(file, context.redact.line)) for file in texts)
    diffs = [Diff(file.diff) for file in files if file.diff]
    return Result(ChangeReport(change, files), (Fields(pairs), *diffs))


@dataclass(frozen=True, slots=True)
class FinishReport:
    """``data`` of ``canon-ops.history.finish/1``.

    Attributes:
        changes: what was left half-done, and what became of it; empty when there was nothing.
        files: those that changed by finishing it.
    """

    changes: tuple[FinishedChange, ...]
    changed: bool
    files: tuple[Path, ...]
    diff: str
    dry_run: bool


@declare(
    "history finish",
    data=FinishReport,
    writes=True,
    examples=("canon-ops history finish", "canon-ops history finish --dry-run --diff"),
)
def finish_command(context: Context, write: WriteOptions) -> Result:
    """Finish what a command that was killed left half-done.

    Every command that writes does the same before it begins. A change that had begun is carried out to its end, one
    that had not is forgotten. Where somebody else has written one of the files since, theirs stays and the others get
    their old text back.
    """
    writing = context.writing("history finish", write)
    done = finish_changes(writing, lambda path, text: learn_text(context.redact, path, text))
    written = done.written
    report = FinishReport(done.changes, written.changed, written.files, written.diff, write.dry_run)
    view: list[Block] = [first_line(context, written)]
    for each in done.changes:
        what = f"{'Would be ' if write.dry_run else ''}{each.outcome}: {each.command}"
        view.append(Line(f"{what[0].upper()}{what[1:]}{f' ({each.id})' if each.id else ''}", Mark.OK))
    if not done.changes:
        view.append(Line("Nothing was left half-done.", Mark.OK))
    return Result(report, [*view, *diff_of(written, write)])


@declare(
    "undo",
    data=UndoReport,
    writes=True,
    examples=("canon-ops undo", "canon-ops undo --dry-run --diff", "canon-ops undo 20260101T120000.000Z-1a2b"),
)
@click.argument("id", required=False)
def undo_command(context: Context, id: str | None, write: WriteOptions) -> Result:
    """Take a change of this tool back: every file gets the bytes from before it.

    Without ID it is the newest change in force, so that a second undo goes one further back. A file that was changed
    since is left alone (exit 5), and so is one that would refer to a key which the keyring does not have any more. An
    undo is a change too: undo its ID to have the change again.
    """
    writing = context.writing("undo" if id is None else f"undo {id}", write)
    done = undo_change(writing, id, lambda path, text: learn_text(context.redact, path, text), context.keyring)
    change, written = done.change, done.written
    report = UndoReport(
        undone=change.id,
        command=change.command,
        changed=written.changed,
        files=written.files,
        diff=written.diff,
        history_id=written.history_id,
        dry_run=write.dry_run,
        kept=done.keeps or None,
    )
    verb = "Would take back" if write.dry_run else "Took back"
    what = f"{verb}: {change.command} ({change.id})" if written.changed else f"{change.id} changed nothing; done."
    view: list[Block] = [first_line(context, written), Line(what, Mark.OK)]
    if done.keeps:
        view.append(Line(f"{done.keeps}.", Mark.INFO))
    return Result(report, [*view, *restart_line(context, written, write), *diff_of(written, write)])


def _state(change: Change) -> str:
    if change.undoes:
        return f"undoes {change.undoes}"
    return f"undone by {change.undone_by}" if change.undone_by else change.state
