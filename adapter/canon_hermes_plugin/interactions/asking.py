"""One request of a running turn, from its making to its end: shown on Canon, awaited, settled, or taken back.

The host waits at the same time, and people may answer it in the chat, stop the run, or let its own time pass. So there
are two truths, and a request lives only while both say that it does: the host is looked at before Canon is asked, and
what is over at one side is ended at the other.

::

    noted (disk) -> created (Canon) -> waiting -+- answered on Canon -> the host is told
          |               |                     +- over at the host  -> taken back from Canon
          |               +- refused: struck    +- its time is over  -> taken back; an answer that comes with it counts
          +- too slow: taken back when it lands +- we disconnect     -> likewise, and the host is told

Source: canon-adapter R9.3, R9.8, R9.14; D16, D17.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from canon_hermes_plugin.interactions import left_open
from canon_hermes_plugin.interactions.answers import is_final
from canon_hermes_plugin.interactions.left_open import Shown
from canon_hermes_plugin.ports import Waiting
from canon_hermes_plugin.state.file import StateFile
from canon_hermes_plugin.state.owner import Owner
from canon_ops.client.api import CanonApi
from canon_ops.client.deadline import within
from canon_ops.client.errors import ApiError
from canon_ops.durable import DurableError
from canon_ops.errors import CanonOpsError
from canon_ops.runtime.clock import Clock
from canon_ops.wire.fields import JsonObject
from canon_ops.wire.interactions import RequestReceipt

__all__ = ["Ask", "Asking", "NotShown"]

logger = logging.getLogger(__name__)

POLL_S: Final = 1.0  # R9.3
ASK_LIMIT_S: Final = 5.0  # ours: for one look at Canon; the next one comes soon
SHORTEST_LOOK_S: Final = 1.0  # ours: with what follows the host has its end within seven seconds of the time
CREATE_LIMIT_S: Final = 10.0  # the host waits 15 s for the whole call, R9.8
FAREWELL_S: Final = 2.0  # ours: the host gives an adapter a few seconds to disconnect
TAKE_BACK_PAUSES_S: Final = (1.0, 5.0, 20.0)  # ours
UNKNOWN: Final[JsonObject] = {"status": "unknown"}
UNKNOWN_TIMES: Final = 3  # ours: so often in a row, and an answer that was given is lost
LONGEST_S: Final = 1_800  # R9.1: longer than that no thread of the host's waits, whatever time Canon names
OURS: Final = ("cancelled", "unknown")  # what cancelling brings when nobody has answered
MAYBE_MADE: Final = frozenset({408, 409, 425})  # of the 4xx, those after which it may be there all the same


class NotShown(Exception):
    """Canon does not show the request, or not to the person who was meant."""


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """What is asked, and how it ends.

    Attributes:
        body: of the request.
        expires_at_ms: by our clock; Canon may say another time.
        waiting: the host's thread that waits for the answer.
        responder: whom we asked; None leaves it to Canon.
        outcome: the word for the host that a response means; it gets the seconds that the person had, too.
        asked, closed: told that people wait, and that they do no longer.
    """

    shown: Shown
    body: JsonObject
    expires_at_ms: int
    waiting: Waiting
    responder: str | None
    outcome: Callable[[JsonObject, RequestReceipt, float], str]
    asked: Callable[[], None]
    closed: Callable[[], None]


class Asking:
    """The requests of one connected agent that are open; everything is called on the loop."""

    def __init__(self, api: CanonApi, file: StateFile, owner: Owner, clock: Clock) -> None:
        self._api = api
        self._file = file
        self._owner = owner
        self._clock = clock
        self._open: dict[Shown, tuple[Ask, RequestReceipt, int]] = {}
        self._watchers: dict[Shown, asyncio.Task[None]] = {}
        self._chores: set[asyncio.Task[Any]] = set()
        self._is_stopped = False

    async def ask(self, ask: Ask) -> str | None:
        """Show a request; returns the id of its message once Canon shows it, and waits for the answer meanwhile.

        Raises:
            NotShown: it is not to be answered on Canon; whatever may be there is taken back.
            RequestFailed: likewise.
        """
        began_ms = self._clock.now_ms()
        with suppress(DurableError):  # logged where it was written; the question matters more than the note
            await self._file.write(left_open.note, self._owner, ask.shown)
        receipt = RequestReceipt.parse(await self._created(ask))
        if ask.responder is not None and receipt.responder not in (None, ask.responder):
            self._chore(self._take_back(ask.shown))
            raise NotShown("Canon asks a different person than the one who was meant; the request was taken back")
        ask.asked()
        self._open[ask.shown] = (ask, receipt, began_ms)
        watcher = asyncio.get_running_loop().create_task(self._watch(ask, receipt, began_ms))
        self._watchers[ask.shown] = watcher
        watcher.add_done_callback(lambda _: self._watchers.pop(ask.shown, None))
        watcher.add_done_callback(_look_at)
        return receipt.message_id

    @asynccontextmanager
    async def shown(self, shown: Shown) -> AsyncIterator[None]:
        """Show a request and wait for its end within the block; when that is left in another way, it is taken back.

        A gateway that dies in the block leaves it to the next one, like everything that it has asked. What Canon has
        refused is not there; under the same id a request of somebody else may be.
        """
        with suppress(DurableError):  # as in :meth:`ask`
            await self._file.write(left_open.note, self._owner, shown)
        try:
            yield
        except BaseException as error:
            if isinstance(error, ApiError) and 400 <= error.status < 500 and error.status not in MAYBE_MADE - {409}:
                self._strike(shown)
            else:
                self._chore(self._take_back(shown))
            raise
        self._strike(shown)

    def clear_up(self, left: tuple[Shown, ...]) -> None:
        """Take back what an earlier gateway has left: the runs that asked are dead."""
        for shown in left:
            logger.info("Canon: %s %s was asked by a run that died; it is taken back", shown.kind, shown.request_id)
            self._chore(self._take_back(shown))

    async def stop(self) -> None:
        """End everything that is open on both sides, within a few seconds; safe to repeat. Source: R9.14, D17."""
        self._is_stopped = True
        ending = [*self._watchers.values(), *self._chores]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        waiting, self._open = list(self._open.values()), {}
        await asyncio.gather(*(self._give_up(*one) for one in waiting))

    # --- showing ------------------------------------------------------------------------------------------------

    async def _created(self, ask: Ask) -> JsonObject:
        """The request is on Canon when this returns; when it raises, whatever lands later is taken back."""
        creating = asyncio.ensure_future(self._api.request_interaction(ask.body))
        try:
            return await within(self._clock, CREATE_LIMIT_S, _result_of(creating))
        except (TimeoutError, asyncio.CancelledError) as error:
            self._chore(self._take_back_late(creating, ask.shown))
            if isinstance(error, asyncio.CancelledError):
                raise
            raise NotShown(f"Canon did not show the request within {CREATE_LIMIT_S:g} s") from error
        except ApiError as error:
            if 400 <= error.status < 500 and error.status not in MAYBE_MADE:
                self._strike(ask.shown)
            else:
                self._chore(self._take_back(ask.shown))
            raise
        except CanonOpsError:
            self._chore(self._take_back(ask.shown))
            raise

    # --- waiting ------------------------------------------------------------------------------------------------

    async def _watch(self, ask: Ask, receipt: RequestReceipt, began_ms: int) -> None:
        """Whatever happens on the way, the host's thread hears of an end; only our leaving is told elsewhere."""
        try:
            response = await self._response(ask, receipt, began_ms)
        except Exception:  # a fault of ours must not keep a thread of the host's waiting
            logger.exception("Canon: %s could not be followed; it counts as not answered", ask.shown.request_id)
            response = UNKNOWN
        del self._open[ask.shown]
        ask.closed()
        if response is None:
            logger.info("Canon: %s was answered elsewhere", ask.shown.request_id)
            self._chore(self._take_back(ask.shown))
            return
        if response is UNKNOWN:
            self._chore(self._take_back(ask.shown))
        else:
            self._strike(ask.shown)
        self._resolve(ask, response, receipt, began_ms)

    async def _response(self, ask: Ask, receipt: RequestReceipt, began_ms: int) -> JsonObject | None:
        """What Canon says in the end; None when the host no longer waits. It ends, whatever Canon says of its time."""
        latest_ms = began_ms + LONGEST_S * 1_000
        until_ms = min(_in_force(receipt.expires_at_ms, ask.expires_at_ms), latest_ms)
        unknown = 0
        while ask.waiting.is_open():
            left_s = (until_ms - self._clock.now_ms()) / 1_000
            response = await self._look(ask.shown, limit_s=min(ASK_LIMIT_S, max(SHORTEST_LOOK_S, left_s)))
            unknown = unknown + 1 if response is UNKNOWN else 0
            if unknown == UNKNOWN_TIMES:
                return UNKNOWN
            if response is not UNKNOWN and is_final(response):
                return response
            until_ms = min(_in_force(RequestReceipt.parse(response).expires_at_ms, until_ms), latest_ms)
            left_s = (until_ms - self._clock.now_ms()) / 1_000
            if left_s <= 0:
                return await self._last_response(ask.shown)
            await self._clock.sleep(min(POLL_S, left_s))
        return None

    async def _look(self, shown: Shown, *, cancel: bool = False, limit_s: float = ASK_LIMIT_S) -> JsonObject:
        """One look at Canon; nothing when it does not answer."""
        try:
            return await within(self._clock, limit_s, self._consume(shown, cancel=cancel))
        except (CanonOpsError, TimeoutError) as error:
            logger.debug("Canon: no word of %s: %s", shown.request_id, error)
            return UNKNOWN if isinstance(error, ApiError) and error.status == 404 else {}

    async def _last_response(self, shown: Shown, *, limit_s: float = ASK_LIMIT_S) -> JsonObject:
        """Cancel it; an answer of the last moment comes with the cancellation (D17)."""
        last = await self._look(shown, cancel=True, limit_s=limit_s)
        return last if is_final(last) and last.get("status") not in OURS else {"status": "timeout"}

    def _resolve(self, ask: Ask, response: JsonObject, receipt: RequestReceipt, began_ms: int) -> None:
        had_s = (_in_force(receipt.expires_at_ms, ask.expires_at_ms) - began_ms) / 1_000
        if not ask.waiting.resolve(ask.outcome(response, receipt, had_s)):
            logger.info("Canon: the answer to %s came when nobody waited for it", ask.shown.request_id)

    # --- the end ------------------------------------------------------------------------------------------------

    async def _give_up(self, ask: Ask, receipt: RequestReceipt, began_ms: int) -> None:
        """We leave: what Canon says now is the last that the host hears of it."""
        last = await self._last_response(ask.shown, limit_s=FAREWELL_S)
        self._strike(ask.shown)
        ask.closed()
        self._resolve(ask, last, receipt, began_ms)

    async def _take_back_late(self, creating: asyncio.Future[JsonObject], shown: Shown) -> None:
        """Nobody waits for the request any more; it may land yet."""
        await asyncio.wait((creating,))
        await self._take_back(shown)

    async def _take_back(self, shown: Shown) -> None:
        """See that Canon shows it no longer; it stays noted until that is so."""
        for pause_s in (*TAKE_BACK_PAUSES_S, None):
            try:
                await within(self._clock, ASK_LIMIT_S, self._consume(shown, cancel=True))
            except (CanonOpsError, TimeoutError) as error:
                if isinstance(error, ApiError) and error.status in (404, 409):
                    break
                if pause_s is None:
                    logger.warning("Canon: %s could not be taken back: %s", shown.request_id, error)
                    return
                await self._clock.sleep(pause_s)
            else:
                break
        self._strike(shown)

    async def _consume(self, shown: Shown, *, cancel: bool) -> JsonObject:
        return await self._api.consume_interaction(shown.kind, shown.conversation_id, shown.request_id, cancel=cancel)

    def _strike(self, shown: Shown) -> None:
        self._file.write(left_open.strike, self._owner, shown)

    def _chore(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that nobody waits for; once we have left, the next gateway finds the note and does it."""
        if self._is_stopped:
            work.close()
            return
        task = asyncio.get_running_loop().create_task(work)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)
        task.add_done_callback(_look_at)


async def _result_of(creating: asyncio.Future[JsonObject]) -> JsonObject:
    """Wait, and leave it running when nobody waits any more."""
    return await asyncio.shield(creating)


def _look_at(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("Canon: a request of the host's could not be followed", exc_info=error)


def _in_force(said_ms: float | None, known_ms: int) -> int:
    """The expiry that is in force: Canon's, where it says one."""
    return int(said_ms) if said_ms is not None else known_ms
