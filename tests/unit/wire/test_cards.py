"""Cards: every error, in its order and its words; and that the quick yes never says more than the long no."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_ops.wire.cards import MAX_CARD_BYTES, RUNTIME_CARD_LIMITS, validate_card
from canon_ops.wire.cards.document import _accepts, _Card
from canon_ops.wire.cards.javascript import WHITESPACE, as_string, compact_size, fits_for_certain, number_text
from canon_ops.wire.cards.limits import BLOCK_KINDS, FIELD_TYPES, TONES

ID = "must match /^[A-Za-z0-9_.:-]{1,80}$/"
DEEP: Any = 1
for _ in range(5000):
    DEEP = [DEEP]


def card(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"schema": "canon.card.v1", "title": "T", "fallbackText": "F", "blocks": list(blocks), **more}


def acting(*actions: Any) -> dict[str, Any]:
    return {"kind": "actions", "actions": list(actions)}


def asking(*fields: Any) -> dict[str, Any]:
    return card(acting({"id": "go", "label": "Go", "fields": list(fields)}))


def field(kind: str, **more: Any) -> dict[str, Any]:
    return {"id": "f", "label": "L", "type": kind, **more}


B, A = "card.blocks[0]", "card.blocks[0].actions[0]"
F = f"{A}.fields[0]"
SUMMARY = {"kind": "summary", "text": "S"}

CASES: list[tuple[str, Any, list[str]]] = [
    ("S12.1 text", "not a card", ["card must be an object"]),
    ("S12.1 list", ["blocks"], ["card must be an object"]),
    (
        "S12.2",
        {},
        [
            'card.schema must be "canon.card.v1"',
            "card.title must be a non-empty string",
            "card.fallbackText must be a non-empty string",
            "card.blocks must be a non-empty array",
        ],
    ),
    ("S12.3", card(SUMMARY, acting({"id": "go", "label": "Go"})), []),
    ("S12.4", card(), ["card.blocks must be a non-empty array"]),
    ("S12.5", card({**SUMMARY, "title": None}), [f"{B}.title must be a non-empty string"]),
    ("S12.6 absent", card({}), [f'{B}.kind "undefined" is not a supported block kind']),
    ("S12.6 null", card({"kind": None}), [f'{B}.kind "null" is not a supported block kind']),
    ("S12.6 true", card({"kind": True}), [f'{B}.kind "true" is not a supported block kind']),
    ("S12.6 5", card({"kind": 5}), [f'{B}.kind "5" is not a supported block kind']),
    ("S12.6 list", card({"kind": [1, None, "a"]}), [f'{B}.kind "1,,a" is not a supported block kind']),
    ("S12.6 object", card({"kind": {}}), [f'{B}.kind "[object Object]" is not a supported block kind']),
    ("S12.7", card("x"), [f"{B} must be an object"]),
    (
        "S12.8",
        card({"kind": "summary", "badge": "n"}),
        [f'{B} has unsupported key "badge"', f"{B}.text must be a non-empty string"],
    ),
    (
        "S12.9",
        card(
            {
                "kind": "chart",
                "chart": "pie",
                "series": [{"points": [{"x": "a", "y": True}, {"x": "", "y": float("nan")}, {"y": 1}]}],
            }
        ),
        [
            f'{B}.chart must be "line" or "bar"',
            f"{B}.series[0].points[0].y must be a finite number",
            f"{B}.series[0].points[1].x must be a non-empty string",
            f"{B}.series[0].points[1].y must be a finite number",
            f"{B}.series[0].points[2].x must be a non-empty string",
        ],
    ),
    (
        "S12.10",
        card({"kind": "table", "columns": ["a", ""], "rows": [["1"], [], "x"]}),
        [
            f"{B}.columns[1] must be a non-empty string",
            f"{B}.rows[1] must be a non-empty array",
            f"{B}.rows[2] must be a non-empty array",
        ],
    ),
    (
        "S12.11",
        card({"kind": "list", "items": [{"label": "a", "status": "doing"}, {"detail": "d", "foo": 1}, 7]}),
        [
            f"{B}.items[0].status is not a recognized status",
            f'{B}.items[1] has unsupported key "foo"',
            f"{B}.items[1].label must be a non-empty string",
            f"{B}.items[2] must be an object",
        ],
    ),
    (
        "S12.12",
        card(
            {
                "kind": "mediaPreview",
                "media": {
                    "kind": "video",
                    "url": "u",
                    "mimeType": "m",
                    "page": -1,
                    "pageCount": 2.5,
                    "thumbnailUrl": None,
                },
            }
        ),
        [
            f'{B}.media.kind must be "image" or "file"',
            f"{B}.media.thumbnailUrl must be a non-empty string",
            f"{B}.media.page must be a non-negative integer",
            f"{B}.media.pageCount must be a non-negative integer",
        ],
    ),
    (
        "S12.13",
        card({"kind": "mediaPreview", "fallbackText": ""}),
        [f"{B}.fallbackText must be a non-empty string", f"{B}.media must be an object"],
    ),
    (
        "S12.14",
        card(
            {"kind": "details", "rows": [{"label": "a", "value": "b", "tone": "blue", "confidence": 1.01, "hint": ""}]}
        ),
        [
            f"{B}.rows[0].tone is not a recognized tone",
            f"{B}.rows[0].confidence must be a number between 0 and 1",
            f"{B}.rows[0].hint must be a non-empty string",
        ],
    ),
    (
        "S12.15",
        card(acting({"id": "a", "label": "A"}), acting({"id": "a", "label": "A"}, {"id": "b c", "label": ""})),
        [
            "card.blocks[1] is a second actions block; a card may contain at most one",
            'card.blocks[1].actions[0].id "a" is duplicated',
            f"card.blocks[1].actions[1].id {ID}",
            "card.blocks[1].actions[1].label must be a non-empty string",
        ],
    ),
    (
        "S12.16",
        card(acting(*({"id": f"a{number}", "label": "A"} for number in range(13)))),
        [f"{B}.actions must have <= 12 entries", "card has 13 actions; the maximum is 12"],
    ),
    ("S12.17, D40", card(acting({"id": "go\n", "label": "Go"})), [f"{A}.id {ID}"]),
    (
        "S12.18",
        asking(field("text", min=1, max=2, step=1, precision=1, currencyCode="ILS", columns=[], minRows=1, maxRows=2)),
        [
            f"{F}.min is only supported for number, currency, or date fields",
            f"{F}.max is only supported for number, currency, or date fields",
            f"{F}.step is only supported for number or currency fields",
            f"{F}.precision is only supported for number or currency fields",
            f"{F}.currencyCode is only supported for currency fields",
            f"{F}.columns is only supported for lineItems fields",
            f"{F}.minRows is only supported for lineItems fields",
            f"{F}.maxRows is only supported for lineItems fields",
        ],
    ),
    (
        "S12.19",
        asking(field("lineItems", minRows=5, maxRows=51)),
        [f"{F}.columns is required for lineItems", f"{F}.maxRows must be <= 50"],
    ),
    (
        "S12.20",
        asking(field("text"), field("select", required="y")),
        [
            f'{A}.fields[1].id "f" is duplicated',
            f"{A}.fields[1].required must be boolean",
            f"{A}.fields[1].choices is required for select",
        ],
    ),
    (
        "S12.21",
        asking(field("number", min=5, max=1, step="x", precision=-1)),
        [
            f"{F}.min must be <= {F}.max",
            f"{F}.step must be a finite number",
            f"{F}.precision must be a non-negative integer",
        ],
    ),
    ("S12.22 text", asking(field("date", min="2024-1-1")), [f"{F}.min must be a YYYY-MM-DD date string"]),
    ("S12.22 digits", asking(field("date", max="٢٠٢٤-01-01")), [f"{F}.max must be a YYYY-MM-DD date string"]),
    ("S12.22 end", asking(field("date", max="2024-01-01\n")), [f"{F}.max must be a YYYY-MM-DD date string"]),
    ("S12.22 order", asking(field("date", min="2024-02-01", max="2024-01-31")), [f"{F}.min must be <= {F}.max"]),
    (
        "S12.23",
        asking(field("slider", min=1)),
        [
            f"{F}.type is not a supported field type",
            f"{F}.min is only supported for number, currency, or date fields",
        ],
    ),
    (
        "S12.24",
        card(acting({"id": "go", "label": "Go", "fields": None})),
        [f"{A}.fields must be a non-empty array"],
    ),
    (
        "S12.25",
        asking(field("select", choices=[{"label": "X"}, {"label": "Y", "value": "X"}, {"label": "Z", "x": 1}, 3])),
        [
            f'{F}.choices[1] duplicates choice value "X"',
            f'{F}.choices[2] has unsupported key "x"',
            f"{F}.choices[3] must be an object",
        ],
    ),
    (
        "S12.26",
        asking(
            field(
                "lineItems",
                columns=[
                    {"id": "c", "label": "C", "type": "select"},
                    {"id": "c", "label": "", "type": "bool", "min": "2024-01-01"},
                    {"id": "d", "label": "D", "type": "date", "min": "x"},
                ],
            )
        ),
        [
            f"{F}.columns[0].choices is required for a select column",
            f'{F}.columns[1].id "c" is duplicated',
            f"{F}.columns[1].label must be a non-empty string",
            f"{F}.columns[1].type must be one of text, number, currency, date, select",
            f"{F}.columns[1].min must be a finite number",
            f"{F}.columns[2].min must be a YYYY-MM-DD date string",
        ],
    ),
    (
        "S12.27",
        asking(field("searchSelect", choices=[{"label": f"c{number}"} for number in range(101)])),
        [f"{F}.choices must have <= 100 entries"],
    ),
    (
        "S12.28",
        card(SUMMARY, fallbackText="x" * 33_000),
        ["card exceeds 32768 bytes", "card.fallbackText must be <= 500 characters"],
    ),
    (
        "S12.29",
        card(SUMMARY, extra={1, 2}),
        ["card is not JSON-serializable", 'card has unsupported key "extra"'],
    ),
    (
        "S12.30",
        card({"kind": "callout", "text": "c", "tone": "red"}, template="", tone="red", cardId="a b"),
        [
            "card.template must be a non-empty string",
            "card.tone is not a recognized tone",
            f"card.cardId {ID}",
            f"{B}.tone is not a recognized tone",
        ],
    ),
    ("S12.31", card(SUMMARY, title="😀" * 61), ["card.title must be <= 120 characters"]),
    ("S12.31 just fits", card(SUMMARY, title="😀" * 60), []),
    (
        "S12.32",
        card({"kind": "chart", "chart": "bar", "series": [{"points": [{"x": "a", "y": 10**400}]}]}),
        [f"{B}.series[0].points[0].y must be a finite number"],
    ),
    ("S12.33", card(*[SUMMARY] * 25), ["card.blocks must have <= 24 entries"]),
    (
        "S12.34",
        card({"kind": "metricGrid", "metrics": [{"label": "a", "value": 5}, "x"]}),
        [f"{B}.metrics[0].value must be a non-empty string", f"{B}.metrics[1] must be an object"],
    ),
    ("S12.35 surrogate, D41", card({"kind": "summary", "text": "\ud83d"}), ["card is not JSON-serializable"]),
    (
        "S12.35 deep, D41",
        card(SUMMARY, extra=DEEP),
        ["card is not JSON-serializable", 'card has unsupported key "extra"'],
    ),
    ("D40 blank", card(SUMMARY, title="\ufeff"), ["card.title must be a non-empty string"]),
    ("D40 not blank", card(SUMMARY, title="\x1c"), []),
    (
        "no actions",
        card({"kind": "actions"}),
        [f"{B}.actions must be a non-empty array"],
    ),
    (
        "an unhashable kind of media",
        card({"kind": "mediaPreview", "media": {"kind": [], "url": "u", "mimeType": "m"}}),
        [f'{B}.media.kind must be "image" or "file"'],
    ),
]


@pytest.mark.parametrize(("name", "value", "errors"), CASES, ids=[name for name, *_ in CASES])
def test_each_error_in_its_words(name: str, value: Any, errors: list[str]) -> None:
    """S12.1 to S12.35: exactly these errors, in this order, and the value is as it was."""
    before = copy.deepcopy(value) if "deep" not in name else None

    assert validate_card(value) == {"ok": not errors, "errors": errors}

    assert before is None or repr(value) == repr(before)


def test_the_tables() -> None:
    """S12.36: the limits and vocabularies that others build on."""
    assert dict(RUNTIME_CARD_LIMITS) == {
        "blocks": 24, "metrics": 12, "series": 6, "points": 24, "rows": 24, "columns": 8, "listItems": 24,
        "actions": 12, "totalActions": 12, "fields": 8, "choices": 12, "detailsRows": 32, "lineItemRows": 50,
        "lineItemColumns": 8, "searchSelectChoices": 100,
    }  # fmt: skip
    assert MAX_CARD_BYTES == 32_768
    assert (len(TONES), len(BLOCK_KINDS), len(FIELD_TYPES)) == (8, 9, 10)
    with pytest.raises(TypeError):
        RUNTIME_CARD_LIMITS["blocks"] = 99  # type: ignore[index]


texts = st.sampled_from(["", " ", "a", "x" * 81, "\ufeff", "😀", "go\n", "2024-01-01", "T" * 121, "\ud83d"])
numbers = st.sampled_from([0, 1, -1, 2.5, 1.0, True, float("nan"), float("inf"), 10**400, 51])
words = st.sampled_from([*TONES[:2], *BLOCK_KINDS, *FIELD_TYPES, "pending", "image", "bar", "canon.card.v1"])
NAMES = """
schema cardId template tone title fallbackText blocks kind text metrics label value delta chart series points x y
columns rows items detail status media url mimeType page confidence hint actions id fields type required choices min max
step precision currencyCode minRows maxRows allowOther other
"""
names = st.sampled_from(NAMES.split())
values = st.recursive(
    st.none() | texts | numbers | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=6),
    max_leaves=20,
)
good = st.sampled_from([value for name, value, _ in CASES if "deep" not in name])


@given(good, st.data())
def test_the_quick_yes_is_a_yes(value: Any, data: st.DataObject) -> None:
    """Whatever is accepted at a glance has nothing to be explained; nothing that is mutated raises."""
    mutated = _mutate(copy.deepcopy(value), data)

    errors = _Card().explain(mutated)

    assert not (_accepts(mutated) and errors), (mutated, errors)
    assert validate_card(mutated) == {"ok": not errors, "errors": errors}


def _mutate(value: Any, data: st.DataObject) -> Any:
    """Change something somewhere inside."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 3)):
        key = data.draw(st.sampled_from(sorted(value, key=str)))
        return {**value, key: _mutate(value[key], data)}
    if isinstance(value, list) and value and data.draw(st.integers(0, 3)):
        index = data.draw(st.integers(0, len(value) - 1))
        return [*value[:index], _mutate(value[index], data), *value[index + 1 :]]
    return data.draw(values)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (5, "5"), (5.0, "5"), (-0.0, "0"), (0.1, "0.1"), (1e21, "1e+21"), (1e20, "100000000000000000000"),
        (1.5e-7, "1.5e-7"), (0.000001, "0.000001"), (123456789012345680000.0, "123456789012345680000"),
        (-2.5, "-2.5"), (1e300, "1e+300"), (float("nan"), "NaN"), (float("-inf"), "-Infinity"), (10**400, "Infinity"),
        (2**53 + 1, "9007199254740992"), (12345.678, "12345.678"), (5e-324, "5e-324"),
    ],
)  # fmt: skip
def test_numbers_as_javascript_writes_them(number: float, text: str) -> None:
    """D40: the number of an error and the size of a document are JavaScript's."""
    assert number_text(number) == text
    assert as_string(number) == text


def test_sizes() -> None:
    """R12.5: compact, not escaped, UTF-8, numbers as JavaScript writes them."""
    assert compact_size({"a": [1.0, "é", True, None]}) == len('{"a":[1,"é",true,null]}'.encode())
    assert compact_size(float("nan")) == len("null")
    assert compact_size(10**400) == len("null")
    assert compact_size({"a": object()}) is None
    assert len(WHITESPACE) == 25


@given(values)
def test_the_cheap_bound_is_a_bound(value: Any) -> None:
    """Whatever fits for certain does fit."""
    size = compact_size(value)

    for limit in (10, 100, 1000):
        assert not fits_for_certain(value, limit) or size is None or size <= limit
    assert size is None or size <= len(json.dumps(value).encode()) + 400
