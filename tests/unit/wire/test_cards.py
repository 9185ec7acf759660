"""Cards: every error, in its order and its words; and that the quick yes never says more than the long no."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from canon_ops.wire.cards import MAX_CARD_BYTES, RUNTIME_CARD_LIMITS, document, fields, validate_card
from canon_ops.wire.cards.document import _Card, _measure_card
from canon_ops.wire.cards.javascript import WHITESPACE, as_string, exceeds, number_text
from canon_ops.wire.cards.limits import BLOCK_KINDS, COLUMN_TYPES, FIELD_TYPES, TONES
from canon_ops.wire.cards.quick import bytes_at_most, is_right
from tests.support.card_maker import CardMaker, hostile_values, places

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


def choosing(*labels: str) -> dict[str, Any]:
    return asking(field("select", choices=[{"label": label} for label in labels]))


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
    ("D40 trimmed as in JavaScript", choosing("A", "A\ufeff"), [f'{F}.choices[1] duplicates choice value "A"']),
    ("D40 not trimmed there", choosing("A", "A\x1c"), []),
    (
        "an unhashable kind of media",
        card({"kind": "mediaPreview", "media": {"kind": [], "url": "u", "mimeType": "m"}}),
        [f'{B}.media.kind must be "image" or "file"'],
    ),
]


@pytest.mark.parametrize(("name", "value", "errors"), CASES, ids=[name for name, *_ in CASES])
def test_each_error_in_its_words(name: str, value: Any, errors: list[str]) -> None:
    """S12.1, S12.2, S12.3, S12.4, S12.5, S12.6, S12.7, S12.8, S12.9, S12.10, S12.11, S12.12, S12.13, S12.14, S12.15,
    S12.16, S12.17, S12.18, S12.19, S12.20, S12.21, S12.22, S12.23, S12.24, S12.25, S12.26, S12.27, S12.28, S12.29,
    S12.30, S12.31, S12.32, S12.33, S12.34, S12.35: exactly these errors, in this order, and the value is as it was.
    """
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


def _is_quickly_right(value: Any) -> bool:
    most_bytes = bytes_at_most(_measure_card, value, MAX_CARD_BYTES)
    return most_bytes is not None and most_bytes <= MAX_CARD_BYTES


def _explained(value: Any) -> list[str]:
    """Every error, told by the explanation alone, which otherwise passes over what is quickly seen to be right."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (document, fields):
            patch.setattr(module, "is_right", lambda *_: False)
        return _Card().explain(value)


@pytest.mark.parametrize("seed", range(60))
def test_the_quick_yes_is_a_yes(seed: int) -> None:
    """Over cards with something wrong: what is accepted at a glance has no error."""
    maker = CardMaker(seed, richness=(seed % 10) / 10)
    for _ in range(20):
        card = maker.mutated()

        errors = _explained(card)

        assert not (_is_quickly_right(card) and errors), (card, errors)
        assert validate_card(card) == {"ok": not errors, "errors": errors}, card


@pytest.mark.parametrize("seed", range(1, 8))
def test_a_card_near_the_limit_is_only_measured(seed: int) -> None:
    """What is quickly seen to be right but for its size has no error but that of its size, if it is too large."""
    card = CardMaker(seed).near_the_limit()

    assert is_right(_measure_card, card)
    assert validate_card(card)["errors"] == _explained(card)
    assert len(_explained(card)) <= 1


def test_one_wrong_value_at_every_place() -> None:
    """Each hostile value at each place of a card with every kind of block and field: quick and slow agree."""
    whole = _with_everything()
    assert _is_quickly_right(whole)
    for holder, key in places(whole):
        before = holder[key]
        for value in hostile_values():
            holder[key] = value
            if is_right(_measure_card, whole):
                assert not _explained(whole), (key, value)
        holder[key] = before


def _nested(depth: int, leaf: Any, wrap: Callable[[Any], Any]) -> Any:
    value = leaf
    for _ in range(depth):
        value = wrap(value)
    return value


RING: list[Any] = [1]
RING.append([RING, 2])
KNOT: dict[str, Any] = {}
KNOT["a"] = [KNOT]


@pytest.mark.parametrize(
    "deep",
    [
        _nested(500, "x", lambda inner: [inner]),
        _nested(100_000, 1, lambda inner: [inner]),
        _nested(100_000, None, lambda inner: {"a": inner}),
        _nested(20_000, [], lambda inner: [None, {"a": inner}]),
        RING,
        KNOT,
    ],
    ids=["500 lists", "100,000 lists", "100,000 objects", "both", "a list in itself", "an object in itself"],
)
def test_nothing_is_too_deep_at_any_place(deep: Any) -> None:
    """D41, R12.1: wherever it stands, the verdict is an error and no exception."""
    whole = _with_everything()
    for holder, key in places(whole):
        before = holder[key]
        holder[key] = deep
        verdict = validate_card(whole)
        assert not verdict["ok"] and verdict["errors"], key
        holder[key] = before


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], ""), ([None], ""), ([[], [None, []]], ",,"),
        (["a", None, [1, [2.5, "b"]], {}], "a,,1,2.5,b,[object Object]"),
        ([[["x"]]], "x"), (RING, "1,,2"), (["x", ["x"], ["x"]], "x,x,x"), ((1, (2,)), "1,2"), ({}, "[object Object]"),
    ],
)  # fmt: skip
def test_lists_as_javascript_writes_them(value: Any, text: str) -> None:
    """D40: the kind of a block stands in its error as String() would write it; a list in itself is empty there."""
    assert as_string(value) == text


def _with_everything() -> dict[str, Any]:
    choices = [{"label": "A", "value": "a", "description": "d", "preview": "p"}, {"label": "B"}]
    numbers: dict[str, Any] = {"min": 1, "max": 2, "step": 0.5, "precision": 2}
    columns: list[dict[str, Any]] = [
        {"id": kind, "label": "L", "type": kind, "required": True, "allowOther": False} for kind in COLUMN_TYPES
    ]
    columns[1] |= numbers
    columns[3] |= {"min": "2026-01-01", "max": "2026-02-01"}
    columns[4] |= {"choices": choices}
    more: dict[str, dict[str, Any]] = {
        "number": numbers,
        "currency": {**numbers, "currencyCode": "ILS"},
        "date": {"min": "2026-01-01", "max": "2026-02-01"},
        "lineItems": {"columns": columns, "minRows": 1, "maxRows": 5},
        **{kind: {"choices": choices} for kind in ("select", "multiSelect", "searchSelect")},
    }
    each: list[dict[str, Any]] = [
        {"id": kind, "label": "L", "type": kind, **more.get(kind, {})} for kind in FIELD_TYPES
    ]
    each[0] |= {"required": True, "placeholder": "p", "allowOther": True, "sensitive": False}
    media = {"kind": "image", "url": "u", "mimeType": "m", "fileName": "f", "thumbnailUrl": "t", "page": 1}
    row = {"label": "L", "value": "V", "tone": "neutral", "confidence": 0.5, "hint": "h"}
    blocks = [
        {"kind": "summary", "title": "T", "text": "S"},
        {"kind": "callout", "text": "C", "tone": "neutral"},
        {"kind": "metricGrid", "metrics": [{"label": "L", "value": "V", "delta": "D", "tone": "neutral"}]},
        {"kind": "chart", "chart": "bar", "yLabel": "y", "series": [{"name": "n", "points": [{"x": "x", "y": 1.5}]}]},
        {"kind": "table", "columns": ["a", "b"], "rows": [["1", "2"]]},
        {"kind": "list", "items": [{"label": "L", "detail": "D", "status": "done"}]},
        {"kind": "mediaPreview", "media": {**media, "pageCount": 2}, "fallbackText": "f"},
        {"kind": "details", "rows": [row]},
        acting(
            {"id": "a", "label": "A", "tone": "neutral", "fields": each[:5]},
            {"id": "b", "label": "B", "fields": each[5:]},
        ),
    ]
    return copy.deepcopy(card(*blocks, template="t", tone="neutral", cardId="c"))


@pytest.mark.parametrize("richness", [0.2, 0.4, 0.6])
def test_right_cards_are_seen_to_be_right_at_once(richness: float) -> None:
    """In any script, unless they are large, none needs the explanation; else being quick was lost unnoticed."""
    cards = [card for card in CardMaker(5, richness=richness).cards(100) if _json_bytes(card) < MAX_CARD_BYTES / 2]

    assert len(cards) > 50
    assert [card for card in cards if not _is_quickly_right(card)] == []


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
    """R12.5: compact, not escaped, UTF-8, numbers as JavaScript writes them; None for what is no JSON."""
    for value, text in [
        ({"a": [1.0, "é", True, None]}, '{"a":[1,"é",true,null]}'), (float("nan"), "null"), (10**400, "null"),
        (1e20, "1" + "0" * 20), (1e-5, "0.00001"), (1e-7, "1e-7"), (-0.0, "0"), (10**30, "1e+30"), (2.5, "2.5"),
        ({"1.0": "e-5 NaN Infinity e+"}, '{"1.0":"e-5 NaN Infinity e+"}'),
        ([1e20] * 3 + [1.0] * 5, "[" + "1" + "0" * 20 + ",100000000000000000000" * 2 + ",1" * 5 + "]"),
    ]:  # fmt: skip
        size = len(text.encode())
        assert [exceeds(value, limit) for limit in (size - 1, size, size + 1)] == [True, False, False], text
    assert exceeds({"a": object()}, 100) is None
    assert exceeds("\ud83d", 100) is None
    assert len(WHITESPACE) == 25


@pytest.mark.parametrize("sign", ["x", "é", "ש", "发", "🙂", '"', "\\", "\n", "\x01", "\u2028"])
def test_a_card_may_be_exactly_as_large_as_allowed(sign: str) -> None:
    """R12.5: at 32,768 bytes it is right, at one more it is not, whatever a character takes in JSON."""
    row = {"label": "L", "value": sign * 140 + "x"}
    blocks: list[Any] = [{"kind": "summary", "text": "x"}]
    while _json_bytes(card(*blocks, {"kind": "details", "rows": [row]}, cardId="c")) <= MAX_CARD_BYTES:
        rows = [row]
        blocks.append({"kind": "details", "rows": rows})
        while len(rows) < 32 and _json_bytes(card(*blocks, cardId="c")) + _json_bytes(row) < MAX_CARD_BYTES:
            rows.append(row)
    blocks[0]["text"] += "x" * (MAX_CARD_BYTES - _json_bytes(card(*blocks, cardId="c")))

    fits, exceeds_by_one = card(*blocks, cardId="c"), card(*blocks, cardId="cc")

    assert _json_bytes(fits) == MAX_CARD_BYTES
    assert validate_card(fits) == {"ok": True, "errors": []}
    assert validate_card(exceeds_by_one) == {"ok": False, "errors": ["card exceeds 32768 bytes"]}


def _json_bytes(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
