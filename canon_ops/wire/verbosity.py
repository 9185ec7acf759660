"""How much of a turn people see while it runs: a quiet turn writes no narration and carries no trail.

A quiet turn hides nothing else: its states, typing, answer and every part of it, cards and media are as usual.

Source: Canon wire 8.6; canon-adapter R6.12-R6.14.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = ["ConversationKind", "Verbosity", "conversation_kind", "parse_verbosity", "resolve_verbosity"]


class Verbosity(StrEnum):
    """What an operator may configure; ``auto`` leaves it to the kind of conversation."""

    VERBOSE = "verbose"
    QUIET = "quiet"
    AUTO = "auto"


class ConversationKind(StrEnum):
    """Direct, group, or not known yet."""

    DIRECT = "direct"
    GROUP = "group"
    UNKNOWN = "unknown"


def parse_verbosity(value: object) -> Verbosity | None:
    """Read a configured value; None when it is none of the three."""
    word = value.strip().lower() if isinstance(value, str) else ""
    return Verbosity(word) if word in set(Verbosity) else None


def conversation_kind(value: object) -> ConversationKind:
    """Read a conversation's type as the wire writes it; ``dm`` is a direct chat."""
    word = value.strip().lower() if isinstance(value, str) else ""
    return {"direct": ConversationKind.DIRECT, "dm": ConversationKind.DIRECT, "group": ConversationKind.GROUP}.get(
        word, ConversationKind.UNKNOWN
    )


def resolve_verbosity(configured: Verbosity | None, kind: ConversationKind) -> Verbosity:
    """VERBOSE or QUIET for one turn: an explicit setting wins, a group is quiet, everything else verbose.

    Ask once, when the turn opens: a turn does not change its manner while it runs.
    """
    if configured in (Verbosity.VERBOSE, Verbosity.QUIET):
        return configured
    return Verbosity.QUIET if kind is ConversationKind.GROUP else Verbosity.VERBOSE
