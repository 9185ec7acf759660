"""Can the disks under the home and under Canon's files be trusted: is there room, are locks kept?"""

from __future__ import annotations

import shlex
from pathlib import Path

from canon_ops.doctor.check import About, Answer, Check, Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination
from canon_ops.files.disk import existing, explain
from canon_ops.runtime.mounts import network_file_system

__all__ = ["CHECKS"]

_LOW_BYTES, _NONE_BYTES = 50_000_000, 1_000_000  # a day of logs; not even a copy of the files to be edited
_LOW_FILES = 1000


def _folders(examination: Examination) -> tuple[Path, ...]:
    """The home, and Canon's own folder where that lies elsewhere; the folder above what does not exist."""
    return tuple(dict.fromkeys([existing(examination.home.path), existing(examination.canon().home)]))


def _space(examination: Examination) -> Answer:
    found = []
    for folder in _folders(examination):
        try:
            room = examination.statvfs(folder)
        except OSError as error:
            raise explain(error, folder, verb="looked at") from error
        free = room.f_bavail * room.f_frsize
        command = Fix(f"df -h {shlex.quote(str(folder))}   (then make room)")
        data = {"free_bytes": free, "free_files": room.f_favail if room.f_files else None}
        if free < _LOW_BYTES:
            status = Status.ERROR if free < _NONE_BYTES else Status.WARNING
            told = f"The disk that holds {folder} has {free / 1e6:.1f} MB left."
            found.append(Finding(status, told, command, Place(str(folder)), data))
        elif room.f_files and room.f_favail < _LOW_FILES:  # some file systems count no files
            told = f"The disk that holds {folder} has room for {room.f_favail} more files only."
            command = Fix(f"df -i {shlex.quote(str(folder))}   (then remove files)")
            found.append(Finding(Status.WARNING, told, command, Place(str(folder)), data))
    return tuple(found) or Finding(Status.OK, "There is room on the disk.")


def _network(examination: Examination) -> Answer:
    found = []
    for folder in _folders(examination):
        kind = network_file_system(folder, table=examination.mounts)
        if kind is not None:
            found.append(
                Finding(
                    Status.WARNING,
                    f"{folder} lies on {kind}, where locks may not hold and databases may be damaged.",
                    Fix("move it to a local disk, and set HERMES_HOME or CANON_HOME to where it is then"),
                    Place(str(folder)),
                    {"file_system": kind},
                )
            )
    return tuple(found) or Finding(Status.OK, "The files lie on a local disk.")


CHECKS = (
    Check(
        "fs.space",
        "Room",
        "Is there room on the disk?",
        _space,
        about=About(
            "Logs, sessions or somebody else's files have filled the disk.",
            "A gateway that cannot write loses what it would have remembered, and no edit can be made safely.",
            "Find what is large (du -xh | sort -h | tail) and remove it, or give the disk more room.",
            ("HERMES_HOME", "CANON_HOME"),
        ),
    ),
    Check(
        "fs.network",
        "Local disk",
        "Do the files lie on a local disk?",
        _network,
        about=About(
            "The home is on a mount from another machine, or one that a virtual machine shares with its host.",
            "Locks there may be kept for one machine only or hang, and SQLite's databases can be damaged for good.",
            "Stop the gateway, move the folder to a local disk, and set HERMES_HOME or CANON_HOME to it.",
            ("HERMES_HOME", "CANON_HOME"),
        ),
    ),
)
