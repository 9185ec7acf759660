"""The building blocks of the card's grammar: each can say yes quickly, and can explain a no in full.

A validator that agents call with every card should cost little when the card is right, and tell everything when it is
not. So a rule has two readings. ``accepts`` answers for valid values with one pass and no text; it may say False
when in doubt. ``explain`` then walks again and adds every error, in the order that is part of the contract; it alone
decides. For every value ``accepts(v)`` implies that ``explain`` has nothing to say; a property test holds the two
together.

Source: canon-adapter R12.4.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from canon_ops.wire.cards.javascript import WHITESPACE, is_blank, utf16_length

__all__ = [
    "ABSENT", "ID_TEXT", "Anything", "Array", "Boolean", "Check", "Errors", "Integer", "Key", "Number", "Object",
    "OneOf", "Rule", "Text", "explain_list", "is_finite", "is_id", "unsupported_keys",
]  # fmt: skip

Errors = list[str]
ABSENT: Final = object()
ID_TEXT: Final = "/^[A-Za-z0-9_.:-]{1,80}$/"
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,80}", re.ASCII)


class Rule(Protocol):
    """What a value must be."""

    @property
    def accepts(self) -> Callable[[Any], bool]: ...

    def explain(self, value: Any, path: str, errors: Errors) -> None: ...


def is_id(value: Any) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def is_finite(value: Any) -> bool:
    """A number that a double can hold; a boolean is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


class Text:
    """A text that is not blank, of at most ``limit`` UTF-16 units."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.accepts = _text_acceptor(limit)

    def explain(self, value: Any, path: str, errors: Errors) -> None:
        if not isinstance(value, str) or is_blank(value):
            errors.append(f"{path} must be a non-empty string")
        elif utf16_length(value) > self.limit:
            errors.append(f"{path} must be <= {self.limit} characters")


def _text_acceptor(limit: int) -> Callable[[Any], bool]:
    whitespace, surely = WHITESPACE, limit // 2

    def accepts(value: Any) -> bool:
        return (
            type(value) is str
            and value != ""
            and value[0] not in whitespace
            and (len(value) <= surely or utf16_length(value) <= limit)
        )

    return accepts


class Check:
    """A condition with one sentence."""

    def __init__(self, holds: Callable[[Any], bool], words: str) -> None:
        self.accepts = holds
        self.words = words

    def explain(self, value: Any, path: str, errors: Errors) -> None:
        if not self.accepts(value):
            errors.append(f"{path} {self.words}")


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _is_natural(value: Any) -> bool:
    return is_finite(value) and value >= 0 and value == math.floor(value)


Boolean: Final = Check(_is_boolean, "must be boolean")
Number: Final = Check(is_finite, "must be a finite number")
Integer: Final = Check(_is_natural, "must be a non-negative integer")
Anything: Final = Check(lambda value: True, "")


def OneOf(words: Sequence[str], sentence: str) -> Check:  # stands among the rules
    """One of some words."""
    known = frozenset(words)
    return Check(lambda value: isinstance(value, str) and value in known, sentence)


class Array:
    """A list with entries, at most ``limit``; entries beyond that are still looked at."""

    def __init__(self, item: Rule, limit: int) -> None:
        self.item = item
        self.limit = limit
        self.accepts = _array_acceptor(item.accepts, limit)

    def explain(self, value: Any, path: str, errors: Errors) -> None:
        explain_list(value, self.limit, self.item.explain, path, errors)


def explain_list(
    value: Any, limit: int, explain_item: Callable[[Any, str, Errors], None], path: str, errors: Errors
) -> None:
    """What is wrong with a list, then what is wrong with each of its entries."""
    if not isinstance(value, list) or not value:
        errors.append(f"{path} must be a non-empty array")
        return
    if len(value) > limit:
        errors.append(f"{path} must have <= {limit} entries")
    for index, item in enumerate(value):
        explain_item(item, f"{path}[{index}]", errors)


def _array_acceptor(accepts_item: Callable[[Any], bool], limit: int) -> Callable[[Any], bool]:
    def accepts(value: Any) -> bool:
        if type(value) is not list or not 0 < len(value) <= limit:
            return False
        for item in value:  # noqa: SIM110  # all() costs twice as much here
            if not accepts_item(item):
                return False
        return True

    return accepts


@dataclass(frozen=True, slots=True)
class Key:
    """A key of an object, in its place in the order of the checks.

    Attributes:
        at: what stands between the object's path and the error; a dot and the name.
        is_required: whether its absence is explained as if it were there with a wrong value.
    """

    name: str
    rule: Rule
    is_required: bool = False


class Object:
    """An object with known keys only; ``silent`` keys are allowed, and looked at elsewhere."""

    def __init__(self, keys: tuple[Key, ...], silent: tuple[str, ...] = ()) -> None:
        self.keys = keys
        self.allowed = frozenset({*silent, *(key.name for key in keys)})
        self.accepts = _object_acceptor(keys, silent)

    def explain(self, value: Any, path: str, errors: Errors) -> None:
        if not isinstance(value, Mapping):
            errors.append(f"{path} must be an object")
            return
        errors += unsupported_keys(value, self.allowed, path)
        self.explain_keys(value, path, errors)

    def explain_keys(self, value: Mapping[str, Any], path: str, errors: Errors) -> None:
        """What is wrong under the keys, without those that are not allowed."""
        for key in self.keys:
            item = value.get(key.name, ABSENT)
            if item is not ABSENT or key.is_required:
                key.rule.explain(item, f"{path}.{key.name}", errors)


def _object_acceptor(keys: Sequence[Key], silent: Sequence[str]) -> Callable[[Any], bool]:
    rule_for = ({name: Anything.accepts for name in silent} | {key.name: key.rule.accepts for key in keys}).get
    required = frozenset(key.name for key in keys if key.is_required)

    def accepts(value: Any) -> bool:
        if type(value) is not dict or not required <= value.keys():
            return False
        for name, item in value.items():
            accepts_item = rule_for(name)
            if accepts_item is None or not accepts_item(item):
                return False
        return True

    return accepts


def unsupported_keys(value: Mapping[str, Any], allowed: frozenset[str], path: str) -> Errors:
    """One error for each key that does not belong there, in the order of the document."""
    return [f'{path} has unsupported key "{name}"' for name in value if name not in allowed]
