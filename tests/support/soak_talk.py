"""People in very many conversations, so many of whom wait for an answer at any time; and what became of all they said.

Everybody says the next thing in the conversation that was silent for longest. They know nothing of gateways that are
replaced, and wait. A turn is over for them when its answer is there, its turn closed and its node gone.
"""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from canon_hermes_plugin.turn.machine import ANSWER_MARK
from canon_ops.sandbox.model.server import ModelRequest, ModelSandbox
from canon_ops.sandbox.node_audit import CLOSED_STATES
from canon_ops.sandbox.options import ModelOptions
from canon_ops.sandbox.records import Message
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.sandbox.state import World
from tests.support.crash_canon import is_salvaged, unsettled
from tests.support.crash_outcome import Outcome
from tests.support.soak_gateways import Side

__all__ = ["People", "TimedModel", "Turn", "number_in", "outcome_of"]

_NUMBER = re.compile(r"turn-(\d+)\b")
STREAMED = 5  # every so-manieth answer is streamed over the whole time; for the others the model is silent first


def number_in(text: str) -> int | None:
    """The number of the turn that a text is about: the last one that it names."""
    found = _NUMBER.findall(text)
    return int(found[-1]) if found else None


class TimedModel(ModelSandbox):
    """A model that remembers when it had said each answer, and little else."""

    def __init__(self) -> None:
        super().__init__(ModelOptions(journal_entries=10))
        self.said_ms: dict[int, float] = {}

    def decide(self, body: dict[str, Any]) -> ModelRequest:
        request = super().decide(body)
        number = number_in(request.user_text)
        if number is not None:
            self.said_ms[number] = time.time() * 1_000 + (request.plan.silent_s + request.plan.spread_s) * 1_000
        return request


@dataclass(slots=True)
class Turn:
    """What a person said, and when the answer was there.

    Attributes:
        life: how many gateways of that side there had been when it was said; ``ended_in`` when it was over.
        is_streamed: the answer came word by word.
    """

    number: int
    room: str
    message_id: str
    said_ms: float
    life: int
    is_streamed: bool
    answered_ms: float = 0.0
    ended_in: int = 0

    @property
    def is_of_one_life(self) -> bool:
        """No gateway was replaced under it."""
        return self.life == self.ended_in


@dataclass(slots=True)
class _Crowd:
    """Those who talk to one agent: who is silent, in order, and who waits."""

    side: Side
    silent: deque[str]
    waiting: dict[str, Turn] = field(default_factory=dict)


class People:
    """Everybody, moved on by one thread.

    Args:
        conversations, at_once: over all sides, shared evenly.
        wait_s: how long the model takes for an answer.
    """

    def __init__(
        self, box: CanonSandbox, sides: Sequence[Side], *, conversations: int, at_once: int, wait_s: float
    ) -> None:
        self.over: list[Turn] = []
        self._box = box
        self._wait_s = wait_s
        self._at_once = at_once // len(sides)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        owner = box.endpoints.owner_id
        self._crowds = [
            _Crowd(
                side,
                deque(
                    box.human.open_conversation([owner, side.agent_id], kind="direct")
                    for _ in range(conversations // len(sides))
                ),
            )
            for side in sides
        ]

    def next_number(self) -> int:
        """A number that no other turn has."""
        with self._lock:
            return next(self._numbers)

    @property
    def waiting(self) -> int:
        return sum(len(crowd.waiting) for crowd in self._crowds)

    @property
    def turns(self) -> list[tuple[Side, Turn]]:
        """Every turn there was, with its side."""
        by_room = {room: crowd.side for crowd in self._crowds for room in (*crowd.silent, *crowd.waiting)}
        waiting = [turn for crowd in self._crowds for turn in crowd.waiting.values()]
        return [(by_room[turn.room], turn) for turn in (*self.over, *waiting)]

    @property
    def rooms(self) -> list[str]:
        return [room for crowd in self._crowds for room in (*crowd.silent, *crowd.waiting)]

    def look(self) -> None:
        """See which turns are over."""
        for crowd in self._crowds:
            over = self._box.engine.read(partial(_over, crowd=crowd))
            for turn in over:
                turn.ended_in = len(crowd.side.lives)
                del crowd.waiting[turn.room]
                crowd.silent.append(turn.room)
            self.over += over

    def speak(self) -> None:
        """Say something until as many wait as should."""
        for crowd in self._crowds:
            while len(crowd.waiting) < self._at_once:
                room, number = crowd.silent.popleft(), self.next_number()
                is_streamed = number % STREAMED == 0
                how = "slow" if is_streamed else "wait"
                said_ms, life = time.time() * 1_000, len(crowd.side.lives)
                message = self._box.human.say(room, f"[{how} {self._wait_s:g}][say turn-{number} done]")
                crowd.waiting[room] = Turn(number, room, message, said_ms, life, is_streamed)


def _over(world: World, crowd: _Crowd) -> list[Turn]:
    """The turns that are over, with the time of their answer."""
    agent, over = crowd.side.agent_id, []
    for room, turn in crowd.waiting.items():
        log = world.turns.get((room, agent))
        if log is None or log.last is None or log.last["state"] not in CLOSED_STATES or (room, agent) in world.nodes:
            continue
        finals = _finals(world, room, agent).get(turn.message_id)
        if finals:
            turn.answered_ms = finals[0].created_at_ms
            over.append(turn)
    return over


def _finals(world: World, room: str, agent: str) -> dict[str, list[Message]]:
    """Message -> the finished answers to it: replies, and what the turn that worked on it said."""
    log = world.turns.get((room, agent))
    worked_on: dict[str, set[str]] = {}
    for state in log.history if log else ():
        worked_on.setdefault(str(state.get("turnId")), set()).update(state.get("activeMessageIds", ()))
    found: dict[str, list[Message]] = {}
    for message in world.conversations[room].messages.values():
        if message.origin == "agent" and message.semantics == "turn_complete":
            for one in {message.reply_to or ""} | worked_on.get(str(message.turn_id), set()):
                found.setdefault(one, []).append(message)
    return found


def outcome_of(box: CanonSandbox, people: People, sides: Sequence[Side]) -> Outcome:
    """What became of everything that was said; counted once it is over."""
    outcome = Outcome()
    for side, turn in people.turns:
        outcome.wanted[turn.message_id] = f"turn-{turn.number} done"
        finals = box.engine.read(partial(_finals, room=turn.room, agent=side.agent_id))
        outcome.answers[turn.message_id] = [str(final.text) for final in finals.get(turn.message_id, [])]
    for room in people.rooms:
        entries = box.transcript(room)
        outcome.salvaged += [str(entry["text"]) for entry in entries if is_salvaged(entry)]
        said = Counter(str(entry["text"]) for entry in entries if _is_unmarked_final(entry))
        outcome.breaches += [f"said {count} times: {text}" for text, count in said.items() if count > 1]
    allowed = {"one final a turn", "one answer a message"}  # counted here, with their marks
    outcome.breaches += [f"{each.rule}: {each.what}" for each in box.breaches() if each.rule not in allowed]
    outcome.breaches += [f"open at the end: {what}" for what in box.engine.read(_open)]
    outcome.left = [row for side in sides for row in unsettled(side.home)]
    return outcome


def _is_unmarked_final(entry: dict[str, Any]) -> bool:
    is_final = entry["origin"] == "agent" and entry["metadata"].get("turnSemantics") == "turn_complete"
    return is_final and not str(entry["text"]).startswith(ANSWER_MARK)


def _open(world: World) -> list[str]:
    """Turns that are not closed, and nodes that are left."""
    turns = [
        f"turn {log.last['turnId']} is {log.last['state']}"
        for log in world.turns.values()
        if log.last is not None and log.last["state"] not in CLOSED_STATES
    ]
    return turns + [f"a node in {room}" for room, _ in world.nodes]
