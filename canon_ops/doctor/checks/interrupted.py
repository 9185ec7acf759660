"""Did every command that writes come to its end? One that was killed may have left one file new and another one old."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from canon_ops.doctor.check import About, Answer, Check, Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.repair import FinishChanges
from canon_ops.errors import CanonOpsError

if TYPE_CHECKING:
    from canon_ops.files.interrupted import Interrupted

__all__ = ["CHECKS"]


def _interrupted(examination: Examination) -> Answer:
    from canon_ops.operate.interrupted import find_interrupted_changes, history_folders

    folders: tuple[Path, ...] = (examination.home.path,)
    with suppress(CanonOpsError):  # .env may move Canon's home, and cannot be read: env.parse tells
        folders = history_folders(examination.home, examination.environ)
    found = tuple(_finding(examination, each) for each in find_interrupted_changes(folders))
    return found or Finding(Status.OK, "Every command that writes came to its end.")


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
            "A command was killed, or the machine lost power, while several files were being put in place.",
            "Gateway and commands read a mixture: one file is new already, another one still old.",
            "Run any command of canon-ops that writes; it finishes the change before it begins. The texts from before "
            "and after are in .canon-ops/pending of the home.",
            ("config.yaml", ".env", "agents.json"),
        ),
    ),
)
