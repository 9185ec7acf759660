"""The building blocks of the card's grammar: each can say yes quickly, and can explain a no in full.

A validator that agents call with every card should cost little when the card is right, and tell everything when it is
not. So a rule has two readings. ``write`` gives the code of its quick yes (:mod:`canon_ops.wire.cards.quick`), which
may doubt a right value. ``explain`` walks again and adds every error, in the order that is part of the contract; it
alone decides. Whatever the quick yes accepts, ``explain`` has nothing to say about; a property test holds the two
together.

Source: canon-adapter R12.4.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

from canon_ops.wire.cards.javascript import is_blank, utf16_length
from canon_ops.wire.cards.quick import Measure, Source, Written, compiled

__all__ = [
    "ABSENT",
    "ID_TEXT",
    "NUMBER_BYTES",
    "SAME_IDS",
    "Array",
    "Boolean",
    "ByWord",
    "Check",
    "Errors",
    "Id",
    "Integer",
    "Key",
    "Number",
    "Object",
    "OneOf",
    "Pattern",
    "Rule",
    "Text",
    "Unlooked",
    "explain_list",
    "is_finite",
    "unsupported_keys",
]  # fmt: skip

Errors = list[str]
ABSENT: Final = object()
SAME_IDS: Final = 'len({item["id"] for item in items}) < len(items)'
ID_LENGTH: Final = 80
ID_PATTERN: Final = f"[A-Za-z0-9_.:-]{{1,{ID_LENGTH}}}"
ID_TEXT: Final = f"/^{ID_PATTERN}$/"
NUMBER_BYTES: Final = 25  # the longest text of a double in JavaScript: sign, 17 digits, point, and e-308


class Rule(Written, Protocol):
    """What a value must be."""

    def explain(self, value: Any, path: str, errors: Errors) -> None: ...


def is_object(value: Any) -> bool:
    """A JSON object; asking for a plain dict first saves most of the price."""
    return type(value) is dict or isinstance(value, Mapping)


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

    fixed_bytes = len('""')

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._surely_short = limit // 2  # no character counts more than twice

    def write(self, value: str, source: Source) -> None:
        """Whether it is a text that is not blank is asked of all texts at once."""
        self.write_check(value, source)
        source.say(f"texts.append({value})")

    def write_check(self, value: str, source: Source) -> None:
        """The same, for a text that is handed on elsewhere."""
        too_long = f"len({value}) > {self.limit} or not {value}.isascii() and utf16_length({value}) > {self.limit}"
        source.refuse_if(f"len({value}) > {self._surely_short} and ({too_long})")

    def explain(self, value: Any, path: str, errors: Errors) -> None:
        if isinstance(value, str) and "!" <= value[:1] < "\x7f" and len(value) <= self._surely_short:
            return  # nearly every text of a card with an error elsewhere
        if not isinstance(value, str) or is_blank(value):
            errors.append(f"{path} must be a non-empty string")
        elif utf16_length(value) > self.limit:
            errors.append(f"{path} must be <= {self.limit} characters")


class Check:
    """A condition with one sentence.

    Args:
        words: what an error says after the path.
        most_bytes: of a right value as JSON.
        quick: an expression over ``{0}``, true only of right values; None asks ``holds``.
    """

    def __init__(self, holds: Callable[[Any], bool], words: str, most_bytes: int, quick: str | None = None) -> None:
        self.holds = holds
        self.words = words
        self.fixed_bytes = most_bytes
        self._quick = quick

    def write(self, value: str, source: Source) -> None:
        holds = f"{source.constant(self.holds)}({value})"
        source.refuse_if(f"not ({self._quick.format(value)} or {holds})" if self._quick else f"not {holds}")

    def explain(self, value: Any, path: str, errors: Errors) -> None:
        if not self.holds(value):
            errors.append(f"{path} {self.words}")


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _is_natural(value: Any) -> bool:
    return is_finite(value) and value >= 0 and value == math.floor(value)


Boolean: Final = Check(_is_boolean, "must be boolean", len("false"), "{0} is True or {0} is False")
Number: Final = Check(
    is_finite,
    "must be a finite number",
    NUMBER_BYTES,
    "type({0}) is int and -1_000_000_000 < {0} < 1_000_000_000 or type({0}) is float and {0} - {0} == 0.0",
)
Integer: Final = Check(
    _is_natural,
    "must be a non-negative integer",
    NUMBER_BYTES,
    "type({0}) is int and 0 <= {0} < 1_000_000_000",
)


class Pattern(Check):
    """A text that matches as a whole."""

    def __init__(self, pattern: str, words: str, most_bytes: int) -> None:
        self._match = re.compile(pattern, re.ASCII).fullmatch
        super().__init__(lambda value: isinstance(value, str) and self._match(value) is not None, words, most_bytes)

    def write(self, value: str, source: Source) -> None:
        source.refuse_if(f"not {source.constant(self._match)}({value})")


class _Id(Pattern):
    """An id; whether it is a text, and of which signs, is asked of all ids at once."""

    def __init__(self) -> None:
        super().__init__(ID_PATTERN, f"must match {ID_TEXT}", ID_LENGTH + len('""'))

    def write(self, value: str, source: Source) -> None:
        source.refuse_if(f"not 0 < len({value}) <= {ID_LENGTH}")
        source.say(f"ids.append({value})")


Id: Final = _Id()


class Unlooked:
    """Looked at elsewhere, its presence too."""

    def __init__(self, most_bytes: int) -> None:
        self.fixed_bytes = most_bytes

    def write(self, value: str, source: Source) -> None:
        """Write nothing."""

    def explain(self, value: Any, path: str, errors: Errors) -> None:
        """Say nothing."""


class OneOf(Check):
    """One of some words."""

    def __init__(self, words: Sequence[str], sentence: str) -> None:
        self.choices = tuple(words)
        known = frozenset(words)
        super().__init__(
            lambda value: isinstance(value, str) and value in known, sentence, max(map(len, words)) + len('""')
        )
        self._known = known

    def write(self, value: str, source: Source) -> None:
        source.refuse_if(f"{value} not in {source.constant(self._known)}")


class Array:
    """A list with entries, at most ``limit``; entries beyond that are still looked at.

    Args:
        unless: an expression over ``items``, two or more right ones, that refuses them; for the quick yes alone.
    """

    fixed_bytes = len("[]")

    def __init__(self, item: Rule, limit: int, *, unless: str | None = None) -> None:
        self.item = item
        self.limit = limit
        self._unless = unless

    def write(self, value: str, source: Source) -> None:
        source.refuse_if(f"type({value}) is not list or not 0 < len({value}) <= {self.limit}")
        source.say(f"n += {self.item.fixed_bytes + len(',')} * len({value})")
        item = source.variable()
        with source.under(f"for {item} in {value}:"):
            if isinstance(self.item, Text):
                self.item.write_check(item, source)
            else:
                self.item.write(item, source)
        if isinstance(self.item, Text):
            source.say(f"texts += {value}")
        if self._unless:
            with source.under(f"if len({value}) > 1:"):
                source.say(f"items = {value}")
                source.refuse_if(self._unless)

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


@dataclass(frozen=True, slots=True)
class Key:
    """A key of an object, in its place in the order of the checks.

    Attributes:
        is_required: whether its absence is explained as if it were there with a wrong value.
    """

    name: str
    rule: Rule
    is_required: bool = False


class Object:
    """An object with known keys only; ``silent`` keys are allowed, and looked at elsewhere.

    Args:
        ordered: pairs of optional keys, the value of the first not above that of the second; for the quick yes alone.
    """

    def __init__(
        self, keys: tuple[Key, ...], silent: tuple[str, ...] = (), *, ordered: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.keys = keys
        self.allowed = frozenset({*silent, *(key.name for key in keys)})
        self.fixed_bytes = len("{}") + sum(len(f'"{key.name}":,') + key.rule.fixed_bytes for key in keys)
        self._ordered = ordered

    def write(self, value: str, source: Source) -> None:
        """Keys are counted: when all that were found are all that there are, no other is there."""
        source.refuse_if(f"type({value}) is not dict")
        required = [key for key in self.keys if key.is_required]
        for key in required:
            self._write_key(key, value, source)
        optional = [key for key in self.keys if not key.is_required]
        with source.under(f"if len({value}) != {len(required)}:"):
            known = source.variable()
            source.say(f"{known} = {len(required)}")
            for key in optional:
                with source.under(f"if {key.name!r} in {value}:"):
                    source.say(f"{known} += 1")
                    self._write_key(key, value, source)
            source.refuse_if(f"len({value}) != {known}")
            for low, high in self._ordered:
                source.refuse_if(f"{low!r} in {value} and {high!r} in {value} and {value}[{low!r}] > {value}[{high!r}]")

    def _write_key(self, key: Key, value: str, source: Source) -> None:
        if isinstance(key.rule, Unlooked):
            return
        item = source.variable()
        source.say(f"{item} = {value}[{key.name!r}]")
        key.rule.write(item, source)

    def explain(self, value: Any, path: str, errors: Errors) -> None:
        if not is_object(value):
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


class ByWord:
    """An object whose rule depends on the word under one of its keys; for the quick yes alone.

    Attributes:
        measures: a function for each word, written when the word is first met.
    """

    fixed_bytes = 0  # each function begins with its own

    def __init__(self, key: str, rules: Mapping[str, Written]) -> None:
        self._key = key
        self._rules = rules
        self.measures: dict[str, Measure] = {word: partial(self._first, word) for word in rules}

    def _first(self, word: str, value: Any, texts: list[str], ids: list[str]) -> int:
        self.measures[word] = measure = compiled(self._rules[word])
        return measure(value, texts, ids)

    def write(self, value: str, source: Source) -> None:
        source.say(f"n += {source.constant(self.measures)}[{value}[{self._key!r}]]({value}, texts, ids)")

    def explain(self, value: Any, path: str, errors: Errors) -> None:
        """Say nothing."""


def unsupported_keys(value: Mapping[str, Any], allowed: frozenset[str], path: str) -> Errors:
    """One error for each key that does not belong there, in the order of the document."""
    if value.keys() <= allowed:
        return []
    return [f'{path} has unsupported key "{name}"' for name in value if name not in allowed]
