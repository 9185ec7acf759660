"""How a second run of a message is marked: a note for the agent, and a mark for the people who read the answer.

The gateway died while it worked on the message. What had been done by then may be done again, so both sides are told:
the agent before it begins, the people with the answer. Source: decisions X3; the product's promise of at-least-once.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ANSWER_MARK", "GIVEN_UP", "noted"]

ANSWER_MARK: Final = "♻️ Recovered after a restart; something of this may have been said or done before.\n\n"

GIVEN_UP: Final = (
    "I could not answer a message of yours: the gateway stopped several times while I worked on it, so I have given it "
    "up. Please say again what you need, perhaps in smaller steps."
)

_NOTE: Final = (
    "[Canon: recovered. The gateway stopped while you worked on the message below, so you are given it again. "
    "Something may have been done already: look before you repeat what must not happen twice.]\n\n"
)


def noted(text: str) -> str:
    """The text with the note for the agent; a command is passed to the byte, or it would be none."""
    return text if text.lstrip().startswith("/") else _NOTE + text
