"""The numbers and words of ``canon.card.v1``: what the validator checks and what the agent's skill page tells.

Source: canon-adapter R12.2, R12.3; Canon wire 9.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = [
    "BLOCK_KINDS", "COLUMN_TYPES", "FIELD_TYPES", "LIST_STATUSES", "MAX_CARD_BYTES", "MEDIA_KINDS",
    "RUNTIME_CARD_LIMITS", "SCHEMA", "TONES",
]  # fmt: skip

SCHEMA: Final = "canon.card.v1"
MAX_CARD_BYTES: Final = 32_768
RUNTIME_CARD_LIMITS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "blocks": 24,
        "metrics": 12,
        "series": 6,
        "points": 24,
        "rows": 24,
        "columns": 8,
        "listItems": 24,
        "actions": 12,
        "totalActions": 12,
        "fields": 8,
        "choices": 12,
        "detailsRows": 32,
        "lineItemRows": 50,
        "lineItemColumns": 8,
        "searchSelectChoices": 100,
    }
)
TONES: Final = ("neutral", "primary", "positive", "warning", "negative", "danger", "critical", "welcome")
BLOCK_KINDS: Final = (
    "summary", "metricGrid", "chart", "table", "list", "callout", "actions", "mediaPreview", "details",
)  # fmt: skip
LIST_STATUSES: Final = ("pending", "done", "blocked", "warning")
MEDIA_KINDS: Final = ("image", "file")
FIELD_TYPES: Final = (
    "text", "textarea", "select", "multiSelect", "boolean", "date", "number", "currency", "searchSelect", "lineItems",
)  # fmt: skip
COLUMN_TYPES: Final = ("text", "number", "currency", "date", "select")
