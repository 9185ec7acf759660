"""What the agent asks for, made into what Canon is sent: lengths, defaults, rows. Pure.

Source: canon-adapter R10.6, R10.12, R10.13; D50.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from canon_ops.wire.interactions import Detail

__all__ = ["DEFAULT_TIMEOUT_S", "MAX_TIMEOUT_S", "MIN_TIMEOUT_S", "Wish", "clamp_timeout", "read_wish"]

MIN_TIMEOUT_S: Final = 5
MAX_TIMEOUT_S: Final = 72 * 3600  # R10.6
DEFAULT_TIMEOUT_S: Final = MAX_TIMEOUT_S
ROWS, OPTIONS = 6, 8
LABEL_LIMIT, VALUE_LIMIT = 80, 500


@dataclass(frozen=True, slots=True)
class Wish:
    """An approval that somebody wants, ready to be reserved and sent."""

    summary: str
    tool_name: str
    details: tuple[Detail, ...]
    timeout_s: int


def read_wish(
    *,
    title: object = None,
    question: object = None,
    options: object = None,
    context: object = None,
    timeout_seconds: object = None,
) -> Wish:
    """Read what a tool call or a domain plugin gave.

    Raises:
        ValueError: neither a title nor a question says what is to be approved.
    """
    asked, named = _text(question), _text(title)
    summary = asked or named
    if not summary:
        raise ValueError("An approval needs a title or a question")
    return Wish(
        summary,
        named or "Approval",
        (*_context_rows(context), *_option_row(options)),
        clamp_timeout(timeout_seconds, default=DEFAULT_TIMEOUT_S, most=MAX_TIMEOUT_S),
    )


def clamp_timeout(value: object, *, default: int, most: int, least: int = MIN_TIMEOUT_S) -> int:
    """Seconds within bounds; what is no whole number, a boolean and infinity among it, is the default (R11.3, D50)."""
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        return default
    try:
        seconds = int(value)  # type: ignore[call-overload]  # anything may come from a model
    except (TypeError, ValueError, OverflowError):
        return default
    return int(max(least, min(most, seconds)))


def _context_rows(context: object) -> tuple[Detail, ...]:
    if isinstance(context, str):
        return (Detail("Context", context.strip()[:VALUE_LIMIT]),) if context.strip() else ()
    if not isinstance(context, Mapping):
        return ()
    pairs = [(_text(label), _text(value)) for label, value in list(context.items())[:ROWS]]
    return tuple(Detail(label[:LABEL_LIMIT], value[:VALUE_LIMIT]) for label, value in pairs if label and value)


def _option_row(options: object) -> tuple[Detail, ...]:
    if not isinstance(options, list | tuple):
        return ()
    words = [word for option in list(options)[:OPTIONS] if (word := _text(option))]
    return (Detail("Options", ", ".join(words)[:VALUE_LIMIT]),) if words else ()


def _text(value: Any) -> str:
    """The trimmed text of a value; null and structures have none."""
    if value is None or isinstance(value, Mapping | list | tuple | set):
        return ""
    return str(value).strip()
