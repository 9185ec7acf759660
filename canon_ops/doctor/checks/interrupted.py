"""Did every command that writes come to its end?

One that was killed may have left one file new and another one old, or a package in the host by half.
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from canon_ops.doctor.check import About, Answer, Check, Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.repair import FinishChanges, TakeBackPackage
from canon_ops.errors import CanonOpsError

if TYPE_CHECKING:
    from canon_ops.files.interrupted import Interrupted

__all__ = ["CHECKS"]


def _interrupted(examination: Examination) -> Answer:
    from canon_ops.files.interrupted import blocked_place
    from canon_ops.operate.interrupted import find_interrupted_changes, history_folders

    folders: tuple[Path, ...] = (examination.home.path,)
    with suppress(CanonOpsError):  # .env may move Canon's home, and cannot be read: env.parse tells
        folders = history_folders(examination.home, examination.environ)
    if blocked := tuple(_blocked(place) for folder in folders if (place := blocked_place(folder)) is not None):
        return blocked
    changes = find_interrupted_changes(folders)
    found = tuple(_finding(examination, each) for each in changes)
    if not any(each.is_committed for each in changes):  # what finishes one may finish the command that is noted
        found += _packages(examination)
    return found or Finding(Status.OK, "Every command that writes came to its end.")


def _blocked(place: Path) -> Finding:
    """What no writer gets past, before one has tried."""
    told = f"{place} is not what belongs there: no command that writes can begin."
    return Finding(Status.ERROR, told, Fix(f"ls -ld {shlex.quote(str(place))}"), Place(str(place)))


def _packages(examination: Examination) -> tuple[Finding, ...]:
    """The command that was killed while it changed the host's packages; nothing where there was none."""
    from canon_ops.operate.installation import InterruptedNote

    note = InterruptedNote.find(examination.home.path)
    if note is None:
        return ()
    if not Path(note.python).exists():
        fix = Fix(examination.command("rollback --skip-package"))
        return (Finding(Status.INFO, f"{note.command or 'A command'} was interrupted; {note.python} is gone.", fix),)
    fix = Fix(examination.command("rollback"), TakeBackPackage())
    data = {"python": note.python, "distributions": list(note.names)}
    return (Finding(Status.ERROR, str(note), fix, data=data),)


def _finding(examination: Examination, found: Interrupted) -> Finding:
    from canon_ops.operate.interrupted import told

    return Finding(
        Status.ERROR if found.is_half else Status.WARNING,
        told(found),
        Fix(examination.command("history finish"), FinishChanges()),
        Place(str(Path(found.folder, ".canon-ops", "pending"))),
        {"id": found.record.id if found.record else None, "files": found.files},
    )


CHECKS = (
    Check(
        "config.interrupted",
        "Half changes",
        "Did every command that writes come to its end?",
        _interrupted,
        about=About(
            "A command was killed, or the machine lost power, while several files were being put in place, or while "
            "the packages of the host were changed.",
            "Gateway and commands read a mixture: one file is new already, another one still old, or the host has half "
            "of a package, which looks installed.",
            "Run any command of canon-ops that writes; it finishes the change before it begins. The texts from before "
            "and after are in .canon-ops/pending of the home. Packages: the same command again finishes them; "
            "to have them as they were: canon-ops rollback.",
            ("config.yaml", ".env", "agents.json"),
        ),
    ),
)
