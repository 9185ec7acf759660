"""One claimed receipt between our hands and Hermes': where it is, and how it ends.

::

    CLAIMED ──inline handler returned──> INLINE_DONE ──> completed
       │  └────inline handler raised───> INLINE_FAILED ─> failed
       ├──started──> RUNNING ──ended──> (settled by the host's outcome)
       │                ├──ended, but Hermes only put it aside──> HELD ──started──> RUNNING
       │                └──ended, and Hermes had refused it unread──> UNREAD ──> waits again
       └──not started although handed over──> PARKED ──started, or taken by the running turn──> RUNNING
                                                 └──its session went idle──> DROPPED ──> in doubt

Hermes starts a turn before the next step of the loop, or it has put the text behind a turn that runs; it never says
which. It says nothing either when it runs such a text inside the turn before, but it asks the adapter for it.

The shell calls a method for each thing that happens and reads ``phase`` and ``ending`` afterwards.

Source: Borgee 4.7, W6.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from borgee_hermes.inbox.records import Outcome, Status

__all__ = ["Ending", "Execution", "Phase"]

HOST_FAILED = "Hermes reported a failure"
INLINE_FAILED = "the command failed"
DROPPED = "Hermes put the message behind a running turn and dropped it there"


class Phase(Enum):
    """Where an execution is."""

    CLAIMED = "claimed"  # ours; Hermes has not begun
    INLINE_DONE = "inline_done"  # a command's handler has returned
    INLINE_FAILED = "inline_failed"  # a command's handler has raised; Hermes only logs that
    RUNNING = "running"  # Hermes runs it in a task of its own
    HELD = "held"  # Hermes keeps it until its start-up is through, and starts it again then
    UNREAD = "unread"  # Hermes drains and has not begun it
    PARKED = "parked"  # Hermes keeps it behind a turn that runs
    DROPPED = "dropped"  # that turn is over, and Hermes never ran it
    ENDED = "ended"  # it has an ending
    ABANDONED = "abandoned"  # its time was up, or the gateway stops: nothing may settle it any more


@dataclass(frozen=True, slots=True)
class Ending:
    """How a receipt ends: what is written down for good."""

    status: Status
    outcome: Outcome
    error: str | None = None


_OF_HOST = {
    "success": Ending(Status.COMPLETED, Outcome.HERMES_COMPLETED),
    "cancelled": Ending(Status.FAILED, Outcome.HERMES_CANCELLED),
}


class Execution:
    """The state of one claim."""

    def __init__(self, ingest_seq: int, token: str) -> None:
        self.ingest_seq = ingest_seq
        self.token = token
        self.phase = Phase.CLAIMED
        self.ending: Ending | None = None
        self.was_announced = False
        self.has_answer = False  # its handler gave back a text, which the host then sends
        self.was_interrupted = False  # a command of a person has ended it
        self.was_refused = False  # Hermes drains, and began no run for it

    @property
    def task_id(self) -> str:
        """What Borgee knows the work by."""
        return f"borgee-{self.ingest_seq}-{self.token[:12]}"

    @property
    def waits_in_host(self) -> bool:
        """Whether Hermes may still start it although it has gone quiet."""
        return self.phase in (Phase.PARKED, Phase.HELD)

    def announce(self) -> bool:
        """Whether Borgee has to be told now that the work begins; true once."""
        first, self.was_announced = not self.was_announced, True
        return first

    def started(self) -> bool:
        """Hermes begins to run it; false when that is not this execution's to know any more."""
        if self.phase not in (Phase.CLAIMED, Phase.PARKED, Phase.HELD):
            return False
        self.phase = Phase.RUNNING
        return True

    def refused(self) -> None:
        """Hermes takes no turns, and this one it has not begun; what it says of its end does not matter then."""
        self.was_refused = self.phase is Phase.RUNNING

    def handler_returned(self, *, has_answer: bool) -> None:
        """The handler that Hermes called is through: for a turn, or for a command beside one."""
        self.has_answer = has_answer
        if self.phase is Phase.CLAIMED:
            self.phase = Phase.INLINE_DONE

    def handler_raised(self) -> None:
        """It raised; for a turn Hermes says so itself."""
        if self.phase is Phase.CLAIMED:
            self.phase = Phase.INLINE_FAILED

    def interrupted(self) -> None:
        """A person's command ends its run; whether the host calls that a success is a race of two of its tasks."""
        self.was_interrupted = self.phase is Phase.RUNNING

    def completed(self, outcome: str, *, is_held: bool = False, is_stopping: bool = False) -> None:
        """Hermes says that it ended: ``success``, ``failure`` or ``cancelled``.

        Args:
            is_held: it has in fact put the message aside until its start-up is through; then this is no end.
            is_stopping: it is going down, and interrupts what runs. It calls that a success as well, so only a turn
                that has an answer counts as ended; about any other nobody knows.
        """
        if self.phase is not Phase.RUNNING:
            return
        if self.was_refused:
            self.phase = Phase.UNREAD
            return
        if is_held and outcome == "success":
            self.phase = Phase.HELD
            return
        if is_stopping and not (outcome == "success" and self.has_answer):
            self.abandon()
            return
        if self.was_interrupted and outcome == "success" and not self.has_answer:
            outcome = "cancelled"
        self._end(_OF_HOST.get(outcome) or Ending(Status.FAILED, Outcome.HERMES_FAILED, HOST_FAILED))

    def handed_over(self) -> None:
        """The host's ``handle_message`` has returned, and its tasks have had their first step."""
        match self.phase:
            case Phase.CLAIMED:
                self.phase = Phase.PARKED
            case Phase.INLINE_DONE:
                self._end(Ending(Status.COMPLETED, Outcome.INLINE_COMPLETED))
            case Phase.INLINE_FAILED:
                self._end(Ending(Status.FAILED, Outcome.DISPATCH_FAILED, INLINE_FAILED))

    def session_idle(self) -> bool:
        """Nothing runs in its session any more; true when that means that Hermes has dropped it."""
        if self.phase is not Phase.PARKED:
            return False
        self.phase = Phase.DROPPED
        return True

    def failed(self, error: str) -> None:
        """It could not be handed over."""
        if self.phase not in (Phase.ENDED, Phase.ABANDONED):
            self._end(Ending(Status.FAILED, Outcome.DISPATCH_FAILED, error))

    def abandon(self) -> None:
        """From now on nothing settles it."""
        if self.phase is not Phase.ENDED:
            self.phase = Phase.ABANDONED

    def _end(self, ending: Ending) -> None:
        self.phase, self.ending = Phase.ENDED, ending
