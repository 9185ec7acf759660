"""The few ways in which JavaScript sees a value otherwise than Python, as far as a card's errors show them.

The canonical validator of cards runs in JavaScript; what it calls blank, long or large must be so here.

Source: canon-adapter R12.4-R12.6, D40.
"""

from __future__ import annotations

import json
import marshal
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

__all__ = ["WHITESPACE", "as_string", "compact_size", "fits_for_certain", "is_blank", "utf16_length"]

# What String.prototype.trim removes: white space and line terminators of ECMAScript.
WHITESPACE: Final = frozenset(
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_TRIMMED: Final = "".join(sorted(WHITESPACE))
# No value takes more JSON than six times what marshal needs: `false,` is six characters for one byte, and so is a
# control character; everything else is cheaper.
_JSON_PER_MARSHAL: Final = 6
_SURROGATE: Final = b"\xed"  # how marshal begins a surrogate, and some characters that are none


def is_blank(text: str) -> bool:
    """Whether ``text.trim()`` is empty."""
    return not text.strip(_TRIMMED)


def utf16_length(text: str) -> int:
    """``text.length``: characters beyond the first plane count twice."""
    return len(text) if text.isascii() else len(text) + sum(character > "\uffff" for character in text)


def fits_for_certain(value: Any, limit: int) -> bool:
    """Whether ``value`` takes at most ``limit`` bytes as JSON, told at a fraction of the price; False means unknown."""
    try:
        data = marshal.dumps(value, 2)  # version 2: a value met twice counts twice
        return len(data) * _JSON_PER_MARSHAL <= limit and _SURROGATE not in data
    except (ValueError, RecursionError):
        return False


def compact_size(value: Any) -> int | None:
    """The bytes of ``JSON.stringify(value)`` in UTF-8; None when it cannot be written as JSON.

    A lone surrogate counts as not writable: no UTF-8 text can hold it.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
        return len(text) + sum(_difference(number) for number in _numbers(value))
    except (TypeError, ValueError, RecursionError, OverflowError):
        return None


def _numbers(value: Any) -> Iterator[int | float]:
    """Every number whose text may differ between the two languages."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)
        elif isinstance(item, float) or (isinstance(item, int) and abs(item) > 2**53):
            yield item


def _difference(number: int | float) -> int:
    python = json.dumps(number)
    javascript = number_text(number)
    return len("null" if javascript in ("NaN", "Infinity", "-Infinity") else javascript) - len(python)


def as_string(value: Any) -> str:
    """``String(value)``; only JSON values come here."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float():
            return number_text(value)
        case list() | tuple():
            return ",".join("" if item is None else as_string(item) for item in value)
    return "[object Object]"


def number_text(number: int | float) -> str:
    """``Number.prototype.toString``: shortest digits, an exponent from 1e21 up and below 1e-6."""
    try:
        double = float(number)
    except OverflowError:
        double = math.inf if number > 0 else -math.inf
    if math.isnan(double):
        return "NaN"
    if math.isinf(double):
        return "Infinity" if double > 0 else "-Infinity"
    if double == 0:
        return "0"
    sign, digits, exponent = _parts(double)
    point = len(digits) + exponent  # where the point stands, counted from the first digit
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return f"{sign}{digits[0]}{'.' if len(digits) > 1 else ''}{digits[1:]}{power}"


def _parts(double: float) -> tuple[str, str, int]:
    """Sign, shortest significant digits, and the power of ten of the last digit."""
    mantissa, _, power = f"{double!r}".partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = int(power or 0) - len(fraction)
    short = digits.rstrip("0")
    return "-" if double < 0 else "", short, exponent + len(digits) - len(short)
