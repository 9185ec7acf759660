"""Several files, one change: staging, re-checking, committing, taking back."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from canon_ops.errors import ExitCode, InternalError, RefusedError
from canon_ops.files.history import History, NoSuchEntry, Retention
from canon_ops.files.lock import LockTimeout
from canon_ops.files.records import next_moment
from canon_ops.files.transaction import ChangedUnderUs, FileChange, Transaction, edit_files
from canon_ops.files.undo import undo
from canon_ops.runtime.clock import ManualClock


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "config.yaml").write_bytes(b"a: 1\n")
    (folder / ".env").write_bytes(b"K=1\n")
    return folder


def listing(home: Path) -> set[str]:
    """Every file in the home but our own folder's."""
    return {str(path.relative_to(home)) for path in home.rglob("*") if ".canon-ops" not in path.parts}


def write(home: Path, **texts: bytes) -> str | None:
    """Commit new texts for files given by their names with the dot left out."""
    with Transaction(home) as transaction:
        for name, data in texts.items():
            transaction.stage(home / name, data)
        return transaction.commit()


def test_two_files_change_in_one_commit(home: Path) -> None:
    """What was staged is on disk after the commit, and nothing else lies beside it."""
    with Transaction(home) as transaction:
        transaction.stage(home / "config.yaml", b"a: 2\n")
        transaction.stage(home / ".env", b"K=2\n")
        identity = transaction.commit()

    assert (home / "config.yaml").read_bytes() == b"a: 2\n"
    assert (home / ".env").read_bytes() == b"K=2\n"
    assert listing(home) == {"config.yaml", ".env"}
    assert [record.id for record in History(home).records()] == [identity]


def test_nothing_is_written_before_the_commit(home: Path) -> None:
    """Leaving the block without a commit changes nothing."""
    with Transaction(home) as transaction:
        transaction.stage(home / "config.yaml", b"a: 2\n")
        assert transaction.read(home / "config.yaml") == b"a: 2\n"

    assert (home / "config.yaml").read_bytes() == b"a: 1\n"


def test_no_change_leaves_bytes_and_time_alone(home: Path) -> None:
    """Staging the same bytes is no change: no write, no history, the modification time stays."""
    before = (home / "config.yaml").stat()

    identity = write(home, **{"config.yaml": b"a: 1\n"})

    assert identity is None
    after = (home / "config.yaml").stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    assert History(home).records() == ()


def test_changes_come_with_a_unified_diff(home: Path) -> None:
    """The plan can be shown before it is carried out, with a missing last newline marked and secrets masked."""
    with Transaction(home) as transaction:
        transaction.stage(home / ".env", b"K=1\nTOKEN=abc")
        (change,) = transaction.changes()

    assert change == FileChange(home / ".env", home / ".env", b"K=1\n", b"K=1\nTOKEN=abc")
    assert change.diff(mask=lambda line: line.replace("abc", "[REDACTED]")) == (
        f"--- {home}/.env\n+++ {home}/.env\n@@ -1 +1,2 @@\n K=1\n+TOKEN=[REDACTED]\n\\ No newline at end of file\n"
    )


def test_a_file_changed_meanwhile_is_kept(home: Path) -> None:
    """BR-10: somebody else's write between our reading and our commit wins, with exit 5 and no temporary file."""
    with Transaction(home) as transaction:
        transaction.stage(home / "config.yaml", b"a: 2\n")
        transaction.stage(home / ".env", b"K=2\n")
        (home / ".env").write_bytes(b"K=hand\n")
        with pytest.raises(ChangedUnderUs) as caught:
            transaction.commit()

    assert caught.value.exit_code is ExitCode.CONFLICT
    assert (home / "config.yaml").read_bytes() == b"a: 1\n"
    assert (home / ".env").read_bytes() == b"K=hand\n"
    assert listing(home) == {"config.yaml", ".env"}
    assert not (home / ".canon-ops" / "pending").exists()


def test_a_file_that_was_only_read_counts_too(home: Path) -> None:
    """BR-10: a decision that rests on a file is void when that file changed."""
    with Transaction(home) as transaction:
        transaction.read(home / ".env")
        transaction.stage(home / "config.yaml", b"a: 2\n")
        (home / ".env").unlink()
        with pytest.raises(ChangedUnderUs):
            transaction.commit()


def test_a_changed_file_is_edited_again_on_its_fresh_text(home: Path) -> None:
    """BR-10: the edit runs again on the text that is there now, up to three times."""
    rounds: list[bytes | None] = []

    def edit(transaction: Transaction) -> str | None:
        text = transaction.read(home / "config.yaml")
        rounds.append(text)
        if len(rounds) < 3:
            (home / "config.yaml").write_bytes(b"round: %d\n" % len(rounds))
        transaction.stage(home / "config.yaml", (text or b"") + b"mine: 1\n")
        return transaction.commit()

    edit_files(edit, lambda: Transaction(home))

    assert rounds == [b"a: 1\n", b"round: 1\n", b"round: 2\n"]
    assert (home / "config.yaml").read_bytes() == b"round: 2\nmine: 1\n"


def test_a_file_that_never_holds_still_is_given_up(home: Path) -> None:
    """BR-10: after three rounds the command gives up and says so."""
    counter = iter(range(10))

    def edit(transaction: Transaction) -> str | None:
        transaction.stage(home / "config.yaml", b"mine\n")
        (home / "config.yaml").write_bytes(b"%d\n" % next(counter))
        return transaction.commit()

    with pytest.raises(ChangedUnderUs):
        edit_files(edit, lambda: Transaction(home))

    assert next(counter) == 3


def test_new_files_are_private_when_asked(home: Path) -> None:
    """A new file with a secret is 0600; its new folder is 0700."""
    with Transaction(home) as transaction:
        transaction.stage(home / "canon" / "agents.json", b"{}", private=True)
        transaction.commit()

    assert stat.S_IMODE((home / "canon" / "agents.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "canon").stat().st_mode) == 0o700


def test_the_history_is_private(home: Path) -> None:
    """History holds old keys: its files are 0600 and its folders 0700."""
    write(home, **{".env": b"K=2\n"})

    for path in (home / ".canon-ops").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_a_link_named_twice_is_one_file(home: Path) -> None:
    """A link and its target are the same file: the second staging continues the first."""
    (home / "link").symlink_to(home / "config.yaml")

    with Transaction(home) as transaction:
        transaction.stage(home / "link", b"a: 2\n")
        assert transaction.read(home / "config.yaml") == b"a: 2\n"
        assert len(transaction.changes()) == 1
        transaction.commit()

    assert (home / "link").is_symlink()
    assert (home / "config.yaml").read_bytes() == b"a: 2\n"


def test_the_lock_is_bounded(home: Path) -> None:
    """A second writer gives up after its limit with exit 5."""
    with Transaction(home), pytest.raises(LockTimeout), Transaction(home, timeout_s=0.05):
        pass


def test_a_dry_run_leaves_no_trace(home: Path) -> None:
    """A dry run plans and writes nothing, not even our own folder."""
    names = listing(home)

    with Transaction(home, dry_run=True) as transaction:
        transaction.stage(home / "config.yaml", b"a: 2\n")
        assert len(transaction.changes()) == 1
        assert transaction.commit() is None

    assert listing(home) == names
    assert not (home / ".canon-ops").exists()


def test_a_dry_run_takes_no_lock(home: Path) -> None:
    """BR-10: a dry run works beside a running writer."""
    with Transaction(home), Transaction(home, dry_run=True, timeout_s=0) as transaction:
        transaction.stage(home / "config.yaml", b"a: 2\n")

        assert len(transaction.changes()) == 1


def test_a_refusal_handed_in_stops_the_staging(home: Path) -> None:
    """A managed home refuses with the sentence of whoever manages it."""

    def refuse(path: Path) -> RefusedError | None:
        return RefusedError(f"{path.name} is managed by NixOS") if path.name == "config.yaml" else None

    with Transaction(home, refuse=refuse) as transaction:
        transaction.stage(home / ".env", b"K=2\n")
        with pytest.raises(RefusedError, match="NixOS"):
            transaction.stage(home / "config.yaml", b"a: 2\n")


def test_an_expected_digest_is_checked(home: Path) -> None:
    """--if-unchanged: the file must have the digest that the caller saw."""
    with Transaction(home) as transaction:
        transaction.expect(home / "absent", "")
        with pytest.raises(ChangedUnderUs):
            transaction.expect(home / "config.yaml", "00" * 32)


def test_a_commit_outside_its_block_is_our_mistake(home: Path) -> None:
    """Without the lock nothing is committed."""
    with pytest.raises(InternalError):
        Transaction(home).commit()


def test_undo_brings_back_every_byte(home: Path) -> None:
    """Undo restores changed files, deletes created ones and brings back deleted ones, with their modes."""
    (home / ".env").chmod(0o640)
    with Transaction(home, label="config set a 2") as transaction:
        transaction.stage(home / "config.yaml", b"a: 2\n")
        transaction.stage(home / ".env", None)
        transaction.stage(home / "new", b"n", private=True)
        transaction.commit()
    assert listing(home) == {"config.yaml", "new"}

    with Transaction(home) as transaction:
        record = undo(transaction)
        transaction.commit()

    assert record.label == "config set a 2"
    assert listing(home) == {"config.yaml", ".env"}
    assert (home / "config.yaml").read_bytes() == b"a: 1\n"
    assert (home / ".env").read_bytes() == b"K=1\n"
    assert stat.S_IMODE((home / ".env").stat().st_mode) == 0o640


def test_undo_goes_back_one_further_each_time(home: Path) -> None:
    """Undo, undo walks back through the commits; then there is nothing left."""
    for number in (2, 3):
        write(home, **{"config.yaml": b"a: %d\n" % number})

    for expected in (b"a: 2\n", b"a: 1\n"):
        with Transaction(home) as transaction:
            undo(transaction)
            transaction.commit()
        assert (home / "config.yaml").read_bytes() == expected
    with Transaction(home) as transaction, pytest.raises(NoSuchEntry):
        undo(transaction)


@pytest.mark.parametrize("step_ms", [0, -5_000])
def test_the_order_of_commits_does_not_depend_on_which_history_they_are_in(step_ms: int, home: Path) -> None:
    """A file that two folders write has entries in both; the later one is the newer, also within a millisecond."""
    other = home.parent / "other"
    other.mkdir()
    ids: list[str] = []
    for number in range(8):
        clock = ManualClock(1_790_000_000_000 + number * step_ms)
        folder, also = (home, [other]) if number % 2 else (other, [home])
        with Transaction(folder, clock=clock, also=also) as transaction:
            transaction.stage(home / "shared.txt", str(number).encode())
            ids.append(str(transaction.commit()))

    assert ids == sorted(ids)


@pytest.mark.parametrize("step_ms", [0, -3_600_000, 1], ids=["stands still", "is set back", "goes on"])
def test_the_order_of_commits_does_not_depend_on_the_clock(step_ms: int, home: Path) -> None:
    """Whatever the clock does between two commits, undo takes back the newest, and retention keeps it."""
    start_ms = ManualClock().now_ms()

    def transaction(number: int) -> Transaction:
        return Transaction(home, clock=ManualClock(start_ms + number * step_ms), retention=Retention(entries=15))

    ids: list[str | None] = []
    for number in range(1, 21):
        with transaction(number) as one:
            one.stage(home / "config.yaml", b"b: %d\n" % number)
            ids.append(one.commit())

    newest_first = History(home).records()
    assert [record.id for record in newest_first] == ids[:4:-1]
    assert [record.time_ms for record in newest_first] == [start_ms + n * step_ms for n in range(20, 5, -1)]

    for expected in range(19, 12, -1):
        with transaction(40 - expected) as one:
            undo(one)
            one.commit()
        assert (home / "config.yaml").read_bytes() == b"b: %d\n" % expected


@pytest.mark.parametrize("name", ["20269999T996199.000Z-1a2b", "29990101T000000.000Z", "a snapshot", ""])
def test_a_name_that_is_no_id_moves_no_time(name: str) -> None:
    """A folder of somebody else in the history has no say in the order."""
    assert next_moment(1_790_000_000_123, [name]) == "20260921T141320.123Z"


def test_an_undo_can_be_undone_by_its_id(home: Path) -> None:
    """Undo of an undo brings the change back, and then the first commit is in force again."""
    first = write(home, **{"config.yaml": b"a: 2\n"})
    with Transaction(home) as transaction:
        undo(transaction)
        taken_back = transaction.commit()

    with Transaction(home) as transaction:
        undo(transaction, taken_back)
        transaction.commit()

    assert (home / "config.yaml").read_bytes() == b"a: 2\n"
    assert History(home).latest_to_undo().id == first


def test_undo_refuses_a_file_that_changed_since(home: Path) -> None:
    """Taking back an old commit would lose a later change: exit 5, nothing staged to disk."""
    identity = write(home, **{"config.yaml": b"a: 2\n"})
    (home / "config.yaml").write_bytes(b"a: hand\n")

    with Transaction(home) as transaction, pytest.raises(ChangedUnderUs):
        undo(transaction, identity)

    assert (home / "config.yaml").read_bytes() == b"a: hand\n"


def test_old_history_goes(home: Path) -> None:
    """Retention keeps the newest entries, and none that are too old."""
    clock = ManualClock()

    def commit(number: int) -> None:
        with Transaction(home, clock=clock, retention=Retention(entries=3, days=1)) as transaction:
            transaction.stage(home / "config.yaml", b"a: %d\n" % number)
            transaction.commit()

    for number in range(10, 15):
        commit(number)
    assert len(History(home).records()) == 3
    late = ManualClock(now_ms=clock.now_ms() + 2 * 86_400_000)
    with Transaction(home, clock=late, retention=Retention(entries=3, days=1)) as transaction:
        transaction.stage(home / "config.yaml", b"a: late\n")
        transaction.commit()
    assert len(History(home).records()) == 1


def test_a_snapshot_keeps_the_text_and_touches_nothing(home: Path) -> None:
    """The entry has the present text on both sides; file and mtime stay, and there is nothing to undo."""
    file = home / "config.yaml"
    before = file.stat()

    with Transaction(home, label="snapshot") as transaction:
        identity = transaction.keep(file)

    (record,) = History(home).records()
    assert (record.id, record.outcome, record.label) == (identity, "kept", "snapshot")
    assert History(home).texts(record, "after") == (b"a: 1\n",)
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert listing(home) == {"config.yaml", ".env"}
    for undone in (None, identity):
        with Transaction(home) as transaction, pytest.raises(NoSuchEntry):
            undo(transaction, undone)


def test_a_snapshot_that_was_interrupted_is_filed_or_forgotten(home: Path) -> None:
    """Before its commit point nothing is left of it; after it the next start files the entry."""
    for left, expected in (("intent.json", 0), ("entry.json", 1)):
        with Transaction(home) as transaction:
            transaction.keep(home / "config.yaml")
        (entry,) = (home / ".canon-ops" / "history").iterdir()
        entry.rename(home / ".canon-ops" / "pending")
        pending = home / ".canon-ops" / "pending"
        (pending / "entry.json").rename(pending / left)

        with Transaction(home):
            pass

        assert len(History(home).records()) == expected
        assert not pending.exists()
        assert (home / "config.yaml").read_bytes() == b"a: 1\n"


def test_a_snapshot_needs_a_file_and_a_dry_run_keeps_none(home: Path) -> None:
    """What is not there cannot be kept."""
    with Transaction(home) as transaction, pytest.raises(NoSuchEntry):
        transaction.keep(home / "nothing.yaml")
    with Transaction(home, dry_run=True) as transaction:
        assert transaction.keep(home / "config.yaml") is None
    assert not (home / ".canon-ops" / "history").exists()
