"""Cards by the thousand from a seed: right ones of every kind, and ones with something wrong somewhere.

The grammar is written out here once more, in numbers and words of its own, so that neither validator that the cards
are shown to is its own witness. Only the standard library is imported.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

__all__ = ["CardMaker", "hostile_values", "places"]

WORDS: Final = (
    "invoice", "total", "due", "approve", "reject", "review", "Acme", "supplier", "draft", "March", "net", "paid",
    "owner", "project", "deploy", "build", "latency", "error", "region", "north", "order", "42", "3.5%", "₪1,200",
    "חשבונית", "לתשלום", "אושר", "café", "naïve", "発注", "🙂", "👩\u200d👧", '"quoted"', "back\\slash", "a/b",
)  # fmt: skip
TONES = ("neutral", "primary", "positive", "warning", "negative", "danger", "critical", "welcome")
KINDS = ("summary", "metricGrid", "chart", "table", "list", "callout", "mediaPreview", "details", "actions")
FIELDS = (
    "text", "textarea", "select", "multiSelect", "boolean", "date", "number", "currency", "searchSelect", "lineItems",
)  # fmt: skip
MOST_BYTES = 32_768
ID_SIGNS = "abcXYZ019_.:-"


class CardMaker:
    """Makes cards; the same seed gives the same cards in every version of Python.

    Args:
        seed: where the chance begins.
        richness: from 0 to 1, how many optional keys are there and how long lists and texts are.
        is_plain: only ASCII, as a service that writes English sends it.
    """

    def __init__(self, seed: int, *, richness: float = 0.5, is_plain: bool = False) -> None:
        self._chance = random.Random(seed)
        self._richness = richness
        self._words = [word for word in WORDS if word.isascii()] if is_plain else list(WORDS)

    def cards(self, count: int) -> Iterator[dict[str, Any]]:
        """So many right cards."""
        return (self.card() for _ in range(count))

    def card(self) -> dict[str, Any]:
        """A card that both validators must accept, as long as it is not too large."""
        kinds = [self._one_of(KINDS[:-1]) for _ in range(self._count(6))]
        if self._maybe():
            kinds.insert(self._below(len(kinds) + 1), "actions")
        card: dict[str, Any] = {"schema": "canon.card.v1", "title": self._text(120), "fallbackText": self._text(500)}
        self._add(card, "template", lambda: self._text(120))
        self._add(card, "tone", lambda: self._one_of(TONES))
        self._add(card, "cardId", self._id)
        card["blocks"] = [self._block(kind) for kind in kinds]
        return card

    def near_the_limit(self) -> dict[str, Any]:
        """A card whose size is within a few bytes of what is allowed, with numbers that are long in one language."""
        numbers = (1e21, 1e20, 1.5e-7, 0.00001, 1.0, -0.0, 2.0**60, 10**22, 2**70, 7, 0.1)
        points = [{"x": "x", "y": self._one_of(numbers)} for _ in range(1 + self._below(24))]
        chart = {"kind": "chart", "chart": "line", "series": [{"points": points}]}
        texts = [{"kind": "summary", "text": self._one_of(("x", "é", "🙂", '"')) * 1000} for _ in range(22)]
        card = {"schema": "canon.card.v1", "title": "T", "fallbackText": "F", "blocks": [chart, *texts]}
        while texts and _bytes(card) > MOST_BYTES - 2000:
            card["blocks"] = [chart, *texts[1:]]
            texts.pop(0)
        missing = MOST_BYTES + self._below(41) - 20 - _bytes(card)
        card["blocks"] = [chart, *texts, *({"kind": "summary", "text": "x" * 900} for _ in range(missing // 933))]
        card["fallbackText"] = "x" * max(1, MOST_BYTES + self._below(41) - 19 - _bytes(card))
        return card

    def mutated(self) -> Any:
        """A card with up to four changes; it may still be right."""
        card: Any = self.card()
        for _ in range(1 + self._below(4)):
            card = self._changed(card)
        return card

    def _one_of(self, choices: Sequence[Any]) -> Any:
        return choices[self._below(len(choices))]

    def _block(self, kind: str) -> dict[str, Any]:
        make: Callable[[], dict[str, Any]] = getattr(self, f"_{kind}")
        block = {"kind": kind, **make()}
        return self._add(block, "title", lambda: self._text(120))

    def _summary(self) -> dict[str, Any]:
        return {"text": self._text(2000)}

    def _callout(self) -> dict[str, Any]:
        return self._toned({"text": self._text(1000)})

    def _metricGrid(self) -> dict[str, Any]:  # named after the kind
        return {"metrics": self._some(12, self._metric)}

    def _metric(self) -> dict[str, Any]:
        metric = {"label": self._text(120), "value": self._text(120)}
        return self._toned(self._add(metric, "delta", lambda: self._text(120)))

    def _chart(self) -> dict[str, Any]:
        chart = {"chart": self._one_of(("line", "bar")), "series": self._some(6, self._series)}
        return self._add(chart, "yLabel", lambda: self._text(80))

    def _series(self) -> dict[str, Any]:
        series = {"points": self._some(24, lambda: {"x": self._text(80), "y": self._number()})}
        return self._add(series, "name", lambda: self._text(120))

    def _table(self) -> dict[str, Any]:
        columns = self._some(8, lambda: self._text(80))
        return {"columns": columns, "rows": self._some(24, lambda: [self._text(160) for _ in columns])}

    def _list(self) -> dict[str, Any]:
        return {"items": self._some(24, self._item)}

    def _item(self) -> dict[str, Any]:
        item = self._add({"label": self._text(160)}, "detail", lambda: self._text(300))
        return self._add(item, "status", lambda: self._one_of(("pending", "done", "blocked", "warning")))

    def _mediaPreview(self) -> dict[str, Any]:
        media: dict[str, Any] = {"kind": self._one_of(("image", "file")), "url": f"https://media.example/{self._id()}"}
        media["mimeType"] = self._one_of(("image/png", "application/pdf"))
        for name in ("fileName", "thumbnailUrl"):
            self._add(media, name, lambda: self._text(200))
        for name in ("page", "pageCount"):
            self._add(media, name, lambda: self._below(40))
        return self._add({"media": media}, "fallbackText", lambda: self._text(500))

    def _details(self) -> dict[str, Any]:
        return {"rows": self._some(32, self._row)}

    def _row(self) -> dict[str, Any]:
        row = self._toned({"label": self._text(120), "value": self._text(300)})
        self._add(row, "confidence", lambda: self._one_of((0, 1, 0.25, 0.975, 1.0)))
        return self._add(row, "hint", lambda: self._text(160))

    def _actions(self) -> dict[str, Any]:
        actions = self._some(12, self._action)
        for number, action in enumerate(actions):
            action["id"] = f"{action['id'][:70]}{number}"
        return {"actions": actions}

    def _action(self) -> dict[str, Any]:
        action = self._toned({"id": self._id(), "label": self._text(120)})
        return self._add(action, "fields", lambda: self._numbered(self._some(8, self._field)))

    def _field(self) -> dict[str, Any]:
        kind = self._one_of(FIELDS)
        field: dict[str, Any] = {"id": self._id(), "label": self._text(120), "type": kind}
        self._add(field, "placeholder", lambda: self._text(160))
        for name in ("required", "allowOther", "sensitive"):
            self._add(field, name, lambda: self._one_of((True, False)))
        if kind in ("select", "multiSelect", "searchSelect"):
            field["choices"] = self._choices(100 if kind == "searchSelect" else 12)
        if kind in ("number", "currency"):
            self._numeric(field)
        if kind == "currency":
            self._add(field, "currencyCode", lambda: self._one_of(("ILS", "EUR")))
        if kind == "date":
            self._add(field, "min", lambda: "2024-02-01")
            self._add(field, "max", lambda: "2024-03-31")
        if kind == "lineItems":
            field["columns"] = self._numbered(self._some(8, self._column))
            self._add(field, "minRows", lambda: self._below(5))
            self._add(field, "maxRows", lambda: 5 + self._below(46))
        return field

    def _column(self) -> dict[str, Any]:
        kind = self._one_of(("text", "number", "currency", "date", "select"))
        column: dict[str, Any] = {"id": self._id(), "label": self._text(120), "type": kind}
        for name in ("required", "allowOther"):
            self._add(column, name, lambda: self._one_of((True, False)))
        if kind == "select":
            column["choices"] = self._choices(12)
        if kind in ("number", "currency"):
            self._numeric(column)
        return self._add(column, "currencyCode", lambda: "ILS")

    def _numeric(self, field: dict[str, Any]) -> None:
        self._add(field, "min", lambda: self._below(10))
        self._add(field, "max", lambda: 10 + self._below(1000))
        self._add(field, "step", lambda: self._one_of((1, 0.5, 0.01)))
        self._add(field, "precision", lambda: self._below(5))

    def _choices(self, most: int) -> list[dict[str, Any]]:
        choices: list[dict[str, Any]] = self._some(most, lambda: {"label": self._text(100)})
        for number, choice in enumerate(choices):
            choice["label"] = f"{choice['label']} {number}"
            self._add(choice, "value", lambda number=number: f"v{number}")  # type: ignore[misc]  # bound at once
            for name in ("description", "preview"):
                self._add(choice, name, lambda: self._text(300))
        return choices

    def _numbered(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for number, item in enumerate(items):
            item["id"] = f"{item['id'][:70]}{number}"
        return items

    def _toned(self, value: dict[str, Any]) -> dict[str, Any]:
        return self._add(value, "tone", lambda: self._one_of(TONES))

    def _add(self, value: dict[str, Any], name: str, make: Callable[[], Any]) -> dict[str, Any]:
        if self._maybe():
            value[name] = make()
        return value

    def _some(self, most: int, make: Callable[[], Any]) -> list[Any]:
        return [make() for _ in range(self._count(most))]

    def _count(self, most: int) -> int:
        """From one to ``most``, few of them at the limit."""
        if self._chance.random() < 0.02:
            return most
        return 1 + self._below(max(1, round(most * self._richness)))

    def _maybe(self) -> bool:
        return self._chance.random() < self._richness

    def _below(self, limit: int) -> int:
        return int(self._chance.random() * limit)

    def _number(self) -> float:
        return self._one_of((0, 17, -3, 2.5, 1e21, 1.5e-7, self._below(100_000), self._chance.random() * 100))  # type: ignore[no-any-return]  # numbers, all

    def _id(self) -> str:
        return "".join(self._one_of(ID_SIGNS) for _ in range(1 + self._below(12)))

    def _text(self, most: int) -> str:
        """One to a few dozen words, cut so that it fits whatever a character counts; rarely as long as allowed."""
        if self._chance.random() < 0.01:
            return "x" * most
        count = 1 + self._below(max(2, round(min(most, 300) * self._richness / 12)))
        return " ".join(self._one_of(self._words) for _ in range(count))[: most // 2].strip() or "x"

    # --- something wrong ---------------------------------------------------------------------------------------------

    def _changed(self, card: Any) -> Any:
        """Change one place; the card itself may be what is replaced."""
        spots = places(card)
        if not spots or self._chance.random() < 0.01:
            return copy.deepcopy(self._one_of(hostile_values()))
        holder, key = self._one_of(spots)
        changes = (self._replace, self._replace, self._remove, self._repeat, self._lengthen, self._rename, self._end)
        self._one_of(changes)(holder, key)
        return card

    def _replace(self, holder: Any, key: Any) -> None:
        holder[key] = copy.deepcopy(self._one_of(hostile_values()))

    def _remove(self, holder: Any, key: Any) -> None:
        del holder[key]

    def _repeat(self, holder: Any, key: Any) -> None:
        """An entry of a list again, up to far beyond its limit; of an object, its value under another key."""
        if isinstance(holder, list):
            holder.extend(copy.deepcopy(holder[key]) for _ in range(self._one_of((1, 1, 2, 13, 30, 101))))
        else:
            holder[self._one_of(NAMES)] = copy.deepcopy(holder[key])

    def _lengthen(self, holder: Any, key: Any) -> None:
        value = holder[key]
        if isinstance(value, str):
            limit = self._one_of((8, 80, 81, 120, 121, 160, 161, 200, 201, 300, 301, 500, 501, 1001, 2001, 2049))
            holder[key] = (value * limit)[: limit // 2] + self._one_of("x\n\ufeff😀é") * (limit - limit // 2)
        elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**64:
            holder[key] = self._one_of((-value, value + 0.5, value * 1e300, float(value), str(value)))
        else:
            holder[key] = [value]

    def _end(self, holder: Any, key: Any) -> None:
        """A text ends with a sign that some call white space."""
        if isinstance(holder[key], str):
            holder[key] += self._one_of(("\n", " ", "\x1c", "\ufeff", "\u0085", "\u00a0"))

    def _rename(self, holder: Any, key: Any) -> None:
        if isinstance(holder, dict):
            holder[self._one_of(NAMES)] = holder.pop(key)
        else:
            holder.insert(0, holder.pop(key))


NAMES: Final = (
    "schema", "cardId", "template", "tone", "title", "fallbackText", "blocks", "kind", "text", "metrics", "label",
    "value", "delta", "chart", "yLabel", "series", "name", "points", "x", "y", "columns", "rows", "items", "detail",
    "status", "media", "url", "mimeType", "fileName", "thumbnailUrl", "page", "pageCount", "confidence", "hint",
    "actions", "id", "fields", "type", "required", "placeholder", "choices", "allowOther", "sensitive", "min", "max",
    "step", "precision", "currencyCode", "minRows", "maxRows", "description", "preview", "other", "né", "__proto__",
)  # fmt: skip


def _bytes(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place inside: what holds it, and its key or index there."""
    found: list[tuple[Any, Any]] = []
    stack = [value]
    while stack:
        holder = stack.pop()
        keys: Any = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            found.append((holder, key))
            stack.append(holder[key])
    return found


def hostile_values() -> list[Any]:
    """Values that stand where another was expected; all but the last few can be written as JSON."""
    return [
        None, True, False, 0, 1, -1, 2.0, 2.5, 51, 1e21, 1.5e-7, -0.0, 10**20, 2**53 + 1, 10**400,
        "", " ", "\t\n", "a", "a b", "go\n", "x" * 81, "x" * 121, "x" * 40_000, "é" * 17_000, "😀" * 60, "😀" * 61,
        "\ufeff", "\u00a0", "\u0085", "\x1c", "\u200b", "\u2028", "a\x00b", "\x7f", "\ud83d", "\ude42", "\ud83d\ude42",
        "2024-01-01", "2024-01-01\n", "2024-1-1", "2024-13-45", "٢٠٢٤-01-01", "summary", "actions", "lineItems",
        "searchSelect", "select", "date", "currency", "number", "positive", "canon.card.v1", "constructor",
        [], [None], [[]], ["a", None, 1.0, [2, "b"]], {}, {"kind": "summary", "text": "S"}, {"label": "L"},
        {"label": "L", "value": " L "}, {"id": "a", "label": "L"}, {"a": {"b": {"c": [1, 2.5, 1e-9]}}},
        float("nan"), float("inf"), float("-inf"),
    ]  # fmt: skip
