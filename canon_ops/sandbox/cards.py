"""What the server asks of a card, and of the values a person submits with it. Pure.

The server's envelope is looser than what clients may author; values are checked against the fields of the chosen
action. Its words and numbers stand here once more and nothing is taken from :mod:`canon_ops.wire.cards`: a server that
had its rules from the client's validator would agree with every mistake in them. Each function gives the first thing
that is wrong, None when all is well. Source: Canon wire 9.10, 12.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from canon_ops.sandbox.events import compact

__all__ = ["actions_of", "envelope_fault", "is_interactive", "values_fault"]

CARD_BYTES = 32_768
TITLE, FALLBACK, BLOCKS = 200, 2_000, 64
VALUE_BYTES, VALUE_DEPTH = 8_192, 8
Json = Mapping[str, Any]

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def envelope_fault(card: Any, *, media_prefix: str) -> str | None:
    """Check the document as a whole; ``media_prefix`` starts every URL that this server handed out."""
    if not isinstance(card, dict) or card.get("schema") != "canon.card.v1":
        return "card.schema must be canon.card.v1"
    if len(compact(card).encode("utf-8", "surrogatepass")) > CARD_BYTES:
        return f"the card is longer than {CARD_BYTES} bytes"
    for key, limit in (("title", TITLE), ("fallbackText", FALLBACK)):
        text = card.get(key)
        if not isinstance(text, str) or not text.strip() or len(text) > limit:
            return f"card.{key} must be a text of at most {limit} characters"
    blocks = card.get("blocks")
    if not isinstance(blocks, list) or not 1 <= len(blocks) <= BLOCKS:
        return f"card.blocks must be 1 to {BLOCKS} blocks"
    for block in blocks:
        media = block.get("media") if isinstance(block, dict) else None
        if isinstance(media, dict) and not str(media.get("url", "")).startswith(media_prefix):
            return "card media must have been uploaded here"
    return None


def actions_of(card: Json) -> dict[str, Json]:
    """The card's actions by id; empty for one that only shows something."""
    blocks = [block for block in _objects(card.get("blocks")) if block.get("kind") == "actions"]
    return {
        str(action["id"]): action for block in blocks for action in _objects(block.get("actions")) if "id" in action
    }


def _objects(value: Any) -> list[Json]:
    """The objects of a list that a client wrote; whatever else stands there is left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def is_interactive(card: Json) -> bool:
    return bool(actions_of(card))


def values_fault(action: Json, values: Any) -> str | None:
    """Check what a person filled in against the fields of the action that was chosen."""
    if not isinstance(values, dict):
        return "values must be an object"
    if len(compact(values).encode("utf-8", "surrogatepass")) > VALUE_BYTES or _depth(values) > VALUE_DEPTH:
        return f"values must be at most {VALUE_BYTES} bytes and {VALUE_DEPTH} levels"
    fields = {str(item["id"]): item for item in _objects(action.get("fields")) if "id" in item}
    unknown = sorted(set(values) - set(fields))
    if unknown:
        return f"no such field: {', '.join(unknown)}"
    for name, field in fields.items():
        if name not in values or values[name] in (None, "", []):
            if field.get("required"):
                return f"{name} is required"
            continue
        fault = _field_fault(field, values[name])
        if fault is not None:
            return f"{name}: {fault}"
    return None


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max((_depth(item) for item in inner), default=0) if isinstance(value, dict | list) else 0


def _field_fault(field: Json, value: Any) -> str | None:
    match field.get("type"):
        case "text" | "textarea":
            return None if isinstance(value, str) else "must be a text"
        case "boolean":
            return None if isinstance(value, bool) else "must be true or false"
        case "date":
            return None if isinstance(value, str) and _DATE.fullmatch(value) else "must be a date, YYYY-MM-DD"
        case "number" | "currency":
            return _number_fault(field, value)
        case "select" | "searchSelect":
            return _choice_fault(field, value)
        case "multiSelect":
            if not isinstance(value, list):
                return "must be a list"
            return next((fault for item in value if (fault := _choice_fault(field, item))), None)
        case "lineItems":
            return _rows_fault(field, value)
    return f"unknown field type {field.get('type')!r}"


def _number_fault(field: Json, value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "must be a number"
    if ("min" in field and value < field["min"]) or ("max" in field and value > field["max"]):
        return "is out of range"
    precision = field.get("precision", 2 if field.get("type") == "currency" else None)
    return None if precision is None or round(value, precision) == value else f"has more than {precision} decimals"


def _choice_fault(field: Json, value: Any) -> str | None:
    if not isinstance(value, str):
        return "must be a text"
    choices = [choice.get("value", choice.get("label")) for choice in _objects(field.get("choices"))]
    return None if field.get("allowOther") or value in choices else f"{value!r} is not a choice"


def _rows_fault(field: Json, value: Any) -> str | None:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        return "must be a list of rows"
    if not field.get("minRows", 0) <= len(value) <= field.get("maxRows", 50):
        return "has too many or too few rows"
    columns = {str(column["id"]): column for column in _objects(field.get("columns")) if "id" in column}
    for row in value:
        if unknown := sorted(set(row) - set(columns)):
            return f"no such column: {', '.join(unknown)}"
        for name, column in columns.items():
            if name in row and (fault := _field_fault(column, row[name])):
                return f"{name}: {fault}"
            if name not in row and column.get("required"):
                return f"{name} is required"
    return None
