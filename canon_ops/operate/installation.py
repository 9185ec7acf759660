"""What canon-ops installed into a host for one Hermes home, and what it would take to go back: one JSON file.

``<home>/.canon-ops/installation.json`` holds the package that is in force and the runs that led to it, each with the
distributions that were there before and the edits that it made. Doctor reads it to tell "gone after an update" from
"never installed", uninstall takes all runs of a platform back, rollback the newest run.

``<home>/.canon-ops/interrupted.json`` exists while the host's packages are being changed. A command that finds one was
preceded by a process that was killed there, and takes over what it had kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from canon_ops.errors import OutsideError
from canon_ops.files.atomic import replace_file
from canon_ops.files.interrupted import is_under_way
from canon_ops.hermes.surroundings import read_optional
from canon_ops.operate.package.store import SavedPackage
from canon_ops.operate.taking_back import Edit, EditKind, FileStep, Hunk

__all__ = [
    "Installation",
    "InstalledPackage",
    "InterruptedNote",
    "RecordDamaged",
    "Run",
    "environment_made_ms",
    "read_installation",
    "record_file",
]

_VERSION = 1


class RecordDamaged(OutsideError):
    """The record of the installation cannot be read; without it nothing can be taken back exactly."""

    code = "installation_record_damaged"


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    """Our distribution in a host.

    Attributes:
        saved: how it can be put there again.
        sha256: of its wheel; empty for an editable installation.
        origin: what it was made from, in words.
        python: the interpreter that it was put into.
        prefix: that interpreter's environment.
        environment_made_ms: when the environment was made; another time means that it was rebuilt.
        hermes: the host's version then.
        at_ms: when it was put there, or found there.
        by_us: canon-ops put it there; otherwise somebody else did.
    """

    saved: SavedPackage
    sha256: str
    origin: str
    python: str
    prefix: str
    environment_made_ms: int | None
    hermes: str | None
    at_ms: int
    by_us: bool

    def __str__(self) -> str:
        return str(self.saved)


@dataclass(frozen=True, slots=True)
class Run:
    """One command that changed something.

    Attributes:
        platform: the one that it installed; empty when it was about the package alone.
        before: the distributions that were there before and were changed; None when packages were left alone.
        brought: names of the distributions that came with it, ours among them.
        package_before: what the record said about our package until then.
    """

    command: str
    platform: str
    at_ms: int
    before: tuple[SavedPackage, ...] | None = None
    brought: tuple[str, ...] = ()
    package_before: InstalledPackage | None = None
    steps: tuple[FileStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Installation:
    """The record.

    Attributes:
        package: what should be in the host now; None when that is not ours to say.
        runs: oldest first.
    """

    package: InstalledPackage | None = None
    runs: tuple[Run, ...] = ()

    @property
    def wheels(self) -> frozenset[str]:
        """The kept wheels that something here may need."""
        saved = [one for run in self.runs for one in run.before or ()]
        packages = [self.package, *(run.package_before for run in self.runs)]
        saved += [one.saved for one in packages if one is not None]
        return frozenset(one.wheel for one in saved if one.wheel is not None)

    @property
    def brought(self) -> tuple[str, ...]:
        """Every distribution that came with ours, each once."""
        return tuple(dict.fromkeys(name for run in self.runs for name in run.brought))

    def has(self, platform: str) -> bool:
        """Whether the platform was installed by us here, so that the next time is not the first."""
        return any(run.platform == platform for run in self.runs)

    def steps(self, platform: str, file: str) -> tuple[FileStep, ...]:
        """What the runs of a platform did to a file, oldest first."""
        found = [step for run in self.runs if run.platform == platform for step in run.steps]
        return tuple(step for step in found if step.file == file)

    def with_run(self, run: Run) -> Installation:
        return replace(self, runs=(*self.runs, run))

    def without_files_since(self, then: Installation) -> Installation:
        """What is true when the files of the runs since ``then`` are taken back, and the host's packages stay.

        A run that changed packages is still known, as one about the package alone: ``rollback`` and ``uninstall`` find
        in it what came.
        """
        if self.runs[: len(then.runs)] != then.runs:
            return then
        since = self.runs[len(then.runs) :]
        kept = tuple(replace(run, platform="", steps=()) for run in since if run.before is not None)
        return Installation(self.package, (*then.runs, *kept)) if kept else then

    def to_bytes(self) -> bytes:
        document = {"v": _VERSION, **asdict(self)}
        return (json.dumps(document, default=_plain, indent=1, sort_keys=True) + "\n").encode()


def read_installation(home: Path, data: bytes | None = None) -> Installation:
    """The record of a home; an absent one is empty.

    Args:
        data: its bytes when somebody has read them already.

    Raises:
        RecordDamaged: it is there and cannot be read.
    """
    file = record_file(home)
    data = read_optional(file) if data is None else data
    if data is None:
        return Installation()
    try:
        document = json.loads(data)
        if document["v"] != _VERSION:
            raise ValueError(f"version {document['v']}")
        return Installation(
            _package(document["package"]),
            tuple(_run(row) for row in document["runs"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as exc:
        raise RecordDamaged(
            f"{file} is no record of an installation that this version can read ({exc}).",
            fix=f"move {file} away; what it would have taken back is then done by hand",
            file=str(file),
        ) from exc


def environment_made_ms(prefix: Path) -> int | None:
    """When an environment was made, to tell one that was rebuilt at the same place; None outside of one."""
    try:
        return int((prefix / "pyvenv.cfg").stat().st_mtime * 1000)
    except OSError:
        return None


def record_file(home: Path) -> Path:
    return home / ".canon-ops" / "installation.json"


@dataclass(frozen=True, slots=True)
class InterruptedNote:
    """What a command keeps on the disk while it changes the host's packages.

    Attributes:
        python: the interpreter of that host; no other is ever touched on the strength of this note.
        before: what it took out or moved.
        brought: what it was about to bring.
        command: how the record would have called it; empty where an older version did not write that down.
        runs: how many the record held then: only a later one can be the run of this note.
    """

    python: str
    before: tuple[SavedPackage, ...]
    brought: tuple[str, ...]
    command: str = ""
    runs: int = 0

    def __str__(self) -> str:
        return (
            f"{self.command or 'A command'} was interrupted while it changed the packages of {self.python}, where "
            "something may be there by half. The same command again finishes it; rollback takes it back."
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The distributions that it was about; each may be there by half, or gone by half."""
        return tuple(dict.fromkeys([*self.brought, *(one.name for one in self.before)]))

    @property
    def wheels(self) -> frozenset[str]:
        """The kept wheels that are needed to take it back."""
        return frozenset(one.wheel for one in self.before if one.wheel is not None)

    @classmethod
    def read(cls, home: Path, record: Installation) -> InterruptedNote | None:
        """The note that a killed command left; None when there is none, or nothing can be read from it.

        A command that was killed after its last write left a note about a run that the record holds: that is done.
        """
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            if (data := read_optional(cls._file(home))) is not None:
                document = json.loads(data)
                before = tuple(SavedPackage(**row) for row in document["before"])
                note = cls(
                    str(document["python"]),
                    before,
                    tuple(document["brought"]),
                    str(document.get("command", "")),
                    int(document.get("runs", 0)),
                )
                later = record.runs[note.runs :]
                is_done = any((run.before, run.brought) == (note.before, note.brought) for run in later)
                return None if is_done else note
        return None

    @classmethod
    def find(cls, home: Path) -> InterruptedNote | None:
        """The note of a command that has ended, for a reader: none while one is at work, or the record is damaged."""
        if not cls._file(home).exists() or is_under_way(home):
            return None
        with suppress(RecordDamaged):  # told elsewhere
            return cls.read(home, read_installation(home))
        return None

    def write(self, home: Path) -> None:
        """Durably, before the first package is touched."""
        replace_file(self._file(home), json.dumps(asdict(self), indent=1).encode())

    @classmethod
    def remove(cls, home: Path) -> None:
        cls._file(home).unlink(missing_ok=True)

    @staticmethod
    def _file(home: Path) -> Path:
        return home / ".canon-ops" / "interrupted.json"

    def joined(self, later: InterruptedNote) -> InterruptedNote:
        """This note carried on by a later attempt: what stood there first is what counts."""
        return replace(
            later,
            before=(*self.before, *(one for one in later.before if one.name not in self.names)),
            brought=tuple(dict.fromkeys([*self.brought, *later.brought])),
        )


def _plain(value: object) -> object:
    if isinstance(value, EditKind):
        return value.value
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="surrogateescape")
    raise TypeError(type(value))


def _package(row: Mapping[str, Any] | None) -> InstalledPackage | None:
    return None if row is None else InstalledPackage(**{**row, "saved": SavedPackage(**row["saved"])})


def _run(row: Mapping[str, Any]) -> Run:
    before = row["before"]
    return Run(
        command=row["command"],
        platform=row["platform"],
        at_ms=row["at_ms"],
        before=None if before is None else tuple(SavedPackage(**one) for one in before),
        brought=tuple(row["brought"]),
        package_before=_package(row["package_before"]),
        steps=tuple(_step(one) for one in row["steps"]),
    )


def _step(row: Mapping[str, Any]) -> FileStep:
    hunks = tuple(
        Hunk(one["start"], one["count"], tuple(line.encode("utf-8", errors="surrogateescape") for line in one["old"]))
        for one in row["hunks"]
    )
    edits = tuple(Edit(**{**one, "kind": EditKind(one["kind"]), "path": tuple(one["path"])}) for one in row["edits"])
    return FileStep(row["file"], row["before"], row["after"], hunks, edits)
