"""What somebody else did to registry, trail or record stays told, whatever is written afterwards."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.approvals.batch import Request
from canon_hermes_plugin.approvals.entry import Decision
from canon_hermes_plugin.approvals.events import (
    Activate,
    ClaimConsume,
    ClaimWake,
    Decided,
    Event,
    FinishConsume,
    FinishWake,
    Reserve,
    SeeReceipt,
    StillPending,
)
from canon_hermes_plugin.approvals.machine import Transition
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.approvals.trail import Line, read_rows, sealed
from canon_hermes_plugin.state.owner import Owner
from canon_ops.files.disk import Disk
from canon_ops.runtime.clock import ManualClock

OWNER = Owner("env", "agent_1")
NAMES = ("hermes-1", "hermes-2", "hermes-3")


class Unsynchronised(Disk):
    """No power is cut here."""

    def sync(self, descriptor: int) -> None:
        pass


@dataclass(frozen=True)
class Home:
    """A Canon home and the place elsewhere."""

    folder: Path

    @property
    def registry(self) -> Path:
        return self.folder / "canon" / "detached-approvals.json"

    @property
    def trail(self) -> Path:
        return self.folder / "canon" / "detached-approvals.audit"

    @property
    def record(self) -> Path:
        return self.folder / "canon" / ".detached-approvals.heads"

    @property
    def elsewhere(self) -> Path:
        return self.folder / "plugins" / "approvals.heads"

    def store(self, *, at_ms: int = 1_000_000, elsewhere: bool = False) -> ApprovalStore:
        """A new process."""
        return ApprovalStore(
            self.registry,
            clock=ManualClock(now_ms=at_ms),
            process="gateway 8",
            disk=Unsynchronised(),
            elsewhere=self.elsewhere if elsewhere else None,
        )

    def lines(self) -> list[Line]:
        return [row.line for row in read_rows(self.trail.read_bytes())[0] if row.line is not None]


def events(name: str) -> tuple[Event, ...]:
    asked = (Reserve(name, "convo-1", "c", 9e12, OWNER, "Pay?", expected_responder="owner-1"),)
    if name == "hermes-3":
        return (*asked, Activate("c", 9e12, "owner-1"))
    return (
        *asked,
        Activate("c", 9e12, "owner-1"),
        ClaimConsume("k1"),
        FinishConsume("k1", StillPending(), wakes=False),
        ClaimConsume("k2"),
        FinishConsume("k2", Decided(Decision.DENY, "owner-1"), wakes=True),
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three approvals, one of them pending; ``early`` is a copy from before the last one, ``stale`` from one change
    before the end."""
    folder = tmp_path_factory.mktemp("built")
    home = Home(folder / "now")
    home.elsewhere.parent.mkdir(parents=True)
    store = home.store(elsewhere=True)
    for name in NAMES:
        if name == "hermes-3":
            shutil.copytree(home.folder, folder / "early")
        for event in events(name):
            shutil.copytree(home.folder, folder / "stale", dirs_exist_ok=True)
            store.apply_one(name, event)
    return folder


@pytest.fixture
def home(built: Path, tmp_path: Path) -> Home:
    shutil.copytree(built, tmp_path / "built")
    return Home(tmp_path / "built" / "now")


Tampering = Callable[[Home], object]
KINDS: dict[str, Tampering] = {}


def kind(function: Tampering) -> Tampering:
    KINDS[getattr(function, "__name__", "").replace("_", " ")] = function
    return function


# The trail


def rows(home: Home, change: Callable[[list[bytes]], list[bytes]]) -> None:
    home.trail.write_bytes(b"".join(row + b"\n" for row in change(home.trail.read_bytes().splitlines())))


def bound_again(lines: list[Line]) -> list[Line]:
    """What somebody does who knows how the chain is made."""
    fresh: list[Line] = []
    for line in lines:
        fresh.append(sealed(replace(line, previous=fresh[-1].digest if fresh else "0" * 32)))
    return fresh


def forge(home: Home, *, registry_too: bool) -> None:
    old = home.lines()
    new = bound_again([replace(line, why=line.why.replace("deny", "allow")) for line in old])
    home.trail.write_text("".join(f"{line.text}\n" for line in new))
    if registry_too:
        text = home.registry.read_text()
        for before, after in zip(old, new, strict=True):
            text = text.replace(before.digest, after.digest)
        home.registry.write_text(text)


@kind
def a_line_edited(home: Home) -> None:
    rows(home, lambda found: [*found[:5], found[5].replace(b"deny by", b"allow by"), *found[6:]])


@kind
def a_line_edited_and_sealed(home: Home) -> None:
    line = sealed(replace(home.lines()[5], why="a human decided: allow by owner-1"))
    rows(home, lambda found: [*found[:5], line.text.encode(), *found[6:]])


@kind
def the_last_line_edited_and_sealed(home: Home) -> None:
    line = sealed(replace(home.lines()[-1], why="asked for by nobody"))
    rows(home, lambda found: [*found[:-1], line.text.encode()])


@kind
def a_whole_chain_forged(home: Home) -> None:
    forge(home, registry_too=False)


@kind
def chain_and_registry_forged(home: Home) -> None:
    forge(home, registry_too=True)


@kind
def the_first_line_deleted(home: Home) -> None:
    rows(home, lambda found: found[1:])


@kind
def a_line_deleted(home: Home) -> None:
    rows(home, lambda found: [*found[:3], *found[4:]])


@kind
def the_last_line_deleted(home: Home) -> None:
    rows(home, lambda found: found[:-1])


@kind
def the_end_cut_off(home: Home) -> None:
    rows(home, lambda found: found[:6])


@kind
def the_end_cut_inside_a_line(home: Home) -> None:
    home.trail.write_bytes(home.trail.read_bytes()[:-40])


@kind
def two_lines_swapped(home: Home) -> None:
    rows(home, lambda found: [found[0], found[2], found[1], *found[3:]])


@kind
def a_line_doubled(home: Home) -> None:
    rows(home, lambda found: [*found[:4], found[3], *found[4:]])


@kind
def a_strange_line_inserted(home: Home) -> None:
    rows(home, lambda found: [*found[:4], b"{torn", *found[4:]])


@kind
def a_strange_line_at_the_end(home: Home) -> None:
    rows(home, lambda found: [*found, b"nothing happened here"])


@kind
def the_trail_emptied(home: Home) -> None:
    home.trail.write_bytes(b"")


@kind
def the_trail_deleted(home: Home) -> None:
    home.trail.unlink()


@kind
def an_older_trail_put_back(home: Home) -> None:
    shutil.copy(home.folder.parent / "early" / "canon" / home.trail.name, home.trail)


@kind
def lines_of_another_home(home: Home) -> None:
    home.trail.write_text("".join(f"{sealed(replace(line, process='x')).text}\n" for line in home.lines()))


# The registry


def entry(home: Home, name: str, **fields: Any) -> None:
    root = json.loads(home.registry.read_text())
    root[name] |= fields
    home.registry.write_text(json.dumps({key: _without_none(value) for key, value in root.items()}))


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


for _name, _fields in {
    "a decision": {"decision": "allow"},
    "who answered": {"respondedBy": "member-9"},
    "who was asked": {"responseUserId": "member-9"},
    "what was asked": {"summary": "Pay everything?"},
    "where": {"conversationId": "convo-2"},
    "whose it is": {"agentId": "agent_2"},
    "the session": {"requestingSessionKey": "agent:canon:convo-2"},
    "the expiry": {"expiresAt": 1},
    "the time of the decision": {"resolvedAt": 1_000_001},
    "a decision taken back": {"status": "pending", "decision": None, "wakeStatus": None},
    "a wake called delivered": {"wakeStatus": "delivered"},
    "the name of its line": {"auditDigest": None},
    "a strange field": {"approvedBy": "nobody"},
    "an entry nobody understands": {"status": "escalated"},
}.items():
    KINDS[f"{_name} changed"] = lambda home, fields=_fields: entry(home, "hermes-1", **fields)  # type: ignore[misc]


@kind
def an_entry_bound_to_an_earlier_line(home: Home) -> None:
    entry(home, "hermes-1", auditDigest=home.lines()[3].digest)


@kind
def the_responder_of_an_open_approval(home: Home) -> None:
    entry(home, "hermes-3", responseUserId="member-9")


def registry(home: Home, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    home.registry.write_text(json.dumps(change(json.loads(home.registry.read_text()))))


@kind
def an_entry_removed(home: Home) -> None:
    registry(home, lambda root: {key: value for key, value in root.items() if key != "hermes-1"})


@kind
def an_entry_under_another_name(home: Home) -> None:
    registry(home, lambda root: {"hermes-9": root.pop("hermes-1") | {"approvalId": "hermes-9"}} | root)


@kind
def an_entry_that_is_a_list(home: Home) -> None:
    registry(home, lambda root: root | {"hermes-1": []})


@kind
def an_approval_copied(home: Home) -> None:
    registry(home, lambda root: root | {"hermes-9": root["hermes-1"] | {"approvalId": "hermes-9"}})


@kind
def all_entries_removed(home: Home) -> None:
    home.registry.write_text("{}")


@kind
def the_registry_deleted(home: Home) -> None:
    home.registry.unlink()


@kind
def the_registry_of_one_change_ago(home: Home) -> None:
    shutil.copy(home.folder.parent / "stale" / "canon" / home.registry.name, home.registry)


@kind
def an_older_registry_put_back(home: Home) -> None:
    shutil.copy(home.folder.parent / "early" / "canon" / home.registry.name, home.registry)


# Several


@kind
def registry_and_trail_put_back(home: Home) -> None:
    an_older_registry_put_back(home)
    an_older_trail_put_back(home)


@kind
def registry_and_trail_of_one_change_ago(home: Home) -> None:
    the_registry_of_one_change_ago(home)
    shutil.copy(home.folder.parent / "stale" / "canon" / home.trail.name, home.trail)


@kind
def registry_and_trail_deleted(home: Home) -> None:
    home.registry.unlink()
    home.trail.unlink()


@kind
def the_record_deleted(home: Home) -> None:
    home.record.unlink()


@kind
def the_record_overwritten(home: Home) -> None:
    home.record.write_bytes(home.record.read_bytes().replace(b"[", b"("))


@kind
def trail_and_record_deleted(home: Home) -> None:
    home.trail.unlink()
    home.record.unlink()


def all_three_deleted(home: Home) -> None:
    for file in (home.registry, home.trail, home.record):
        file.unlink()


ELSEWHERE: dict[str, Tampering] = {
    "all three deleted": all_three_deleted,
    "the whole home put back": lambda home: shutil.copytree(
        home.folder.parent / "early" / "canon", home.registry.parent, dirs_exist_ok=True
    ),
    "the home of one change ago": lambda home: shutil.copytree(
        home.folder.parent / "stale" / "canon", home.registry.parent, dirs_exist_ok=True
    ),
    "the whole home deleted": lambda home: shutil.rmtree(home.registry.parent),
}


def write_much(store: ApprovalStore) -> None:
    """Change every approval that can be changed, and one more, several times."""
    life: list[tuple[str, Event]] = [
        ("hermes-4", Reserve("hermes-4", "convo-1", "c", 9e12, OWNER)),
        ("hermes-4", SeeReceipt()),
    ]
    for name in ("hermes-1", "hermes-2", "hermes-3", "hermes-9"):
        life += [(name, SeeReceipt()), (name, ClaimConsume("z"))]
        life += [(name, FinishConsume("z", Decided(Decision.ALLOW, "owner-1"), wakes=True))]
        life += [(name, ClaimWake("w")), (name, FinishWake("w", is_delivered=True))]
    answers = [store.apply([Request(name, event)])[0] for name, event in life]
    assert sum(isinstance(answer, Transition) and answer.is_change for answer in answers) >= 1


def check(home: Home, writer: ApprovalStore, *, elsewhere: bool) -> None:
    """It is told before anything is written, and for ever after, once and for all in the trail."""
    before = home.store(elsewhere=elsewhere).audit()[2]
    write_much(writer)
    first = [line for line in home.lines() if line.number == "foreign"]
    write_much(home.store(at_ms=2_000_000, elsewhere=elsewhere))
    _, lines, after = home.store(elsewhere=elsewhere).audit()

    assert before != []
    assert first != []
    assert len(after) == len(before), "and nothing more is found in what was told"
    assert [line for line in lines if line.number == "foreign"] == first, "told once"


@pytest.mark.parametrize("name", KINDS)
def test_what_was_done_stays_told(home: Home, name: str) -> None:
    """Issue, item 3: later changes of ours cover nothing of it, by a process that begins and by one that goes on."""
    KINDS[name](home)

    check(home, home.store(), elsewhere=False)


@pytest.mark.parametrize(
    "name", ["a decision changed", "the last line deleted", "the trail deleted", "an entry removed"]
)
def test_it_is_noticed_by_a_process_that_goes_on(home: Home, name: str) -> None:
    """A gateway runs for weeks; it compares before each change, not only before its first."""
    running = home.store()
    running.apply_one("hermes-3", SeeReceipt())
    KINDS[name](home)

    check(home, running, elsewhere=False)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_home_that_was_put_back_is_noticed(home: Home, name: str) -> None:
    """Three files that fit each other are told from those that were there by the record in the Hermes home."""
    ELSEWHERE[name](home)

    check(home, home.store(elsewhere=True), elsewhere=True)


def test_there_are_kinds_enough() -> None:
    """The list is long, and no name stands for two."""
    assert len(KINDS) + len(ELSEWHERE) >= 40


@pytest.mark.parametrize(
    "digest", [None, 7, True, [], ["x"], {"a": 1}, "", "x" * 4_000, "\ud83d"], ids=lambda one: ascii(one)[:8]
)
def test_a_digest_that_is_none_is_told_and_hinders_nothing(home: Home, digest: Any) -> None:
    """Whatever stands where an entry names its last line: the change is made, told, and the trail can be shortened."""
    entries = json.loads(home.registry.read_text())
    entries["hermes-1"]["auditDigest"] = digest
    home.registry.write_text(json.dumps(entries))
    store = home.store(at_ms=40 * 86_400_000)
    store.trail._cut_above = 0

    for _ in range(3):
        store.apply_one("hermes-2", SeeReceipt())

    _, lines, troubles = store.audit()
    assert [trouble.approval_id for trouble in troubles] == ["hermes-1"]
    assert lines[-1].number == "T15"
