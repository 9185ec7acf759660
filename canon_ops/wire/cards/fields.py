"""What a person may be asked to fill in: every error in the fields of an action, their choices and their columns.

Most rules here tie one key to another and are told in an order of their own, so they are written out. What a right
field looks like stands in :mod:`canon_ops.wire.cards.forms`, by its type.

Source: canon-adapter R12.7-R12.10.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from canon_ops.wire.cards.forms import CHOICE, DATE, RIGHT_FIELDS
from canon_ops.wire.cards.javascript import TRIMMED, is_blank
from canon_ops.wire.cards.limits import COLUMN_TYPES, FIELD_TYPES, RUNTIME_CARD_LIMITS
from canon_ops.wire.cards.quick import compiled, is_right
from canon_ops.wire.cards.rules import (
    Boolean,
    Errors,
    Id,
    Integer,
    Number,
    Text,
    explain_list,
    is_finite,
    is_object,
    unsupported_keys,
)

__all__ = ["Fields", "explain_id"]

FIELD_KEYS: Final = frozenset(
    [
        "id",
        "label",
        "type",
        "required",
        "placeholder",
        "choices",
        "allowOther",
        "sensitive",
        "min",
        "max",
        "step",
        "precision",
        "currencyCode",
        "columns",
        "minRows",
        "maxRows",
    ]
)
COLUMN_KEYS: Final = frozenset(
    ["id", "label", "type", "required", "choices", "min", "max", "step", "precision", "currencyCode", "allowOther"]
)
CHOSEN: Final = frozenset({"select", "multiSelect", "searchSelect"})
LABEL: Final = Text(120)
PLACEHOLDER: Final = Text(160)
CURRENCY: Final = Text(8)
NUMERIC: Final = frozenset({"number", "currency"})


class Fields:
    """The ``fields`` of an action."""

    def __init__(self) -> None:
        self.fixed_bytes = RIGHT_FIELDS.fixed_bytes
        self.write = RIGHT_FIELDS.write
        self._measure = compiled(RIGHT_FIELDS)

    def explain(self, value: Any, path: str, errors: Errors) -> None:
        if not is_right(self._measure, value):
            explain_list(value, RUNTIME_CARD_LIMITS["fields"], _Field().explain, path, errors)


class _Field:
    """One field; ids are unique within its action, so a fresh one is made for each list."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def explain(self, value: Any, path: str, errors: Errors) -> None:
        if not is_object(value):
            errors.append(f"{path} must be an object")
            return
        errors += unsupported_keys(value, FIELD_KEYS, path)
        kind = _explain_kind(value, FIELD_TYPES, "is not a supported field type", self._seen, path, errors)
        _optional(value, "placeholder", PLACEHOLDER, path, errors)
        for name in ("required", "allowOther", "sensitive"):
            _optional(value, name, Boolean, path, errors)
        _explain_choices_of_field(value, kind, path, errors)
        _explain_numbers(value, kind, path, errors)
        _explain_line_items(value, kind, path, errors)


def _explain_kind(
    value: Mapping[str, Any], kinds: Collection[str], otherwise: str, seen: set[str], path: str, errors: Errors
) -> str | None:
    """What fields and columns begin with: id, label, type; gives the type when it is one of ``kinds``."""
    explain_id(value.get("id"), f"{path}.id", seen, errors)
    LABEL.explain(value.get("label"), f"{path}.label", errors)
    kind = value.get("type")
    if isinstance(kind, str) and kind in kinds:
        return kind
    errors.append(f"{path}.type {otherwise}")
    return None


def _explain_choices_of_field(value: Mapping[str, Any], kind: str | None, path: str, errors: Errors) -> None:
    if kind in CHOSEN and not isinstance(value.get("choices"), list):
        errors.append(f"{path}.choices is required for {kind}")
    if "choices" in value:
        limit = RUNTIME_CARD_LIMITS["searchSelectChoices" if kind == "searchSelect" else "choices"]
        _explain_choices(value["choices"], limit, f"{path}.choices", errors)


def _explain_numbers(value: Mapping[str, Any], kind: str | None, path: str, errors: Errors) -> None:
    if kind in NUMERIC or kind == "date":
        _explain_bounds(value, kind, path, errors)
    else:
        for name in ("min", "max"):
            if name in value:
                errors.append(f"{path}.{name} is only supported for number, currency, or date fields")
    for name, rule in (("step", Number), ("precision", Integer)):
        if name in value and kind not in NUMERIC:
            errors.append(f"{path}.{name} is only supported for number or currency fields")
        else:
            _optional(value, name, rule, path, errors)
    if "currencyCode" in value and kind != "currency":
        errors.append(f"{path}.currencyCode is only supported for currency fields")
    else:
        _optional(value, "currencyCode", CURRENCY, path, errors)


def _explain_line_items(value: Mapping[str, Any], kind: str | None, path: str, errors: Errors) -> None:
    if kind != "lineItems":
        for name in ("columns", "minRows", "maxRows"):
            if name in value:
                errors.append(f"{path}.{name} is only supported for lineItems fields")
        return
    if isinstance(value.get("columns"), list):
        limit = RUNTIME_CARD_LIMITS["lineItemColumns"]
        explain_list(value["columns"], limit, _Column().explain, f"{path}.columns", errors)
    else:
        errors.append(f"{path}.columns is required for lineItems")
    for name in ("minRows", "maxRows"):
        _optional(value, name, Integer, path, errors)
    least, most = (value.get(name) if Integer.holds(value.get(name)) else None for name in ("minRows", "maxRows"))
    rows = RUNTIME_CARD_LIMITS["lineItemRows"]
    if most is not None and most > rows:
        errors.append(f"{path}.maxRows must be <= {rows}")
    if least is not None and most is not None and least > most:
        errors.append(f"{path}.minRows must be <= {path}.maxRows")


class _Column:
    """One column of a ``lineItems`` field; ids are unique within the field."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def explain(self, value: Any, path: str, errors: Errors) -> None:
        if not is_object(value):
            errors.append(f"{path} must be an object")
            return
        errors += unsupported_keys(value, COLUMN_KEYS, path)
        kind = _explain_kind(value, COLUMN_TYPES, f"must be one of {', '.join(COLUMN_TYPES)}", self._seen, path, errors)
        for name in ("required", "allowOther"):
            _optional(value, name, Boolean, path, errors)
        if kind == "select" and not isinstance(value.get("choices"), list):
            errors.append(f"{path}.choices is required for a select column")
        if "choices" in value:
            _explain_choices(value["choices"], RUNTIME_CARD_LIMITS["choices"], f"{path}.choices", errors)
        _explain_bounds(value, kind, path, errors)
        _optional(value, "step", Number, path, errors)
        _optional(value, "precision", Integer, path, errors)
        _optional(value, "currencyCode", CURRENCY, path, errors)


def _explain_choices(value: Any, limit: int, path: str, errors: Errors) -> None:
    """R12.9: whatever a choice would be submitted as, its value or else its label, is there once."""
    seen: set[str] = set()

    def explain_choice(choice: Any, path: str, errors: Errors) -> None:
        CHOICE.explain(choice, path, errors)
        key = _submitted_as(choice)
        if key and key in seen:
            errors.append(f'{path} duplicates choice value "{key}"')
        seen.add(key)

    explain_list(value, limit, explain_choice, path, errors)


def _submitted_as(choice: Any) -> str:
    if not is_object(choice):
        return ""
    for name in ("value", "label"):
        text = choice.get(name)
        if isinstance(text, str) and not is_blank(text):
            return text.strip(TRIMMED)
    return ""


def _explain_bounds(value: Mapping[str, Any], kind: str | None, path: str, errors: Errors) -> None:
    """R12.8: the lower bound is not above the upper one; dates are compared as texts."""
    found = []
    for name in ("min", "max"):
        if name not in value:
            continue
        bound = value[name]
        is_good = DATE.holds(bound) if kind == "date" else is_finite(bound)
        if is_good:
            found.append(bound)
        else:
            what = "a YYYY-MM-DD date string" if kind == "date" else "a finite number"
            errors.append(f"{path}.{name} must be {what}")
    if len(found) == 2 and found[0] > found[1]:
        errors.append(f"{path}.min must be <= {path}.max")


def _optional(value: Mapping[str, Any], name: str, rule: Any, path: str, errors: Errors) -> None:
    if name in value:
        rule.explain(value[name], f"{path}.{name}", errors)


def explain_id(value: Any, path: str, seen: set[str], errors: Errors) -> None:
    """An id, and that it was not there before."""
    if not Id.holds(value):
        Id.explain(value, path, errors)
    elif value in seen:
        errors.append(f'{path} "{value}" is duplicated')
    else:
        seen.add(value)
