"""What is said about a gateway's death: to the agent that is given a message again, and to the people in the room.

The mark on the answer itself is the turn's (turn/machine.py). Source: decisions X3, X4; the product's promise of
at-least-once.
"""

from __future__ import annotations

from typing import Final

__all__ = ["GAP", "GIVEN_UP", "noted"]

GIVEN_UP: Final = (
    "I could not answer a message of yours: the gateway stopped several times while I worked on it, so I have given it "
    "up. Please say again what you need, perhaps in smaller steps."
)

GAP: Final = (
    "I may have missed messages: my connection to Canon was away for longer than Canon can bring back. If you said "
    "something that I have not answered, please say it again."
)

_NOTE: Final = (
    "[Canon: recovered. The gateway stopped while you worked on the message below, so you are given it again. "
    "Something may have been done already: look before you repeat what must not happen twice.]\n\n"
)


def noted(text: str) -> str:
    """The text with the note for the agent; a command is passed to the byte, or it would be none."""
    return text if text.lstrip().startswith("/") else _NOTE + text
