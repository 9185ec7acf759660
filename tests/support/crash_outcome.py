"""What a run of kills came to: every message with its answers, what each kill hit, and what must not be. Source: T6."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from canon_hermes_plugin.turn.machine import ANSWER_MARK

__all__ = ["STEPS", "Hits", "Outcome"]

STEPS = (
    "quiet",  # nothing was under way
    "recorded",  # the message was on our disk
    "handed",  # the host had it
    "started",  # its run had begun, and people saw nothing of it
    "shown",  # and people saw something of it
    "asked",  # a person was asked, and had not answered
    "owed",  # its answer was in the outbox, and not on Canon for certain
    "closing",  # Canon had the answer; the turn was not closed, or its node not gone
)
"""How far one room had come; a room is as far as the oldest of its messages that is not finished."""
PHASES = ("starting", "idle", "at work")


@dataclass(slots=True)
class Outcome:
    """What a run came to.

    Attributes:
        answers: message → its finished answers, as people see them.
        wanted: message → the answer that it must get.
        joined: messages that the host has put into the run of another: their words are in that one's answer.
        phases: how many kills hit a gateway in which phase.
        traces: what the kills hit: the phase, and the steps of all rooms in order.
        coverage: (step, phase) → how many rooms were there at a kill.
        spared: how often a kill waited for a message that had died too often.
        salvaged: messages that the server made of a dead turn's node.
        breaches: other promises that were broken.
        left: rows of inbox and outbox that are not settled at the end.
    """

    wanted: dict[str, str] = field(default_factory=dict)
    joined: set[str] = field(default_factory=set)
    answers: dict[str, list[str]] = field(default_factory=dict)
    phases: Counter[str] = field(default_factory=Counter)
    traces: Counter[tuple[str, ...]] = field(default_factory=Counter)
    coverage: Counter[tuple[str, str]] = field(default_factory=Counter)
    spared: int = 0
    salvaged: list[str] = field(default_factory=list)
    breaches: list[str] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)

    @property
    def lost(self) -> list[str]:
        """Messages that got no answer, or another one."""
        return [
            message
            for message, wanted in self.wanted.items()
            if message not in self.joined and not any(wanted in answer for answer in self.answers.get(message, []))
        ]

    @property
    def unmarked(self) -> list[str]:
        """Messages that were answered twice with nothing to say so."""
        return [
            message
            for message, answers in self.answers.items()
            if sum(not answer.startswith(ANSWER_MARK) for answer in answers) > 1
        ]

    @property
    def repeated(self) -> int:
        """How many messages have more than one answer."""
        return sum(len(answers) > 1 for answers in self.answers.values())

    @property
    def marked(self) -> int:
        """How many answers carry the mark."""
        return sum(answer.startswith(ANSWER_MARK) for answers in self.answers.values() for answer in answers)


@dataclass(slots=True)
class Hits:
    """What all the kills of several runs hit. Source: decisions T6."""

    traces: Counter[tuple[str, ...]] = field(default_factory=Counter)
    coverage: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        self.traces.update(outcome.traces)
        self.coverage.update(outcome.coverage)

    def table(self) -> str:
        """How many traces, and the steps against the phases; ``-`` is what no kill has hit."""
        lines = [
            f"{self.traces.total()} kills, {len(self.traces)} distinct traces; rooms at a kill, by step and phase:"
        ]
        lines.append("step".ljust(10) + "".join(phase.rjust(10) for phase in PHASES))
        for step in STEPS:
            cells = [str(self.coverage[step, phase] or "-") for phase in PHASES]
            lines.append(step.ljust(10) + "".join(cell.rjust(10) for cell in cells))
        return "\n".join(lines)
