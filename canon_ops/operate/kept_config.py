"""The texts of config.yaml that the history of a home has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from canon_ops.files.history import History, NoSuchEntry
from canon_ops.files.records import Record
from canon_ops.hermes.homes import HermesHome

__all__ = ["KeptConfig", "find_kept", "kept_configs"]


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
    # A home may be reached under several names, so the file behind the links counts as well.
    names = {str(home.config_file), str(home.config_file.resolve())}
    for record in history.records():
        number = next((n for n, file in enumerate(record.files) if {file.path, file.real} & names), None)
        if number is None or record.outcome == "abandoned" or record.files[number].after is None:
            continue
        try:
            after = history.texts(record, "after")[number]
            before = history.texts(record, "before")[number]
        except NoSuchEntry:
            continue
        if after is not None:
            yield KeptConfig(record, before, after)


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
