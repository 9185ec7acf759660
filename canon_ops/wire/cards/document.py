"""The grammar of a card, and :func:`validate_card`.

Source: canon-adapter R12.5, R12.6, R12.11; decisions F4; D40, D41.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypedDict

from canon_ops.wire.cards.fields import Fields, explain_id
from canon_ops.wire.cards.javascript import as_string, exceeds
from canon_ops.wire.cards.limits import (
    BLOCK_KINDS,
    LIST_STATUSES,
    MAX_CARD_BYTES,
    MEDIA_KINDS,
    RUNTIME_CARD_LIMITS,
    SCHEMA,
    TONES,
)
from canon_ops.wire.cards.quick import bytes_at_most, compiled, is_right
from canon_ops.wire.cards.rules import (
    NUMBER_BYTES,
    SAME_IDS,
    Array,
    ByWord,
    Check,
    Errors,
    Id,
    Integer,
    Key,
    Number,
    Object,
    OneOf,
    Text,
    Unlooked,
    explain_list,
    is_finite,
    is_object,
    unsupported_keys,
)

__all__ = ["Verdict", "action_count", "validate_card"]


class Verdict(TypedDict):
    """What :func:`validate_card` finds; ``errors`` in the order of the checks, empty exactly when ``ok``."""

    ok: bool
    errors: list[str]


def _required(name: str, limit: int) -> Key:
    return Key(name, Text(limit), is_required=True)


def _is_share(value: Any) -> bool:
    return is_finite(value) and 0 <= value <= 1


LIMITS = RUNTIME_CARD_LIMITS
TONE: Final = Key("tone", OneOf(TONES, "is not a recognized tone"))
METRIC = Object((_required("label", 120), _required("value", 120), Key("delta", Text(120)), TONE))
POINT = Object((_required("x", 80), Key("y", Number, is_required=True)))
SERIES = Object((Key("name", Text(120)), Key("points", Array(POINT, LIMITS["points"]), is_required=True)))
ITEM = Object(
    (
        _required("label", 160),
        Key("detail", Text(300)),
        Key("status", OneOf(LIST_STATUSES, "is not a recognized status")),
    )
)
ROW = Object(
    (
        _required("label", 120),
        _required("value", 300),
        TONE,
        Key(
            "confidence",
            Check(
                _is_share, "must be a number between 0 and 1", NUMBER_BYTES, "type({0}) is float and 0.0 <= {0} <= 1.0"
            ),
        ),
        Key("hint", Text(160)),
    )
)
MEDIA = Object(
    (
        Key("kind", OneOf(MEDIA_KINDS, 'must be "image" or "file"'), is_required=True),
        _required("url", 2048),
        _required("mimeType", 200),
        Key("fileName", Text(200)),
        Key("thumbnailUrl", Text(2048)),
        Key("page", Integer),
        Key("pageCount", Integer),
    )
)
TITLE = Key("title", Text(120))
FALLBACK: Final = Text(500)
TEMPLATE: Final = Text(120)
# By kind. The title is looked at before the keys, so it is silent here.
BLOCKS: Final[Mapping[str, Object]] = {
    "summary": Object((_required("text", 2000),), ("kind", "title")),
    "callout": Object((_required("text", 1000), TONE), ("kind", "title")),
    "metricGrid": Object((Key("metrics", Array(METRIC, LIMITS["metrics"]), is_required=True),), ("kind", "title")),
    "chart": Object(
        (
            Key("chart", OneOf(("line", "bar"), 'must be "line" or "bar"'), is_required=True),
            Key("yLabel", Text(80)),
            Key("series", Array(SERIES, LIMITS["series"]), is_required=True),
        ),
        ("kind", "title"),
    ),
    "table": Object(
        (
            Key("columns", Array(Text(80), LIMITS["columns"]), is_required=True),
            Key("rows", Array(Array(Text(160), LIMITS["columns"]), LIMITS["rows"]), is_required=True),
        ),
        ("kind", "title"),
    ),
    "list": Object((Key("items", Array(ITEM, LIMITS["listItems"]), is_required=True),), ("kind", "title")),
    "mediaPreview": Object((Key("fallbackText", Text(500)), Key("media", MEDIA, is_required=True)), ("kind", "title")),
    "details": Object((Key("rows", Array(ROW, LIMITS["detailsRows"]), is_required=True),), ("kind", "title")),
    "actions": Object((), ("kind", "title", "actions")),
}
ACTION = Object((_required("label", 120), TONE, Key("fields", Fields())), ("id",))
CARD_KEYS: Final = frozenset({"schema", "cardId", "template", "tone", "title", "fallbackText", "blocks"})


def _quick_block(rule: Object, *more: Key) -> Object:
    kind = Key("kind", Unlooked(max(map(len, BLOCK_KINDS)) + 2), is_required=True)
    return Object((kind, TITLE, *rule.keys, *more))


_QUICK_ACTION = Object((Key("id", Id, is_required=True), *ACTION.keys))
_QUICK_ACTIONS = Array(_QUICK_ACTION, LIMITS["actions"], unless=SAME_IDS)
_QUICK_BLOCK = ByWord(
    "kind",
    {
        kind: _quick_block(rule, *([Key("actions", _QUICK_ACTIONS, is_required=True)] if kind == "actions" else []))
        for kind, rule in BLOCKS.items()
    },
)
_MANY_ACTIONS = '[item["kind"] for item in items].count("actions") > 1'
_measure_card = compiled(
    Object(
        (
            Key("schema", OneOf((SCHEMA,), ""), is_required=True),
            _required("title", 120),
            Key("fallbackText", FALLBACK, is_required=True),
            Key("blocks", Array(_QUICK_BLOCK, LIMITS["blocks"], unless=_MANY_ACTIONS), is_required=True),
            Key("template", TEMPLATE),
            TONE,
            Key("cardId", Id),
        )
    )
)


def _explain_size(card: Any) -> Errors:
    is_too_large = exceeds(card, MAX_CARD_BYTES)
    if is_too_large is None:
        return ["card is not JSON-serializable"]
    return [f"card exceeds {MAX_CARD_BYTES} bytes"] if is_too_large else []


class _Card:
    """Every error of one card, in order; what is counted and remembered over all its blocks."""

    def __init__(self) -> None:
        self.action_blocks = 0
        self.actions = 0
        self.ids: set[str] = set()

    def explain(self, card: Any) -> Errors:
        if not is_object(card):
            return ["card must be an object"]
        errors = _explain_size(card)
        if card.get("schema") != SCHEMA:
            errors.append(f'card.schema must be "{SCHEMA}"')
        errors += unsupported_keys(card, CARD_KEYS, "card")
        TITLE.rule.explain(card.get("title"), "card.title", errors)
        FALLBACK.explain(card.get("fallbackText"), "card.fallbackText", errors)
        if "template" in card:
            TEMPLATE.explain(card["template"], "card.template", errors)
        if "tone" in card:
            TONE.rule.explain(card["tone"], "card.tone", errors)
        if "cardId" in card:
            Id.explain(card["cardId"], "card.cardId", errors)
        explain_list(card.get("blocks"), LIMITS["blocks"], self._explain_block, "card.blocks", errors)
        if self.actions > LIMITS["totalActions"]:
            errors.append(f"card has {self.actions} actions; the maximum is {LIMITS['totalActions']}")
        return errors

    def _explain_block(self, block: Any, path: str, errors: Errors) -> None:
        if not is_object(block):
            errors.append(f"{path} must be an object")
            return
        kind = block.get("kind")
        rule = BLOCKS.get(kind) if isinstance(kind, str) else None
        if rule is None or not isinstance(kind, str):
            shown = as_string(kind) if "kind" in block else "undefined"
            errors.append(f'{path}.kind "{shown}" is not a supported block kind')
            return
        if kind != "actions" and is_right(_QUICK_BLOCK.measures[kind], block):
            return
        if "title" in block:
            TITLE.rule.explain(block["title"], f"{path}.title", errors)
        if kind != "actions":
            rule.explain(block, path, errors)
            return
        errors += unsupported_keys(block, rule.allowed, path)
        self.action_blocks += 1
        if self.action_blocks > 1:
            errors.append(f"{path} is a second actions block; a card may contain at most one")
        explain_list(block.get("actions"), LIMITS["actions"], self._explain_action, f"{path}.actions", errors)

    def _explain_action(self, action: Any, path: str, errors: Errors) -> None:
        if not is_object(action):
            errors.append(f"{path} must be an object")
            return
        self.actions += 1
        errors += unsupported_keys(action, ACTION.allowed, path)
        explain_id(action.get("id"), f"{path}.id", self.ids, errors)
        ACTION.explain_keys(action, path, errors)


def validate_card(value: Any) -> Verdict:
    """Check a card; nothing is normalised, and nothing raises.

    Returns:
        ``ok``, and every error in the order of the checks; the first is what an agent is told.

    Source: R12.1.
    """
    most_bytes = bytes_at_most(_measure_card, value, MAX_CARD_BYTES)
    if most_bytes is not None and most_bytes <= MAX_CARD_BYTES:
        return {"ok": True, "errors": []}
    # One that is right so far has nothing wrong with it but, perhaps, its size.
    errors = _Card().explain(value) if most_bytes is None else _explain_size(value)
    return {"ok": not errors, "errors": errors}


def action_count(card: Mapping[str, Any]) -> int:
    """How many actions a valid card offers; without any it only shows something."""
    return sum(len(block["actions"]) for block in card["blocks"] if block["kind"] == "actions")
