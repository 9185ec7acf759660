"""How much of a turn people see while it runs: a quiet turn writes no narration and carries no trail.

A quiet turn hides nothing else: its states, typing, answer and every part of it, cards and media are as usual.

Source: Canon wire 8.6; canon-adapter R6.12-R6.14.
"""

from __future__ import annotations

from enum import StrEnum

from canon_ops.settings.options import TurnVerbosity

__all__ = ["ConversationKind", "conversation_kind", "parse_verbosity", "resolve_verbosity"]


class ConversationKind(StrEnum):
    """Direct, group, or not known yet."""

    DIRECT = "direct"
    GROUP = "group"
    UNKNOWN = "unknown"


_KINDS = {"direct": ConversationKind.DIRECT, "dm": ConversationKind.DIRECT, "group": ConversationKind.GROUP}
_SETTINGS = {setting.value: setting for setting in TurnVerbosity}


def parse_verbosity(value: object) -> TurnVerbosity | None:
    """Read a configured value; None when it is none of the three words."""
    return _SETTINGS.get(value.strip().lower()) if isinstance(value, str) else None


def conversation_kind(value: object) -> ConversationKind:
    """Read a conversation's type as the wire writes it; ``dm`` is a direct chat."""
    word = value.strip().lower() if isinstance(value, str) else ""
    return _KINDS.get(word, ConversationKind.UNKNOWN)


def resolve_verbosity(configured: TurnVerbosity | None, kind: ConversationKind) -> TurnVerbosity:
    """VERBOSE or QUIET for one turn: an explicit setting wins, a group is quiet, everything else verbose.

    Ask once, when the turn opens: a turn does not change its manner while it runs.
    """
    if configured in (TurnVerbosity.VERBOSE, TurnVerbosity.QUIET):
        return configured
    return TurnVerbosity.QUIET if kind is ConversationKind.GROUP else TurnVerbosity.VERBOSE
