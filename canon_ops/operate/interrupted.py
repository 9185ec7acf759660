"""Changes that a killed command left half-done: naming them, and finishing them.

Every writer finishes what it finds in its own folders before it begins. A reader may not write: it names the change,
and ``canon-ops history finish`` is for whoever does not want to wait for the next writer.

Source: command-line contract, 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from canon_ops.files.interrupted import Interrupted, find_interrupted, pending_texts
from canon_ops.files.journal import Side, files_to_restore
from canon_ops.files.reading import read_optional
from canon_ops.files.transaction import FileChange, Transaction
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.surroundings import canon_paths_from_disk
from canon_ops.operate.preferences import preferences_file
from canon_ops.operate.writing import Writing, Written

__all__ = [
    "Finished",
    "FinishedChange",
    "Look",
    "find_interrupted_changes",
    "finish_changes",
    "finish_pending",
    "history_folders",
    "interrupted_texts",
    "told",
]

Outcome = Literal["finished", "discarded", "abandoned"]
Look = Callable[[Path, bytes], None]
"""Gets each text that a diff is about to quote, with its file: whoever masks the diff learns its secrets from it."""


@dataclass(frozen=True, slots=True)
class FinishedChange:
    """An interrupted change, and what became of it, or would.

    Attributes:
        id: null when it ended before it was written down.
        outcome: ``finished`` as it was meant; ``discarded``, since it had changed nothing yet; ``abandoned``: somebody
            else wrote or removed one of the files since, so theirs stays, or a new text is not what was kept any more;
            the others have their old text again.
    """

    id: str | None
    command: str
    outcome: Outcome
    files: tuple[Path, ...]
    folder: Path


@dataclass(frozen=True, slots=True)
class Finished:
    """What was finished; ``written`` are the files that changed by that, or would."""

    changes: tuple[FinishedChange, ...]
    written: Written


def history_folders(home: HermesHome, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The folders that keep a journal and a history for what works on this home.

    Raises:
        UnreadableDotenv, NotAFile, DiskError: ``.env``, which may move Canon's home, cannot be read.
    """
    folders = (home.path, canon_paths_from_disk(home.path, environ).home, preferences_file(environ).parent)
    return tuple(dict.fromkeys(folders))


def find_interrupted_changes(folders: Sequence[Path]) -> tuple[Interrupted, ...]:
    """What was left half-done in any of these folders, each once.

    Raises:
        InternalError, DiskError: a journal cannot be read.
    """
    found = [each for folder in folders if (each := find_interrupted(folder)) is not None]
    return tuple({each.folder: each for each in found}.values())


def finish_changes(writing: Writing, look: Look | None = None) -> Finished:
    """Finish, or forget, whatever was left half-done.

    Args:
        look: gets each text that the diff is about to quote.

    Raises:
        ChangedUnderUs, UsageError: a file is not what the caller last saw, or none that would change.
        LockTimeout, InternalError, DiskError: nothing more was done.
    """
    folders = history_folders(writing.home, writing.environ)
    found = find_interrupted_changes(folders)
    changes = [change for each in found for change in _left_to_do(each)]
    if look is not None:
        for change in changes:
            for text in (change.before, change.after):
                look(change.path, text or b"")
    if writing.expected and found:
        with Transaction(writing.home.path, dry_run=True) as looking:
            writing.expect(looking, *(change.path for change in changes))
    done = tuple(_finish(writing, each, folders) for each in found)
    return Finished(done, writing.written(changes, None))


def finish_pending(home: HermesHome) -> None:
    """Finish what a killed command left half-done in a home, for whoever plans before it takes the lock.

    Raises:
        LockTimeout, InternalError, DiskError: nothing was done.
    """
    if find_interrupted_changes([home.path]):
        with Transaction(home.path):
            pass


def _finish(writing: Writing, found: Interrupted, folders: Sequence[Path]) -> FinishedChange:
    outcome = _outcome(found)
    if not writing.dry_run:
        also = [folder for folder in folders if folder != found.folder and (folder / ".canon-ops").is_dir()]
        with writing.transaction(found.folder, also=also) as entered:
            outcome = entered.repaired.outcome if entered.repaired is not None else outcome
    paths = tuple(map(Path, found.files))
    return FinishedChange(found.record.id if found.record else None, _command(found), outcome, paths, found.folder)


def _left_to_do(found: Interrupted) -> tuple[FileChange, ...]:
    """What finishing does to files that people know: forward, or back where one of them is somebody else's by now."""
    if not found.is_committed or found.record is None:
        return ()
    side: Side = "before" if found.goes_back() else "after"
    texts = interrupted_texts(found)
    changes = []
    for number in files_to_restore(found.record, found.states, side):
        change = texts[number]
        wanted = change.before if side == "before" else change.after
        changes.append(FileChange(change.path, change.real, read_optional(change.real), wanted))
    return tuple(change for change in changes if change.before != change.after)


def interrupted_texts(found: Interrupted) -> tuple[FileChange, ...]:
    """Both texts of every file of an interrupted change."""
    files = found.record.files if found.record else ()
    return tuple(
        FileChange(Path(file.path), Path(file.real), before, after)
        for file, (before, after) in zip(files, pending_texts(found), strict=True)
    )


def told(found: Interrupted) -> str:
    """One sentence: which change, and what a reader finds."""
    what = f"A change was interrupted ({_command(found)})"
    if not found.is_committed:
        return f"{what} before it changed a file."
    if not found.is_half:
        return f"{what} when every file was written; only its entry in the history is missing."
    halves = {"new": "changed already", "old": "not yet", "torn": "half written", "foreign": "changed by somebody else"}
    parts = []
    for state, words in halves.items():
        if paths := [path for path, each in found.files.items() if each == state]:
            parts.append(f"{', '.join(paths)} {'is' if len(paths) == 1 else 'are'} {words}")
    return f"{what} half-way: {'; '.join(parts)}."


def _outcome(found: Interrupted) -> Outcome:
    if not found.is_committed:
        return "discarded"
    return "abandoned" if found.goes_back() else "finished"


def _command(found: Interrupted) -> str:
    return (found.record.label if found.record else "") or "unknown command"
