"""Two folders in one commit: one journal, a note in the other, repair from either side."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.errors import CanonOpsError
from canon_ops.files.lock import LockTimeout
from canon_ops.files.transaction import Transaction
from tests.support.crash import KillingDisk, play


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    hermes, canon = tmp_path / "hermes", tmp_path / "canon"
    hermes.mkdir()
    canon.mkdir()
    (hermes / ".env").write_bytes(b"A=1\n")
    (canon / "agents.json").write_bytes(b"{}")
    return hermes, canon


def both(hermes: Path, canon: Path, **options: object) -> Transaction:
    return Transaction(hermes, also=(canon,), **options)  # type: ignore[arg-type]


def change(transaction: Transaction, hermes: Path, canon: Path) -> None:
    transaction.stage(hermes / ".env", b"A=2\n")
    transaction.stage(canon / "agents.json", b'{"agents": {}}')
    transaction.commit()


def texts(hermes: Path, canon: Path) -> tuple[bytes, bytes]:
    return (hermes / ".env").read_bytes(), (canon / "agents.json").read_bytes()


OLD, NEW = (b"A=1\n", b"{}"), (b"A=2\n", b'{"agents": {}}')


def test_both_folders_change_and_no_note_is_left(folders: tuple[Path, Path]) -> None:
    """After the commit both files are new, and the further folder holds nothing but its lock."""
    hermes, canon = folders

    with both(hermes, canon) as transaction:
        change(transaction, hermes, canon)

    assert texts(hermes, canon) == NEW
    assert {path.name for path in (canon / ".canon-ops").iterdir()} == {"lock", "lock.next"}


def test_each_folder_is_locked(folders: tuple[Path, Path]) -> None:
    """Who writes only the further folder waits for a command that holds both, and the other way round."""
    hermes, canon = folders

    with both(hermes, canon), pytest.raises(LockTimeout), Transaction(canon, timeout_s=0.05):
        pass
    with Transaction(canon), pytest.raises(LockTimeout), both(hermes, canon, timeout_s=0.05):
        pass
    with both(hermes, canon, timeout_s=0.05):  # the failed attempt has let go of the first lock
        pass


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_crash_is_repaired_from_either_folder(tmp_path: Path) -> None:
    """Killed at each step; the next command is one that knows only the further folder: all or nothing in both."""
    outcomes = set()
    for point in range(1, 60):
        hermes, canon = tmp_path / f"h{point}", tmp_path / f"c{point}"
        hermes.mkdir()
        canon.mkdir()
        (hermes / ".env").write_bytes(OLD[0])
        (canon / "agents.json").write_bytes(OLD[1])

        def commit(home: Path, disk: KillingDisk, canon: Path = canon) -> None:
            with both(home, canon, disk=disk) as transaction:
                change(transaction, home, canon)

        how = play(commit, hermes, KillingDisk(point))  # type: ignore[arg-type]
        with Transaction(canon):
            pass
        now = texts(hermes, canon)
        assert now in (OLD, NEW), point
        assert not [*hermes.rglob("*.tmp"), *canon.rglob("*.tmp")]
        assert not (canon / ".canon-ops" / "pending-at").exists()
        outcomes.add((how, now == NEW))
        if how == "done":
            break
    assert outcomes == {("killed", False), ("killed", True), ("done", True)}


def test_a_note_that_leads_nowhere_is_cleared(folders: tuple[Path, Path]) -> None:
    """A torn note, or one whose folder is gone, stops nobody."""
    _, canon = folders
    for text in (b"", b"/nowhere/at/all", b"\xff"):
        (canon / ".canon-ops").mkdir(exist_ok=True)
        (canon / ".canon-ops" / "pending-at").write_bytes(text)

        with Transaction(canon):
            pass

        assert not (canon / ".canon-ops" / "pending-at").exists()


def test_a_failed_commit_takes_its_note_back(folders: tuple[Path, Path]) -> None:
    """When nothing was written, no note stays."""
    hermes, canon = folders

    with both(hermes, canon) as transaction:
        transaction.stage(canon / "agents.json", b"x")
        (canon / "agents.json").write_bytes(b"foreign")
        with pytest.raises(CanonOpsError):
            transaction.commit()

    assert not (canon / ".canon-ops" / "pending-at").exists()
