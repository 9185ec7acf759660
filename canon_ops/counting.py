"""Numbers of things, in words that fit the number."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: ``counted(1, "approval")`` is ``1 approval``.

    Args:
        many: the plural, where it is not the noun with an s.
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
