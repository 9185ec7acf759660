"""What the journal and the history write down about a commit."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime

from canon_ops.files.atomic import Target
from canon_ops.files.sha256 import sha256
from canon_ops.hints import Any, Literal
from canon_ops.lean import dataclass, field, field_names, late_pattern
from canon_ops.runtime.file_names import named_path

__all__ = ["FileRecord", "Outcome", "Planned", "Record", "Repair", "digest", "next_moment"]

Outcome = Literal["done", "kept", "abandoned"]
FORMAT = 1
_MOMENT = late_pattern(r"\d{8}T\d{6}\.\d{3}Z(?=-)")


@dataclass(frozen=True, slots=True)
class Planned:
    """One file of a commit: its target, both texts, and the mode if it does not exist yet (None: by umask)."""

    target: Target
    before: bytes | None
    after: bytes | None
    new_mode: int | None


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What the journal knows of one file. Digests are SHA-256 in hex, None for "no such file"."""

    path: str
    real: str
    temporary: str
    before: str | None
    after: str | None
    mode: int | None
    owner: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Record:
    """One commit, as ``entry.json`` keeps it.

    Attributes:
        id: sorts in the order of the commits: ``20260101T120000.000Z-1a2b``.
        time_ms: what the clock said, in milliseconds since 1970.
        label: the command, for people.
        undoes: the id that this commit takes back, if it is an undo.
        outcome: "kept" for a snapshot, which changed nothing; "abandoned" when recovery had to give it up.
    """

    id: str
    time_ms: int
    label: str
    files: tuple[FileRecord, ...]
    undoes: str | None = None
    outcome: Outcome = "done"
    format: int = field(default=FORMAT)

    def to_json(self) -> bytes:
        document = {**_fields(self), "files": [_fields(file) for file in self.files]}
        return (json.dumps(document, indent=2, sort_keys=True, ensure_ascii=True) + "\n").encode("ascii")

    @classmethod
    def from_json(cls, data: bytes) -> Record:
        """Read what ``to_json`` wrote.

        Raises:
            ValueError: damaged, or written by a newer release.
        """
        raw: Any = json.loads(data)
        if not isinstance(raw, dict) or raw.get("format") != FORMAT:
            raise ValueError("not a journal record of this release")
        try:
            files = tuple(_file_record(item) for item in raw.pop("files"))
            return cls(files=files, **raw)
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"a journal record with unexpected fields: {error}") from error


@dataclass(frozen=True, slots=True)
class Repair:
    """What recovery found and did: "discarded" (before the commit point), "finished", or "abandoned"."""

    id: str | None
    outcome: Literal["discarded", "finished", "abandoned"]
    files: tuple[str, ...]


def _file_record(item: dict[str, Any]) -> FileRecord:
    paths = {name: named_path(item[name]) for name in ("path", "real", "temporary")}
    return FileRecord(**{**item, **paths, "owner": tuple(item["owner"]) if item["owner"] else None})


def _fields(record: Record | FileRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in field_names(type(record))}


def digest(data: bytes | None) -> str | None:
    """The SHA-256 of a file's bytes in hex; None for a file that does not exist."""
    return None if data is None else sha256(data).hexdigest()


def next_moment(now_ms: int, ids: Iterable[str]) -> str:
    """The moment that a new id begins with: now, or a millisecond after the newest of ``ids``.

    A clock can stand still between two commits, and it can be set back; what is newest must not depend on it.
    """
    newest = max((found[0] for each in ids if (found := _MOMENT.match(each))), default="")
    try:
        newest_ms = round(datetime.fromisoformat(newest).timestamp() * 1000)
    except ValueError:  # there is none, or a name that is no date
        newest_ms = 0
    ms = max(now_ms, newest_ms + 1)
    return f"{datetime.fromtimestamp(ms // 1000, UTC):%Y%m%dT%H%M%S}.{ms % 1000:03d}Z"
