"""What people did to a message after they sent it: another text, or none at all.

A message can be corrected as long as no turn has begun with it. Until the host has it, the correction waits here and is
looked at in the last moment before the hand-over; after that the host's own queue is asked (hosting/queue.py). A
correction of anything else, a message that runs or one of long ago, changes nothing: the agent has read it.

The background keeps what was said when it was said (R3.9).

Source: canon-adapter D59; Canon wire 6.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

__all__ = ["Correction", "Corrections", "corrected_in", "noted", "taken"]

REMEMBERED: Final = 4_096  # ours: whoever clears a room takes everything back at once, far more than is held in memory


@dataclass(frozen=True, slots=True)
class Correction:
    """The new text; None takes the message back."""

    text: str | None


@dataclass(frozen=True, slots=True)
class Corrections:
    """By message id, the oldest in front."""

    waiting: Mapping[str, Correction] = field(default_factory=dict)


def noted(state: Corrections, message_id: str, correction: Correction) -> Corrections:
    """Keep a correction for a message that is on its way; nothing brings a message back that was taken back."""
    known = state.waiting.get(message_id)
    if known is not None and known.text is None:
        return state
    waiting = {key: value for key, value in state.waiting.items() if key != message_id} | {message_id: correction}
    if len(waiting) > REMEMBERED:
        del waiting[next(iter(waiting))]
    return replace(state, waiting=waiting)


def taken(state: Corrections, message_id: str | None) -> tuple[Corrections, Correction | None]:
    """The correction of a message that is handed over now."""
    correction = state.waiting.get(message_id) if message_id is not None else None
    if correction is None:
        return state, None
    return replace(state, waiting={key: value for key, value in state.waiting.items() if key != message_id}), correction


def corrected_in(text: str, old: str, new: str | None) -> str | None:
    """``text`` with one of its messages corrected; the host joins the messages of a burst with line ends.

    Returns:
        None when ``old`` is not in it as whole lines, exactly once: then nobody can tell which words are meant.
    """
    if text == old:
        return new or ""
    whole, sought = f"\n{text}\n", f"\n{old}\n"  # searched as texts: lines that are all alike would take hours
    at = whole.find(sought)
    if at < 0 or whole.find(sought, at + 1) >= 0:
        return None
    before, behind = whole[:at], whole[at + len(sought) :]
    put = [] if new is None else [new]
    return "\n".join([*([before[1:]] if before else []), *put, *([behind[:-1]] if behind else [])])
