"""The smallest piece of a page."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Row"]


@dataclass(frozen=True, slots=True)
class Row:
    """A term and what it means."""

    term: str
    text: str
