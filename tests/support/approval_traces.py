"""Approvals in a world where anything can stop at any step: one seed, one interleaving, checked against its invariants.

Several processes work on one registry: a gateway that asks, checks and hears receipts, a second gateway that starts, a
command, and another agent's gateway. Every durable write and every network call has three points, before it, after it
took effect, and after its caller knows; at each of them the director decides who goes on, who is killed for good, whose
caller gives up, what the network loses, whether time passes, whether the wall clock is set, whether the human answers.
A killed process does nothing more, not even in its ``finally``; a cancelled one does what it does then. Some approvals
are the published plugin's: they do not say whose they are, and another agent is in their room.

Then the clock is right again and calm comes for a while: the gateways that are alive look every half minute. One that
was told of the answer must bring the approval to its end by itself, and no decision may be left that nobody was told.
At last everybody is killed, the leases run out, one fresh gateway starts, and the
invariants of the issue are asked for: no approval lost, none with two results, none decided without Canon's word, none
given up while it is live, every wake in the inbox exactly once. After every event a referee looks at what it did
(:mod:`tests.support.approval_referee`), and somebody who is late tries what they have no right to. A trace is the
sequence of (who, step, what happened); its digest tells traces apart.

Source: decisions T6; canon-adapter 10.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from canon_hermes_plugin.approvals.batch import Request, carry_out
from canon_hermes_plugin.approvals.book import Book, Renderer, parse
from canon_hermes_plugin.approvals.desk import ApprovalDesk
from canon_hermes_plugin.approvals.entry import Decision, Entry
from canon_hermes_plugin.approvals.events import (
    Activate,
    ClaimConsume,
    ClaimWake,
    CreatedLate,
    Decided,
    Event,
    FinishConsume,
    FinishWake,
    GiveUp,
    NobodyHeard,
    RejectCreation,
    RenewWake,
    Reserve,
    SeeReceipt,
    ShortenLease,
)
from canon_hermes_plugin.approvals.gateway import LOOK_EVERY_S
from canon_hermes_plugin.approvals.machine import Transition, TransitionError
from canon_hermes_plugin.approvals.ports import Wake
from canon_hermes_plugin.approvals.service import ApprovalService, NotActivated
from canon_hermes_plugin.approvals.steps import WakeTooLate
from canon_hermes_plugin.approvals.wish import read_wish
from canon_hermes_plugin.state.owner import Owner
from canon_ops.client.errors import RequestFailed
from canon_ops.runtime.clock import ManualClock
from canon_ops.wire.interactions import ApprovalAnswer, ApprovalReceipt, ApprovalRequest
from tests.support.approval_referee import objections
from tests.support.approving import OWNER, CanonApprovals, broken, refused

__all__ = ["Trace", "Violation", "run_trace"]

CONVERSATION = "convo-1"
OTHER = Owner("env", "agent_2")
WISH = read_wish(title="File invoice", question="Proceed?")
SHORT = read_wish(title="File invoice", question="Proceed?", timeout_seconds=300)
POINTS = ("before", "committed", "known")
LOOKS = 20  # ten minutes: longer than any lease and than a clock was wrong
STEPS_S = (-290, -61, 61, 290)
PART: ContextVar[asyncio.Task[Any] | None] = ContextVar("part", default=None)


class Violation(AssertionError):
    """An invariant fell; the text says which, and how it came to that."""


class Killed(BaseException):
    """The process is gone: whatever it tries raises this, and has no effect."""


class SetClock(ManualClock):
    """A clock whose wall time a person, or a service, sets."""

    wrong_s = 0.0

    def now_ms(self) -> int:
        return super().now_ms() + round(self.wrong_s * 1000)


class TrueTime(ManualClock):
    """The same time as Canon has it, which nobody here sets."""

    def __init__(self, clock: SetClock) -> None:
        super().__init__()
        self._of = clock

    def now_ms(self) -> int:
        return self._of.now_ms() - round(self._of.wrong_s * 1000)


@dataclass
class Disk:
    """The registry's bytes and the inbox's rows: what survives."""

    clock: ManualClock
    data: bytes | None = None
    renderer: Renderer = field(default_factory=Renderer)
    wakes: list[Wake] = field(default_factory=list)
    happenings: list[Any] = field(default_factory=list)
    is_published: bool = False  # what was asked for does not say by whom
    fouls: list[str] = field(default_factory=list)  # what a step did that it may not do

    def read(self) -> Book:
        return parse(self.data)

    def apply(self, requests: Sequence[Request]) -> list[Transition | TransitionError]:
        now_ms, before = self.clock.now_ms(), self.read()
        changes = carry_out(before, requests, now_ms=now_ms)
        for request, answer in zip(requests, changes.answers, strict=True):
            was = before.get(request.approval_id)
            fouls = objections(was, request.event, answer, now_ms=now_ms)
            self.fouls += [f"{type(request.event).__name__} of {was and was.status}: {foul}" for foul in fouls]
            if isinstance(answer, Transition) and answer.entry is not None:
                before = before.with_entry(answer.entry)
        if changes.happenings:
            book = changes.book
            if self.is_published:
                book = Book({entry.approval_id: entry.without("environmentId", "agentId") for entry in book})
            self.data = self.renderer.data(book)
            self.happenings += changes.happenings
        return changes.answers

    def record(self, wake: Wake) -> None:
        """The inbox takes a key once."""
        if wake.key not in {known.key for known in self.wakes}:
            self.wakes.append(wake)


class Process:
    """Tasks that live and die together, over ports that stop at every point."""

    def __init__(self, name: str, director: Director, owner: Owner, *, wakes: bool = True) -> None:
        self.name = name
        self.director = director
        self.is_dead = False
        self.has_heard = False
        numbers = itertools.count()
        self.service = ApprovalService(
            ApprovalDesk(self, self._run),  # type: ignore[arg-type]  # this process stands where the store stands
            self,
            self if wakes else None,
            owner,
            clock=director.clock,
            new_id=lambda digits: name + str(next(numbers)).rjust(digits - len(name), "0"),
            process=name,
            conversations=lambda: {CONVERSATION} if owner == OWNER or director.disk.is_published else set(),
        )

    async def _at(self, step: str, point: str) -> str:
        if self.is_dead:
            raise Killed
        verdict = await self.director.at(self, step, point)
        if self.is_dead:
            raise Killed
        return verdict

    async def _run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        step = "read" if not arguments else "+".join(type(request.event).__name__ for request in arguments[0])
        await self._at(step, "before")
        result = function(*arguments)
        await self._at(step, "committed")
        return result

    # The store's side

    def read(self) -> Book:
        return self.director.disk.read()

    def apply(self, requests: Sequence[Request]) -> list[Transition | TransitionError]:
        answers = self.director.disk.apply(requests)
        self.director.meddle()
        return answers

    # Canon's side

    async def create(self, request: ApprovalRequest) -> ApprovalReceipt:
        receipt: ApprovalReceipt = await self._call("create", lambda: self.director.canon.create(request))
        return receipt

    async def consume(self, conversation_id: str, approval_id: str, *, cancel: bool = False) -> ApprovalAnswer:
        canon = self.director.canon
        if self.service._owner != OWNER:
            if not self.director.disk.is_published:
                raise Violation(f"{self.name} asked about another agent's approval")
            canon = CanonApprovals(self.director.canon.clock)  # which has nothing for that agent
        step = "cancel" if cancel else "consume"
        answer: ApprovalAnswer = await self._call(
            step, lambda: canon.consume(conversation_id, approval_id, cancel=cancel)
        )
        return answer

    async def _call(self, step: str, act: Callable[[], Awaitable[Any]]) -> Any:
        if await self._at(step, "before") == "lose":
            raise broken()
        failure: RequestFailed | None = None
        result = None
        try:
            result = await act()
        except RequestFailed as error:
            failure = error
        if await self._at(step, "committed") == "lose":
            raise self.director.rng.choice([broken(), refused(500), refused(503)])
        await self._at(step, "known")
        if failure is not None:
            raise failure
        return result

    # The inbox's side

    async def look(self, conversation_id: str) -> None:
        if await self._at("look", "before") == "lose":
            raise broken()

    async def wake(self, wake: Wake) -> None:
        if self.service._owner != OWNER:
            raise Violation(f"{self.name} told its own session another agent's decision")
        if await self._at("wake", "before") == "lose":
            raise OSError("disk full")
        self.director.disk.record(wake)
        await self._at("wake", "committed")


class Director:
    """Decides, from a seed, what happens next."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.clock = SetClock()
        self.disk = Disk(self.clock)
        self.canon = CanonApprovals(TrueTime(self.clock))
        self.waiting: list[tuple[Process, str, str, asyncio.Task[Any] | None, asyncio.Future[str]]] = []
        self.checks: dict[str, str] = {}  # by its claim: whose it is, until it has an end; then which
        self.told: list[tuple[str, str, str]] = []
        self.covered: Counter[tuple[str, str, str]] = Counter()
        self.answered: str | None = None
        self.is_held, self.is_answered = asyncio.Event(), asyncio.Event()
        self.is_over = False
        self.quick = self.rng.choice([None, None, "gw-a", "gw-b"])  # a process that is ahead of the others
        self.is_spiteful = self.rng.random() < 0.3
        self.gateways: list[Process] = []
        self.disk.is_published = self.rng.random() < 0.15
        self.is_spared = self.rng.random() < 0.3  # nobody gives up
        self.is_hasty = self.rng.random() < 0.3  # whoever asked gives up just when the answer comes
        self.sets_clock = self.rng.random() < 0.4

    async def at(self, process: Process, step: str, point: str) -> str:
        if self.is_over:
            return "go"
        if self.is_spiteful and (step, point) == ("consume", "committed"):
            self.answer()  # a moment after Canon said that nobody has
        verdict: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.waiting.append((process, step, point, PART.get(), verdict))
        return await verdict

    def decide(self) -> None:
        """Let one of those who stand at a point go on, lose its call, or die."""
        quick = [n for n, (process, *_) in enumerate(self.waiting) if process.name == self.quick]
        chosen = self.rng.choice(quick) if quick and self.rng.random() < 0.8 else self.rng.randrange(len(self.waiting))
        process, step, point, part, verdict = self.waiting.pop(chosen)
        cancels = 60 if self.is_hasty and "FinishConsume" in step else 4
        word = self.rng.choices(["go", "lose", "kill", "cancel"], [82, 8 if step in NETWORK else 0, 6, cancels])[0]
        if part is None or part.done() or self.is_spared:
            word = "go" if word == "cancel" else word
        if not self.canon.held and self.rng.random() < 0.7:
            word = "go"  # most traces are about an approval that exists
        if process.is_dead:
            word = "kill"
        self.told.append((process.name, f"{step}/{point}", word))
        self.covered[step, point, word] += 1
        if word == "kill":
            process.is_dead = True
        if not verdict.done():
            verdict.set_result("go" if word == "cancel" else word)
        if word == "cancel" and part is not None:
            part.cancel()

    def meddle(self) -> None:
        """Somebody who is late, or never had a right to it, tries something; the referee says what may come of that."""
        for entry in self.disk.read():
            if self.rng.random() < 0.6:
                self.disk.apply([Request(entry.approval_id, self.rng.choice(self._untimely(entry)))])

    def _untimely(self, entry: Entry) -> list[Event]:
        """Events that change nothing, or nothing that anybody would miss; their claims are nobody's."""
        now_ms, held = self.clock.now_ms(), self.canon.held.get(entry.approval_id)
        word, is_owed = Decided(Decision.ALLOW, "owner-1"), entry.wake_status in ("pending", "delivering", "blocked")
        is_live = entry.lease is not None and entry.lease[1].is_live(now_ms)
        found: list[Event] = [
            Reserve(entry.approval_id, CONVERSATION, "late", now_ms + 1, OWNER),
            Activate("late", now_ms + 1, "owner-1"),
            RejectCreation("late", "no"),
            FinishConsume("late", word, wakes=self.rng.random() < 0.5),
            RenewWake("late"),
            FinishWake("late", is_delivered=True),
            NobodyHeard("late"),
            ShortenLease(),
        ]
        if entry.status == "pending" and "createdFromClaimId" in entry.fields:
            found.append(Activate(entry.fields["createdFromClaimId"], now_ms + 1, "somebody"))
        if entry.status.is_terminal or is_live:
            found.append(ClaimConsume("late"))
        if entry.status.is_terminal:
            found.append(SeeReceipt())
        if not is_owed or is_live:
            found.append(ClaimWake("late"))
        if is_live or (entry.status != "resolved" and entry.expires_at_ms > now_ms):
            found.append(GiveUp("late"))
        if entry.wake_status == "delivering":
            found += [RenewWake("late"), FinishWake("late", is_delivered=True)] * 6  # that time is short
        if entry.status == "orphaned" and (held is None or held.is_cancelled or held.answer is not None):
            found.append(CreatedLate())
        return found

    def look(self) -> None:
        """Tell those who wait for Canon to have something."""
        if self.canon.held:
            self.is_held.set()

    async def pass_time(self) -> None:
        if self.sets_clock and self.rng.random() < 0.3:
            self.clock.wrong_s = self.rng.choice(STEPS_S)
            self.told.append(("clock", f"{self.clock.wrong_s}", "set"))
        seconds = self.rng.choice([0.5, 31, 61, 301])
        self.told.append(("time", f"{seconds}", "pass"))
        await self.clock.advance(seconds)

    def answer(self) -> None:
        for approval_id, held in self.canon.held.items():
            is_over = held.request.expires_at_ms <= self.canon.clock.now_ms()
            if held.answer is None and not held.is_cancelled and not is_over:
                word, by = self.rng.choice([("allow", "owner-1"), ("deny", "owner-1"), ("allow", "member-9")])
                by = self.canon.names or by
                self.canon.answer(approval_id, word, by)
                self.answered = approval_id
                self.is_answered.set()
                self.told.append(("human", word, by))


NETWORK = {"create", "consume", "cancel", "look", "wake"}


@dataclass(frozen=True)
class Trace:
    """One interleaving."""

    digest: str
    covered: Counter[tuple[str, str, str]]
    transitions: Counter[str]
    outcome: str


async def run_trace(seed: int) -> Trace:
    """Direct one interleaving and check it.

    Raises:
        Violation: an invariant fell.
    """
    director = Director(seed)
    if director.rng.random() < 0.15:
        director.canon.responder = None  # the server does not say who may answer
    if director.rng.random() < 0.1:
        director.canon.names = "member-9"  # whoever was asked for
    if director.rng.random() < 0.15:
        director.canon.caps_expiry = director.rng.choice(["clamp", "reject"])
    if director.rng.random() < 0.08:
        director.canon.fails_before = [refused(400)]
    results: list[dict[str, Any]] = []
    tasks = _cast(director, results)
    human_at, steps = director.rng.randrange(60), 0
    while any(not task.done() for task in tasks) and steps < 400:
        steps += 1
        await _settle()
        director.look()
        if steps == human_at:
            director.answer()
        if not director.waiting and not director.clock.sleepers and steps > human_at:
            break  # whoever still waits, waits for something that will not come
        if director.waiting and director.rng.random() > 0.04:
            director.decide()
        elif director.waiting or director.clock.sleepers:
            await director.pass_time()
        _raise_violations(tasks)
    await _calm(director, results)
    _raise_violations(tasks)
    for task in tasks:
        task.cancel()
    for process, *_, verdict in director.waiting:
        process.is_dead = True
        verdict.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    _raise_violations(tasks)
    outcome = await _epilogue(director, results)
    digest = hashlib.blake2b(repr(director.told).encode(), digest_size=16).hexdigest()
    transitions = Counter(happening.number for happening in director.disk.happenings)
    return Trace(digest, director.covered, transitions, outcome)


def _cast(director: Director, results: list[dict[str, Any]]) -> list[asyncio.Task[None]]:
    """The processes of this trace and what each of them sets out to do."""
    rng = director.rng
    gateway = Process("gw-a", director, OWNER)
    second = Process("gw-b", director, OWNER)
    command = Process("cli", director, OWNER, wakes=False)
    foreign = Process("gw-z", director, OTHER)
    director.gateways = [gateway, second]

    wish = SHORT if rng.random() < 0.12 else WISH

    async def create() -> None:
        with contextlib.suppress(NotActivated, RequestFailed):
            await gateway.service.request(
                wish, conversation_id=CONVERSATION, responder=rng.choice([None, "owner-1"]), session_key="s"
            )

    async def known() -> str:
        await director.is_held.wait()
        return next(iter(director.canon.held))

    is_patient = rng.random() < 0.5

    async def check() -> None:
        if is_patient:
            await director.is_answered.wait()
        approval_id = await known()
        claim_id = f"check-{len(director.checks)}"
        director.checks[claim_id] = "running"
        with contextlib.suppress(RequestFailed):
            try:
                result = await gateway.service.check(approval_id, conversation_id=CONVERSATION, claim_id=claim_id)
            except Killed:
                director.checks[claim_id] = "killed"
                raise
            except asyncio.CancelledError:
                director.checks[claim_id] = "killed" if gateway.is_dead else "cancelled"
                raise
            results.append(result)
            director.checks[claim_id] = "told"

    def hear(process: Process) -> Callable[[], Coroutine[Any, Any, None]]:
        async def run() -> None:
            await director.is_answered.wait()
            assert director.answered is not None
            with contextlib.suppress(RequestFailed, OSError, WakeTooLate):
                if await process.service.see_receipt(director.answered):
                    process.has_heard = True
                    await process.service.passes.follow_up(director.answered)

        return run

    def start(process: Process) -> Callable[[], Coroutine[Any, Any, None]]:
        async def run() -> None:
            await process.service.passes.pass_over()

        return run

    parts: list[Callable[[], Coroutine[Any, Any, None]]] = [create]
    for part, chance in (
        (check, 0.6),
        (check, 0.2),
        (hear(gateway), 0.7),
        (hear(second), 0.4),
        (start(second), 0.6),
        (start(command), 0.5),
        (start(foreign), 0.3),
        (hear(foreign), 0.3),
    ):
        if rng.random() < chance:
            parts.append(part)
    return [asyncio.get_running_loop().create_task(_until_ended(part())) for part in parts]


async def _until_ended(work: Coroutine[Any, Any, None]) -> None:
    PART.set(asyncio.current_task())
    with contextlib.suppress(Killed, asyncio.CancelledError):
        await work


async def _settle() -> None:
    for _ in range(25):
        await asyncio.sleep(0)


def _raise_violations(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            if isinstance(error, BaseExceptionGroup) and error.split(Killed)[1] is None:
                continue
            raise error


async def _calm(director: Director, results: list[dict[str, Any]]) -> None:
    """Nothing is killed or lost any more. Who lives and has heard of the answer needs no other gateway's start."""
    living = [process for process in director.gateways if not process.is_dead]
    if not living:
        return
    director.is_over = True
    director.clock.wrong_s = 0.0
    for _, *_, verdict in director.waiting:
        if not verdict.done():
            verdict.set_result("go")
    director.waiting.clear()
    following: set[asyncio.Task[None]] = set()
    for _ in range(LOOKS):
        await _settle()
        await director.clock.advance(LOOK_EVERY_S)
        await _settle()
        for process in living:
            for approval_id in await process.service.passes.due():
                following.add(asyncio.create_task(process.service.passes.follow_up(approval_id)))
    await _settle()
    for task in following:
        task.cancel()
    await asyncio.gather(*following, return_exceptions=True)
    _check(director, results)
    _untold(director)
    if any(process.has_heard for process in living):
        _final(director, results)


async def _epilogue(director: Director, results: list[dict[str, Any]]) -> str:
    """Everybody is dead. One gateway starts; then the human answers, if they have not; then all must be well."""
    director.is_over = True
    director.clock.wrong_s = 0.0
    await director.clock.advance(901)
    last = Process("gw-x", director, OWNER)
    await last.service.passes.pass_over()
    _check(director, results)
    director.answer()
    for approval_id in director.canon.held:
        await last.service.see_receipt(approval_id)
        await last.service.passes.follow_up(approval_id)
    await last.service.passes.pass_over()
    _check(director, results)
    return _final(director, results)


def _check(director: Director, results: list[dict[str, Any]]) -> None:
    """What must hold at any time."""

    def fail(what: str) -> None:
        raise Violation(f"{what}\n" + "\n".join(" ".join(row) for row in director.told))

    if director.disk.fouls:
        fail("\n".join(director.disk.fouls))
    for entry in director.disk.read():
        held = director.canon.held.get(entry.approval_id)
        if entry.decision is not None and (held is None or held.answer != (str(entry.decision), entry.responded_by)):
            fail("decided without Canon's word")
        if entry.status == "orphaned" and held is not None and not held.is_cancelled and _counts(entry, held):
            fail("given up while it is live")
        said = {str(result["decision"]) for result in results if "decision" in result}
        said |= {str(wake.decision) for wake in director.disk.wakes}
        if len(said | ({str(entry.decision)} if entry.decision else set())) > 1:
            fail("two results")
    if len({wake.key for wake in director.disk.wakes}) != len(director.disk.wakes):
        fail("a wake stands in the inbox twice")
    ends: dict[str, str] = {}
    for happening in director.disk.happenings:
        if ends.get(happening.approval_id) not in (None, happening.after.status.value):
            fail("a terminal status was left")
        if happening.after.status.is_terminal:
            ends[happening.approval_id] = happening.after.status.value


def _untold(director: Director) -> None:
    """A decision without a wake was fetched by a check whose caller has it, or died with its whole process."""
    for entry in director.disk.read():
        if entry.status == "resolved" and entry.wake_status is None:
            end = director.checks.get(str(entry.fields.get("answeredToClaimId")))
            if end not in ("told", "killed"):
                raise Violation(
                    f"decided, and nobody was told: the check was {end}\n"
                    + "\n".join(" ".join(row) for row in director.told)
                )


def _counts(entry: Entry, held: Any) -> bool:
    """Whether an answer to this request could ever be accepted.

    An entry whose create answer was lost has no responder of its own and trusts the server's check (Canon wire 9.4).
    """
    if held.responder is None and entry.response_user_id is None:
        return entry.fields.get("createdFromClaimId") is None
    return held.answer is None or entry.response_user_id in (None, held.answer[1])


def _final(director: Director, results: list[dict[str, Any]]) -> str:
    """Everything that Canon holds has come to its end, and the agent has heard of it."""

    def fail(what: str) -> str:
        raise Violation(f"{what}\n" + "\n".join(" ".join(row) for row in director.told))

    book = director.disk.read()
    if not director.canon.held:
        is_closed = director.disk.is_published or all(entry.status == "orphaned" for entry in book)
        return "never created" if is_closed else fail("never created, and not closed")
    ((approval_id, held),) = director.canon.held.items()
    entry = book.get(approval_id) or fail("lost")
    assert isinstance(entry, Entry)
    if held.is_cancelled:
        return "taken back" if entry.status == "orphaned" else fail("taken back, and not closed")
    if held.answer is None:
        is_over = held.request.expires_at_ms <= director.canon.clock.now_ms()
        return "expired" if is_over and entry.status == "expired" else fail("nobody could answer it")
    if not _counts(entry, held):
        return "wrong human" if entry.status == "orphaned" else fail("answered by the wrong human, and not closed")
    if entry.status != "resolved":
        return fail(f"answered, and {entry.status}")
    if entry.wake_status is None:
        _untold(director)
        return "checked" if not director.disk.wakes else fail("a check had the answer, and the agent was woken too")
    if len(director.disk.wakes) != 1 or entry.wake_status != "delivered":
        return fail("resolved, and the agent does not know")
    return "woken"
