"""What a right field looks like, by its type: the tables of the quick yes for what a person may be asked to fill in.

Most keys are right for some types only, so each type has an object of its own; what is wrong with a field that is not
like it is explained by :mod:`canon_ops.wire.cards.fields`.

Source: canon-adapter R12.7-R12.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from canon_ops.wire.cards.limits import FIELD_TYPES, RUNTIME_CARD_LIMITS
from canon_ops.wire.cards.rules import (
    NUMBER_BYTES,
    SAME_IDS,
    Array,
    Boolean,
    ByWord,
    Check,
    Id,
    Integer,
    Key,
    Number,
    Object,
    Pattern,
    Rule,
    Text,
    Unlooked,
)

__all__ = ["CHOICE", "COLUMNS", "COLUMN_BY_TYPE", "DATE", "FIELD_BY_TYPE", "RIGHT_FIELDS"]

DATE = Pattern("[0-9]{4}-[0-9]{2}-[0-9]{2}", "", len('""') + 10)
CHOICE = Object(
    (
        Key("label", Text(120), is_required=True),
        Key("value", Text(200)),
        Key("description", Text(300)),
        Key("preview", Text(2000)),
    )
)
_BOUNDS = (("min", "max"),)


def _field(
    *more: Key,
    choices: int = RUNTIME_CARD_LIMITS["choices"],
    needs_choices: bool = False,
    ordered: tuple[tuple[str, str], ...] = (),
) -> Object:
    return Object(
        (
            *_id_and_label(),
            Key("required", Boolean),
            Key("placeholder", Text(160)),
            Key("choices", _choices(choices), is_required=needs_choices),
            *more,
            Key("allowOther", Boolean),
            Key("sensitive", Boolean),
        ),
        ordered=ordered,
    )


def _column(bound: Rule = Number, *, needs_choices: bool = False) -> Object:
    return Object(
        (
            *_id_and_label(),
            Key("required", Boolean),
            Key("choices", _choices(RUNTIME_CARD_LIMITS["choices"]), is_required=needs_choices),
            Key("min", bound),
            Key("max", bound),
            Key("step", Number),
            Key("precision", Integer),
            Key("currencyCode", Text(8)),
            Key("allowOther", Boolean),
        ),
        ordered=_BOUNDS,
    )


def _id_and_label() -> tuple[Key, ...]:
    return (
        Key("id", Id, is_required=True),
        Key("label", Text(120), is_required=True),
        Key("type", Unlooked(max(map(len, FIELD_TYPES)) + 2), is_required=True),
    )


def _choices(limit: int) -> Array:
    """What Python strips is more than what is submitted without, so what differs here differs there."""
    submitted = 'len({(item.get("value") or item["label"]).strip() for item in items}) < len(items)'
    return Array(CHOICE, limit, unless=submitted)


_NUMERIC_KEYS = (Key("min", Number), Key("max", Number), Key("step", Number), Key("precision", Integer))
_ROWS = Check(
    lambda value: Integer.holds(value) and value <= RUNTIME_CARD_LIMITS["lineItemRows"],
    f"{Integer.words}, at most {RUNTIME_CARD_LIMITS['lineItemRows']}",
    NUMBER_BYTES,
)
COLUMN_BY_TYPE: Final[Mapping[str, Object]] = {
    "text": _column(),
    "number": _column(),
    "currency": _column(),
    "date": _column(DATE),
    "select": _column(needs_choices=True),
}
COLUMNS: Final = Array(ByWord("type", COLUMN_BY_TYPE), RUNTIME_CARD_LIMITS["lineItemColumns"], unless=SAME_IDS)
FIELD_BY_TYPE: Final[Mapping[str, Object]] = {
    "text": _field(),
    "textarea": _field(),
    "boolean": _field(),
    "select": _field(needs_choices=True),
    "multiSelect": _field(needs_choices=True),
    "searchSelect": _field(choices=RUNTIME_CARD_LIMITS["searchSelectChoices"], needs_choices=True),
    "date": _field(Key("min", DATE), Key("max", DATE), ordered=_BOUNDS),
    "number": _field(*_NUMERIC_KEYS, ordered=_BOUNDS),
    "currency": _field(*_NUMERIC_KEYS, Key("currencyCode", Text(8)), ordered=_BOUNDS),
    "lineItems": _field(
        Key("columns", COLUMNS, is_required=True),
        Key("minRows", Integer),
        Key("maxRows", _ROWS),
        ordered=(("minRows", "maxRows"),),
    ),
}
RIGHT_FIELDS: Final = Array(ByWord("type", FIELD_BY_TYPE), RUNTIME_CARD_LIMITS["fields"], unless=SAME_IDS)
