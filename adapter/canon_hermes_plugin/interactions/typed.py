"""Which messages the host would take for a yes to a command that waits. Pure.

A host takes a few bare words, and its own command with anything behind it. It may learn others; what is not known here
is a message like any other, and no host takes a sentence for a yes.

Source: hermes-host 9.3; canon-adapter R9.10.
"""

from __future__ import annotations

from typing import Final

__all__ = ["is_approval"]

_WORDS: Final = frozenset(
    {"approve", "yes", "ok", "okay", "confirm", "y", "👍", "always", "session"}
    | {f"approve {how}" for how in ("always", "session", "all")}
    | {f"{how} approve" for how in ("always", "session")}
)
_COMMANDS: Final = frozenset({"/approve", "!approve"})


def is_approval(text: str) -> bool:
    """Whether this message could allow a command."""
    said = text.strip().lower()
    words = said.split()
    return said in _WORDS or (bool(words) and words[0].partition("@")[0] in _COMMANDS)
