"""Cards for tests: one that is shown, one that is answered."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["QUESTION", "SUMMARY"]

SUMMARY: Final[dict[str, Any]] = {
    "schema": "canon.card.v1",
    "title": "Invoice",
    "fallbackText": "An invoice",
    "blocks": [{"kind": "summary", "text": "8,200"}],
}

QUESTION: Final[dict[str, Any]] = {
    **SUMMARY,
    "blocks": [
        *SUMMARY["blocks"],
        {
            "kind": "actions",
            "actions": [{"id": "file", "label": "File", "fields": [{"id": "note", "label": "Note", "type": "text"}]}],
        },
    ],
}
