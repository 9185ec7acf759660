"""Reading single fields off JSON that somebody else wrote: nothing here raises, a wrong shape reads as absent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

__all__ = ["JsonObject", "as_object", "integer_of", "number_in", "objects_in", "string_first", "strings_in", "text_of"]

JsonObject: TypeAlias = Mapping[str, Any]

_EMPTY: JsonObject = MappingProxyType({})


def as_object(value: object) -> JsonObject:
    """``value`` when it is a JSON object, else an empty one."""
    if type(value) is dict:  # nearly always, and ten times as fast as asking an abstract class
        return value
    return value if isinstance(value, Mapping) else _EMPTY


def text_of(source: JsonObject, key: str) -> str | None:
    """The string under ``key``; None when it is absent or anything but a string."""
    value = source.get(key)
    return value if isinstance(value, str) else None


def integer_of(source: JsonObject, key: str) -> int | None:
    """The whole number under ``key``; None when it is absent or anything else, a boolean included."""
    value = source.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number_in(value: object) -> float | None:
    """A finite number that a double can hold, as it is; None for anything else, a boolean included (D50)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # a whole number of hundreds of digits
        return None


def string_first(source: object, *keys: str) -> str | None:
    """The first of ``keys`` whose value is neither null nor, as text, empty; numbers become text.

    Source: canon-adapter 0.1.
    """
    for key in keys:
        value = as_object(source).get(key)
        if value is not None and (text := str(value)):
            return text
    return None


def strings_in(value: object) -> tuple[str, ...]:
    """The strings of a list, in order; anything else in it is left out, anything but a list is empty."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else ()


def objects_in(value: object) -> Iterator[JsonObject]:
    """The objects of a list, in order; anything but a list has none."""
    return (item for item in value if isinstance(item, Mapping)) if isinstance(value, list | tuple) else iter(())
