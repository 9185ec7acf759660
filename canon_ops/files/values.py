"""Turn what is typed on a command line into a value of a type.

``auto`` reads only what nobody can misread: ``true``, ``false``, ``null``, whole numbers without a leading zero and
plain decimals. All else is text: ``off``, ``007``, ``12:30``, ``1e3``, ``[a, b]``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

from canon_ops.errors import UsageError
from canon_ops.hints import Any, ClassVar
from canon_ops.lean import late_pattern

__all__ = ["TYPES", "BadValue", "Value", "parse_value"]

Value = Any
_WHOLE = late_pattern(r"-?(?:0|[1-9][0-9]*)")
_DECIMAL = late_pattern(r"-?(?:0|[1-9][0-9]*)\.[0-9]+")
_MOST_SHOWN = 80  # characters of a wrong value
_TRUE, _FALSE = frozenset({"true", "yes", "on"}), frozenset({"false", "no", "off"})


class BadValue(UsageError):
    """The text is not a value of the type asked for."""

    code: ClassVar[str] = "config_value"


def parse_value(text: str, type: str = "auto") -> Value:  # named as the option is: --type
    """Read ``text`` as ``type``: one of :data:`TYPES`.

    Raises:
        BadValue: it is none, or there is no such type.
    """
    reader = TYPES.get(type)
    if reader is None:
        raise BadValue(f"there is no type {type!r}", fix=f"one of {', '.join(TYPES)}")
    try:
        return reader(text)
    except (ValueError, RecursionError) as error:
        raise BadValue(
            f"{_short(text)!r} is not a value of the type {type}: {error}", fix="--type str keeps it as text"
        ) from error


def _auto(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    if text == "null":
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) and math.isfinite(float(text)) else text


def _bool(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError("write true or false")
    return word in _TRUE


def _int(text: str) -> int:
    if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", text):
        raise ValueError("write digits only")
    return int(text)


def _float(text: str) -> float:
    if not re.fullmatch(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*", text):
        raise ValueError("write a decimal number")
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("it is too large")
    return number


def _null(text: str) -> None:
    if text not in ("null", "~", ""):
        raise ValueError("write null")


def _json(text: str) -> Value:
    def no_constant(word: str) -> Value:
        raise ValueError(f"{word} is not JSON")

    def unique(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for key, value in pairs:
            if key in found:
                raise ValueError(f"the key {key!r} is there twice")
            found[key] = value
        return found

    return json.loads(text, parse_constant=no_constant, object_pairs_hook=unique)


TYPES: dict[str, Callable[[str], Value]] = {
    "auto": _auto,
    "str": str,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "null": _null,
    "json": _json,
}


def _short(text: str) -> str:
    """Enough of a value to know it by."""
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
