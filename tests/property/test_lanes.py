"""The scheduler against a slow one that looks at everything each time, over random histories."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from borgee_hermes.inbox.records import DispatchClass
from borgee_hermes.lanes.scheduler import Lane, Launch, Scheduler

SLOTS = {Lane.ORDINARY: 2, Lane.CONTROL: 2, Lane.URGENT: 1}
BYPASS = {Lane.CONTROL: DispatchClass.CONTROL, Lane.URGENT: DispatchClass.URGENT_STOP}


@dataclass
class Slow:
    """The rules in the words of the specification, with lists."""

    pending: dict[int, tuple[str, DispatchClass]] = field(default_factory=dict)
    demoted: set[int] = field(default_factory=set)
    late_stops: set[int] = field(default_factory=set)
    blocked: dict[int, str] = field(default_factory=dict)
    running: dict[int, tuple[str, Lane]] = field(default_factory=dict)
    parked: dict[int, str] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)

    def launches(self) -> list[Launch]:
        found = []
        for lane in (Lane.URGENT, Lane.CONTROL, Lane.ORDINARY):
            while sum(used is lane for _, used in self.running.values()) < SLOTS[lane]:
                candidates = [each for key in sorted(self._keys()) if (each := self._candidate(key, lane))]
                if not candidates:
                    break
                launch = min(candidates, key=lambda each: each.ingest_seq)
                self.pending.pop(launch.ingest_seq)
                self.late_stops.discard(launch.ingest_seq)
                self.running[launch.ingest_seq] = (launch.session_key, lane)
                found.append(launch)
        return found

    def begin(self, key: str) -> None:
        if key not in self.busy:
            for seq in [seq for seq in self._of(key) if seq in self.late_stops]:
                self.late_stops.discard(seq)
                self.demoted.discard(seq)
                self.pending[seq] = (key, DispatchClass.URGENT_STOP)
        self.busy.add(key)

    def _keys(self) -> set[str]:
        return {key for key, _ in self.pending.values()}

    def _of(self, key: str) -> list[int]:
        return sorted(seq for seq, (session, _) in self.pending.items() if session == key)

    def _first(self, key: str, lane: Lane) -> int | None:
        mine = [seq for seq in self._of(key) if self.pending[seq][1] is BYPASS[lane] and seq not in self.demoted]
        return mine[0] if mine else None

    def _candidate(self, key: str, lane: Lane) -> Launch | None:
        here = [used for session, used in self.running.values() if session == key]
        if lane is not Lane.ORDINARY:
            seq = self._first(key, lane) if key in self.busy and lane not in here else None
            return None if seq is None else Launch(seq, key, lane)
        if key in self.busy or here or key in self.parked.values():
            return None
        head = self._of(key)[0]
        if not any(seq < head for seq, session in self.blocked.items() if session == key):
            return Launch(head, key, lane)
        detours = [seq for lane in (Lane.URGENT, Lane.CONTROL) if (seq := self._first(key, lane)) is not None]
        return Launch(detours[0], key, lane, is_detour=True) if detours else None


STEPS = st.lists(
    st.tuples(st.sampled_from(["arrive", "busy", "idle", "end", "park", "block", "refuse", "remedy", "requeue"]),
              st.integers(0, 5), st.sampled_from(DispatchClass)),
    max_size=60,
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(STEPS)
def test_it_decides_like_one_that_looks_at_everything(steps: list[tuple[str, int, DispatchClass]]) -> None:
    """Same launches in the same order after every change; hence no receipt twice, order kept, bounds held."""
    fast, slow = Scheduler(2, control_slots=2, urgent_slots=1), Slow()
    next_seq = 1

    for name, which, kind in steps:
        session = f"s{which % 3}"
        launched = sorted(slow.running)
        match name:
            case "arrive":
                fast.arrived(next_seq, session, kind)
                slow.pending[next_seq] = (session, kind)
                next_seq += 1
            case "busy":
                fast.became_busy(session)
                slow.begin(session)
            case "idle":
                fast.became_idle(session)
                slow.busy.discard(session)
            case "end" | "park" | "block" | "refuse" if launched:
                seq = launched[which % len(launched)]
                key, lane = slow.running.pop(seq)
                match name:
                    case "end":
                        fast.ended(seq, key)
                    case "park":
                        fast.parked(seq, key)
                        slow.parked[seq] = key
                    case "block":
                        fast.quarantined(seq, key)
                        slow.blocked[seq] = key
                    case "refuse":
                        fast.refused(seq, key)
                        slow.pending[seq] = (key, DispatchClass.ORDINARY)
                        slow.demoted.add(seq)
                        if lane is Lane.URGENT:
                            slow.late_stops.add(seq)
            case "end" if slow.parked:
                seq, key = sorted(slow.parked.items())[which % len(slow.parked)]
                del slow.parked[seq]
                fast.ended(seq, key)
            case "remedy" | "requeue" if slow.blocked:
                seq, key = sorted(slow.blocked.items())[which % len(slow.blocked)]
                del slow.blocked[seq]
                fast.remedied(seq, key)
                if name == "requeue":
                    slow.demoted.discard(seq)
                    slow.pending[seq] = (key, kind)
                    fast.arrived(seq, key, kind)

        assert fast.launches() == slow.launches()
