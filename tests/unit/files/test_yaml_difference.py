"""Where two configurations read differently."""

from __future__ import annotations

from canon_ops.files.yaml_difference import MISSING, Difference, alike, at_path, differences


def test_differences_name_places() -> None:
    """Changed, gone, new; in the order of the first value, then what is new."""
    before = {"a": 1, "b": {"c": [1, 2], "d": 1}, "gone": 0}
    after = {"new": 1, "b": {"c": [1, 3], "d": 1}, "a": True}

    assert list(differences(before, after)) == [
        Difference(("a",), 1, True),
        Difference(("b", "c"), [1, 2], [1, 3]),
        Difference(("gone",), 0, MISSING),
        Difference(("new",), MISSING, 1),
    ]


def test_the_order_of_keys_does_not_count_and_types_do() -> None:
    """1, 1.0 and true are three values, as keys too; nan is itself."""
    assert alike({"a": 1, "b": [float("nan")]}, {"b": [float("nan")], "a": 1})
    assert not alike({1: "x"}, {True: "x"})
    assert not alike([1], [1.0])
    assert not alike([1, 2], [2, 1])


def test_a_list_of_mappings_differs_inside() -> None:
    """The place is the field, as long as no other item differs."""
    assert list(differences([{"a": 1}, "x"], [{"a": 2}, "x"])) == [Difference((0, "a"), 1, 2)]
    assert list(differences([{"a": 1}, "x"], [{"a": 2}, "y"])) == [Difference((), [{"a": 1}, "x"], [{"a": 2}, "y"])]


def test_a_path_may_lead_nowhere() -> None:
    """A text has no index, a list no key."""
    assert at_path({"a": [1]}, ("a", 0)) == 1
    assert at_path({"a": "text"}, ("a", 0)) is MISSING
    assert at_path({"a": [1]}, ("a", 1)) is MISSING
