"""The lock: exclusive, bounded, never deleted, and able to name who holds it."""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from canon_ops.errors import ExitCode
from canon_ops.files.disk import DiskError
from canon_ops.files.lock import FileLock, FolderLock, LockTimeout, holder_of


def test_a_second_holder_times_out_with_the_conflict_code(tmp_path: Path) -> None:
    """BR-52: the wait for a lock has a deadline, and its end is exit 5 with the holder's number."""
    path = tmp_path / "lock"

    with FileLock(path), pytest.raises(LockTimeout) as caught, FileLock(path, timeout_s=0.05):
        pass

    assert caught.value.exit_code is ExitCode.CONFLICT
    assert str(path) in caught.value.what
    if sys.platform == "linux":
        assert f"process {os.getpid()}" in caught.value.what


@pytest.mark.parametrize("file_system", ["nfs4", "cifs", None])
def test_on_a_network_mount_the_end_of_a_wait_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_system: str | None
) -> None:
    """BR-52: a lock there may outlive its process, and whoever waited in vain should know."""
    monkeypatch.setattr("canon_ops.files.lock.network_file_system", lambda _path: file_system)
    path = tmp_path / "lock"

    with FileLock(path), pytest.raises(LockTimeout) as caught, FileLock(path, timeout_s=0.05):
        pass

    assert (file_system is None) == ("may outlive its process" not in caught.value.what)
    assert file_system is None or f"on {file_system}" in caught.value.what


def test_a_release_that_fails_is_no_failure_of_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BR-52: ESTALE at the release; what was written is written, and the next one has the lock."""
    path, close = tmp_path / "lock", os.close
    forgotten: list[int] = []

    def stale(descriptor: int) -> None:
        close(descriptor)
        forgotten.append(descriptor)
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    with FileLock(path):
        monkeypatch.setattr("canon_ops.files.lock.os.close", stale)
    monkeypatch.undo()

    assert len(forgotten) == 1
    with FileLock(path, timeout_s=0.05):
        pass


def test_the_lock_file_stays_and_is_private(tmp_path: Path) -> None:
    """BR-52: the lock file is never deleted, so that everybody locks the same inode."""
    path = tmp_path / "deep" / "er" / "lock"

    with FileLock(path):
        inode = path.stat().st_ino
    with FileLock(path):
        pass

    assert path.stat().st_ino == inode
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_released_lock_is_free_and_has_no_holder(tmp_path: Path) -> None:
    """Leaving the block frees the lock, also after an error."""
    path = tmp_path / "lock"

    with pytest.raises(ZeroDivisionError), FileLock(path):
        raise ZeroDivisionError

    with FileLock(path, timeout_s=0):
        pass
    assert holder_of(path) is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who stands in the turnstile")
def test_nobody_is_starved_by_one_who_comes_again_at_once(tmp_path: Path) -> None:
    """Who waits gets the lock at its next release, though the holder asks for it again without a pause."""
    path = tmp_path / "lock"
    got = threading.Event()

    def wait() -> None:
        with FileLock(path, timeout_s=30):
            got.set()

    waiter = threading.Thread(target=wait)
    rounds = 0
    with FileLock(path):
        waiter.start()
        while not (path.with_name("lock.next").exists() and holder_of(path.with_name("lock.next"))):
            pass  # until the waiter stands in the turnstile
    while not got.is_set():
        with FileLock(path, timeout_s=30):
            rounds += 1
    waiter.join()

    assert rounds <= 1


@pytest.mark.parametrize("name", ["lock", "lock.next"])
def test_a_link_in_the_locks_place_is_refused(tmp_path: Path, name: str) -> None:
    """Locking another file than everybody else would lock nothing, and would make a file where the link leads."""
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(DiskError), FileLock(tmp_path / "lock"):
        pytest.fail("it was locked")

    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_is_locked_without_a_trace(tmp_path: Path) -> None:
    """It excludes a second holder like a file does, and nothing lies in the folder during it or afterwards."""
    with FolderLock(tmp_path):
        with pytest.raises(LockTimeout) as caught, FolderLock(tmp_path, timeout_s=0):
            pass
        during = list(tmp_path.iterdir())

    with FolderLock(tmp_path, timeout_s=0):
        pass

    assert caught.value.exit_code is ExitCode.CONFLICT
    assert (during, list(tmp_path.iterdir())) == ([], [])
