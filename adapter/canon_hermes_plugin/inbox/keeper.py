"""The inbox of one adapter: what happens to messages and turns, written down in the order in which it happens.

Two things are awaited by those who ask: that a message is recorded before the host gets it, and that its run is noted
before the agent acts. The rest follows in its order.

Source: decisions X1-X4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from canon_hermes_plugin.inbox import cursors, custody, store, turns
from canon_hermes_plugin.inbox.cursors import Gap, GapKind, Step
from canon_hermes_plugin.inbox.custody import Covered, Custody
from canon_hermes_plugin.inbox.items import Item, Settlement, State, after_run
from canon_hermes_plugin.inbox.recovery import DeadTurn, continued
from canon_hermes_plugin.inbox.store import Receipt
from canon_hermes_plugin.state.file import StateFile
from canon_hermes_plugin.state.owner import Owner
from canon_hermes_plugin.turn.effects import TurnClosed
from canon_ops.durable import DurableError, Snapshot
from canon_ops.runtime.clock import Clock

__all__ = ["Inbox", "Remains"]

REMEMBERED: Final = 1_024  # what a running adapter remembers of finished messages; Canon adapter R2.14
PRUNE_EVERY: Final = 256


@dataclass(frozen=True, slots=True)
class Remains:
    """What the last gateway left of this agent.

    Attributes:
        is_first: the agent has never been connected from this home.
        known: the newest finished messages, oldest first.
        items: the unfinished ones, in order.
    """

    is_first: bool
    cursor: str | None
    known: tuple[str, ...]
    background: Mapping[str, tuple[str, ...]]
    items: tuple[Item, ...]
    turns: tuple[DeadTurn, ...]


class Inbox:
    """The rows of one agent; everything is called on the loop, nothing here waits unless it is awaited.

    Args:
        lost: told when something could not be written, so that the stream may bring it again.
    """

    def __init__(self, file: StateFile, owner: Owner, clock: Clock, *, lost: Callable[[], None]) -> None:
        self._file = file
        self._owner = owner
        self._clock = clock
        self._lost = lost
        self._reached: str | None = None  # the event of the newest step that was begun
        self._wanted: str | None = None  # an event without a message: the cursor may go there when there is time
        self._moving: asyncio.Task[None] | None = None
        self._custody = Custody()
        self._noted: set[str] = set()  # turns that are on the disk
        self._given_back: dict[str, set[str]] = {}  # session -> what a run there has left, since it was idle last
        self._sessions: dict[str, str] = {}  # of the runs that go on, by their turns
        self._finished = 0

    async def load(self) -> Remains:
        """Read what is left; called once, before anything else.

        Raises:
            DurableError: the file cannot be read or written.
        """
        is_first = await self._file.write(cursors.begin_cursor, self._owner, now_ms=self._clock.now_ms())
        remains = await self._file.read(partial(_remains, owner=self._owner, is_first=is_first))
        self._reached = remains.cursor
        return remains

    # --- messages and the stream ---------------------------------------------------------------------------------

    def record(
        self, item_id: str, conversation_id: str, payload: Any, *, event_id: str | None
    ) -> asyncio.Future[Receipt]:
        """Write a message down and move the cursor to its event; the host may have it when that is done."""
        return self._watched(
            self._file.write(
                store.record,
                self._owner,
                item_id,
                conversation_id,
                payload,
                step=self._step(event_id),
                now_ms=self._clock.now_ms(),
            )
        )

    async def payload_of(self, item_id: str) -> Any:
        """A recorded message, with what its author has corrected; None when nothing more is to happen to it.

        Raises:
            DurableError: the file cannot be read.
        """
        return await self._file.read(store.payload_of, self._owner, item_id)

    def keep_background(self, conversation_id: str, entries: Sequence[str], *, event_id: str | None) -> None:
        """Remember what was said without asking for a turn."""
        self._watched(
            self._file.write(
                store.keep_background,
                self._owner,
                conversation_id,
                entries,
                step=self._step(event_id),
                now_ms=self._clock.now_ms(),
            )
        )

    def passed(self, event_id: str | None) -> None:
        """An event that needs no record: the cursor follows when there is time, over any number of them at once."""
        if event_id:
            self._wanted = event_id
            if self._moving is None:
                self._moving = asyncio.get_running_loop().create_task(self._follow())

    def opens_at(self, event_id: str | None) -> None:
        """The stream is about to be opened here."""
        self._reached, self._wanted = event_id, None
        self._file.write(cursors.set_cursor, self._owner, event_id, now_ms=self._clock.now_ms())

    def missed(
        self, kind: GapKind, *, from_event: str | None = None, to_event: str | None = None
    ) -> asyncio.Future[None]:
        """Messages may have been missed."""
        if kind is GapKind.EXPIRED:
            self._reached, self._wanted = to_event, None
        return self._file.write(
            cursors.add_gap,
            self._owner,
            kind,
            from_event=from_event,
            to_event=to_event,
            now_ms=self._clock.now_ms(),
        )

    def correct(self, item_id: str, text: str | None) -> None:
        """A person changed a message, or took it back; a run that has begun with it has read it."""
        self._file.write(store.correct, self._owner, item_id, text, now_ms=self._clock.now_ms())

    async def untold_gaps(self) -> tuple[Gap, ...]:
        """What the home channel has not heard of."""
        return tuple(gap for gap in await self._file.read(cursors.gaps, self._owner) if not gap.told)

    # --- the host's runs -----------------------------------------------------------------------------------------

    def handed(self, item_id: str, conversation_id: str, *, session: str | None, background: Sequence[str]) -> None:
        """The host has the item."""
        self._file.write(
            store.handed,
            self._owner,
            item_id,
            conversation_id,
            session=session,
            background=background,
            now_ms=self._clock.now_ms(),
        )

    async def started(
        self, item_id: str | None, *, turn_id: str, conversation_id: str, session: str, merged: Sequence[str] = ()
    ) -> None:
        """A run begins; returns when that is on the disk, or cannot be: the answer matters more than the note.

        Args:
            merged: the items that the host has put into this one.
        """
        begins = self.begins(item_id, turn_id=turn_id, conversation_id=conversation_id, session=session, merged=merged)
        try:
            await begins
        except DurableError:
            return  # logged where it was written

    def begins(
        self, item_id: str | None, *, turn_id: str, conversation_id: str, session: str, merged: Sequence[str] = ()
    ) -> asyncio.Future[None]:
        """Like :meth:`started`, for a caller that cannot wait."""
        self._noted.add(turn_id)
        self._sessions[turn_id] = session
        self._custody = custody.begun(self._custody, turn_id, item_id, merged)
        return self._file.write(
            partial(_begin, owner=self._owner, now_ms=self._clock.now_ms()),
            custody.covered(self._custody, turn_id),
            turn_id,
            conversation_id,
            session,
        )

    def joins(self, turn_id: str, item_id: str, *, session: str) -> None:
        """The words of an item are in a run that goes on; from now on its fate is the run's."""
        self._custody = custody.joined(self._custody, turn_id, item_id)
        self._file.write(
            store.started, self._owner, item_id, session=session, turn_id=None, now_ms=self._clock.now_ms()
        )

    def leaves(self, item_id: str) -> None:
        """The model of that run has not read them: the item waits like any other."""
        self._custody = custody.left(self._custody, item_id)
        self._give_back(item_id, goes_on=False)

    async def shows(self, turn_id: str, conversation_id: str) -> None:
        """Something of the turn is about to be shown on Canon."""
        if turn_id in self._noted:
            return
        self._noted.add(turn_id)
        try:
            await self._file.write(turns.open_turn, self._owner, turn_id, conversation_id, now_ms=self._clock.now_ms())
        except DurableError:
            return

    def covered(self, turn_id: str) -> Covered:
        """The messages that a run is for."""
        return custody.covered(self._custody, turn_id)

    def closed(self, effect: TurnClosed, *, is_stopping: bool) -> bool:
        """A turn is over: settle its items, or say where they stand; whether it has one that is to run again."""
        items = self.covered(effect.turn_id)
        self._custody = custody.ended(self._custody, effect.turn_id)
        if effect.turn_id in self._noted:
            self._noted.discard(effect.turn_id)
            if not effect.goes_on:
                self._file.write(turns.close_turn, self._owner, effect.turn_id)
        after = after_run(effect.outcome, effect.evidence, is_stopping=is_stopping)
        session = self._sessions.pop(effect.turn_id, None)
        if items.head is not None:
            self._stands(items.head, after, session, goes_on=effect.goes_on)
        for item_id in items.joined:
            self._stands(item_id, custody.after_joined(after), session, goes_on=False)
        return items != Covered() and not isinstance(after, Settlement)

    def _stands(self, item_id: str, after: State | Settlement, session: str | None, *, goes_on: bool) -> None:
        if isinstance(after, Settlement):
            self.settle(item_id, after)
        elif after is State.HANDED:
            self._given_back.setdefault(session or "", set()).add(item_id)
            self._give_back(item_id, goes_on=goes_on)

    def _give_back(self, item_id: str, *, goes_on: bool) -> None:
        self._file.write(store.give_back, self._owner, item_id, goes_on=goes_on, now_ms=self._clock.now_ms())

    def cleared(self, conversation_id: str) -> None:
        """The node of a conversation is gone."""
        self._file.write(turns.forget_closed, self._owner, conversation_id)

    def buried(self, turn_id: str) -> None:
        """Nothing is left on Canon of a turn of an earlier gateway, unless the same turn runs again."""
        if turn_id not in self._noted:
            self._file.write(turns.forget_turn, self._owner, turn_id)

    def settle(self, item_id: str, why: Settlement) -> None:
        """Nothing more happens to the item."""
        self._file.write(store.settle, self._owner, item_id, why, now_ms=self._clock.now_ms())
        self._finished += 1
        if self._finished % PRUNE_EVERY == 0:
            self._file.write(store.prune, self._owner)

    def absorb(self, session: str, *, but: Collection[str] = ()) -> None:
        """The host has nothing of the session any more: what it was given is in the runs that are over.

        The message of a run without a trace stays: nothing shows that it was in any.

        Args:
            but: items of which the same is known.
        """
        given_back = self._given_back.pop(session, set())
        self._file.write(store.absorb, self._owner, session, but={*but, *given_back}, now_ms=self._clock.now_ms())

    # --- the cursor ----------------------------------------------------------------------------------------------

    def _step(self, event_id: str | None) -> Step | None:
        if not event_id:
            return None
        step, self._reached, self._wanted = Step(self._reached, event_id), event_id, None
        return step

    async def _follow(self) -> None:
        try:
            while self._wanted is not None:
                step = self._step(self._wanted)
                assert step is not None  # noqa: S101  # an event that is wanted has an id
                await self._watched(
                    self._file.write(cursors.move_cursor, self._owner, step, now_ms=self._clock.now_ms())
                )
        except DurableError:
            return  # the stream will bring it again
        finally:
            self._moving = None

    def _watched(self, task: asyncio.Future[Any]) -> asyncio.Future[Any]:
        task.add_done_callback(self._look)
        return task

    def _look(self, task: asyncio.Future[Any]) -> None:
        """A step that was not taken stops the cursor for good, until the stream is opened again behind it."""
        if not task.cancelled() and task.exception() is not None:
            self._lost()


def _remains(snapshot: Snapshot, *, owner: Owner, is_first: bool) -> Remains:
    dead = tuple(turns.dead_turns(snapshot, owner))
    return Remains(
        is_first=is_first,
        cursor=cursors.cursor(snapshot, owner),
        known=tuple(store.settled_ids(snapshot, owner, limit=REMEMBERED)),
        background=store.background(snapshot, owner),
        items=tuple(continued(item, dead) for item in store.unsettled(snapshot, owner)),
        turns=dead,
    )


def _begin(
    transaction: Any,
    items: Covered,
    turn_id: str,
    conversation_id: str,
    session: str,
    *,
    owner: Owner,
    now_ms: int,
) -> None:
    turns.open_turn(transaction, owner, turn_id, conversation_id, now_ms=now_ms)
    if items.head is not None:
        store.started(transaction, owner, items.head, session=session, turn_id=turn_id, now_ms=now_ms)
    for item_id in items.joined:
        store.started(transaction, owner, item_id, session=session, turn_id=None, now_ms=now_ms)
