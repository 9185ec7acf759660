"""Carries the scheduler's launches out: claim on disk, hand over to Hermes, wait for the end, write the end down.

Everything that happens (a receipt, a session that became busy or idle, a hook of the host) goes into the scheduler or
into the execution it belongs to, and then whatever can run is launched. There is no loop that looks: what does not
happen is not waited for. The one exception is a host that drains: it answers each new text with a notice and calls
that a success, so nothing is given to it, and it is asked each second whether that is over.

The order of a turn: the claim is durable before Hermes sees the text; its end is durable before the slot is free. A
claim takes its time: what was true of the session before it is asked about again after it, and once more when Hermes
shows the text to its handler, since a host that began to drain in between answers with that notice too. When a gateway
stops or a limit is over, an execution is *abandoned* first, so that nothing that still runs can settle it.

Source: Borgee 4.6, 4.7, 4.9, 8.3.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from borgee_hermes.inbound import command_word, is_command, may_bypass, runs_inline_by_us
from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.inbox.records import DispatchClass, OpenReceipt, Outcome, Receipt, Status
from borgee_hermes.lanes.execution import DROPPED, Ending, Execution, Phase
from borgee_hermes.lanes.scheduler import Lane, Launch, Scheduler
from borgee_hermes.ports import HostPort
from canon_ops.errors import InternalError
from canon_ops.runtime.clock import Clock

__all__ = ["CONTROL_LIMIT_S", "Dispatcher", "Reports", "Sessions"]

logger = logging.getLogger(__name__)

CONTROL_LIMIT_S: Final = 15.0  # Borgee 4.6
LOOK_S: Final = 1.0  # how soon a host that began to take turns again is noticed
NOT_BEGUN: Final = Ending(Status.FAILED, Outcome.HERMES_CANCELLED)  # for Borgee only: work that was announced
FIRST_STEPS: Final = 3  # turns of the loop in which a task that Hermes has made takes its first step


class Broken(InternalError):
    """Something that this code relies on does not hold; the adapter stops rather than guess."""

    code = "borgee_invariant"


class Reports(Protocol):
    """Who is told about work."""

    def began(self, task_id: str, receipt: Receipt) -> None: ...
    def ended(self, task_id: str, receipt: Receipt, ending: Ending) -> None: ...


class Sessions(Protocol):
    """The host's sessions, asked off the loop."""

    async def suspend_if_there(self, session_key: str) -> bool:
        """Suspend a session; false when the host knows none.

        Raises:
            SessionRefused: the host did not suspend it.
        """
        ...


@dataclass(slots=True)
class _Job:
    """A claimed receipt in the hands of Hermes."""

    launch: Launch
    receipt: Receipt
    execution: Execution
    event: Any
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    rides_on: str | None = None  # the session whose running turn has taken it up
    runs_before: int | None = None  # how often the host had begun a run in its session when it was shown this text

    @property
    def is_over(self) -> bool:
        return self.execution.phase in (Phase.ENDED, Phase.DROPPED, Phase.UNREAD, Phase.ABANDONED)


class Dispatcher:
    """The turns of one adapter.

    Args:
        fail: ends the adapter for good over a fault of the inbox or a broken invariant; called at most once by us.
    """

    def __init__(
        self,
        inbox: Inbox,
        port: HostPort,
        scheduler: Scheduler,
        *,
        sessions: Sessions,
        reports: Reports,
        clock: Clock,
        fail: Callable[[BaseException], None],
        control_limit_s: float = CONTROL_LIMIT_S,
    ) -> None:
        self._inbox = inbox
        self._port = port
        self._scheduler = scheduler
        self._sessions = sessions
        self._reports = reports
        self._clock = clock
        self._fail = fail
        self._control_limit_s = control_limit_s
        self._jobs: dict[int, _Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_admitting = False
        self._looking: asyncio.Task[None] | None = None
        self._warned: set[str] = set()

    # -- what happens -------------------------------------------------------------------------------------------------

    def start(self, receipts: Iterable[OpenReceipt], busy: Iterable[str]) -> None:
        """Begin with what the inbox holds; from now on everything that can run is launched."""
        for session_key in busy:
            self._scheduler.became_busy(session_key)
        self._scheduler.load(receipts)
        self._is_admitting = True
        self._pump()

    def arrived(self, seq: int, session_key: str, dispatch_class: DispatchClass) -> None:
        """A receipt is stored."""
        self._scheduler.arrived(seq, session_key, dispatch_class)
        self._pump()
        if self._scheduler.is_blocked(session_key) and session_key not in self._warned:
            self._warned.add(session_key)
            logger.warning(
                "Borgee: %s waits for a decision about a quarantined message. Fix: canon-ops inbox list", session_key
            )

    def remedied(self, seq: int, session_key: str, *, again: DispatchClass | None) -> None:
        """A person has decided about a quarantined receipt, or sent it back to wait under its class ``again``."""
        self._warned.discard(session_key)
        self._scheduler.remedied(seq, session_key, again=again)
        self._pump()

    def session_changed(self, session_key: str, *, is_busy: bool) -> None:
        """The host runs something in a session, or nothing any more."""
        if is_busy:
            self._scheduler.became_busy(session_key)
        else:
            for job in list(self._jobs.values()):
                if job.launch.session_key == session_key and job.execution.session_idle():
                    job.changed.set()
            self._scheduler.became_idle(session_key)
        self._pump()

    # -- the host's hooks ---------------------------------------------------------------------------------------------

    def handler_entered(self, seq: int) -> bool:
        """The host calls its message handler, for a turn or for a command beside one; false when it must not, since
        it has begun to drain after the hand-over and would only say so."""
        job = self._jobs.get(seq)
        if job is None:
            return True
        if job.execution.phase is Phase.CLAIMED:
            self._announce(job)
        elif not self._port.takes_turns() and not is_command(job.receipt, self._port.commands):
            job.execution.refused()
            return False
        job.runs_before = self._port.runs_begun(job.launch.session_key)
        return True

    def handler_returned(self, seq: int, answer: Any) -> bool:
        """That handler is through; false when its answer is a notice that nobody needs: the message waits."""
        job = self._jobs.get(seq)
        if job is None:
            return True
        job.execution.handler_returned(has_answer=bool(answer))
        if self._was_refused(job, answer):
            job.execution.refused()
        return not job.execution.was_refused

    def _was_refused(self, job: _Job, answer: Any) -> bool:
        """Whether the host drains, began no run for this text, and has only said so. A word behind a slash is left
        alone: the host answers some of those without a run. Source: docs/decisions/0066."""
        if self._port.takes_turns() or not self._port.is_notice(answer) or command_word(job.receipt.effective_body):
            return False
        return job.runs_before is not None and job.runs_before == self._port.runs_begun(job.launch.session_key)

    def handler_raised(self, seq: int, error: Exception) -> None:
        """That handler has raised; the host logs it and says nothing to us."""
        if job := self._jobs.get(seq):
            job.execution.handler_raised()
            logger.warning("Borgee: a command failed (receipt %d): %s", seq, type(error).__name__)

    def turn_started(self, seq: int) -> None:
        """The host begins a turn."""
        job = self._jobs.get(seq)
        if job is not None and job.execution.started():
            self._announce(job)

    def turn_taken_up(self, seq: int, session_key: str) -> None:
        """The host takes a message that it had put aside into the turn that runs; that turn's end is its end too."""
        job = self._jobs.get(seq)
        if job is not None and job.execution.started():
            job.rides_on = session_key
            self._announce(job)

    def session_interrupted(self, session_key: str) -> None:
        """The host ends what runs in a session, for a command of a person."""
        for job in self._jobs.values():
            if session_key in (job.launch.session_key, job.rides_on):
                job.execution.interrupted()

    def turn_completed(self, seq: int | None, session_key: str, outcome: str, event: Any) -> None:
        """The host's turn has ended: ``success``, ``failure`` or ``cancelled``; ``seq`` is None for one of its own."""
        is_stopping = self._port.is_stopping()
        riders = [job for job in self._jobs.values() if job.rides_on == session_key]
        own = self._jobs.get(seq) if seq is not None else None
        if own is not None and own not in riders:
            own.execution.completed(outcome, is_held=self._port.is_held(event), is_stopping=is_stopping)
            own.changed.set()
        for job in riders:
            job.rides_on = None
            job.execution.completed(outcome, is_stopping=is_stopping)
            job.changed.set()

    def _announce(self, job: _Job) -> None:
        if job.execution.announce():
            self._reports.began(job.execution.task_id, job.receipt)

    # -- stopping -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Launch nothing more; what runs may end."""
        self._is_admitting = False
        if self._looking is not None:
            self._looking.cancel()

    async def drain(self, limit_s: float) -> bool:
        """Wait until nothing of ours runs; false when it took too long, and everything was abandoned and ended."""
        if await self._within(limit_s, self._until_quiet()):
            return True
        for job in self._jobs.values():
            job.execution.abandon()
        await self._port.cancel_turns()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._jobs.clear()
        return False

    async def _until_quiet(self) -> None:
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        await self._port.drain()

    # -- launches -----------------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        if not self._is_admitting:
            return
        takes_turns = self._port.takes_turns()
        if not takes_turns and self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look_again(), name="borgee waits for the host")
        for launch in self._scheduler.launches(turns=takes_turns):
            task = asyncio.get_running_loop().create_task(self._run(launch), name=f"borgee {launch.ingest_seq}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _look_again(self) -> None:
        """The host takes no turns for a while and does not say when it takes them again."""
        while not self._port.takes_turns():
            await self._clock.sleep(LOOK_S)
        self._looking = None
        self._pump()

    async def _run(self, launch: Launch) -> None:
        """One launch, from its slot to its end; a fault in it ends the adapter."""
        try:
            if launch.lane is Lane.ORDINARY:
                await self._execute(launch)
            else:
                await self._execute_within_limit(launch)
        except Exception as error:  # the task's outermost edge
            self._is_admitting = False
            self._fail(error)

    async def _execute(self, launch: Launch) -> None:
        seq, session_key = launch.ingest_seq, launch.session_key
        if (launch.lane is not Lane.ORDINARY or launch.is_detour) and not await self._may_pass(launch):
            self._scheduler.refused(seq, session_key)
            self._pump()
            return
        token = uuid.uuid4().hex
        receipt = await self._inbox.claim(seq, token)
        if receipt is None:
            self._scheduler.ended(seq, session_key)
            self._pump()
            return
        if not self._is_admitting or not self._passes(launch, receipt):
            await self._give_back(launch, token)
            return
        execution = Execution(seq, token)
        job = self._jobs[seq] = _Job(launch, receipt, execution, self._port.event(receipt))
        try:
            await self._give(job)
            await self._until_over(job)
            await self._settle(job)
        finally:
            if self._jobs.get(seq) is job:
                del self._jobs[seq]

    async def _may_pass(self, launch: Launch) -> bool:
        """Ask again before anything is written, so that a text which has to wait costs no claim."""
        receipt = await self._inbox.get(launch.ingest_seq)
        return receipt is not None and self._passes(launch, receipt)

    def _passes(self, launch: Launch, receipt: Receipt) -> bool:
        """Whether a text may still go where it was sent: into an idle session, or past what runs in a busy one.

        The last word is said when the claim is on disk, right before the hand-over: nothing can change between the two.
        """
        if launch.is_detour:
            return self._port.takes_turns() and is_command(receipt, self._port.commands)
        if launch.lane is Lane.ORDINARY:
            return self._port.takes_turns() and not self._port.is_busy(launch.session_key)
        return self._port.is_busy(launch.session_key) and may_bypass(receipt, self._port.commands)

    async def _give_back(self, launch: Launch, token: str) -> None:
        """Hermes has not begun it, so it waits for its place as if it had never been claimed."""
        if not await self._inbox.give_back(launch.ingest_seq, token):
            raise Broken(f"the receipt {launch.ingest_seq} was settled by somebody who had not claimed it")
        self._scheduler.refused(launch.ingest_seq, launch.session_key)
        self._pump()

    async def _give(self, job: _Job) -> None:
        execution = job.execution
        try:
            if job.launch.lane is not Lane.ORDINARY and runs_inline_by_us(job.receipt, self._port.commands):
                await self._port.run_inline(job.event)
            else:
                await self._port.hand_over(job.event)
        except Exception as error:  # the host's code; its message is not ours to keep
            logger.warning("Borgee: receipt %d could not be handed over", execution.ingest_seq, exc_info=True)
            execution.failed(type(error).__name__)
            return
        for _ in range(FIRST_STEPS):
            if execution.phase is not Phase.CLAIMED:
                break
            await asyncio.sleep(0)
        execution.handed_over()

    async def _until_over(self, job: _Job) -> None:
        launch, execution = job.launch, job.execution
        while not job.is_over:
            if execution.waits_in_host:
                self._scheduler.parked(launch.ingest_seq, launch.session_key)
                self._pump()
                if not self._port.is_busy(launch.session_key) and execution.session_idle():
                    break
            job.changed.clear()
            await job.changed.wait()

    async def _settle(self, job: _Job) -> None:
        launch, execution = job.launch, job.execution
        if execution.phase is Phase.DROPPED:
            await self._doubt(job)
        elif execution.phase is Phase.UNREAD:
            await self._give_back(launch, execution.token)
            if execution.was_announced:
                self._reports.ended(execution.task_id, job.receipt, NOT_BEGUN)
        elif execution.ending is not None:
            ending = execution.ending
            seq, token = execution.ingest_seq, execution.token
            if not await self._inbox.finish(seq, token, ending.status, ending.outcome, error=ending.error):
                raise Broken(f"the receipt {seq} was settled by somebody who had not claimed it")
            self._scheduler.ended(launch.ingest_seq, launch.session_key)
            self._pump()
            if execution.was_announced:
                self._reports.ended(execution.task_id, job.receipt, ending)

    async def _doubt(self, job: _Job) -> None:
        """Hermes has dropped the text: nobody knows whether it had begun, so a person decides."""
        seq, session_key = job.launch.ingest_seq, job.launch.session_key
        if not await self._inbox.doubt(seq, job.execution.token, Outcome.HOST_DROPPED, error=DROPPED):
            raise Broken(f"the receipt {seq} was settled by somebody who had not claimed it")
        suspended = await self._sessions.suspend_if_there(session_key)
        await self._inbox.quarantine_in_doubt([session_key] if suspended else [], only=seq)
        self._quarantined(job.launch, job.execution, job.receipt)

    def _quarantined(self, launch: Launch, execution: Execution | None, receipt: Receipt) -> None:
        logger.warning("Borgee: receipt %d is quarantined. Fix: canon-ops inbox show %d", *[launch.ingest_seq] * 2)
        self._scheduler.quarantined(launch.ingest_seq, launch.session_key)
        self._pump()
        if execution is not None and execution.was_announced:
            self._reports.ended(execution.task_id, receipt, Ending(Status.FAILED, Outcome.TIMEOUT_SUSPENDED))

    # -- the limit of the bypass lanes --------------------------------------------------------------------------------

    async def _execute_within_limit(self, launch: Launch) -> None:
        work = asyncio.get_running_loop().create_task(self._execute(launch), name=f"borgee {launch.ingest_seq} within")
        try:
            if await self._within(self._control_limit_s, asyncio.shield(work)):
                await work
                return
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            raise
        await self._overrun(launch, work)

    async def _overrun(self, launch: Launch, work: asyncio.Task[None]) -> None:
        """A command took too long: put its receipt aside, and make sure that its session begins afresh."""
        seq = launch.ingest_seq
        job = self._jobs.pop(seq, None)
        if job is not None:
            job.execution.abandon()
        self._tasks.add(work)  # it ends when it has heard of it
        work.add_done_callback(self._tasks.discard)
        work.add_done_callback(_retrieve)
        work.cancel()
        receipt = await self._inbox.get(seq)  # whatever the command has submitted before is in there
        if receipt is None or receipt.status is not Status.PROCESSING:
            self._stand_down(launch, receipt)
            return
        suspended = await self._sessions.suspend_if_there(launch.session_key)
        if not await self._inbox.quarantine_processing(seq, suspended=suspended):
            raise Broken(f"the receipt {seq} could not be quarantined")
        self._quarantined(launch, job.execution if job is not None else None, receipt)

    def _stand_down(self, launch: Launch, receipt: Receipt | None) -> None:
        """It has settled itself meanwhile, or was never begun."""
        if receipt is not None and receipt.status is Status.PENDING:
            self._scheduler.refused(launch.ingest_seq, launch.session_key)
        else:
            self._scheduler.ended(launch.ingest_seq, launch.session_key)
        self._pump()

    async def _within(self, limit_s: float, awaited: Awaitable[Any]) -> bool:
        """Whether it ended in time by our clock; what it raises is raised."""
        loop = asyncio.get_running_loop()
        waiting = asyncio.ensure_future(awaited)
        alarm = loop.create_task(_sleep(self._clock, limit_s))
        try:
            await asyncio.wait({waiting, alarm}, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                waiting.result()
                return True
            return False
        finally:
            alarm.cancel()
            waiting.cancel()


async def _sleep(clock: Clock, seconds: float) -> None:
    await clock.sleep(seconds)


def _retrieve(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        logger.debug("Borgee: what was abandoned ended badly", exc_info=task.exception())
