"""The texts of config.yaml that the history of a home has."""

from __future__ import annotations

from collections.abc import Iterator

from canon_ops.files.history import History, NoSuchEntry
from canon_ops.files.reading import read_optional
from canon_ops.files.records import Record, digest
from canon_ops.hermes.homes import HermesHome
from canon_ops.lean import dataclass, field

__all__ = ["KeptConfig", "find_kept", "is_ours_alone", "kept_configs"]


@dataclass(frozen=True, slots=True)
class KeptConfig:
    """Both texts of one entry; ``before`` is None when the file was made by it."""

    record: Record
    before: bytes | None = field(repr=False)
    after: bytes = field(repr=False)


def kept_configs(home: HermesHome) -> Iterator[KeptConfig]:
    """Every entry that left a text, newest first; what was given up, or taken out because it held a key, is skipped.

    Raises:
        DiskError: the history cannot be read.
    """
    history = History(home.path)
    for record, number in _records(home, history):
        try:
            after = history.texts(record, "after")[number]
            before = history.texts(record, "before")[number]
        except NoSuchEntry:
            continue
        if after is not None:
            yield KeptConfig(record, before, after)


def is_ours_alone(home: HermesHome) -> bool:
    """Whether nobody else wrote config.yaml between our entries, or since the last: then no comment was dropped.

    Told by the digests alone, for a history of many texts; False also when a text of an entry is gone.

    Raises:
        NotAFile, DiskError: file or history cannot be read.
    """
    history, later = History(home.path), digest(read_optional(home.config_file))
    for record, number in _records(home, history):
        file = record.files[number]
        texts = [which for which in ("before", "after") if getattr(file, which) is not None]
        if file.after != later or not all((history.folder / record.id / f"{number}.{one}").exists() for one in texts):
            return False
        if file.before is None:  # it made the file: what was before that is another one's story
            return True
        later = file.before
    return True


def _records(home: HermesHome, history: History) -> Iterator[tuple[Record, int]]:
    """The entries that left config.yaml there, newest first, each with the number of the file in it."""
    # A home may be reached under several names, so the file behind the links counts as well.
    names = {str(home.config_file), str(home.config_file.resolve())}
    for record in history.records():
        number = next((n for n, file in enumerate(record.files) if {file.path, file.real} & names), None)
        if number is not None and record.outcome != "abandoned" and record.files[number].after is not None:
            yield record, number


def find_kept(home: HermesHome, identity: str) -> KeptConfig:
    """The entry with this id, or the only one whose id begins with it.

    Raises:
        NoSuchEntry: there is none, more than one, or it has no text of the file.
    """
    wanted = History(home.path).find(identity)
    for kept in kept_configs(home):
        if kept.record.id == wanted.id:
            return kept
    raise NoSuchEntry(f"{wanted.id} holds no text of {home.config_file}", fix=home.own_command("history list"))
