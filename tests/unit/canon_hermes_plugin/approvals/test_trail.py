"""The audit trail: it tells everything that happened, and whatever is done to it afterwards shows."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from canon_hermes_plugin.approvals import trail, trail_file
from canon_hermes_plugin.approvals.batch import Request
from canon_hermes_plugin.approvals.entry import RETENTION_MS, Decision
from canon_hermes_plugin.approvals.events import (
    Activate,
    ClaimConsume,
    ClaimWake,
    Decided,
    Event,
    FinishConsume,
    FinishWake,
    Reserve,
    StillPending,
)
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.approvals.trail import Line, read_rows, sealed
from canon_hermes_plugin.approvals.trail_writer import shortened
from canon_hermes_plugin.state.owner import Owner
from canon_ops.files.disk import Disk, DiskError
from canon_ops.runtime.clock import ManualClock

OWNER = Owner("env", "agent_1")


CLOCK = ManualClock()


def life(store: ApprovalStore, name: str) -> None:
    """One approval from the request to the decision, one write a step, a second apart."""
    for event in (
        Reserve(name, "convo-1", "c", 9e12, OWNER, expected_responder="owner-1"),
        Activate("c", 9e12, "owner-1"),
        ClaimConsume("k1"),
        FinishConsume("k1", StillPending(), wakes=False),
        ClaimConsume("k2"),
        FinishConsume("k2", Decided(Decision.DENY, "owner-1"), wakes=True),
    ):
        store.apply_one(name, event)
        CLOCK._elapsed_s += 1


@pytest.fixture
def store(tmp_path: Path) -> ApprovalStore:
    store = ApprovalStore(tmp_path / "canon" / "detached-approvals.json", clock=CLOCK, process="gateway 7")
    life(store, "hermes-1")
    life(store, "hermes-2")
    return store


def findings(store: ApprovalStore) -> list[tuple[int, str]]:
    return [(trouble.line, trouble.approval_id) for trouble in store.audit()[2]]


def test_the_trail_tells_the_life(store: ApprovalStore) -> None:
    """Every transition stands there: when, who, from where to where, and why."""
    _, lines, troubles = store.audit()

    assert troubles == []
    assert [(line.number, line.before, line.after) for line in lines if line.approval_id == "hermes-2"] == [
        ("T1", "", "creating"),
        ("T2", "creating", "pending"),
        ("T5", "pending", "consuming"),
        ("T9", "consuming", "pending"),
        ("T5", "pending", "consuming"),
        ("T8", "consuming", "resolved/pending"),
    ]
    assert lines[-1].why == "a human decided: deny by owner-1"
    assert {line.process for line in lines} == {"gateway 7"}
    assert store.trail.file.stat().st_mode & 0o777 == 0o600


def rewrite(store: ApprovalStore, change: Callable[[list[bytes]], list[bytes]]) -> None:
    rows = store.trail.file.read_bytes().splitlines()
    store.trail.file.write_bytes(b"".join(row + b"\n" for row in change(rows)))


def edited(rows: list[bytes]) -> list[bytes]:
    return [row.replace(b"deny by", b"allow by") if number == 5 else row for number, row in enumerate(rows)]


def swapped(rows: list[bytes]) -> list[bytes]:
    return [rows[0], rows[2], rows[1], *rows[3:]]


def forged(rows: list[bytes]) -> list[bytes]:
    fields = json.loads(rows[5]) | {"why": "a human decided: allow by owner-1"}
    return [*rows[:5], json.dumps(fields).encode(), *rows[6:]]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (edited, 6),
        (swapped, 2),
        (forged, 6),
        (lambda rows: [*rows[:3], *rows[4:]], 4),
        (lambda rows: rows[1:], 1),
        (lambda rows: [*rows[:3], b"{torn", *rows[3:]], 4),
        (lambda rows: rows[:-1], 0),
        (lambda rows: rows[:6], 0),
        (lambda rows: [], 0),
    ],
    ids=["edited", "swapped", "forged", "deleted", "first deleted", "no line", "last cut", "one life cut", "all cut"],
)
def test_what_is_done_to_the_trail_shows(
    store: ApprovalStore, change: Callable[[list[bytes]], list[bytes]], line: int
) -> None:
    """Issue, item 3: an edited, deleted, swapped or cut line is found, with its place."""
    rewrite(store, change)

    assert line in [number for number, _ in findings(store)]


def test_an_older_registry_is_noticed(store: ApprovalStore) -> None:
    """Whoever puts yesterday's registry back, to have an approval consumed again, is seen."""
    old = store.file.read_bytes()
    life(store, "hermes-3")
    store.file.write_bytes(old)
    assert findings(store) == [(0, "hermes-3")]

    entry = store.read().entries["hermes-2"]
    earlier = entry.with_(status="pending", auditDigest=_line(store, "hermes-2", 1).digest)
    root = {"hermes-1": dict(store.read().entries["hermes-1"].fields), "hermes-2": dict(earlier.fields)}
    store.file.write_bytes(json.dumps(root).encode())

    assert (0, "hermes-2") in findings(store)


def _line(store: ApprovalStore, approval_id: str, number: int):  # type: ignore[no-untyped-def]
    return [line for line in store.audit()[1] if line.approval_id == approval_id][number]


def test_a_crash_between_trail_and_registry_is_no_crime(store: ApprovalStore) -> None:
    """The trail is ahead by one batch: nothing is wrong, and the next change says what became of it."""
    store.apply([Request(f"hermes-{n}", Reserve(f"hermes-{n}", "c", "c", 9e12, OWNER)) for n in (3, 4)])
    CLOCK._elapsed_s += 1
    store.apply_one("hermes-3", Activate("c", 9e12, "owner-1"))
    CLOCK._elapsed_s += 1
    lose_the_registry(store, "hermes-3", ClaimConsume("k"))

    again = ApprovalStore(store.file, clock=CLOCK, process="gateway 8")
    assert again.audit()[2] == []
    again.apply_one("hermes-3", ClaimConsume("k2"))

    numbers = [line.number for line in again.audit()[1] if line.approval_id == "hermes-3"]
    assert numbers == ["T1", "T2", "T5", "void", "T5"]
    assert again.audit()[2] == []


def test_an_approval_that_was_dropped_is_not_taken_back(store: ApprovalStore) -> None:
    """Its lines stand at the end, its entry is gone: that is the retention and no crash."""
    store.apply_one("hermes-2", ClaimWake("w"))
    store.apply_one("hermes-2", FinishWake("w", is_delivered=True))
    CLOCK._elapsed_s += RETENTION_MS / 1000 + 60
    assert [entry.approval_id for entry in store.prune()] == ["hermes-2"]

    again = ApprovalStore(store.file, clock=CLOCK)
    life(again, "hermes-3")

    assert "void" not in {line.number for line in again.audit()[1]}
    assert again.audit()[2] == []


def test_a_torn_line_is_no_crime(store: ApprovalStore) -> None:
    """Half a line that a power cut left is nobody's work: it goes with the next change."""
    with store.trail.file.open("ab") as trail:
        trail.write(b'{"at": 17')
    again = ApprovalStore(store.file, clock=CLOCK)
    assert again.audit()[2] == []

    life(again, "hermes-3")

    assert again.audit()[2] == []
    assert b'{"at": 17' not in {row[:9] for row in store.trail.file.read_bytes().splitlines() if b"}" not in row}


def test_two_processes_write_one_chain(store: ApprovalStore) -> None:
    """Each sees the other's lines before it adds its own."""
    other = ApprovalStore(store.file, clock=CLOCK, process="gateway 8")
    for number in range(3, 9):
        life([store, other][number % 2], f"hermes-{number}")

    _, lines, troubles = store.audit()

    assert troubles == []
    assert len({line.process for line in lines}) == 2


def test_another_programs_change_is_said(store: ApprovalStore) -> None:
    """The published plugin writes the registry without a trail; the audit says that there is a gap."""
    entry = store.read().entries["hermes-1"]
    changed = dict(entry.with_(wakeStatus="delivered").fields)
    store.file.write_bytes(
        json.dumps({"hermes-1": changed, "hermes-2": dict(store.read().entries["hermes-2"].fields)}).encode()
    )

    (trouble,) = store.audit()[2]

    assert "another program changed it" in trouble.what


@pytest.mark.parametrize(
    "changes",
    [
        {"decision": "allow"},
        {"respondedBy": "member-9"},
        {"responseUserId": "member-9"},
        {"summary": "Pay everything?"},
        {"conversationId": "convo-2"},
        {"agentId": "agent_2"},
        {"requestingSessionKey": "agent:canon:convo-2"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_an_edited_entry_does_not_fit_its_trail(store: ApprovalStore, changes: dict[str, str]) -> None:
    """Issue, item 3: a no that became a yes, or what was asked, of whom, where and for whom, in the registry alone."""
    root = json.loads(store.file.read_text())
    root["hermes-1"] |= changes
    store.file.write_text(json.dumps(root))

    (trouble,) = store.audit()[2]

    assert (trouble.approval_id, "changed by another program" in trouble.what) == ("hermes-1", True)


def test_lines_of_an_earlier_version_are_still_good(store: ApprovalStore) -> None:
    """A trail that was begun before lines had a digest of their entry goes on, and its chain is whole."""
    old, head = [], "0" * 32
    for line in lines_of(store):
        old.append(sealed(replace(line, gist="", batch="", previous=head)))
        head = old[-1].digest
    store.trail.file.write_text("".join(f"{line.text}\n" for line in old))
    root = json.loads(store.file.read_text())
    for line in old:
        root[line.approval_id]["auditDigest"] = line.digest
    store.file.write_text(json.dumps(root))
    store.file.with_name(".detached-approvals.heads").unlink()

    life(ApprovalStore(store.file, clock=CLOCK), "hermes-3")

    assert "gist" not in old[0].text
    assert findings(store) == []


def test_a_change_that_did_not_get_into_the_registry(store: ApprovalStore) -> None:
    """The trail was written, the registry's disk was full: the same process takes its lines back with the next one."""
    registry = store.file.read_bytes()
    full = NoRename()
    own = ApprovalStore(store.file, clock=CLOCK, process="gateway 8", disk=full)
    own.apply_one("hermes-3", Reserve("hermes-3", "convo-1", "c", 9e12, OWNER, expected_responder="owner-1"))
    full.is_full = True
    with pytest.raises(DiskError):
        own.apply_one("hermes-3", Activate("c", 9e12, "owner-1"))
    full.is_full = False
    CLOCK._elapsed_s += 1

    own.apply_one("hermes-3", Activate("c", 9e12, "owner-1"))

    numbers = [line.number for line in store.audit()[1] if line.approval_id == "hermes-3"]
    assert numbers == ["T1", "T2", "void", "T2"]
    assert findings(store) == []
    assert registry != store.file.read_bytes()


class NoRename(Disk):
    """A disk on which the registry cannot be replaced for a while."""

    def __init__(self, *, is_full: bool = False) -> None:
        self.is_full = is_full

    def rename(self, source: Path, target: Path) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, "full")
        super().rename(source, target)


def lose_the_registry(store: ApprovalStore, approval_id: str, event: Event) -> None:
    """The trail is told of a change, and then a crash comes."""
    with pytest.raises(DiskError):
        ApprovalStore(store.file, clock=store._clock, process="gateway 6", disk=NoRename(is_full=True)).apply_one(
            approval_id, event
        )


class Unsynchronised(Disk):
    """For what takes thousands of writes and no power cut."""

    def sync(self, descriptor: int) -> None:
        pass

    def sync_folder(self, path: Path) -> None:
        pass


def test_the_trail_of_a_long_life_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue, item 3: a hundred days with an approval that never ends, and crashes between trail and registry: the trail
    holds some weeks, and whenever it is looked at it is whole and fits the registry."""
    monkeypatch.setattr(trail_file, "LARGE_BYTES", 10_000)
    clock = ManualClock()
    file = tmp_path / "detached-approvals.json"
    disk = Unsynchronised()
    stores = [ApprovalStore(file, clock=clock, process=f"gateway {number}", disk=disk) for number in (7, 8)]
    stores[0].apply_one("for-ever", Reserve("for-ever", "convo-1", "c", 9e15, OWNER, expected_responder="owner-1"))
    sizes = []
    for day in range(100):
        store, name = stores[day % 2], f"hermes-{day}"
        clock._elapsed_s += 86_400
        store.apply_one(name, Reserve(name, "convo-1", "c", 9e15, OWNER, expected_responder="owner-1"))
        store.apply_one(name, Activate("c", 9e15, "owner-1"))
        if day % 5 == 0:
            lose_the_registry(store, name, ClaimConsume("k"))
            stores[day % 2] = store = ApprovalStore(file, clock=clock, process="gateway 9", disk=disk)
            assert store.audit()[2] == []
            clock._elapsed_s += 1
        store.apply_one(name, ClaimConsume("k"))
        store.apply_one(name, FinishConsume("k", Decided(Decision.DENY, "owner-1"), wakes=False))
        assert store.audit()[2] == []
        sizes.append(store.trail.file.stat().st_size)

    _, lines, _ = stores[0].audit()
    assert max(sizes[50:]) <= 1.5 * max(sizes[:50])
    of_it = [line.number for line in lines if line.approval_id == "for-ever"]
    assert set(of_it) == {"kept"}
    assert len(of_it) <= 2
    assert lines[0].number == "cut"


def lines_of(store: ApprovalStore) -> list[Line]:
    return [row.line for row in read_rows(store.trail.read())[0] if row.line is not None]


def test_turns_about_read_nothing(store: ApprovalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that write by turns trust the record that each leaves for the other, and not read the trail."""
    other = ApprovalStore(store.file, clock=CLOCK, process="gateway 8")
    life(other, "hermes-3")
    life(store, "hermes-4")
    monkeypatch.setattr(trail_file.TrailFile, "read", lambda self: pytest.fail("the trail was read"))
    for number in range(5, 9):
        life([store, other][number % 2], f"hermes-{number}")

    monkeypatch.undo()
    assert findings(store) == []


def test_old_lines_go_with_their_approvals(store: ApprovalStore) -> None:
    """Bounded by the retention: what is dropped is said, and the rest is still bound to it."""
    rows, _ = read_rows(store.trail.read())
    lines, book = lines_of(store), store.read()
    late = CLOCK.now_ms() + RETENTION_MS + 1

    only_second = type(book)({"hermes-2": book.entries["hermes-2"]})
    shorter = shortened(rows, only_second, before_ms=late)
    assert shorter is not None
    store.trail.file.write_bytes(shorter)
    store.file.write_bytes(json.dumps({"hermes-2": dict(book.entries["hermes-2"].fields)}).encode())

    kept = lines_of(store)
    assert [(line.number, line.approval_id) for line in kept] == [("cut", ""), ("T8", "hermes-2")]
    assert kept[0].why == "11 older lines were dropped"
    assert store.audit()[2] == []
    shorter = shortened(rows, book, before_ms=late)
    assert shorter is not None
    assert shorter.splitlines()[1] == rows[5].raw, "the last line of an approval that is there stays"
    assert lines[5].approval_id == "hermes-1"
    rewrite(store, lambda rows: [rows[0], *rows[2:]])
    assert findings(store) != []


class SmallDisk(Disk):
    """Takes a few bytes at a time, and no more than ``room`` of them."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, descriptor: int, data: bytes) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "full")
        count = os.write(descriptor, data[: min(7, self.room)])
        self.room -= count
        return count


@pytest.mark.parametrize("room", [0, 1, 7, 100])
def test_a_full_disk_leaves_no_half_line(store: ApprovalStore, room: int) -> None:
    """What does not fit is not there at all; when there is room again the trail is whole, and so is the registry."""
    trail, registry = store.trail.file.read_bytes(), store.file.read_bytes()
    full = ApprovalStore(store.file, clock=CLOCK, process="gateway 8", disk=SmallDisk(room))

    with pytest.raises(DiskError):
        full.apply_one("hermes-3", Reserve("hermes-3", "convo-1", "c", 9e12, OWNER))

    assert (store.trail.file.read_bytes(), store.file.read_bytes()) == (trail, registry)
    life(store, "hermes-4")
    assert findings(store) == []


def test_a_disk_that_takes_little_at_a_time(store: ApprovalStore) -> None:
    """A short write goes on where it stopped."""
    slow = ApprovalStore(store.file, clock=CLOCK, process="gateway 8", disk=SmallDisk(10**6))

    life(slow, "hermes-3")

    assert findings(store) == []
    assert [line.approval_id for line in store.audit()[1]][-1] == "hermes-3"


@pytest.mark.checkout
def test_each_word_of_the_trail_is_documented() -> None:
    """docs/approvals-files.md names every field of a line and every word that is no transition."""
    page = (Path(__file__).parents[4] / "docs" / "approvals-files.md").read_text(encoding="utf-8")
    words = {trail.ACKNOWLEDGED, trail.CUT, trail.DROPPED, trail.FOREIGN, trail.KEPT, trail.STILL, trail.VOID}
    line = Line(1, "p", "hermes-1", "T1", "", "creating", "why", "0" * 32, gist="g", batch="b")

    assert {word for word in {*words, *json.loads(line.text), trail.DIGEST_FIELD} if f"`{word}`" not in page} == set()


@pytest.mark.parametrize(
    "act", [lambda store: store.audit(), lambda store: life(store, "hermes-3")], ids=["read", "told"]
)
def test_a_trail_that_is_a_link_is_refused_everywhere(
    store: ApprovalStore, act: Callable[[ApprovalStore], object]
) -> None:
    """Nothing is told through a link, so nothing may look well that is read through one."""
    elsewhere = store.trail.file.with_name("elsewhere")
    store.trail.file.rename(elsewhere)
    store.trail.file.symlink_to(elsewhere)
    told = elsewhere.read_bytes()

    with pytest.raises(DiskError, match=r"is a symbolic link, and approvals are told to no other place"):
        act(store)

    assert elsewhere.read_bytes() == told
