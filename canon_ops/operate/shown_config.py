"""A value of config.yaml as it may be shown: its secrets masked by their names and by their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.hints import Any

__all__ = ["MaskTree", "shown_value"]

KeyPath = tuple[str | int, ...]
MaskTree = Callable[[Sequence[str | int], Any], Any]
"""Gets the path to a value and the value; gives what may be shown of it."""


def shown_value(document: ConfigDocument, path: KeyPath, mask: MaskTree) -> Any:
    """What Hermes reads at ``path``, masked; None where there is nothing.

    An item of a list is looked at with its neighbours, since it may be the value of the argument before it.
    """
    found = document.find(path)
    if found is None:
        return None
    if str(path[-1]).isdecimal() and (holder := document.find(path[:-1])) and isinstance(holder.value, list):
        return mask(path[:-1], holder.value)[int(path[-1])]
    return mask(path, found.value)
