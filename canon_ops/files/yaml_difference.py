"""What differs between two values of a configuration: places, with what was there and what is there now.

Keys have no order here: Hermes sorts them as it likes when it writes, and reads them by name. Types count (true is not
1), and so does the order of a list. A list that got longer, shorter or other items differs as one value.
"""

from __future__ import annotations

from collections.abc import Iterator

from canon_ops.files.yaml_reader import same
from canon_ops.hints import Any, Final
from canon_ops.lean import dataclass

__all__ = ["MISSING", "Difference", "alike", "at_path", "differences"]


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
KeyPath = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """One place.

    Attributes:
        path: keys as they are in the mappings (a number is a number), and indexes.
        before, after: MISSING where there is nothing.
    """

    path: KeyPath
    before: Any
    after: Any


def alike(one: Any, other: Any) -> bool:
    """Equal in value and type all the way down, whatever the order of the keys."""
    return next(differences(one, other), None) is None


def differences(before: Any, after: Any, path: KeyPath = (), *, whole_lists: bool = False) -> Iterator[Difference]:
    """Every place where two values differ: in the order of ``before``, then what is new.

    Args:
        path: where the two stand.
        whole_lists: a list differs as one value, also where its items are mappings that differ further down.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        twins = {_key(key): key for key in after}
        for key in before:
            if _key(key) in twins:
                yield from differences(before[key], after[twins[_key(key)]], (*path, key), whole_lists=whole_lists)
            else:
                yield Difference((*path, key), before[key], MISSING)
        known = {_key(key) for key in before}
        for key in after:
            if _key(key) not in known:
                yield Difference((*path, key), MISSING, after[key])
    elif isinstance(before, list) and isinstance(after, list):
        if whole_lists:
            if not alike(before, after):
                yield Difference(path, before, after)
        elif len(before) != len(after) or not all(map(_comparable, before, after)):
            yield Difference(path, before, after)
        else:
            for index, (one, other) in enumerate(zip(before, after, strict=True)):
                yield from differences(one, other, (*path, index))
    elif not same(before, after):
        yield Difference(path, before, after)


def at_path(value: Any, path: KeyPath) -> Any:
    """What stands at ``path``; MISSING where it leads nowhere."""
    for name in path:
        is_index = isinstance(value, list) and type(name) is int and name < len(value)
        if not is_index and not (isinstance(value, dict) and name in value):
            return MISSING
        value = value[name]
    return value


def _comparable(one: Any, other: Any) -> bool:
    """Two items that are equal, or may differ further down only."""
    return (isinstance(one, dict | list) and type(one) is type(other)) or same(one, other)


def _key(key: Any) -> tuple[type, Any]:
    """A key by value and type: 1, 1.0 and true are three."""
    return type(key), key
