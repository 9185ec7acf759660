"""What a message does to the turn that runs in its session. Pure.

Canon's people say it with each message; who says nothing means ``queue``. What is not theirs to decide is left to the
host: commands, its own events, an answer to an approval that it waits for, everything while the gateway goes down.

=============  ==============================================================================================
intent         what is done
=============  ==============================================================================================
``queue``      the message waits and runs as its own turn; nothing is interrupted
``interrupt``  it waits, and the running turn is stopped; while sub-agents or a compression run, only ``queue``
``stop``       everything that waits is dropped, the message waits, the running turn is stopped; never less
``interleave`` its words go into the running turn; where that cannot be, or would lose an attachment, ``queue``
=============  ==============================================================================================

Source: Canon adapter R5.3-R5.8, S5.2-S5.16; Canon wire 7.5; D12.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from canon_hermes_plugin.interactions.typed import APPROVAL_WORDS
from canon_ops.wire.messages import DeliveryIntent

__all__ = ["Busy", "Deed", "deed_of", "steering_words"]


class Deed(StrEnum):
    """What is done with a message."""

    LEAVE = "leave"  # the host's own handler decides
    QUEUE = "queue"
    INTERRUPT = "interrupt"
    STOP = "stop"
    STEER = "steer"


@dataclass(frozen=True, slots=True)
class Busy:
    """A message, and the session into which it comes.

    Attributes:
        intent: what its author asked for.
        can_route: the host lets us decide.
        is_internal: an event of the host's own.
        is_draining: the gateway goes down.
        is_authorized: the host lets the author speak.
        has_blocking_approval: the session waits for an approval of a command.
        is_live: an agent runs; False while it is still being made.
        can_steer: that agent takes words in the middle of its work.
        has_media: the message carries attachments, which steering would lose.
    """

    text: str
    intent: DeliveryIntent | None = None
    can_route: bool = True
    is_internal: bool = False
    is_command: bool = False
    is_draining: bool = False
    is_authorized: bool = True
    has_blocking_approval: bool = False
    is_live: bool = True
    can_steer: bool = True
    has_media: bool = False

    @property
    def is_hosts(self) -> bool:
        """Not for people to decide."""
        return self.is_internal or self.is_command or self.is_draining or not self.is_authorized

    @property
    def answers_approval(self) -> bool:
        """Nothing but a word that the host takes as the answer to the approval that it waits for."""
        return self.has_blocking_approval and not self.is_hosts and self.text.strip().lower() in APPROVAL_WORDS


def deed_of(busy: Busy) -> Deed:
    """Decide; whether an interruption would do harm is asked afterwards, because only it needs to be asked."""
    if not busy.can_route or busy.is_hosts or busy.answers_approval:
        return Deed.LEAVE
    match busy.intent:
        case DeliveryIntent.INTERRUPT:
            return Deed.INTERRUPT
        case DeliveryIntent.STOP:
            return Deed.STOP
        case DeliveryIntent.INTERLEAVE if busy.is_live and busy.can_steer and busy.text.strip() and not busy.has_media:
            return Deed.STEER
    return Deed.QUEUE


def steering_words(text: str, *, context: str | None, speaker: str | None) -> str:
    """What the agent hears: the text, with what was said before it, and by whom when that is not clear.

    Args:
        context: the background that was taken for the message.
        speaker: the author's name; None when the turn is the author's own.
    """
    said = f"[{speaker}] {text.strip()}" if speaker else text.strip()
    return f"{context}\n\n{said}" if context else said
