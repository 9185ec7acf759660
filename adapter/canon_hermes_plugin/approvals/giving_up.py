"""What an operator may give up because nothing can settle it any more, and what they may not. Pure.

A person may end a record, and never makes a decision. So whatever can still be answered is out of their reach, and so
is what a process is at. What was given up has no decision and is no denial. A decision that is here already stays: the
agent is no longer told of its own accord, and a check tells it for as long as the registry keeps it.

Source: decisions A1, A4; docs/decisions/0046-what-nothing-can-settle.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from canon_hermes_plugin.approvals.entry import Entry, Status
from canon_hermes_plugin.approvals.needs import Action, Standing, need_of

__all__ = ["Verdict", "What", "kept_because", "verdict_on"]


class What(StrEnum):
    """What comes of the wish to give an approval up."""

    KEEP = "keep"
    ASK_FIRST = "ask_first"  # its agent has a key here: only when Canon refuses that key is there nobody to ask
    GIVE_UP = "give_up"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is done, and why, as a sentence's end."""

    what: What
    why: str


def kept_because(entry: Entry, *, now_ms: float) -> str | None:
    """Why nobody may give it up, whatever else they know, as a sentence's end; None when somebody may."""
    need = need_of(entry, now_ms=now_ms)
    if need.action in (Action.NOTHING, Action.WAIT, Action.SHORTEN):
        return need.why
    if entry.status is not Status.RESOLVED and entry.expires_at_ms > now_ms:
        return "it has not expired, so it can still be answered"
    return None


def verdict_on(entry: Entry, *, has_key: bool, now_ms: float) -> Verdict:
    """What may be done about an entry.

    Args:
        has_key: whether its agent's key can be had on this machine.
    """
    kept = kept_because(entry, now_ms=now_ms)
    if kept is not None:
        return Verdict(What.KEEP, kept)
    if not has_key:
        return Verdict(What.GIVE_UP, "its agent has no key on this machine")
    if need_of(entry, now_ms=now_ms).standing is not Standing.UNTOLD:
        return Verdict(What.ASK_FIRST, "Canon is asked first; it is given up if Canon refuses the key of its agent")
    if entry.wake_error:
        return Verdict(What.GIVE_UP, f"its gateway could not tell the agent: {entry.wake_error}")
    return Verdict(What.KEEP, "the decision is here, and the gateway of its agent tells it")
