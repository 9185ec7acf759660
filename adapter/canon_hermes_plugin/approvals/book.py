"""The registry as a value: bytes in, entries out, and bytes again with everything kept that nobody asked about.

Two kinds of damage are told apart (decisions A3). A file that is no JSON object fails as a whole and is never written
over: whoever can no longer see which approvals exist must not act as if there were none. A single value that is no
entry stays in the file as it was read, is invisible to everything that acts, and is named by everything that reports.

The text is what the published plugin writes: two spaces, sorted keys, no NaN; characters outside ASCII are escaped,
so that any text that a model produces, a lone surrogate too, can be stored and read back.

Source: canon-adapter R10.1, R10.4, R10.7; decisions A1, A3.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from canon_hermes_plugin.approvals.entry import RETENTION_MS, Entry, damage

__all__ = ["Book", "BookDamaged", "Renderer", "parse"]


class BookDamaged(ValueError):
    """The bytes are no registry; the text says where."""


@dataclass(frozen=True, slots=True)
class Book:
    """All approvals of one Canon home, of every agent.

    Attributes:
        entries: by id.
        damaged: what stands under an id and is no entry, as it was read.
        reasons: for each damaged id, why, as the end of a sentence that begins with the id.
    """

    entries: Mapping[str, Entry] = field(default_factory=dict)
    damaged: Mapping[str, Any] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def get(self, approval_id: str) -> Entry | None:
        return self.entries.get(approval_id)

    def is_taken(self, approval_id: str) -> bool:
        """Whether something stands under that id, damaged or not."""
        return approval_id in self.entries or approval_id in self.damaged

    def with_entry(self, entry: Entry) -> Book:
        return self.with_entries({entry.approval_id: entry})

    def with_entries(self, changed: Mapping[str, Entry]) -> Book:
        """The book with these entries, by id: one copy of all entries, however many change."""
        return Book({**self.entries, **changed}, self.damaged, self.reasons) if changed else self

    def without_old(self, now_ms: float, only: Container[str] | None = None) -> tuple[Book, tuple[Entry, ...]]:
        """The book without terminal entries that ended more than 14 days ago, and those (R10.7).

        An entry that is not terminal is never dropped, however old it is.

        Args:
            only: ids; None: all that are old.
        """
        old = tuple(
            entry
            for entry in self
            if (only is None or entry.approval_id in only)
            and entry.status.is_terminal
            and now_ms - entry.settled_at_ms() > RETENTION_MS
            and not _owes_a_wake(entry)
        )
        if not old:
            return self, ()
        gone = {entry.approval_id for entry in old}
        return Book({k: v for k, v in self.entries.items() if k not in gone}, self.damaged, self.reasons), old

    def next_old_ms(self, now_ms: float) -> float:
        """No entry of this book, or one that ends from now on, is old before that time."""
        ends = [entry.settled_at_ms() for entry in self if entry.status.is_terminal]
        return min([*ends, now_ms]) + RETENTION_MS


def _owes_a_wake(entry: Entry) -> bool:
    """A decision that the agent has not heard yet is kept until it has (a gateway may have been down for weeks)."""
    return entry.wake_status is not None and entry.wake_status != "delivered"


class Renderer:
    """Writes books as bytes; remembers the text of every entry, so that a change costs one entry and not all."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[Any, bytes]] = {}  # in the order of the file

    def data(self, book: Book) -> bytes:
        """The file's bytes: what ``json.dumps(root, indent=2, sort_keys=True)`` would write."""
        values = {**book.damaged, **book.entries}
        if not values:
            self._texts = {}
            return b"{}"
        if values.keys() != self._texts.keys():
            nothing = (object(), b"")
            self._texts = {key: self._texts.get(key, nothing) for key in sorted(values)}
        for key, (known, _) in self._texts.items():
            if values[key] is not known:
                self._texts[key] = values[key], _text(key, values[key])
        first, *others = [text for _, text in self._texts.values()]
        return b"".join([b"{", first[1:], *others, b"\n}"])  # each begins with the comma that the first has not


_ON_ONE_LINE: Final = json.JSONEncoder(allow_nan=False).encode


def _text(key: str, value: Any) -> bytes:
    """One entry in the file, after a comma. The standard library lays out an object with Python code alone, several
    times as long as it takes to write its fields one by one; those that are objects themselves are rare."""
    fields = value.fields if isinstance(value, Entry) else value
    if not isinstance(fields, Mapping) or not fields:
        return f",\n  {_ON_ONE_LINE(key)}: {_laid_out(fields, '  ')}".encode("ascii")
    body = ",\n".join(f"    {_ON_ONE_LINE(name)}: {_laid_out(fields[name], '    ')}" for name in sorted(fields))
    return f",\n  {_ON_ONE_LINE(key)}: {{\n{body}\n  }}".encode("ascii")


def _laid_out(value: Any, indent: str) -> str:
    if isinstance(value, Mapping | list):
        text = json.dumps(value, indent=2, sort_keys=True, allow_nan=False)
        return text.replace("\n", f"\n{indent}")  # inside a text there is none: it is written as two characters
    return _ON_ONE_LINE(value)


def parse(data: bytes | None) -> Book:
    """Read a registry; None, a file that is not there, is an empty one.

    Raises:
        BookDamaged: the bytes are not a JSON object, or hold a key twice, so that one of two would be lost, or a number
            that is beyond every number.
    """
    if data is None:
        return Book()
    try:
        root = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique_pairs,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except UnicodeDecodeError as error:
        raise BookDamaged(f"byte {error.start} is not UTF-8") from error
    except json.JSONDecodeError as error:
        said = error.msg.removesuffix(" at").removesuffix(" starting")  # the library ends some with "at" and a number
        raise BookDamaged(f"line {error.lineno}, column {error.colno}: {said}") from error
    except RecursionError as error:
        raise BookDamaged("it is nested too deeply") from error
    except BookDamaged:
        raise
    except ValueError as error:  # a number of more digits than Python reads
        raise BookDamaged(str(error)) from error
    if not isinstance(root, dict):
        raise BookDamaged("its root is no object")
    reasons = {key: why for key, value in root.items() if (why := damage(key, value)) is not None}
    return Book(
        entries={key: Entry(value) for key, value in root.items() if key not in reasons},
        damaged={key: root[key] for key in reasons},
        reasons=reasons,
    )


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise BookDamaged(f"the key {key[:80]!r} stands there twice")
            seen.add(key)
    return found


def _finite(text: str) -> float:
    """What cannot be written down again must not be read: ``1e999`` would come back as a word that is no JSON."""
    number = float(text)
    return number if math.isfinite(number) else _refuse_constant(text[:40])


def _refuse_constant(word: str) -> Any:
    raise BookDamaged(f"{word} is no number")
