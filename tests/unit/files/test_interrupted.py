"""What a killed commit leaves is told by a reader, without a lock and without a change."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from canon_ops.errors import InternalError
from canon_ops.files.interrupted import find_interrupted, pending_texts
from canon_ops.files.lock import FileLock
from canon_ops.files.transaction import Transaction, digest
from tests.support.crash import KillingDisk, contents, make_home, play, three_files

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


HALF_FROM = 42  # steps; a little before the first rename


@pytest.fixture
def above() -> Iterator[Path]:
    """A folder in memory where there is one."""
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


def files_of(home: Path) -> dict[str, bytes]:
    """Every file of a home but the lock, whose look at the time is its own."""
    return {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def test_each_point_of_a_kill_is_told_as_it_is(above: Path) -> None:
    """Two changes, a new file and a deletion, killed before each step: what is told is what recovery then does."""
    pattern = make_home(above)
    told: Counter[str] = Counter()
    old = contents(pattern)
    point = 0
    while True:
        point += 6 if point < HALF_FROM else 1
        home = above / str(point) / "home"
        shutil.copytree(pattern, home, symlinks=True)
        if play(three_files, home, KillingDisk(point)) == "done":
            assert find_interrupted(home) is None
            break
        before, now = files_of(home), contents(home)

        found = find_interrupted(home)
        texts = pending_texts(found) if found is not None else ()

        assert files_of(home) == before, point
        with Transaction(home) as transaction:
            repaired = transaction.repaired
        assert find_interrupted(home) is None
        if found is None:
            assert repaired is None, point
            told["nothing"] += 1
            continue
        assert repaired is not None, point
        assert repaired.outcome == ("finished" if found.is_committed else "discarded"), point
        if not found.is_committed:
            assert (now, found.is_half) == (old, False), point
            told["not begun"] += 1
            continue
        new = contents(home)
        assert found.record is not None
        assert len(found.files) == 4
        assert found.is_half == (now != new), point
        told["half" if found.is_half else "whole"] += 1
        digests = [(digest(one), digest(other)) for one, other in texts]
        assert digests == [(file.before, file.after) for file in found.record.files]
        shutil.rmtree(home.parent)

    assert set(told) == {"nothing", "not begun", "half", "whole"}, told
    assert told["half"] >= 6, told


def half(above: Path) -> Path:
    """A home in the middle of a commit."""
    point = HALF_FROM
    while True:
        point += 1
        home = make_home(above / str(point))
        assert play(three_files, home, KillingDisk(point)) == "killed"
        if (found := find_interrupted(home)) is not None and found.is_half and "new" in found.files.values():
            return home


def test_a_commit_that_is_under_way_is_not_interrupted(above: Path) -> None:
    """The lock is held: its process will go on. Once the lock is free and nothing went on, it is."""
    home = half(above)

    with FileLock(home / ".canon-ops" / "lock"):
        assert find_interrupted(home) is None

    assert find_interrupted(home) is not None


def test_the_note_in_another_folder_leads_to_the_journal(above: Path) -> None:
    """A Canon home that changes with a Hermes home has a note; one that is out of date leads to nothing."""
    home = half(above)
    other = above / "canon"
    (other / ".canon-ops").mkdir(parents=True)
    (other / ".canon-ops" / "pending-at").write_text(str(home))

    found = find_interrupted(other)

    assert found is not None
    assert found.folder == home
    with Transaction(home):
        pass
    assert find_interrupted(other) is None


def test_a_file_that_somebody_else_wrote_is_told(above: Path) -> None:
    """It is neither old nor new; recovery leaves it and puts the others back."""
    home = half(above)
    (home / ".env").write_bytes(b"MINE=1\n")

    found = find_interrupted(home)

    assert found is not None
    assert found.files[str(home / ".env")] == "foreign"
    with Transaction(home) as transaction:
        assert transaction.repaired is not None
        assert transaction.repaired.outcome == "abandoned"
    assert (home / ".env").read_bytes() == b"MINE=1\n"


def test_a_damaged_journal_is_an_error_with_a_place(above: Path) -> None:
    """Nobody can finish that; the texts are still there, and the message says where."""
    home = half(above)
    (home / ".canon-ops" / "pending" / "entry.json").write_bytes(b"{")

    with pytest.raises(InternalError, match=r"entry\.json cannot be read") as caught:
        find_interrupted(home)

    assert ".before files hold the old texts" in str(caught.value.fix)


def half_in_a_new_folder(above: Path) -> Path:
    """A home in the middle of a commit: two files are new, a third one in a new folder is not there yet."""
    point = HALF_FROM
    while True:
        point += 1
        home = make_home(above / str(point))
        assert play(three_files, home, KillingDisk(point)) == "killed"
        found = find_interrupted(home)
        if found is not None and found.states[:3] == ("new", "new", "old"):
            assert (home / "canon").is_dir()
            return home


def remove(folder: Path) -> None:
    shutil.rmtree(folder)


def remove_and_put_a_file_there(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_bytes(b"mine")


@pytest.mark.parametrize("act", [remove, remove_and_put_a_file_there])
@pytest.mark.parametrize("start", [half, half_in_a_new_folder])
def test_a_folder_that_somebody_removed_holds_nothing_up(
    start: Callable[[Path], Path], act: Callable[[Path], None], above: Path
) -> None:
    """Its file is theirs: the others go back, the folder stays away, and the next command can write."""
    home = start(above)
    act(home / "canon")
    left = sorted(str(path) for path in (home / "canon").parent.glob("canon*"))

    found = find_interrupted(home)

    assert found is not None
    assert found.files[str(home / "canon" / "agents.json")] == "foreign"
    assert found.goes_back()
    with Transaction(home) as transaction:
        assert transaction.repaired is not None
        assert transaction.repaired.outcome == "abandoned"
        transaction.stage(home / ".env", b"NEXT=1\n")
        transaction.commit()
    assert sorted(str(path) for path in (home / "canon").parent.glob("canon*")) == left
    assert (home / "dotfiles" / "hermes.yaml").read_bytes() == b"a: 1\n"
    assert (home / "old.json").read_bytes() == b"{}"


def test_a_folder_in_the_place_of_a_file_is_somebody_elses(above: Path) -> None:
    """What has the name of a file now is no text of ours: it stays, and the others go back."""
    home = half(above)
    (home / ".env").unlink()
    (home / ".env").mkdir()

    with Transaction(home) as transaction:
        assert transaction.repaired is not None
        assert transaction.repaired.outcome == "abandoned"

    assert (home / ".env").is_dir()
    assert (home / "dotfiles" / "hermes.yaml").read_bytes() == b"a: 1\n"


def spoil(text: Path) -> None:
    text.write_bytes(b"!" + text.read_bytes())


DAMAGE = [spoil, Path.unlink, lambda text: text.write_bytes(b"")]


@pytest.mark.parametrize("damage", DAMAGE, ids=["altered", "gone", "emptied"])
def test_a_new_text_that_is_not_what_was_kept_is_never_written(damage: Callable[[Path], None], above: Path) -> None:
    """Of each file that is not written yet: the change is given up, and every file has its old text."""
    home = half_in_a_new_folder(above)
    old = contents(make_home(above / "old"))
    found = find_interrupted(home)
    assert found is not None
    for number, state in enumerate(found.states):
        text = home / ".canon-ops" / "pending" / f"{number}.after"
        if state == "old" and text.exists():
            damage(text)

    assert found.goes_back()
    with Transaction(home) as transaction:
        assert transaction.repaired is not None
        assert transaction.repaired.outcome == "abandoned"

    assert contents(home) == old
    assert find_interrupted(home) is None


@pytest.mark.parametrize("damage", DAMAGE, ids=["altered", "gone", "emptied"])
def test_without_either_text_nothing_is_written(damage: Callable[[Path], None], above: Path) -> None:
    """Neither forward nor back: every file stays as it is, and the error names the text and the way out."""
    home = half_in_a_new_folder(above)
    pending = home / ".canon-ops" / "pending"
    for text in [*pending.glob("*.after"), *pending.glob("*.before")]:
        damage(text)
    before = files_of(home)

    with pytest.raises(InternalError, match=r"no longer the text that was kept") as caught, Transaction(home):
        pass

    assert {path: data for path, data in files_of(home).items() if not path.endswith("/lock")} == {
        path: data for path, data in before.items() if not path.endswith("/lock")
    }
    assert f"move {pending} away" in str(caught.value.fix)
    pending.rename(home / "pending")
    with Transaction(home):
        pass


def test_a_text_that_is_not_needed_may_be_damaged(above: Path) -> None:
    """The old texts are for the history: a commit that only goes forward is finished without them."""
    home = half(above)
    for text in (home / ".canon-ops" / "pending").glob("*.before"):
        spoil(text)

    with Transaction(home) as transaction:
        assert transaction.repaired is not None
        assert transaction.repaired.outcome == "finished"
