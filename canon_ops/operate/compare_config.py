"""config.yaml as it is, beside the text that one of our commands left: what others did to it since."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from canon_ops.files.config_editor import ConfigDocument, ConfigSyntaxError
from canon_ops.files.reading import read_optional
from canon_ops.files.transaction import FileChange
from canon_ops.files.yaml_difference import MISSING, at_path, differences
from canon_ops.files.yaml_path import format_path
from canon_ops.hermes.homes import HermesHome
from canon_ops.operate.changes import Look
from canon_ops.operate.kept_config import find_kept, kept_configs
from canon_ops.operate.shown_config import MaskTree

__all__ = ["Compared", "ValueDifference", "compare_config"]


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """One place that Hermes reads differently; None stands for nothing as well, and ``kind`` tells."""

    path: str
    before: Any
    after: Any
    kind: Literal["added", "removed", "changed"]


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


def compare_config(
    home: HermesHome, identity: str | None, *, mask: Callable[[str], str], mask_tree: MaskTree, look: Look
) -> Compared:
    """Compare with the newest entry of the history that has a text of the file, or with the one named.

    Raises:
        NoSuchEntry: no such entry, or it has no text of the file.
        NotAFile, DiskError: file or history cannot be read.
    """
    file = home.config_file
    kept = next(kept_configs(home), None) if identity is None else find_kept(home, identity)
    if kept is None:
        return Compared(file, None, None, False, None, "")
    before = kept.after
    after = read_optional(file)
    for text in (before, after):
        look(file, text or b"")
    change = FileChange(file, file, before, after)
    diff = change.diff(mask=mask) if before != after else ""
    return Compared(
        file, kept.record.id, kept.record.label, before != after, _values(before, after, str(file), mask_tree), diff
    )


def _values(before: bytes | None, after: bytes | None, file: str, mask: MaskTree) -> tuple[ValueDifference, ...] | None:
    try:
        one, other = (ConfigDocument.parse(text or b"", file).value for text in (before, after))
    except ConfigSyntaxError:
        return None
    shown_one, shown_other = mask((), one), mask((), other)
    return tuple(
        ValueDifference(
            format_path(tuple(part if type(part) is int else str(part) for part in each.path)),
            None if each.before is MISSING else at_path(shown_one, each.path),
            None if each.after is MISSING else at_path(shown_other, each.path),
            "added" if each.before is MISSING else "removed" if each.after is MISSING else "changed",
        )
        for each in differences(one, other)
    )
