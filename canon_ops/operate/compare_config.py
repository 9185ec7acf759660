"""config.yaml as it is, beside the text that one of our commands left: what others did to it since."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canon_ops.files.config_editor import ConfigDocument, ConfigSyntaxError
from canon_ops.files.history import History, NoSuchEntry
from canon_ops.files.reading import read_optional
from canon_ops.files.transaction import FileChange
from canon_ops.files.yaml_difference import MISSING, differences
from canon_ops.files.yaml_path import format_path
from canon_ops.hermes.homes import HermesHome
from canon_ops.operate.changes import Look

__all__ = ["Compared", "ValueDifference", "compare_config", "kept_texts"]


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """One place that Hermes reads differently; None stands for nothing as well."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparison.

    Attributes:
        since: the history entry; None when there is none with a text of the file.
        values: None when one of the two texts cannot be read.
        diff: unified, masked.
    """

    file: Path
    since: str | None
    command: str | None
    changed: bool
    values: tuple[ValueDifference, ...] | None
    diff: str


def compare_config(home: HermesHome, identity: str | None, *, mask: Callable[[str], str], look: Look) -> Compared:
    """Compare with the newest entry of the history that has a text of the file, or with the one named.

    Raises:
        NoSuchEntry: no such entry, or it has no text of the file.
        NotAFile, DiskError: file or history cannot be read.
    """
    file = home.config_file
    history = History(home.path)
    wanted = history.find(identity).id if identity is not None else None
    kept = next((each for each in kept_texts(home, history) if wanted in (None, each[0])), None)
    if kept is None:
        if wanted is not None:
            raise NoSuchEntry(f"{wanted} holds no text of {file}", fix=home.own_command("history list"))
        return Compared(file, None, None, False, None, "")
    since, command, before = kept
    after = read_optional(file)
    for text in (before, after):
        look(file, text or b"")
    change = FileChange(file, file, before, after)
    diff = change.diff(mask=mask) if before != after else ""
    return Compared(file, since, command, before != after, _values(before, after, str(file)), diff)


def kept_texts(home: HermesHome, history: History) -> list[tuple[str, str, bytes | None]]:
    """Id, command and text of config.yaml after each entry that has one, newest first."""
    found = []
    for record in history.records():
        for number, file in enumerate(record.files):
            if file.path == str(home.config_file) and record.outcome != "abandoned":
                try:
                    found.append((record.id, record.label, history.texts(record, "after")[number]))
                except NoSuchEntry:  # taken out of the history: it held a key
                    continue
    return found


def _values(before: bytes | None, after: bytes | None, file: str) -> tuple[ValueDifference, ...] | None:
    try:
        one, other = (ConfigDocument.parse(text or b"", file).value for text in (before, after))
    except ConfigSyntaxError:
        return None
    return tuple(
        ValueDifference(
            format_path(tuple(part if type(part) is int else str(part) for part in each.path)),
            None if each.before is MISSING else each.before,
            None if each.after is MISSING else each.after,
        )
        for each in differences(one, other)
    )
