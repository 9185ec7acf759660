"""The host's questions and approvals over a real state file and real turns, with a Canon and a host of a few lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from canon_hermes_plugin.desk import TurnDesk
from canon_hermes_plugin.interactions.asking import Asking
from canon_hermes_plugin.interactions.clarify import HumanWaits
from canon_hermes_plugin.interactions.left_open import Shown, left
from canon_hermes_plugin.interactions.people import People
from canon_hermes_plugin.outbound.deliveries import Attempt, Failed, Sent
from canon_hermes_plugin.ports import Arrival
from canon_hermes_plugin.state.kept import Kept
from canon_hermes_plugin.turn.effects import DeliverFinal, Effect, Final, PublishState, TurnClosed
from canon_hermes_plugin.turn.events import FinalRejected, FinalSettled
from canon_ops.client.errors import ApiError, RequestFailed
from canon_ops.runtime.clock import ManualClock
from canon_ops.wire.interactions import InteractionKind
from tests.support.canon_state import NOW, opened_state

__all__ = ["KEY", "OWNER", "ROOM", "FakeCanon", "FakeHost", "FakeWaiting", "Scene", "people_scene"]

ROOM, KEY, OWNER = "c1", "agent:main:canon:dm:c1", "owner-1"


@dataclass
class FakeCanon:
    """The two calls.

    Attributes:
        answers: what consuming a request brings once; a request without one is pending.
        fails: raised by the next calls, one each; a number is the status of an answer.
        receipt: laid over what creating brings.
        creating: when set, creating waits for it.
        hangs: consuming never answers.
    """

    shown: list[dict[str, Any]] = field(default_factory=list)
    consumed: list[tuple[str, bool]] = field(default_factory=list)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    fails: list[RequestFailed] = field(default_factory=list)
    create_fails: list[RequestFailed] = field(default_factory=list)
    receipt: dict[str, Any] = field(default_factory=dict)
    creating: asyncio.Event | None = None
    expires_at_ms: int | None = None
    hangs: bool = False

    @property
    def request(self) -> dict[str, Any]:
        """The newest request."""
        return self.shown[-1]

    @property
    def cancelled(self) -> list[str]:
        """The ids of what was taken back."""
        return [name for name, cancel in self.consumed if cancel]

    async def request_interaction(self, body: Any) -> Any:
        self.shown.append(dict(body))
        if self.creating is not None:
            await self.creating.wait()
        if self.create_fails:
            raise self.create_fails.pop(0)
        return {"messageId": f"m{len(self.shown)}", "expiresAt": body["expiresAt"], **self.receipt}

    async def consume_interaction(
        self, kind: InteractionKind, conversation_id: str, request_id: str, *, cancel: bool = False
    ) -> Any:
        self.consumed.append((request_id, cancel))
        if self.hangs:
            await asyncio.Event().wait()
        if self.fails:
            raise self.fails.pop(0)
        if request_id in self.gone:
            raise ApiError(404, None, "no longer pending")
        answer = self.answers.pop(request_id, None)
        if answer is not None or cancel:
            self.gone.add(request_id)
            return answer or {"status": "cancelled"}
        return {"status": "pending"} | ({"expiresAt": self.expires_at_ms} if self.expires_at_ms else {})


@dataclass
class FakeWaiting:
    """A thread of the host that waits; ``told`` is what it was told."""

    is_matched: bool = True
    is_over: bool = False
    told: list[str] = field(default_factory=list)

    def is_open(self) -> bool:
        return not self.is_over

    def resolve(self, answer: str) -> bool:
        if self.is_over:
            return False
        self.told.append(answer)
        self.is_over = True
        return True


@dataclass
class FakeHost:
    """What waits in the host, newest last.

    Attributes:
        question_id, answered: the question that the next text would answer, and those that have their answer.
        commands_waiting: how many commands the host says that wait; None: those that were asked for.
        wants_confirmed: the command that it wants confirmed.
    """

    limit_s: float | None = None
    is_matched: bool = True
    waiting: list[FakeWaiting] = field(default_factory=list)
    question_id: str | None = None
    answered: set[str] = field(default_factory=set)
    commands_waiting: int | None = None
    wants_confirmed: str | None = None
    _questions: dict[str, FakeWaiting] = field(default_factory=dict)

    @property
    def people(self) -> FakeHost:
        return self

    def question(self, clarify_id: str) -> FakeWaiting:
        return self._questions.get(clarify_id) or self._questions.setdefault(clarify_id, self._new())

    def oldest_question(self, session_key: str) -> str | None:
        return self.question_id if session_key == KEY else None

    def is_answered(self, clarify_id: str) -> bool:
        return clarify_id in self.answered

    def has_more_commands(self, session_key: str, known: int) -> bool:
        return session_key == KEY and self.commands_waiting is not None and self.commands_waiting > known

    def confirming(self, session_key: str) -> str | None:
        return self.wants_confirmed if session_key == KEY else None

    def approval(self, session_key: str, command: str, description: str) -> FakeWaiting:
        return self._new()

    def clarify_limit_s(self) -> float | None:
        return self.limit_s

    def approval_limit_s(self) -> float | None:
        return self.limit_s

    def _new(self) -> FakeWaiting:
        self.waiting.append(FakeWaiting(self.is_matched))
        return self.waiting[-1]


@dataclass
class Scene:
    """Everything together.

    Attributes:
        owner_id: as Canon says now.
        user: of the host's running session.
        posted: the messages of no run, with their text and semantics.
    """

    kept: Kept
    clock: ManualClock
    canon: FakeCanon = field(default_factory=FakeCanon)
    host: FakeHost = field(default_factory=FakeHost)
    owner_id: str | None = OWNER
    user: str | None = None
    posted: list[tuple[str, str]] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    refuses_posts: bool = False
    post_takes_s: float = 0
    offload_hangs: bool = False

    def __post_init__(self) -> None:
        self.desk = TurnDesk(
            self.clock,
            carry=self._carry,
            attempt=self._attempt,
            post=self._post,
            is_quiet=lambda _: False,
            draft_text=str,
        )
        self.asking = Asking(self.canon, self.kept.file, self.kept.owner, self.clock)  # type: ignore[arg-type]
        self.people = self.with_waits(HumanWaits())

    def with_waits(self, waits: HumanWaits) -> People:
        async def offloaded(function: Any) -> Any:
            if self.offload_hangs:
                await asyncio.Event().wait()
            return function()

        self.people = People(
            self.asking,
            self.desk,
            self.host,  # type: ignore[arg-type]  # the part of the host that people need
            owner_id=lambda: self.owner_id,
            trusted_user=lambda: self.user,
            waits=waits,
            offloaded=offloaded,
            clock=self.clock,
        )
        return self.people

    def open_turn(self, responder: str | None = OWNER, key: str = KEY) -> str:
        """The host begins a run for somebody's message; the turn's id."""
        self.desk.start(Arrival(ROOM, "m0", responder), key)
        turn = self.desk.running(key)
        assert turn is not None
        return str(turn.id)

    async def ask(self, question: str = "Which ledger?", choices: Any = None, clarify_id: str = "q1") -> Any:
        return await self.people.clarify(ROOM, question, choices, clarify_id, KEY)

    async def command(self, command: str = "rm build.tmp", **more: Any) -> Any:
        return await self.people.command(ROOM, command, KEY, more.pop("description", "recursive delete"), **more)

    async def noted(self) -> tuple[Shown, ...]:
        """What stands on the disk as open."""
        return await self.kept.file.read(left, self.kept.owner)

    def _carry(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case PublishState():
                    self.states.append(effect.state.value)
                case TurnClosed():
                    self.desk.closed(effect)
                case DeliverFinal(final=final):
                    self.posted.append((final.text, final.semantics.value))
                    told = FinalRejected("no") if self.refuses_posts else FinalSettled("posted")
                    self._tell(final.turn_id, told)

    def _tell(self, turn_id: Any, told: Any) -> None:
        async def later() -> None:
            await self.clock.sleep(self.post_takes_s)
            self.desk.apply(turn_id, told)

        loop = asyncio.get_running_loop()
        if self.post_takes_s:
            self._posting = loop.create_task(later())
        else:
            loop.call_soon(self.desk.apply, turn_id, told)

    async def _attempt(self, final: Final) -> Attempt:
        return Failed("no", may_pass=False) if self.refuses_posts else Sent("sent")

    async def _post(self, _final: Final) -> Failed:
        return Failed("nothing here says anything outside of a turn", may_pass=False)


@asynccontextmanager
async def people_scene(folder: Path) -> AsyncIterator[Scene]:
    """A scene whose requests are all ended when it closes."""
    async with opened_state(folder) as kept:
        scene = Scene(kept, ManualClock(NOW))
        try:
            yield scene
        finally:
            stopping = asyncio.ensure_future(scene.people.stop())
            while not stopping.done():
                await scene.clock.advance(1)
            await stopping
