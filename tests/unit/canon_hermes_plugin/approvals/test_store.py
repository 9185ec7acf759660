"""The registry on the disk: locked, private, whole, and never written over when it cannot be read."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.approvals.batch import EntryDamaged, Request
from canon_hermes_plugin.approvals.entry import Claim, ClaimKind, Decision, Status
from canon_hermes_plugin.approvals.events import Activate, ClaimConsume, Decided, FinishConsume, Reserve, SeeReceipt
from canon_hermes_plugin.approvals.machine import AlreadyReserved, ClaimLost, Transition
from canon_hermes_plugin.approvals.store import ApprovalStore, RegistryDamaged
from canon_hermes_plugin.state.owner import Owner
from canon_ops.errors import CanonOpsError
from canon_ops.files.disk import Disk, DiskError
from canon_ops.files.lock import FileLock, LockTimeout
from canon_ops.runtime.clock import ManualClock

OWNER = Owner("env", "agent_1")


def reserve(number: int | str) -> Request:
    name = f"hermes-{number}"
    return Request(name, Reserve(name, "convo-9", f"c{number}", 9e12, OWNER, expected_responder="owner-1"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "canon" / "detached-approvals.json"


@pytest.fixture
def store(file: Path) -> ApprovalStore:
    return ApprovalStore(file, clock=ManualClock(now_ms=5_000))


def test_a_life_on_the_disk(store: ApprovalStore, file: Path) -> None:
    """S10.2: what was recorded reads back equal in another process's eyes; no temporary file is left."""
    store.apply([reserve(1)])
    store.apply_one("hermes-1", Activate("c1", 9e12, "owner-1"))
    store.apply_one("hermes-1", ClaimConsume("k"))
    store.apply_one("hermes-1", FinishConsume("k", Decided(Decision.ALLOW, "owner-1"), wakes=False))

    assert ApprovalStore(file).read() == store.read()
    written = json.loads(file.read_text())["hermes-1"]
    assert (written["status"], written["decision"]) == ("resolved", "allow")
    assert {path.name for path in file.parent.iterdir()} == {
        "detached-approvals.json",
        ".detached-approvals.lock",
        ".detached-approvals.lock.next",
        "detached-approvals.audit",
        ".detached-approvals.heads",
    }


def test_files_are_private_from_the_first_byte(store: ApprovalStore, file: Path) -> None:
    """D45, R10.3: folder 0700, file and lock 0600 under the widest umask; an older file's mode is mended."""
    before = os.umask(0)
    try:
        store.apply([reserve(1)])
        modes = {path.name: path.stat().st_mode & 0o777 for path in [file.parent, *file.parent.iterdir()]}
        file.chmod(0o644)
        store.apply([reserve(2)])
    finally:
        os.umask(before)

    assert modes.pop("canon") == 0o700
    assert set(modes.values()) == {0o600}
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("data", [b"{not json", b"[]", b"", b'{"a": NaN}'])
def test_a_registry_that_cannot_be_read_is_left_alone(store: ApprovalStore, file: Path, data: bytes) -> None:
    """S10.3: reading and writing fail, and the bytes stay."""
    file.parent.mkdir()
    file.write_bytes(data)

    with pytest.raises(RegistryDamaged, match=r"left as it is"):
        store.read()
    with pytest.raises(RegistryDamaged):
        store.apply([reserve(1)])

    assert file.read_bytes() == data


def test_a_damaged_entry_is_kept_and_not_touched(store: ApprovalStore, file: Path) -> None:
    """A3: its id can neither be used nor reserved, the others go on, and every write keeps it."""
    file.parent.mkdir()
    file.write_text('{"hermes-7": {"status": "escalated"}}')

    answers = store.apply([reserve(7), Request("hermes-7", ClaimConsume("k")), reserve(1)])

    assert [type(answer) for answer in answers] == [EntryDamaged, EntryDamaged, Transition]
    assert json.loads(file.read_text())["hermes-7"] == {"status": "escalated"}
    assert list(store.read().reasons) == ["hermes-7"]


def test_reading_leaves_no_trace(store: ApprovalStore, file: Path) -> None:
    """A home without approvals stays without files when somebody looks."""
    assert list(store.read()) == []
    assert not file.parent.exists()


def test_threads_lose_nothing(file: Path) -> None:
    """S10.5: eight threads with 24 ids each, over two stores of one file."""
    stores = [ApprovalStore(file), ApprovalStore(file)]

    def record(thread: int) -> None:
        for number in range(24):
            stores[thread % 2].apply([reserve(f"{thread}-{number}")])

    threads = [threading.Thread(target=record, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(ApprovalStore(file).read().entries) == 8 * 24


def _claim_all(file: Path, process: str, won: Any) -> None:
    store = ApprovalStore(file)
    answers = store.apply([Request(f"hermes-{number}", ClaimConsume(process)) for number in range(50)])
    won.put((process, sum(1 for answer in answers if isinstance(answer, Transition) and answer.is_change)))


def test_processes_share_the_claims_out(file: Path) -> None:
    """S10.6: of four processes that want every approval, each approval gets exactly one."""
    store = ApprovalStore(file)
    store.apply([reserve(number) for number in range(50)])
    store.apply([Request(f"hermes-{number}", Activate(f"c{number}", 9e12, "owner-1")) for number in range(50)])
    context = multiprocessing.get_context("spawn")
    won = context.Queue()
    processes = [context.Process(target=_claim_all, args=(file, f"p{number}", won)) for number in range(4)]
    for process in processes:
        process.start()
    wins = dict(won.get(timeout=60) for _ in processes)
    for process in processes:
        process.join(60)

    assert sum(wins.values()) == 50
    held = [entry.claim(ClaimKind.CONSUME) for entry in store.read()]
    assert {claim.id for claim in held if claim is not None} <= set(wins)
    assert None not in held


def test_another_process_keeps_the_lock(file: Path) -> None:
    """D28, A2: a lock that does not come free is an error in time, and nothing was done."""
    store = ApprovalStore(file, lock_s=0.05)
    store.apply([reserve(1)])
    before = file.read_bytes()

    with FileLock(file.with_name(".detached-approvals.lock")), pytest.raises(LockTimeout):
        store.apply([reserve(2)])

    assert file.read_bytes() == before
    assert len(store.apply([reserve(2)])) == 1


@pytest.mark.parametrize("call", [ApprovalStore.read, ApprovalStore.audit, ApprovalStore.prune, ApprovalStore.old])
def test_who_only_reads_holds_the_lock_too(file: Path, call: Callable[[ApprovalStore], object]) -> None:
    """R10.2: the published plugin replaces the file under the lock, and ours is not to read around it."""
    store = ApprovalStore(file, lock_s=0.0)
    store.apply([reserve(1)])

    with FileLock(file.with_name(".detached-approvals.lock")), pytest.raises(LockTimeout):
        call(store)


class CountingDisk(Disk):
    """Counts synchronisations; fails at a named call when told to."""

    def __init__(self) -> None:
        self.syncs = 0
        self.fails_at: str | None = None

    def rename(self, source: Path, target: Path) -> None:
        if self.fails_at == "rename":
            raise OSError(errno.ENOSPC, "No space left on device")
        super().rename(source, target)

    def sync(self, descriptor: int) -> None:
        self.syncs += 1
        super().sync(descriptor)


def test_a_batch_is_one_write(file: Path) -> None:
    """Issue's number: fifty transitions that come together cost one replacement; a batch of no-ops costs none."""
    disk = CountingDisk()
    store = ApprovalStore(file, disk=disk)

    store.apply([reserve(number) for number in range(50)])
    once, before = disk.syncs, file.stat().st_ino
    store.apply([Request(f"hermes-{number}", ClaimConsume("k")) for number in range(50)])

    assert once == 6, "registry and folder, trail; and once the record of its end, and the folder for both their names"
    assert disk.syncs == once
    assert file.stat().st_ino == before
    store.apply([Request("hermes-1", SeeReceipt()), Request("hermes-2", SeeReceipt())])
    assert disk.syncs == once + 3


def test_a_full_disk_changes_nothing(file: Path) -> None:
    """R10.3: neither the file nor what this process believes is in it."""
    disk = CountingDisk()
    store = ApprovalStore(file, disk=disk)
    store.apply([reserve(1)])
    before = file.read_bytes()
    disk.fails_at = "rename"

    with pytest.raises(DiskError):
        store.apply([Request("hermes-1", SeeReceipt())])

    assert file.read_bytes() == before
    assert sorted(path.name for path in file.parent.iterdir() if path.suffix == ".tmp") == []
    assert not store.read().entries["hermes-1"].is_receipt_pending


@pytest.mark.parametrize("linked", ["the file", "the folder"])
@pytest.mark.parametrize("look", ["read", "audit", "old", "prune", "apply"])
def test_a_link_to_nowhere_is_no_empty_registry(tmp_path: Path, linked: str, look: str) -> None:
    """R10.4: what lies behind it may be away for a moment; who takes that for "none" asks the human a second time."""
    folder = tmp_path / "canon-home"
    if linked == "the folder":
        folder.symlink_to(tmp_path / "unmounted")
    else:
        folder.mkdir()
        (folder / "detached-approvals.json").symlink_to(tmp_path / "unmounted" / "registry.json")
    store = ApprovalStore(folder / "detached-approvals.json")
    calls = {"apply": lambda: store.apply([reserve(1)])}

    with pytest.raises(CanonOpsError, match=r"link|cannot|could not|exists"):
        calls.get(look, getattr(store, look))()

    assert not (tmp_path / "unmounted").exists()


def test_what_others_write_is_seen(store: ApprovalStore, file: Path) -> None:
    """The memory of this process is never older than the file, even when only one byte differs."""
    store.apply([reserve(1)])
    file.write_bytes(file.read_bytes().replace(b"convo-9", b"convo-8"))

    assert store.read().entries["hermes-1"].conversation_id == "convo-8"


def test_errors_are_answers(store: ApprovalStore) -> None:
    """One impossible event hinders no other of its batch."""
    answers = store.apply([reserve(1), reserve(1), Request("nobody", Activate("c", 1, "u")), reserve(2)])

    assert [type(answer) for answer in answers] == [Transition, AlreadyReserved, ClaimLost, Transition]
    assert set(store.read().entries) == {"hermes-1", "hermes-2"}
    with pytest.raises(AlreadyReserved):
        store.apply_one("hermes-1", reserve(1).event)


def test_a_trail_that_cannot_be_written_prevents_the_change(file: Path) -> None:
    """What would not be told is not done; the registry stays as it is."""
    store = ApprovalStore(file)
    store.apply([reserve(1)])
    before = file.read_bytes()
    trail = file.with_name("detached-approvals.audit")
    trail.unlink()
    trail.mkdir()

    with pytest.raises(DiskError):
        store.apply([reserve(2)])

    assert file.read_bytes() == before


def test_old_ends_are_pruned_with_a_write(file: Path) -> None:
    """S10.9: any write drops them, and `prune` does without one."""
    file.parent.mkdir()
    old = {"approvalId": "old", "conversationId": "c", "status": "expired", "expiresAt": 1, "resolvedAt": 1}
    alive = {"approvalId": "alive", "conversationId": "c", "status": "pending", "expiresAt": 1}
    file.write_text(json.dumps({"old": old, "alive": alive}))
    store = ApprovalStore(file, clock=ManualClock(now_ms=2_000_000_000))

    assert set(store.read().entries) == {"old", "alive"}
    assert [entry.approval_id for entry in store.prune()] == ["old"]
    assert set(store.read().entries) == {"alive"}
    assert store.prune() == ()
    file.write_text(json.dumps({"old": old, "alive": alive}))
    store.apply([reserve(1)])
    assert set(store.read().entries) == {"alive", "hermes-1"}


@pytest.mark.parametrize(("age_ms", "is_kept"), [(1_209_600_000, True), (1_209_600_001, False)])
def test_an_end_is_kept_for_fourteen_days(file: Path, age_ms: int, is_kept: bool) -> None:
    """R10.6, R10.7: then the next write drops it; the number is the published plugin's, too."""
    file.parent.mkdir()
    ended_ms = 9_000_000
    end = {"approvalId": "end", "conversationId": "c", "status": "expired", "expiresAt": 1, "resolvedAt": ended_ms}
    file.write_text(json.dumps({"end": end}))

    ApprovalStore(file, clock=ManualClock(now_ms=ended_ms + age_ms)).apply([reserve(1)])

    assert ("end" in ApprovalStore(file).read().entries) is is_kept


def test_a_lease_of_another_process_stands(store: ApprovalStore) -> None:
    """S10.6, S10.7: whoever comes second gets nothing, and the holder can still finish."""
    store.apply([reserve(1)])
    store.apply_one("hermes-1", Activate("c1", 9e12, "owner-1"))
    store.apply_one("hermes-1", ClaimConsume("theirs", "p1"))

    mine = store.apply_one("hermes-1", ClaimConsume("mine", "p2"))
    theirs = store.apply_one("hermes-1", FinishConsume("theirs", Decided(Decision.ALLOW, "owner-1"), wakes=True))

    assert mine.entry is not None
    assert not mine.is_change
    assert mine.entry.claim(ClaimKind.CONSUME) == Claim("theirs", 65_000, "p1")
    assert theirs.entry is not None
    assert theirs.entry.status is Status.RESOLVED
