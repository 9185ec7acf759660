"""A map that shares what has not changed: it does what a dictionary does, and the old one stays as it was."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_hermes_plugin.inbound.persistent_map import PersistentMap


@dataclass(frozen=True)
class Clash:
    """A key whose hash many others have."""

    number: int

    def __hash__(self) -> int:
        return self.number % 3 - 1


KEYS = st.one_of(st.integers(-300, 300), st.integers(0, 300).map(str), st.integers(0, 40).map(Clash))


@given(st.lists(st.tuples(KEYS, st.booleans()), max_size=120))
def test_it_holds_what_a_dictionary_holds(edits: list[tuple[object, bool]]) -> None:
    """Any edits, with keys that clash: the newest has what a dictionary would have."""
    entries: PersistentMap[object, int] = PersistentMap()
    model: dict[object, int] = {}
    for number, (key, stays) in enumerate(edits):
        if stays:
            entries, model[key] = entries.with_entry(key, number), number
        else:
            entries = entries.without(key)
            model.pop(key, None)
        assert (len(entries), key in entries) == (len(model), key in model)

    assert {key: entries[key] for key, _ in edits if key in entries} == model
    assert all(entries.get(key, -1) == model.get(key, -1) for key, _ in edits)


def test_an_older_map_stays_as_it_was() -> None:
    """It can be edited again, and both ways go on."""
    old: PersistentMap[int, str] = PersistentMap()
    for number in range(100):
        old = old.with_entry(number, "old")

    new, other = old.with_entry(7, "new").without(8), old.without(7)

    assert (old[7], old[8], len(old)) == ("old", "old", 100)
    assert (new[7], 8 in new, len(new)) == ("new", False, 99)
    assert (7 in other, other[8], len(other)) == (False, "old", 99)


def test_what_is_taken_out_leaves_nothing() -> None:
    """A map that grew and was emptied is as small as one that was always empty."""
    entries: PersistentMap[int, None] = PersistentMap()
    for number in range(1_000):
        entries = entries.with_entry(number, None)
    for number in range(1_000):
        entries = entries.without(number)

    assert (len(entries), entries._root) == (0, {})


def test_a_key_that_is_not_there() -> None:
    """Taking it out changes nothing, asking for it raises as a dictionary does."""
    entries = PersistentMap[str, int]().with_entry("a", 1)

    assert entries.without("b") is entries
    with pytest.raises(KeyError):
        entries["b"]
