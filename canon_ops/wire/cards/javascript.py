"""The few ways in which JavaScript sees a value otherwise than Python, as far as a card's errors show them.

The canonical validator of cards runs in JavaScript; what it calls blank, long or large must be so here.

Source: canon-adapter R12.4-R12.6, D40.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["TRIMMED", "WHITESPACE", "as_string", "exceeds", "is_blank", "utf16_length"]

_WRITTEN: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_END: Final = object()
_MOST_MORE: Final = 16  # the zeros of 1e+20: no sign of Python's text stands for more signs of JavaScript's

# What String.prototype.trim removes: white space and line terminators of ECMAScript.
WHITESPACE: Final = frozenset(
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
TRIMMED: Final = "".join(sorted(WHITESPACE))


def is_blank(text: str) -> bool:
    """Whether ``text.trim()`` is empty."""
    return not text or (text[0] in WHITESPACE and not text.strip(TRIMMED))


def utf16_length(text: str) -> int:
    """``text.length``: characters beyond the first plane count twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def exceeds(value: Any, limit: int) -> bool | None:
    """Whether ``JSON.stringify(value)`` takes more than ``limit`` bytes of UTF-8; None when it cannot be written.

    A lone surrogate counts as not writable: no UTF-8 text can hold it.
    """
    try:
        data = _WRITTEN(value).encode("utf-8")
    except (TypeError, ValueError, RecursionError, OverflowError):
        return None
    size = len(data)
    if size * (1 + _MOST_MORE) <= limit:
        return False
    is_larger = size > limit
    if size - _most_less(data) > limit if is_larger else size + _most_more(data) <= limit:
        return is_larger
    return size + sum(map(_difference, _numbers(value))) > limit


def _most_more(data: bytes) -> int:
    """How much longer JavaScript's text can be for all that may be a number in Python's, seen by single signs.

    ``1e+20`` has sixteen zeros more, ``1e-05`` three, ``NaN`` is null.
    """
    return _MOST_MORE * (data.count(b"+") + data.count(b"-")) + data.count(b"N")


def _most_less(data: bytes) -> int:
    """How much shorter: ``1.0`` and ``-0.0``, ``1e-07``, ``-Infinity``, and the digits of an integer beyond 1e21."""
    marks = data.count(b"-") + data.count(b".") + data.count(b"I")
    return 5 * marks + len(data) - len(data.translate(None, b"0123456789"))


def _numbers(value: Any) -> Iterator[int | float]:
    """Every number whose text may differ between the two languages."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict | list | tuple):
            inner = item.values() if isinstance(item, dict) else item
            stack += [one for one in inner if type(one) is not str]  # nearly all of a card is text
        elif isinstance(item, float) or (isinstance(item, int) and abs(item) > 2**53):
            yield item


def _difference(number: int | float) -> int:
    """How much longer JavaScript's text is."""
    if isinstance(number, float) and 1e-4 <= abs(number) < 1e16:  # both write its digits, without an exponent
        return -len(".0") if number.is_integer() else 0
    if isinstance(number, float):
        python = "-Infinity"[number > 0 :] if math.isinf(number) else float.__repr__(number)
    else:
        python = int.__repr__(number)
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
            return ",".join(_leaves(value))
    return "[object Object]"


def _leaves(value: list[Any] | tuple[Any, ...]) -> Iterator[str]:
    """What stands between the commas of a list, however deep it is nested; one that holds itself is empty there."""
    around, within = [iter(value)], {id(value)}
    entered = [id(value)]
    while around:
        item = next(around[-1], _END)
        if item is _END:
            around.pop()
            within.discard(entered.pop())
        elif isinstance(item, list | tuple) and item and id(item) not in within:
            around.append(iter(item))
            entered.append(id(item))
            within.add(id(item))
        else:
            yield "" if item is None or isinstance(item, list | tuple) else as_string(item)


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
