"""What the demo says while it plays, and what it leaves when it has ended. No terminal here: cli draws it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

__all__ = ["ApprovalFacts", "DemoReport", "GatewayFacts", "Narrator", "StepReport"]


class Narrator(Protocol):
    """Whoever shows the demo to its audience; every call returns at once and may be ignored."""

    def begin(self, number: int, count: int, title: str) -> None:
        """Step ``number`` of ``count`` begins."""
        ...

    def tell(self, text: str) -> None:
        """One sentence of the step that is playing."""
        ...

    def grow(self, text: str) -> None:
        """The answer as a Canon app draws it now; each call holds the whole text so far."""
        ...

    def diff(self, text: str) -> None:
        """A unified diff."""
        ...

    def end(self, step: StepReport) -> None:
        """The step has ended, well or not."""
        ...


@dataclass(frozen=True, slots=True)
class StepReport:
    """How one step went.

    Attributes:
        detail: the sentence that sums it up, or what went wrong.
        fix: what to do about it, where that is known.
    """

    name: str
    title: str
    ok: bool
    duration_s: float
    detail: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class GatewayFacts:
    """The real gateway that answered.

    Attributes:
        executable: the interpreter that runs it, as the process table names it; None where the system has none to read.
        version: ``hermes_cli.__version__`` as the process itself reported it; None when it did not.
    """

    pid: int
    executable: Path | None
    version: str | None


@dataclass(frozen=True, slots=True)
class ApprovalFacts:
    """The approval that the agent asked for.

    Attributes:
        question: as Canon showed it to the person.
        decision: as the registry has it.
        told: what the model was told of it, in a turn of its own.
    """

    approval_id: str
    question: str
    decision: str
    told: str


@dataclass(frozen=True, slots=True)
class DemoReport:
    """``data`` of ``canon-ops.demo/1``.

    Attributes:
        message: what the person said.
        prompt: what the model was told to be, as it received it.
        answer: the durable message that Canon holds; None when it never came.
        previews: how many live states of the answer were seen before it.
        approval: null when no answer to it has reached the agent.
        home: the temporary Hermes home; null when it was removed.
        log: the gateway's output, likewise.
    """

    steps: tuple[StepReport, ...]
    gateway: GatewayFacts | None
    message: str
    prompt: str | None
    answer: str | None
    previews: int
    approval: ApprovalFacts | None
    home: Path | None
    log: Path | None
