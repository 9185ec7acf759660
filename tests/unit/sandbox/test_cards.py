"""What a person may submit with a card."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.sandbox.cards import actions_of, is_interactive, values_fault

FIELDS: list[dict[str, Any]] = [
    {"id": "note", "label": "Note", "type": "textarea"},
    {
        "id": "who",
        "label": "Who",
        "type": "select",
        "choices": [{"label": "A"}, {"label": "B", "value": "b"}],
        "required": True,
    },
    {
        "id": "tags",
        "label": "Tags",
        "type": "multiSelect",
        "choices": [{"label": "x"}, {"label": "y"}],
        "allowOther": True,
    },
    {"id": "sure", "label": "Sure", "type": "boolean"},
    {"id": "due", "label": "Due", "type": "date"},
    {"id": "count", "label": "Count", "type": "number", "min": 1, "max": 5, "precision": 0},
    {"id": "sum", "label": "Sum", "type": "currency"},
    {
        "id": "rows",
        "label": "Rows",
        "type": "lineItems",
        "maxRows": 2,
        "columns": [
            {"id": "n", "label": "N", "type": "number", "required": True},
            {"id": "t", "label": "T", "type": "text"},
        ],
    },
]
ACTION = {"id": "go", "label": "Go", "fields": FIELDS}


@pytest.mark.parametrize(
    "values",
    [
        {"who": "A"},
        {"who": "b", "note": "n", "sure": False, "due": "2026-09-11", "count": 5, "sum": 8200.55},
        {"who": "A", "tags": ["x", "of my own"], "rows": [{"n": 1, "t": "a"}, {"n": 2}]},
    ],
)
def test_values_that_fit(values: dict[str, Any]) -> None:
    """Each type in its form; optional ones may be left out."""
    assert values_fault(ACTION, values) is None


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([], "object"),
        ({}, "who is required"),
        ({"who": ""}, "who is required"),
        ({"who": "B"}, "not a choice"),
        ({"who": "A", "magic": 1}, "no such field: magic"),
        ({"who": "A", "note": 1}, "note"),
        ({"who": "A", "sure": "yes"}, "sure"),
        ({"who": "A", "due": "tomorrow"}, "due"),
        ({"who": "A", "count": 6}, "out of range"),
        ({"who": "A", "count": 1.5}, "decimals"),
        ({"who": "A", "count": True}, "number"),
        ({"who": "A", "sum": 1.234}, "decimals"),
        ({"who": "A", "tags": "x"}, "list"),
        ({"who": "A", "tags": [1]}, "text"),
        ({"who": "A", "rows": [{"n": 1}] * 3}, "rows"),
        ({"who": "A", "rows": [{"t": "a"}]}, "n is required"),
        ({"who": "A", "rows": [{"n": 1, "z": 2}]}, "no such column: z"),
        ({"who": "A", "note": "x" * 9000}, "8192"),
    ],
)
def test_values_that_do_not_fit(values: Any, word: str) -> None:
    """The first fault is named."""
    fault = values_fault(ACTION, values)

    assert fault is not None
    assert word in fault


def test_actions_make_a_card_interactive() -> None:
    """One without actions only shows something."""
    assert actions_of({"blocks": [{"kind": "actions", "actions": [ACTION]}]}) == {"go": ACTION}
    assert not is_interactive({"blocks": [{"kind": "summary", "text": "x"}]})
