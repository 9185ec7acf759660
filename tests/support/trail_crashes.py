"""Every state in which a kill can leave registry, trail and record, and what the next processes make of it.

A disk takes a picture of the folder before each of its calls and in the middle of each write: those are the states that
a kill leaves. From each of them a new process looks, makes the change again, and is killed at each of its own calls; a
third one goes on from there. Nothing may be found that looks like somebody's work, no change may be half there or
lost, and no temporary file may be left.

Source: the issue's items 1 and 3; decisions T6, 0040.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from canon_hermes_plugin.approvals.batch import Request
from canon_hermes_plugin.approvals.entry import RETENTION_MS, Decision
from canon_hermes_plugin.approvals.events import (
    Activate,
    ClaimConsume,
    Decided,
    Event,
    FinishConsume,
    NobodyHeard,
    Reserve,
)
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.approvals.trail import Line, read_rows, sealed
from canon_hermes_plugin.state.owner import Owner
from canon_ops.files.disk import Disk
from canon_ops.runtime.clock import ManualClock
from tests.support.crash import CALLS

__all__ = ["SCENARIOS", "Scenario", "Tally", "play"]

OWNER = Owner("env", "agent_1")
LOCKS = (".detached-approvals.lock", ".detached-approvals.lock.next")
State = Mapping[str, bytes]


class PicturingDisk(Disk):
    """Keeps what stands in the folder before each call and within each write; nothing is made durable."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.states: list[tuple[str, State]] = []
        for name in CALLS:
            setattr(self, name, self._wrap(name, getattr(self, name)))

    def _wrap(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def pictured(*arguments: Any) -> Any:
            self.states.append((name, picture(self.folder)))
            if name == "sync":
                return None
            if name == "write" and len(arguments[1]) > 1:
                descriptor, data = arguments
                half = call(descriptor, data[: len(data) // 2])
                self.states.append(("torn", picture(self.folder)))
                return half + call(descriptor, data[half:])
            return call(*arguments)

        return pictured


def picture(folder: Path) -> State:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.name not in LOCKS}


def lay_out(folder: Path, state: State) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    for name, data in state.items():
        (folder / name).write_bytes(data)
    return folder


@dataclass(frozen=True)
class Scenario:
    """A change, and what stands there before it.

    Attributes:
        prepare: builds what is there.
        change: what is killed; made again, it does what was not done.
        days: how much later the change is made.
        is_foreign: somebody else was there before; that must be told in every state.
    """

    prepare: Callable[[ApprovalStore], object]
    change: Callable[[ApprovalStore], object]
    days: int = 0
    is_foreign: bool = False


@dataclass
class Tally:
    """What was met: schedules, states of the change by call, and how many lines were taken back."""

    schedules: int = 0
    points: int = 0
    voids: int = 0


def _store(folder: Path, disk: Disk, days: int, process: str) -> ApprovalStore:
    clock = ManualClock(now_ms=1_000_000 + days * 86_400_000)
    return ApprovalStore(folder / "detached-approvals.json", clock=clock, disk=disk, process=process)


def play(name: str, folder: Path, tally: Tally, *, every: int = 1) -> None:
    """All schedules of a scenario: a kill in the change, then one in what the next process does.

    Args:
        every: from each such state only another process is killed, too.
    """
    scenario = SCENARIOS[name]
    start = _begin(scenario, folder / "prepared")
    done = _after(scenario, folder / "whole", start)
    first = _states(scenario, folder / "first", start)
    tally.points += len(first)
    for number, (call, state) in enumerate(_with_stale_record([*first, ("done", done)], start)):
        tally.schedules += 1
        _check(scenario, folder / "checked", state, start, done, call)
        if number % every != len(name) % every:
            continue
        for again, later in _states(scenario, folder / "second", state):
            tally.schedules += 1
            _check(scenario, folder / "checked", later, start, done, f"{call}, then {again}")
            tally.voids += _go_on(scenario, folder / "third", later, done, f"{call}, then {again}")


def _begin(scenario: Scenario, folder: Path) -> State:
    lay_out(folder, {})
    scenario.prepare(_store(folder, PicturingDisk(folder), 0, "before"))
    return picture(folder)


def _states(scenario: Scenario, folder: Path, state: State) -> list[tuple[str, State]]:
    lay_out(folder, state)
    disk = PicturingDisk(folder)
    _make(scenario, _store(folder, disk, scenario.days, "killed"))
    return disk.states


def _after(scenario: Scenario, folder: Path, state: State) -> State:
    lay_out(folder, state)
    scenario.change(_store(folder, PicturingDisk(folder), scenario.days, "whole"))
    return picture(folder)


def _make(scenario: Scenario, store: ApprovalStore) -> None:
    """The change, and one more of its own, so that something is always written."""
    scenario.change(store)
    number = sum(name.startswith("after-") for name in store.read().entries)
    store.apply([reserve(f"after-{number}")])


def _with_stale_record(states: Sequence[tuple[str, State]], start: State) -> Iterator[tuple[str, State]]:
    """The record is never synchronised: a power cut may leave the one before, when there was one."""
    for call, state in states:
        yield call, state
        old = start.get(".detached-approvals.heads")
        if old is not None and state[".detached-approvals.heads"] != old:
            yield f"{call}, record lost", {**state, ".detached-approvals.heads": old}


def _said(state: State) -> dict[str, Any]:
    """What the registry says, without the names of lines and without what only the next change adds."""
    root = json.loads(state.get("detached-approvals.json", b"{}"))
    return {
        key: {name: value for name, value in fields.items() if name != "auditDigest"}
        for key, fields in root.items()
        if not key.startswith("after-")
    }


def _check(scenario: Scenario, folder: Path, state: State, start: State, done: State, when: str) -> None:
    lay_out(folder, state)
    troubles = _store(folder, Disk(), scenario.days, "auditor").audit()[2]
    if scenario.is_foreign:
        assert {trouble.approval_id for trouble in troubles} == {"hermes-1"}, (when, troubles)
    else:
        assert troubles == [], (when, troubles)
    assert _said(state) in (_said(start), _said(done)), when


def _go_on(scenario: Scenario, folder: Path, state: State, done: State, when: str) -> int:
    """A third process makes the change; how many lines it had to take back."""
    lay_out(folder, state)
    store = _store(folder, PicturingDisk(folder), scenario.days, "third")
    _make(scenario, store)
    end = picture(folder)
    _, lines, troubles = store.audit()
    assert _said(end) == _said(done), when
    assert not [name for name in end if name.endswith(".tmp")], (when, sorted(end))
    assert {trouble.approval_id for trouble in troubles} == ({"hermes-1"} if scenario.is_foreign else set()), when
    rows, torn_bytes = read_rows(end["detached-approvals.audit"])
    assert all(row.line is not None and row.line.is_whole for row in rows), when
    assert torn_bytes == 0, when
    return sum(line.number == "void" for line in lines)


# -- scenarios --------------------------------------------------------------------------------------------------------


def reserve(name: str) -> Request:
    return Request(name, Reserve(name, "convo-1", "c", 9e12, OWNER, "Pay?", expected_responder="owner-1"))


def decided(name: str, *, wakes: bool = True) -> list[Request]:
    events: list[Event] = [Activate("c", 9e12, "owner-1"), ClaimConsume("k")]
    events += [FinishConsume("k", Decided(Decision.ALLOW, "owner-1"), wakes=wakes)]
    return [reserve(name), *(Request(name, event) for event in events)]


def _three(store: ApprovalStore) -> None:
    store.apply([*decided("hermes-1", wakes=False), reserve("hermes-2"), reserve("hermes-3")])
    store.apply([Request("hermes-3", Activate("c", 9e12, "owner-1"))])


def _batch(store: ApprovalStore) -> None:
    store.apply(
        [
            Request("hermes-1", NobodyHeard("k")),
            Request("hermes-2", Activate("c", 9e12, "owner-1")),
            Request("hermes-2", ClaimConsume("k2")),
            reserve("hermes-4"),
            Request("hermes-3", ClaimConsume("k3")),
        ]
    )


def _of_an_earlier_version(store: ApprovalStore) -> None:
    """Lines without batch, and no record."""
    _three(store)
    text, fresh = store.file.read_text(), list[Line]()
    for row in read_rows(store.trail.read())[0]:
        assert row.line is not None
        previous = fresh[-1].digest if fresh else "0" * 32
        fresh.append(sealed(replace(row.line, batch="", gist="", previous=previous)))
        text = text.replace(row.line.digest, fresh[-1].digest)
    store.file.write_text(text)
    store.trail.file.write_text("".join(f"{line.text}\n" for line in fresh))
    store.file.with_name(".detached-approvals.heads").unlink()


def _long(store: ApprovalStore) -> None:
    """Old lines of approvals that are gone, and of one that is still there: it has been told again by now."""
    _three(store)
    for days in (17, 36):
        store = _store(store.file.parent, Disk(), days, "before")
        store.trail._cut_above = 0
        store.apply([reserve(f"hermes-{days}")])


def _cut(store: ApprovalStore) -> None:
    store.trail._cut_above = 0
    _batch(store)


def _edit(store: ApprovalStore) -> None:
    _three(store)
    store.file.write_text(store.file.read_text().replace('"decision": "allow"', '"decision": "deny"'))


SCENARIOS = {
    "the first change": Scenario(lambda store: None, lambda store: store.apply([reserve("hermes-1")])),
    "one change": Scenario(_three, lambda store: store.apply([Request("hermes-3", ClaimConsume("k3"))])),
    "a batch": Scenario(_three, _batch),
    "a batch and an old end": Scenario(_three, _batch, days=RETENTION_MS // 86_400_000 + 1),
    "pruning": Scenario(_three, lambda store: store.prune(), days=RETENTION_MS // 86_400_000 + 1),
    "a trail of an earlier version": Scenario(_of_an_earlier_version, _batch),
    "dropping old lines": Scenario(_long, _cut, days=37),
    "an edited registry": Scenario(_edit, _batch, is_foreign=True),
}
