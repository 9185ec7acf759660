"""A message on its way through the gateway, as the inbox keeps it: four states, and what ends the way.

::

    RECORDED --the host has it--> HANDED --its run begins--> STARTED --its run ends, with evidence--> SETTLED
        |                          |  ^                        |
        |                          |  +--a run without a trace-+
        +--------------------------+--answered beside a run, taken up by another run, no longer wanted--> SETTLED

A state is a promise about a crash. What is RECORDED or HANDED has done nothing yet: it is handed over again, as if for
the first time. What is STARTED may have done anything: it is handed over again too, but marked, because work may be
done twice. What is SETTLED is never handed over again.

That a run "succeeded" proves nothing: while the gateway starts, the host queues a message inside itself and reports
success for it. So success settles an item only with evidence that the agent ran. Until then the item is HANDED. A
gateway that goes down cuts runs off and reports success for these too, and the next one resumes their sessions by
itself: such an item stays STARTED, so that it is not run beside its own resumption.

Source: decisions X1-X3; hermes-host 9.3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from canon_hermes_plugin.turn.effects import Evidence
from canon_hermes_plugin.turn.events import Outcome

__all__ = ["RUNS", "Item", "Settlement", "State", "after_run"]

RUNS: Final = 10  # ours: a message at which the gateway dies each time must not take it down for ever


class State(StrEnum):
    """How far an item has come."""

    RECORDED = "recorded"  # on our disk; Canon need not send it again
    HANDED = "handed"  # the host has it, in memory
    STARTED = "started"  # the agent works on it
    SETTLED = "settled"  # nothing more happens to it


class Settlement(StrEnum):
    """Why nothing more happens to an item."""

    ANSWER = "answer"  # its answer is in the outbox
    SILENCE = "silence"  # the agent chose to say nothing
    RAN = "ran"  # the agent ran to its end and had nothing to say
    REPLY = "reply"  # a command that was answered beside the running turn, or refused
    ABSORBED = "absorbed"  # the host put it into the run of another message of its session
    FAILURE = "failure"  # its run failed
    CANCELLED = "cancelled"  # a person stopped its run
    DROPPED = "dropped"  # it may no longer start a turn: the operator's list or the room has changed
    GIVEN_UP = "given_up"  # the host refused it, or the gateway died over it, too often


@dataclass(frozen=True, slots=True)
class Item:
    """One row.

    Attributes:
        item_id: the message's id, or what stands for it.
        payload: the event's data, as the stream brought it.
        background: what was said before it without asking for a turn; it was taken for this item.
        session: the host's session; None before the host had it.
        turn_id: the turn of its newest run; the next run is the same turn. None when that was told to be over.
        runs: how many runs have begun.
    """

    item_id: str
    conversation_id: str
    state: State
    payload: Any = field(repr=False)
    background: tuple[str, ...] = field(default=(), repr=False)
    session: str | None = None
    turn_id: str | None = None
    runs: int = 0

    @property
    def is_exhausted(self) -> bool:
        """It has begun so often that it is given up."""
        return self.runs >= RUNS


def after_run(outcome: Outcome, evidence: Evidence, *, is_stopping: bool) -> State | Settlement:
    """What a finished run means for its item.

    Args:
        is_stopping: the gateway is on its way down, and takes runs down with it: such an end decides nothing.

    Returns:
        The state in which it stays, or why it is settled.
    """
    match evidence:
        case Evidence.FINAL:
            return Settlement.ANSWER
        case Evidence.SILENCE:
            return Settlement.SILENCE
        case Evidence.RAN:
            return Settlement.RAN
    if is_stopping:
        return State.STARTED
    if outcome is Outcome.SUCCESS:
        return State.HANDED
    return Settlement.FAILURE if outcome is Outcome.FAILURE else Settlement.CANCELLED
