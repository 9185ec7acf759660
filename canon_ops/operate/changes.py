"""What this tool changed on a machine, across the folders that keep a journal, and taking one change back.

A Hermes home, Canon's own home and the folder of the preferences each have a history of their own (a Canon home serves
several Hermes homes). People think of one list, so the three are merged: ids sort by time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from canon_ops.errors import CanonOpsError, RefusedError, UsageError
from canon_ops.files.history import History, NoSuchEntry, taken_back_by
from canon_ops.files.reading import read_optional
from canon_ops.files.records import Record, digest
from canon_ops.files.transaction import ChangedUnderUs, FileChange, Transaction
from canon_ops.files.undo import undo
from canon_ops.hermes.homes import HermesHome
from canon_ops.keyring.access import Keyring
from canon_ops.operate.dead_references import refuse_dead_references
from canon_ops.operate.edit_config import refuse_managed
from canon_ops.operate.installation import Installation, read_installation, record_file
from canon_ops.operate.interrupted import (
    Look,
    find_interrupted_changes,
    finish_changes,
    history_folders,
    interrupted_texts,
)
from canon_ops.operate.writing import Writing, Written

__all__ = [
    "Change",
    "Look",
    "NothingButPackages",
    "Undone",
    "changes_of",
    "find_change",
    "list_changes",
    "undo_change",
    "unreadable_entries",
]

State = Literal["done", "undone", "undo", "kept", "abandoned", "interrupted"]


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the history.

    Attributes:
        time: when it was committed, in UTC, as ISO 8601.
        command: the command as people will read it.
        state: ``undone`` was taken back; ``undo`` took another one back; ``kept`` is a snapshot; ``abandoned`` was
            given up after a crash; ``interrupted`` is half-done, and the next command that writes finishes it.
        undoes: the id that it took back.
        undone_by: the id that took it back.
        folder: the home whose history holds it.
    """

    id: str
    time: str
    command: str
    state: State
    files: tuple[Path, ...]
    undoes: str | None
    undone_by: str | None
    folder: Path


@dataclass(frozen=True, slots=True)
class Undone:
    """A change that was taken back, or would be.

    Attributes:
        keeps: what of it is no file, and stays, with the command that takes it back; empty for most changes.
    """

    change: Change
    written: Written
    keeps: str = ""


class NothingButPackages(RefusedError):
    """The change was about the host's packages, which no file brings back."""

    code = "undo_of_packages"


def list_changes(home: HermesHome, environ: Mapping[str, str]) -> tuple[Change, ...]:
    """Every readable entry, newest first.

    Raises:
        UnreadableDotenv, NotAFile, DiskError: a history cannot be read, or ``.env``, which may move Canon's home.
    """
    folders = history_folders(home, environ)
    found = [change for folder in folders for change in _changes_in(folder)]
    for each in find_interrupted_changes(folders):
        if each.record is not None:
            found.append(replace(_change(each.record, each.folder, None), state="interrupted"))
    return tuple(sorted(found, key=lambda change: change.id, reverse=True))


def unreadable_entries(home: HermesHome, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The folders of the entries that :func:`list_changes` leaves out, newest first; it raises the same."""
    found = [entry for folder in history_folders(home, environ) for entry in History(folder).unreadable()]
    return tuple(sorted(found, key=lambda entry: entry.name, reverse=True))


def find_change(home: HermesHome, environ: Mapping[str, str], identity: str | None = None) -> Change:
    """The entry with this id, or the only one whose id begins with it; None is the newest that can be undone.

    Raises:
        UsageError: the id is empty: every id begins with that.
        NoSuchEntry: there is none, or more than one, or it cannot be read; or one that cannot be read is newer than the
            newest.
    """
    if identity == "":
        raise UsageError("ID is empty", fix=home.own_command("history list"))
    changes = list_changes(home, environ)
    if identity is None:
        matches = [change for change in changes if change.state == "done"][:1]
        if not matches:
            raise NoSuchEntry("There is nothing to undo", fix=home.own_command("history list"))
        newer = [entry for entry in unreadable_entries(home, environ) if entry.name > matches[0].id]
        if newer:
            raise NoSuchEntry(
                f"The entry {newer[0]} cannot be read, so it is unknown which change is the newest",
                fix=f"{home.own_command(f'undo {matches[0].id}')}   # the newest that can be read",
                file=str(newer[0]),
            )
        return matches[0]
    if exact := [change for change in changes if change.id == identity]:
        return exact[0]
    matches = [change for change in changes if change.id.startswith(identity)]
    unreadable = [entry for entry in unreadable_entries(home, environ) if entry.name.startswith(identity)]
    if len(unreadable) == 1 and not matches:
        raise NoSuchEntry(
            f"The entry {unreadable[0]} cannot be read: it is damaged, or a newer release wrote it",
            fix=home.own_command("history list"),
            file=str(unreadable[0] / "entry.json"),
        )
    if (count := len(matches) + len(unreadable)) != 1:
        what = f"{count} entries" if count else "no entry"
        raise NoSuchEntry(f"The history has {what} of the id {identity}", fix=home.own_command("history list"))
    return matches[0]


def changes_of(change: Change) -> tuple[FileChange, ...]:
    """Both texts of every file of an entry.

    Raises:
        NoSuchEntry: the texts are gone.
    """
    if change.state == "interrupted":
        return next((interrupted_texts(each) for each in find_interrupted_changes([change.folder])), ())
    history = History(change.folder)
    record = history.find(change.id)
    texts = zip(record.files, history.texts(record, "before"), history.texts(record, "after"), strict=True)
    return tuple(FileChange(Path(file.path), Path(file.real), before, after) for file, before, after in texts)


def undo_change(writing: Writing, identity: str | None, look: Look, keyring: Keyring | None = None) -> Undone:
    """Take one entry back by a commit of its own, which can be undone too.

    Args:
        identity: see :func:`find_change`.
        keyring: asked when a reference to it would come back; None is the one of this environment.

    Raises:
        NoSuchEntry: there is nothing to undo, or it was taken back already.
        NothingButPackages: it changed no file of people's; ``rollback`` takes it back.
        ChangedUnderUs: a file was changed since; nothing was written.
        DeadReference, KeyringProblem: a reference would come back whose key is gone, or who knows.
        ManagedHome: a package manager owns the home.
    """
    home = writing.home
    if not writing.dry_run:
        finish_changes(replace(writing, expected=()))  # else the newest change would not be the one that is meant
    change = find_change(home, writing.environ, identity)
    also = [
        folder
        for folder in history_folders(home, writing.environ)
        if folder != change.folder and any(file.is_relative_to(folder) for file in change.files)
    ]

    def refuse(path: Path) -> RefusedError | None:
        return refuse_managed(home) if path.is_relative_to(home.path) else None

    with writing.transaction(change.folder, refuse, also=also) as transaction:
        writing.expect(transaction, *change.files)
        try:
            undo(transaction, change.id)
        except ChangedUnderUs as error:
            raise _led_out(error, change, list_changes(home, writing.environ), home) from error
        refuse_dead_references(transaction.changes(), home, keyring or Keyring(writing.environ))
        keeps = _keep_packages(transaction, change, home)
        for file in transaction.changes():
            for text in (file.before, file.after):
                look(file.path, text or b"")
        return Undone(change, writing.commit(transaction), keeps)


def _keep_packages(transaction: Transaction, change: Change, home: HermesHome) -> str:
    """Keep the record true: the files go back, the host's packages do not. The sentence about what stays.

    Raises:
        NothingButPackages: there is no other file in it.
    """
    file = record_file(change.folder)
    staged = next((one for one in transaction.changes() if one.path == file), None)
    if staged is None or staged.before is None:
        return ""
    now = read_installation(change.folder, staged.before)
    then = read_installation(change.folder, staged.after) if staged.after is not None else Installation()
    left = now.without_files_since(then)
    if left == then or left.package is None:
        return ""
    if len(change.files) == 1:
        raise NothingButPackages(
            f"{change.command} changed packages in {left.package.python} and no other file than the record of that.",
            fix=home.own_command("rollback"),
        )
    transaction.stage(file, left.to_bytes(), private=True)
    return f"{left.package} stays in {left.package.python}; `{home.own_command('rollback')}` takes it back"


def _led_out(error: ChangedUnderUs, change: Change, changes: Sequence[Change], home: HermesHome) -> CanonOpsError:
    """The same refusal with advice that ends: each change that it says to take back first is newer, and in force.

    Where the file is what the newest change in force left, that one goes first. Undos count for nothing here: taking an
    undo back brings its change again, and the next refusal would say to take that back.

    Args:
        changes: of all folders, newest first: one file may have entries in several.
    """
    if change.undone_by is not None:
        return NoSuchEntry(
            f"{change.id} was taken back already, by {change.undone_by}, and the file was changed since",
            fix=home.own_command(f"history show {change.undone_by}"),
            file=error.file,
        )
    real = Path(str(error.file)).resolve()
    for newer in changes:
        if newer.id == change.id:
            break
        if newer.state == "done" and digest(read_optional(real)) in _left_by(newer, real):
            error.fix = f"{home.own_command(f'undo {newer.id}')}   # the newer change first"
            return error
    error.fix = f"{home.own_command(f'history show {change.id}')}   # and take it back by hand"
    return error


def _left_by(change: Change, real: Path) -> tuple[str | None, ...]:
    """The digest of the text that a change left of a file; () when it is about other files."""
    record = History(change.folder).find(change.id)
    return tuple(file.after for file in record.files if Path(file.real) == real)


def _changes_in(folder: Path) -> list[Change]:
    records = History(folder).records()
    undone = taken_back_by(records)
    return [_change(record, folder, undone.get(record.id)) for record in records]


def _change(record: Record, folder: Path, undone_by: str | None) -> Change:
    state: State = record.outcome
    if record.outcome == "done":
        state = "undo" if record.undoes else "undone" if undone_by else "done"
    return Change(
        id=record.id,
        time=datetime.fromtimestamp(record.time_ms / 1000, UTC).isoformat(timespec="milliseconds"),
        command=record.label,
        state=state,
        files=tuple(Path(file.path) for file in record.files),
        undoes=record.undoes,
        undone_by=undone_by,
        folder=folder,
    )
