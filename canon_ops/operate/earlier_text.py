"""Taking out what our edits put in gives back what was there before them, as long as nobody else wrote since.

An edit that makes the mappings on its way (``set x.y.z 1``) cannot be told from one by hand once it is made: taking
``z`` out leaves ``x: {y: {}}``, which a person may have meant. The history can tell: while each of its texts is the one
that the next edit found, nobody else wrote, and what an edit made on its way goes when it is empty again. After the
very last edit the whole text from before it comes back.
"""

from __future__ import annotations

from typing import Any

from canon_ops.errors import CanonOpsError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.records import Record
from canon_ops.files.yaml_difference import MISSING, differences
from canon_ops.files.yaml_path import Path, parse_path
from canon_ops.hermes.homes import HermesHome
from canon_ops.operate.kept_config import kept_configs

__all__ = ["earlier_text"]


def earlier_text(home: HermesHome, old: ConfigDocument, new: ConfigDocument, path: Path) -> ConfigDocument:
    """The text from before our last edit, when that edit left ``old`` and its text reads as ``new`` does.

    Otherwise ``new``, without the empty collections that our edit of ``path`` made on the way there.

    Args:
        new: ``old`` without what was at ``path``. On the way there it may have empty collections where the earlier text
            has nothing, or null.

    Raises:
        DiskError: the history cannot be read.
    """
    kept = next(kept_configs(home), None)
    if kept is None or kept.after != old.data:
        return new
    try:
        if kept.record.outcome == "done":
            earlier = ConfigDocument.parse(kept.before or b"", old.file)
            if _is_alike(earlier, new, path):
                return earlier
        made = _made_for(home, old, new, path)
        return new if made is None else new.unset(made)
    except CanonOpsError:  # a text of the history that nobody can read, or a place that cannot be taken out
        return new


def _is_alike(earlier: ConfigDocument, new: ConfigDocument, path: Path) -> bool:
    """Whether the two differ at most by an empty collection that ``new`` has on the way to ``path``."""
    found = list(differences(earlier.value, new.value))
    names = [str(name) for name in path]
    made = all(
        each.before in (MISSING, None)
        and _is_hollow(each.after)
        and [str(name) for name in each.path] == names[: len(each.path)]
        for each in found
    )
    return made and len(found) <= 1


def _made_for(home: HermesHome, old: ConfigDocument, new: ConfigDocument, path: Path) -> Path | None:
    """The first collection on the way to ``path`` that is empty now and that an edit of ours made on its way."""
    empty = [path[:depth] for depth in range(1, len(path) + 1) if _is_empty(new, path[:depth])]
    text = old.data
    for kept in kept_configs(home):
        if not empty or kept.after != text:
            return None
        if kept.record.outcome == "done":
            before = ConfigDocument.parse(kept.before or b"", old.file)
            made = [place for place in empty if before.find(place) is None]
            if made:
                return made[0] if _is_on_the_way(made[0], kept.record) else None
            text = kept.before or b""
    return None


def _is_empty(document: ConfigDocument, path: Path) -> bool:
    found = document.find(path)
    return found is not None and _is_hollow(found.value)


def _is_on_the_way(place: Path, record: Record) -> bool:
    """Whether the edit made ``place`` for what it set below, or for the item that it added there."""
    command, _, key = record.label.removeprefix("config ").partition(" ")
    if record.undoes is not None or command not in ("set", "add"):
        return False
    path = parse_path(key)
    reaches = len(path) > len(place) or (command == "add" and len(path) == len(place))
    return reaches and [str(name) for name in path[: len(place)]] == [str(name) for name in place]


def _is_hollow(value: Any) -> bool:
    """Nothing but empty collections."""
    return value == [] or (isinstance(value, dict) and all(map(_is_hollow, value.values())))
