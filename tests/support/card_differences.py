"""Why our verdict on a card differs from the published validator's: each line that only one of them has, explained.

The canonical validator runs in JavaScript, and the published one is a port that differs from it where Python does
(defects D40 and D41); ours follows the original. So a difference is one of :class:`Reason`, and the value that the
line is about must be of the kind which that reason speaks of. What is left over is a mistake in one of the two.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

__all__ = ["Reason", "reasons"]

# What String.prototype.trim removes, and what str.strip does, where they are not the same.
ONLY_JAVASCRIPT, ONLY_PYTHON = "\ufeff", "\x1c\x1d\x1e\x1f\x85"
BOTH = "".join(sign for sign in map(chr, range(0x10000)) if sign.isspace() and sign not in ONLY_PYTHON)
_PATH = re.compile(r"card(?:\.[A-Za-z]+|\[\d+\])*")
_STEP = re.compile(r"\.([A-Za-z]+)|\[(\d+)\]")


class Reason(StrEnum):
    """A difference that is meant."""

    RAISES_SURROGATE = "D41: it raises on a surrogate that stands alone"
    RAISES_DEEP = "D41: it raises on deep nesting"
    KIND = "D40: the kind of a block as Python writes it"
    ID_END = "D40: an id may end with a newline"
    DATE = "D40: a date may end with a newline or have other digits than ASCII"
    BLANK = "D40: what is white space"
    SIZE = "D40: how long a number is in JSON"


def reasons(card: Any, ours: dict[str, Any], theirs: Any) -> list[Reason] | None:
    """Why the verdicts differ; empty when they do not, None when nobody knows.

    Args:
        theirs: their verdict, or the name of what they raised.
    """
    if ours == theirs:
        return []
    if isinstance(theirs, str):
        return _reasons_of_raising(card, ours, theirs)
    if ours["ok"] is not (not ours["errors"]) or theirs["ok"] is not (not theirs["errors"]):
        return None
    here, there = Counter(ours["errors"]), Counter(theirs["errors"])
    both = here & there
    if [line for line in ours["errors"] if line in both] != [line for line in theirs["errors"] if line in both]:
        return None  # the order is part of the contract
    found = [_reason(line, card) for line in (*(here - both), *(there - both))]
    return None if None in found or not found else [reason for reason in found if reason is not None]


def _reasons_of_raising(card: Any, ours: dict[str, Any], theirs: str) -> list[Reason] | None:
    if "card is not JSON-serializable" not in ours["errors"]:
        return None
    if theirs == "UnicodeEncodeError" and any(map(_has_surrogate, _texts(card))):
        return [Reason.RAISES_SURROGATE]
    return [Reason.RAISES_DEEP] if theirs == "RecursionError" else None


def _reason(line: str, card: Any) -> Reason | None:
    path = _PATH.match(line)
    if path is None:
        return None
    value = _at(card, path[0])
    if ".kind " in line and line.endswith(" is not a supported block kind"):
        return Reason.KIND if isinstance(value, int | float | list | dict) else None
    if line.startswith("card exceeds "):
        return Reason.SIZE if any(isinstance(item, float) or _is_large(item) for item in _values(card)) else None
    if not isinstance(value, str):
        return _reason_about_neighbours(line, value)
    if " must match /" in line or line.endswith(" is duplicated"):
        return Reason.ID_END if value.endswith("\n") else None
    if line.endswith("date string"):
        return Reason.DATE if value.endswith("\n") or not value.isascii() else None
    if line == f"{path[0]} must be <= {path[0][:-4]}.max":  # one of the two is a date for one validator only
        return Reason.DATE
    if line.endswith(("must be a non-empty string", " characters")):  # blank for one, too long for the other
        return Reason.BLANK if (value.strip() == "") != (value.strip(ONLY_JAVASCRIPT + BOTH) == "") else None
    return None


def _reason_about_neighbours(line: str, value: Any) -> Reason | None:
    """A choice that is a duplicate once both are trimmed."""
    if " duplicates choice value " not in line:
        return None
    return Reason.BLANK if any(set(text) & set(ONLY_JAVASCRIPT + ONLY_PYTHON) for text in _texts(value)) else None


def _at(card: Any, path: str) -> Any:
    value = card
    for name, index in _STEP.findall(path):
        try:
            value = value[name] if name else value[int(index)]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _values(value: Any) -> Iterator[Any]:
    """Every value inside, and itself."""
    stack = [value]
    while stack:
        item = stack.pop()
        yield item
        stack.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())


def _texts(value: Any) -> Iterator[str]:
    return (item for item in _values(value) if isinstance(item, str))


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= sign <= "\udfff" for sign in text)


def _is_large(value: Any) -> bool:
    return isinstance(value, int) and abs(value) > 2**53
