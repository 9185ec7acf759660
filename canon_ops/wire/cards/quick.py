"""The quick yes: a function for each kind of block and field, written from the tables that also explain.

Nearly every card is right, so saying so should cost little. A rule therefore writes itself as plain Python, without
calls or loops that its value does not need; the texts are compiled once, as ``dataclasses`` does with ``__init__``.
Such a function raises one of :data:`DOUBTS` when it does not see at once that everything is right; the explanation
then decides. So it may be narrower than the rule, never wider.

What holds for every text of a card alike is looked at once, over all of them joined: that no surrogate stands alone,
and how many bytes of JSON they are; so are the signs of all ids. Whatever else a rule allows, keys, words and numbers,
has a bound that is known beforehand. So most cards are proven small without being written as JSON.

Checked by comparing with the explanation over mutated cards, and by seeing that right cards raise no doubt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from string import ascii_letters, digits
from typing import Any, Final, Protocol

from canon_ops.wire.cards.javascript import utf16_length

__all__ = ["ID_SIGNS", "Doubt", "Measure", "Source", "Written", "bytes_at_most", "compiled", "is_right"]

# Measures a value: puts its texts and its ids into the lists, returns the most bytes that all but the texts takes as
# JSON.
Measure = Callable[[Any, list[str], list[str]], int]
ID_SIGNS: Final = (ascii_letters + digits + "_.:-").encode()
_CONTROLS: Final = bytes(range(32))


class Doubt(Exception):
    """Not seen at once to be right."""


# What the written code raises over values of another type, with a key missing, or with a surrogate that stands alone,
# instead of asking first.
DOUBTS: Final = (Doubt, KeyError, TypeError, AttributeError, UnicodeEncodeError)


class Written(Protocol):
    """A rule that can write itself."""

    @property
    def fixed_bytes(self) -> int:
        """The most bytes of JSON that a right value takes, beside its texts and what its code adds to ``n``."""
        ...

    def write(self, value: str, source: Source) -> None:
        """Write the check of the variable ``value``."""
        ...


class Source:
    """The text of one function, while it is written. Its variable ``n`` is the size so far."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 1
        self._variables = 0
        self.names: dict[str, Any] = {"Doubt": Doubt, "utf16_length": utf16_length}

    def say(self, line: str) -> None:
        self._lines.append("    " * self._depth + line)

    def refuse_if(self, condition: str) -> None:
        self.say(f"if {condition}: raise Doubt")

    @contextmanager
    def under(self, head: str) -> Iterator[None]:
        """What is said within stands indented under ``head``."""
        self.say(head)
        self._depth += 1
        yield
        self._depth -= 1

    def variable(self) -> str:
        """A name that stands nowhere else."""
        self._variables += 1
        return f"v{self._variables}"

    def constant(self, value: Any) -> str:
        """The name by which the text reaches ``value``."""
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def text(self) -> str:
        return "\n".join(["def measure(value, texts, ids):", *self._lines, "    return n"])


def compiled(rule: Written) -> Measure:
    """The function that measures a value of that rule."""
    source = Source()
    source.say(f"n = {rule.fixed_bytes}")
    rule.write("value", source)
    exec(compile(source.text(), "<a card's quick yes>", "exec"), source.names)  # noqa: S102  # only of our own tables
    measure: Measure = source.names["measure"]
    return measure


def bytes_at_most(measure: Measure, value: Any, limit: float = math.inf) -> int | None:
    """How many bytes of JSON a right value takes at most; None means that it has to be explained.

    Args:
        limit: a bound below that need not be a close one.
    """
    texts: list[str] = []
    ids: list[str] = []
    try:
        size = measure(value, texts, ids)
        if ids and "".join(ids).encode("ascii").translate(None, ID_SIGNS):
            return None
        text = "".join(texts)
        if not (text.isascii() and min(texts) >= "!"):
            # Nothing is blank if nothing is for Python and the one sign that only JavaScript strips is not there.
            if "\ufeff" in text or not all(map(str.strip, texts)):
                return None
            text.encode()  # the quickest way to meet a surrogate
    except DOUBTS:
        return None
    # No character takes more than six bytes: a control character, \u0000.
    most = size + 6 * len(text)
    return most if most <= limit else size + _json_bytes(text)


def is_right(measure: Measure, value: Any) -> bool:
    """Whether a value is right, of whatever size; False means that it has to be explained."""
    return bytes_at_most(measure, value) is not None


def _json_bytes(text: str) -> int:
    """The most bytes that the characters take."""
    data = text.encode()
    controls = len(data) - len(data.translate(None, _CONTROLS))
    return len(data) + data.count(b'"') + data.count(b"\\") + 5 * controls
