"""Which receipts run now: first come first served in each session, side by side between sessions, within bounds.

Three lanes. *Ordinary* takes the head of an idle session, whatever its class. *Control* takes commands and answers of
a session that is busy, past everything that waits there. *Urgent* is one slot that nothing but ``/stop`` may take.

A session is *busy* while Hermes runs something in it, ours or not; a shell says so (:meth:`Scheduler.became_busy`,
:meth:`became_idle`). It is *occupied* while one of our own receipts is claimed. A receipt in quarantine or in doubt
blocks everything ordinary that came after it in its session. Commands are not ordinary: those of a blocked session
that is idle may run as a *detour* in an ordinary slot, or nobody could ask ``/status`` there. A ``/stop`` that came too
late for its turn waits in the order like every command, but may pass the next turn too, which was said before it.

The order of calls: tell what changed, then :meth:`launches`, and carry out what it returns; each launch ends with one
of :meth:`ended`, :meth:`parked` (then :meth:`ended` or :meth:`quarantined`), :meth:`quarantined`, :meth:`refused`.
Nothing here waits or looks at a clock, and nobody has to ask again unless something changed.

Every call costs the logarithm of the sessions, whatever waits in them: sessions that can go stand in a heap by the
number of their first receipt, and a heap's entry is checked when it is taken. A waiting receipt is a number in memory
(about 40 bytes); its text stays on disk.

Source: Borgee 4.5, 4.6, W1, W6, W17.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from borgee_hermes.inbox.records import DispatchClass, OpenReceipt, Status

__all__ = ["CONTROL_SLOTS", "URGENT_SLOTS", "Lane", "Launch", "Scheduler"]

CONTROL_SLOTS: Final = 8  # Borgee 4.6
URGENT_SLOTS: Final = 1


class Lane(Enum):
    """Where a receipt runs."""

    ORDINARY = "ordinary"
    CONTROL = "control"
    URGENT = "urgent"


@dataclass(frozen=True, slots=True)
class Launch:
    """Run this receipt now.

    Attributes:
        is_detour: a command of a session that is idle and blocked; refuse it when it is no command.
    """

    ingest_seq: int
    session_key: str
    lane: Lane
    is_detour: bool = False


@dataclass(slots=True)
class _Session:
    queue: deque[int] = field(default_factory=deque)  # what waits, ascending; also the numbers in `taken`
    bypassing: dict[Lane, deque[int]] = field(default_factory=lambda: {Lane.CONTROL: deque(), Lane.URGENT: deque()})
    taken: set[int] = field(default_factory=set)  # launched from the middle of the queue
    late_stops: set[int] = field(default_factory=set)  # refused, since the turn was over; they wait in the queue
    blocked: list[int] = field(default_factory=list)  # in quarantine or in doubt, ascending
    running: dict[int, Lane] = field(default_factory=dict)
    parked: set[int] = field(default_factory=set)  # Hermes holds it behind something else
    offered: dict[Lane, int] = field(default_factory=dict)  # what stands in the heaps
    is_busy: bool = False

    @property
    def is_occupied(self) -> bool:
        return bool(self.running or self.parked)

    @property
    def is_gone(self) -> bool:
        return not (self.is_busy or self.blocked or self.is_occupied) and self.head() is None

    def head(self) -> int | None:
        while self.queue and self.queue[0] in self.taken:
            self.taken.discard(self.queue.popleft())
        return self.queue[0] if self.queue else None

    def candidate(self, lane: Lane) -> tuple[int | None, bool]:
        """What a lane could take now, and whether that is a detour."""
        if lane is not Lane.ORDINARY:
            may = self.is_busy and lane not in self.running.values()
            return self._first(lane) if may else None, False
        head = self.head()
        if head is None or self.is_busy or self.is_occupied:
            return None, False
        if self.blocked and self.blocked[0] < head:
            urgent = self._first(Lane.URGENT)
            return (urgent if urgent is not None else self._first(Lane.CONTROL)), True
        return head, False

    def launch(self, seq: int, lane: Lane) -> None:
        self.running[seq] = lane
        self.late_stops.discard(seq)
        for waiting in self.bypassing.values():  # all of them wait, so what is launched is the first of its lane
            if waiting and waiting[0] == seq:
                waiting.popleft()
        if self.head() == seq:
            self.queue.popleft()
        else:
            self.taken.add(seq)

    def give_back(self, seq: int) -> None:
        if seq in self.taken:
            self.taken.discard(seq)
        else:
            _put(self.queue, seq)

    def _first(self, lane: Lane) -> int | None:
        waiting = self.bypassing[lane]
        return waiting[0] if waiting else None


class Scheduler:
    """Every session with something unsettled, and the slots.

    Args:
        ordinary_slots: turns at the same time.
    """

    def __init__(
        self, ordinary_slots: int, *, control_slots: int = CONTROL_SLOTS, urgent_slots: int = URGENT_SLOTS
    ) -> None:
        self._slots = {Lane.ORDINARY: ordinary_slots, Lane.CONTROL: control_slots, Lane.URGENT: urgent_slots}
        self._used = dict.fromkeys(Lane, 0)
        self._sessions: dict[str, _Session] = {}
        self._ready: dict[Lane, list[tuple[int, str]]] = {lane: [] for lane in Lane}

    def load(self, receipts: Iterable[OpenReceipt]) -> None:
        """Begin with what the inbox holds; what is claimed there blocks like what is in doubt.

        Each queue is sorted once, whatever has arrived before.
        """
        fresh: dict[str, list[OpenReceipt]] = {}
        for each in receipts:
            fresh.setdefault(each.session_key, []).append(each)
        for key, found in fresh.items():
            session = self._session(key)
            waiting = [each for each in found if each.status is Status.PENDING]
            blocking = [each.ingest_seq for each in found if each.status is not Status.PENDING]
            _merge(session.queue, [each.ingest_seq for each in waiting])
            for dispatch_class, lane in _BYPASS_LANE.items():
                own = [each.ingest_seq for each in waiting if each.dispatch_class is dispatch_class]
                _merge(session.bypassing[lane], own)
            session.blocked = sorted([*session.blocked, *blocking])
            self._offer(key)

    # -- what changed -------------------------------------------------------------------------------------------------

    def arrived(self, seq: int, session_key: str, dispatch_class: DispatchClass) -> None:
        """A receipt waits."""
        session = self._session(session_key)
        _put(session.queue, seq)
        lane = _BYPASS_LANE.get(dispatch_class)
        if lane is not None:
            _put(session.bypassing[lane], seq)
        self._offer(session_key)

    def became_busy(self, session_key: str) -> None:
        """Hermes runs something in that session."""
        session = self._session(session_key)
        if not session.is_busy:
            session.is_busy = True
            late, session.late_stops = session.late_stops, set()
            _merge(session.bypassing[Lane.URGENT], list(late))
        self._offer(session_key)

    def became_idle(self, session_key: str) -> None:
        """Hermes runs nothing there any more."""
        self._session(session_key).is_busy = False
        self._offer(session_key)

    def ended(self, seq: int, session_key: str) -> None:
        """A launched receipt is settled, or was somebody else's."""
        self._leave(seq, session_key)
        self._offer(session_key)

    def parked(self, seq: int, session_key: str) -> None:
        """Hermes took a launched receipt but runs something else first: its slot is free, its session is not."""
        session = self._session(session_key)
        self._leave(seq, session_key)
        session.parked.add(seq)
        self._offer(session_key)

    def quarantined(self, seq: int, session_key: str) -> None:
        """A launched receipt needs a person now: what came after it in its session waits for that."""
        self._leave(seq, session_key)
        insort(self._session(session_key).blocked, seq)
        self._offer(session_key)

    def remedied(self, seq: int, session_key: str, *, again: DispatchClass | None = None) -> None:
        """A person has decided about a blocking receipt.

        Args:
            again: sent back, it waits under this class: in the same step, before anything that came after it is free.
        """
        session = self._session(session_key)
        if seq in session.blocked:
            session.blocked.remove(seq)
        if again is not None:
            self.arrived(seq, session_key, again)
        else:
            self._offer(session_key)

    def refused(self, seq: int, session_key: str) -> None:
        """A launched receipt may not bypass after all: it waits for its place in the order, and for nothing else; but a
        ``/stop`` may pass the next turn before that."""
        session = self._session(session_key)
        if session.running.get(seq) is Lane.URGENT:
            session.late_stops.add(seq)
        self._leave(seq, session_key)
        session.give_back(seq)
        self._offer(session_key)

    # -- what to do ---------------------------------------------------------------------------------------------------

    def launches(self, *, turns: bool = True) -> list[Launch]:
        """Take everything that can run now: urgent before control before ordinary, each by order of arrival.

        Args:
            turns: whether the host begins any; what passes a turn that runs does not depend on it.
        """
        lanes = (Lane.URGENT, Lane.CONTROL, Lane.ORDINARY) if turns else (Lane.URGENT, Lane.CONTROL)
        return [launch for lane in lanes for launch in self._fill(lane)]

    def _fill(self, lane: Lane) -> list[Launch]:
        launches = []
        ready = self._ready[lane]
        while ready and self._used[lane] < self._slots[lane]:
            seq, session_key = heapq.heappop(ready)
            session = self._sessions.get(session_key)
            if session is None:
                continue
            if session.offered.get(lane) == seq:
                del session.offered[lane]
            found, is_detour = session.candidate(lane)
            if found == seq:  # else the session has changed since; what it could do now stands in the heap as well
                session.launch(seq, lane)
                self._used[lane] += 1
                launches.append(Launch(seq, session_key, lane, is_detour))
            self._offer(session_key)
        return launches

    # -- looking ------------------------------------------------------------------------------------------------------

    def is_occupied(self, session_key: str) -> bool:
        """Whether one of our receipts is claimed in that session."""
        session = self._sessions.get(session_key)
        return session is not None and session.is_occupied

    def is_waiting(self, session_key: str) -> bool:
        """Whether receipts wait in that session."""
        session = self._sessions.get(session_key)
        return session is not None and session.head() is not None

    def is_blocked(self, session_key: str) -> bool:
        """Whether a person has to decide before the session's head may run."""
        session = self._sessions.get(session_key)
        if session is None or not session.blocked:
            return False
        head = session.head()
        return head is not None and session.blocked[0] < head

    def used(self, lane: Lane) -> int:
        """How many of a lane's slots are taken."""
        return self._used[lane]

    def __len__(self) -> int:
        """Sessions that are remembered: those with something unsettled, and the busy ones."""
        return len(self._sessions)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _session(self, key: str) -> _Session:
        return self._sessions.setdefault(key, _Session())

    def _leave(self, seq: int, session_key: str) -> None:
        session = self._session(session_key)
        lane = session.running.pop(seq, None)
        if lane is not None:
            self._used[lane] -= 1
        session.parked.discard(seq)

    def _offer(self, session_key: str) -> None:
        """Put the session into the heap of each lane that could take something of it; forget it when it is done."""
        session = self._session(session_key)
        if session.is_gone:
            del self._sessions[session_key]
            return
        for lane in Lane:
            seq, _ = session.candidate(lane)
            if seq is not None and session.offered.get(lane) != seq:
                session.offered[lane] = seq
                heapq.heappush(self._ready[lane], (seq, session_key))


_BYPASS_LANE: Final = {DispatchClass.CONTROL: Lane.CONTROL, DispatchClass.URGENT_STOP: Lane.URGENT}


def _merge(queue: deque[int], seqs: list[int]) -> None:
    """Insert many in order."""
    if seqs:
        ordered = sorted([*queue, *seqs])
        queue.clear()
        queue.extend(ordered)


def _put(queue: deque[int], seq: int) -> None:
    """Insert in order: at the end as a rule, further ahead when a person sent an old receipt back."""
    if not queue or queue[-1] < seq:
        queue.append(seq)
    elif queue[0] > seq:
        queue.appendleft(seq)
    else:
        ordered = list(queue)
        insort(ordered, seq)
        queue.clear()
        queue.extend(ordered)
