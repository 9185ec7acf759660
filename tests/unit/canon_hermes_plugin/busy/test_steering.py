"""Words in a running turn: what is left of them at its end."""

from __future__ import annotations

import pytest

from canon_hermes_plugin.busy.steering import Steered, Steering, late_ones


def steered(*words: str) -> tuple[Steered, ...]:
    return tuple(Steered(number, text, None, None) for number, text in enumerate(words, 1))


@pytest.mark.parametrize(
    ("waiting", "late"),
    [(None, 0), ("", 0), ("c", 1), ("b\nc", 2), ("a\nb\nc", 3), ("x\nc", 3), ("b", 3)],
)
def test_the_last_words_that_wait_in_the_agent_are_late(waiting: str | None, late: int) -> None:
    """The host joins words by line ends; where others' are among them, none is taken for answered."""
    assert late_ones(steered("a", "b", "c"), waiting) == late


def test_only_what_is_unread_is_left() -> None:
    """And each only once; another session is not touched."""
    steering = Steering()
    for one in steered("a", "b", "c"):
        steering.put("s1", one)
    steering.put("s2", Steered(9, "z", None, None))

    first, again = steering.take("s1", {2, 3, 9}), steering.take("s1", {2, 3})

    assert [one.words for one in first] == ["b", "c"] and again == ()
    assert [one.words for one in steering.take("s2", {9})] == ["z"]
