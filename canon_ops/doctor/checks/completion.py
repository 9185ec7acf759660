"""Do the shells' completion scripts, where they are installed, fit this program?"""

from __future__ import annotations

from pathlib import Path

from canon_ops.doctor.check import About, Answer, Check, Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination
from canon_ops.operate.completion_place import Shell, place_of, state_of

__all__ = ["CHECKS"]


def _current(examination: Examination) -> Answer:
    """Nobody has to have them; a script of another program is left alone."""
    if not any(_has_scripts(place_of(shell, examination.environ).folder) for shell in Shell):
        return Finding(Status.OK, "No completion of canon-ops is installed.")
    found = []
    for shell, scripts in examination.completion().items():
        place = place_of(shell, examination.environ)
        if state_of(place, scripts) == "outdated":
            told = f"The completion for {shell.value} is of another canon-ops: what is new is missing in it."
            fix = Fix(f"canon-ops completion install {shell.value}")
            found.append(Finding(Status.WARNING, told, fix, Place(str(place.folder))))
    return tuple(found) or Finding(Status.OK, "The completion that is installed is this program's.")


def _has_scripts(folder: Path) -> bool:
    return next(folder.glob("*canon-*"), None) is not None


CHECKS = (
    Check(
        "completion.current",
        "Completion",
        "Do the completion scripts that are installed fit this program?",
        _current,
        about=About(
            "This program was updated after `canon-ops completion install`, or a part of the scripts was deleted.",
            "Everything works; the shell does not complete what is new, and offers what is gone.",
            "Install the scripts again: `canon-ops completion install SHELL`.",
            ("BASH_COMPLETION_USER_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME"),
        ),
    ),
)
