"""The page by which an agent learns to write cards, made from the rules that its cards are checked with.

Every kind, key, limit and word on the page is read from the validator's own tables, so the two cannot come apart;
only purposes, advice and examples are written here. ``scripts/generate.py`` writes the page into the Canon plugin, and
``make docs`` compares.

Source: canon-adapter R1.8, R12.2, R12.3; product document, "Card validation".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from canon_ops.wire.card_skill import DESCRIPTION, SKILL_NAME
from canon_ops.wire.cards.document import ACTION, BLOCKS, TITLE
from canon_ops.wire.cards.fields import Fields
from canon_ops.wire.cards.forms import CHOICE, COLUMN_BY_TYPE, COLUMNS, DATE, FIELD_BY_TYPE
from canon_ops.wire.cards.limits import LIST_STATUSES, MAX_CARD_BYTES, RUNTIME_CARD_LIMITS, SCHEMA, TONES
from canon_ops.wire.cards.rules import Array, Check, Id, Key, Object, OneOf, Rule, Text, Unlooked

__all__ = ["EXAMPLES", "PURPOSES", "skill_page"]

PURPOSES: Final[Mapping[str, str]] = {
    "summary": "the point of the card in a paragraph",
    "metricGrid": "a few numbers side by side",
    "chart": "a development or a comparison",
    "table": "rows that are compared column by column",
    "list": "steps or findings, each with its state",
    "callout": "one thing that must not be overlooked",
    "actions": "what the person may do; at most one such block in a card",
    "mediaPreview": "an image or a file that was uploaded to this conversation before",
    "details": "facts of one thing, with how sure you are of each",
}
EXAMPLES: Final[tuple[Mapping[str, Any], ...]] = (
    {
        "schema": SCHEMA,
        "title": "Nightly build",
        "fallbackText": "The nightly build passed with one slow step.",
        "tone": "positive",
        "blocks": [
            {
                "kind": "metricGrid",
                "metrics": [
                    {"label": "Tests", "value": "1,204", "delta": "+12", "tone": "positive"},
                    {"label": "Duration", "value": "9 min", "delta": "+2 min", "tone": "warning"},
                ],
            },
            {
                "kind": "list",
                "title": "Steps",
                "items": [
                    {"label": "Compile", "status": "done"},
                    {"label": "Upload", "detail": "took four minutes", "status": "warning"},
                ],
            },
        ],
    },
    {
        "schema": SCHEMA,
        "title": "Pay the printer's bill?",
        "fallbackText": "Bill 1042 over 312.50 EUR is due on Friday. Pay it?",
        "blocks": [
            {
                "kind": "details",
                "rows": [
                    {"label": "Amount", "value": "312.50 EUR", "confidence": 0.98},
                    {"label": "Due", "value": "Friday", "confidence": 0.7, "hint": "the print is faint"},
                ],
            },
            {
                "kind": "actions",
                "actions": [
                    {
                        "id": "pay",
                        "label": "Pay",
                        "tone": "primary",
                        "fields": [
                            {"id": "amount", "label": "Amount", "type": "currency", "currencyCode": "EUR", "min": 0},
                            {
                                "id": "account",
                                "label": "From",
                                "type": "select",
                                "required": True,
                                "choices": [{"label": "Main account", "value": "main"}, {"label": "Savings"}],
                            },
                        ],
                    },
                    {"id": "later", "label": "Not now"},
                ],
            },
        ],
    },
)


def skill_page() -> str:
    """The text of ``SKILL.md``."""
    parts = (_head(), _sending(), _frame(), _blocks(), _fields(), _hints(), *_examples())
    return "\n\n".join(parts) + "\n"


def _head() -> str:
    return f"""---
name: {SKILL_NAME}
description: {DESCRIPTION}
---

# Cards on Canon

A card shows people something better than a paragraph does, and can ask the person of this turn to choose or to fill in
a form. Write one when there are numbers, rows or a decision; a sentence is better as a sentence."""


def _sending() -> str:
    return """## Sending

Use the tool `canon_runtime_control`.

- `{"action": "send_card", "card": {...}}` shows a card and returns.
- `{"action": "request_card", "card": {...}}` shows it and waits a little for the answer. With status `pending` the card
  stays: end the turn, and ask with `{"action": "check_card", "cardId": "..."}` when you need the answer.
- Go on only when the status is `submitted` and the action is one that your card has. No answer is not a yes.

The card is checked before it is sent. An error names the place, such as `card.blocks[1].rows[0].value`: mend that place
and send the mended card, never the same one again. Keys that are not on this page are errors."""


def _frame() -> str:
    keys = (
        Key("schema", OneOf((SCHEMA,), ""), is_required=True),
        Key("title", TITLE.rule, is_required=True),
        Key("fallbackText", Text(500), is_required=True),
        Key("blocks", Array(Unlooked(0), RUNTIME_CARD_LIMITS["blocks"]), is_required=True),
        Key("tone", OneOf(TONES, "")),
        Key("template", Text(120)),
        Key("cardId", Id),
    )
    return f"""## The card

{_lines(keys)}

`fallbackText` stands alone where a card cannot be drawn: say the whole thing there. The card as JSON is at most
{MAX_CARD_BYTES:,} bytes. Text is never empty and never only blanks; leave a key out instead of writing null. An id has
1 to 80 of the letters A to Z, digits and `_.:-`."""


def _blocks() -> str:
    chapters = []
    for kind, rule in BLOCKS.items():
        keys = rule.keys if kind != "actions" else (_actions(),)
        chapters.append(f"### `{kind}`: {PURPOSES[kind]}\n\n{_lines(keys)}")
    head = f"""## Blocks

Each has `kind`, and may have `title` ({_words(TITLE.rule)}). A key with * must be there."""
    return "\n\n".join([head, *chapters])


def _actions() -> Key:
    action = Object((Key("id", Id, is_required=True), *ACTION.keys))
    return Key("actions", Array(action, RUNTIME_CARD_LIMITS["actions"]), is_required=True)


def _fields() -> str:
    common = _common(FIELD_BY_TYPE)
    lines = [f"- `{kind}`{_more(rule, common)}" for kind, rule in FIELD_BY_TYPE.items()]
    columns = _common(COLUMN_BY_TYPE)
    column_lines = [f"- `{kind}`{_more(rule, columns)}" for kind, rule in COLUMN_BY_TYPE.items()]
    return f"""## Fields of an action

An action may ask for 1 to {RUNTIME_CARD_LIMITS["fields"]} fields. Every field:

{_lines(common)}

`type` is one of these, and decides what else a field may have:

{chr(10).join(lines)}

`min` is never above `max`, nor `minRows` above `maxRows`. A choice:

{_lines(CHOICE.keys)}

It submits its `value`, or its `label` when it has none; no two choices submit the same. A column of `lineItems`:

{_lines(columns)}

{chr(10).join(column_lines)}"""


def _hints() -> str:
    return f"""## Words

- Tones: {_list(TONES)}. Use one where it means something; a card full of colour says nothing.
- States of a list's items: {_list(LIST_STATUSES)}.
- Ids of actions are unique in the card, ids of fields in their action, ids of columns in their field."""


def _examples() -> Iterator[str]:
    for title, card in zip(("Showing", "Asking"), EXAMPLES, strict=True):
        yield f"## Example: {title}\n\n```json\n{json.dumps(card, indent=2)}\n```"


def _common(rules: Mapping[str, Object]) -> tuple[Key, ...]:
    """The keys that every type has, and all have alike."""
    first, *others = rules.values()
    return tuple(key for key in first.keys if all(_line(key) in map(_line, other.keys) for other in others))


def _more(rule: Object, common: tuple[Key, ...]) -> str:
    known = {_line(key) for key in common}
    # Choices are no error where nothing is chosen, and of no use.
    keys = [key for key in rule.keys if key.is_required or not isinstance(key.rule, Array)]
    more = [_line(key) for key in keys if _line(key) not in known]
    return f": {'; '.join(more)}" if more else ""


def _lines(keys: tuple[Key, ...], indent: str = "") -> str:
    """A list of keys; what stands inside an object is a list below."""
    lines = []
    for key in keys:
        lines.append(f"{indent}- {_line(key)}")
        inner = _inside(key.rule)
        if inner:
            lines.append(_lines(inner, f"{indent}  "))
    return "\n".join(lines)


def _line(key: Key) -> str:
    star = "*" if key.is_required else ""
    return f"`{key.name}`{star}: {_words(key.rule)}"


def _inside(rule: Rule) -> tuple[Key, ...]:
    while isinstance(rule, Array):
        rule = rule.item
    return rule.keys if isinstance(rule, Object) else ()


def _words(rule: Rule) -> str:
    """A rule in a few words."""
    if rule is Id:
        return "an id"
    if rule is DATE:
        return "a date, `YYYY-MM-DD`"
    match rule:
        case Text():
            return f"text, at most {rule.limit:,} characters"
        case OneOf():
            return "one of the tones" if rule.choices == TONES else _list(rule.choices)
        case Array():
            return f"1 to {rule.limit} {_plural(rule)}"
        case Fields():
            return "a form, see below"
        case Check():
            return rule.words.removeprefix("must be ").replace("boolean", "true or false")
        case Object():
            return "an object"
        case Unlooked():
            return "its type, see below"
    raise TypeError(f"no words for {rule}")  # a new kind of rule


def _plural(rule: Array) -> str:
    if rule is COLUMNS:
        return "columns, see below"
    if rule.item is CHOICE:
        return "choices, see below"
    match rule.item:
        case Text(limit=limit):
            return f"texts, each at most {limit} characters"
        case Array() as inner:
            return f"lists of {_words(inner)}"
        case Unlooked():
            return "blocks, see below"
    return "objects"


def _list(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)
