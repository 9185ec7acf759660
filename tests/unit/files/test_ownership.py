"""BR-12: what root makes in a service user's home belongs to that user, and the user can go on with it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from canon_ops.cli.completion.cache import Cache
from canon_ops.doctor.bundle import Bundle, write_bundle
from canon_ops.durable import read_once, write_once
from canon_ops.files.atomic import replace_file
from canon_ops.files.disk import Disk
from canon_ops.files.lock import FileLock
from canon_ops.files.transaction import Transaction
from canon_ops.files.undo import undo
from canon_ops.runtime.ownership import heir
from tests.support import letters
from tests.support.crash import KillingDisk, play

SERVICE = (4711, 4712)

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root works in somebody else's folder"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


@pytest.fixture
def home() -> Iterator[Path]:
    """A home of the service user, with a config.yaml of theirs, below a folder that anybody may enter."""
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as above:
        Path(above).chmod(0o755)
        home = Path(above, "home")
        home.mkdir(mode=0o700)
        (home / "config.yaml").write_bytes(b"a: 1\n")
        for path in (home, home / "config.yaml"):
            os.chown(path, *SERVICE)
        yield home


def owners(home: Path) -> dict[str, tuple[int, int]]:
    """Whom each file and folder belongs to that is not the service user's."""
    found = {str(path.relative_to(home)): (path.lstat().st_uid, path.lstat().st_gid) for path in home.rglob("*")}
    return {name: owner for name, owner in found.items() if owner != SERVICE}


def as_service(work: Callable[[Path, Disk], None], home: Path) -> str:
    """Run ``work`` as the service user; how it ended, as ``play`` tells it."""

    def unprivileged(home: Path, disk: Disk) -> None:
        os.setgroups([])
        os.setgid(SERVICE[1])
        os.setuid(SERVICE[0])
        assert os.geteuid() != 0
        work(home, disk)

    return play(unprivileged, home, Disk())


def edit(home: Path, disk: Disk) -> None:
    """Change a file, make one in a new folder, and one whose mode the umask decides."""
    with Transaction(home, disk=disk) as transaction:
        transaction.stage(home / "config.yaml", (transaction.read(home / "config.yaml") or b"") + b"# more\n")
        transaction.stage(home / "canon" / "agents.json", b"{}", private=True)
        transaction.stage(home / "notes", os.urandom(8))
        transaction.commit()


def take_back(home: Path, disk: Disk) -> None:
    with Transaction(home, disk=disk) as transaction:
        undo(transaction)
        transaction.commit()


def test_an_edit_by_root_leaves_everything_to_the_owner_of_the_home(home: Path) -> None:
    """Lock, journal, history and new files in new folders; the user edits after it, and takes root's edit back."""
    edit(home, Disk())

    assert owners(home) == {}
    assert as_service(take_back, home) == "done"
    assert (home / "config.yaml").read_bytes() == b"a: 1\n"
    assert as_service(edit, home) == "done"


def test_a_killed_edit_by_root_is_finished_by_the_user(home: Path) -> None:
    """Killed at any step at which the folder of the journal stands, what is there can be repaired without root."""
    edit(home, Disk())  # lock and history are there: what is new is the journal and the temporary files
    before = (home / "config.yaml").read_bytes()
    point = 0
    while True:
        point += 1
        if play(edit, home, KillingDisk(point)) == "done":
            break
        wrong = {name for name in owners(home) if home.joinpath(name).is_file()}
        assert all(home.joinpath(name).stat().st_size == 0 for name in wrong), point  # made, not yet handed over
        if not owners(home):
            assert as_service(take_nothing, home) == "done", point
        else:
            take_nothing(home, Disk())
        assert owners(home) == {}, point
        assert not list(home.rglob("*.tmp")), point
        assert (home / "config.yaml").read_bytes() in (before, before + b"# more\n"), point
        before = (home / "config.yaml").read_bytes()
    assert point > 20


def take_nothing(home: Path, disk: Disk) -> None:
    """Enter a transaction, which repairs, and change nothing."""
    with Transaction(home, disk=disk):
        pass


def test_a_lock_a_state_file_and_a_bundle(home: Path) -> None:
    """What is written outside a transaction: locks, files that only we write, and the doctor's bundle."""
    with FileLock(home / "plugins" / "canon" / "lock"):
        pass
    replace_file(home / "cards" / "health.json", b"{}")
    write_bundle(home / "bundle.zip", Bundle((), ()), now_ms=1_800_000_000_000)

    assert owners(home) == {}


def test_a_database_that_root_makes_is_the_users(home: Path) -> None:
    """The folder, the file, and the log that SQLite keeps beside it; the user writes on."""
    path = home / "plugins" / "canon" / "state.sqlite3"

    write_once(path, letters.SCHEMA, letters.post, "ada", 1, ["one"])

    assert owners(home) == {}

    def write_on(home: Path, _disk: Disk) -> None:
        write_once(path, letters.SCHEMA, letters.post, "ada", 2, ["two"])

    assert as_service(write_on, home) == "done"
    write_once(path, letters.SCHEMA, letters.post, "ada", 3, ["three"])
    assert len(read_once(path, letters.SCHEMA, letters.waiting)) == 3
    assert owners(home) == {}


def test_a_file_that_is_roots_stays_roots(home: Path) -> None:
    """An owner that somebody chose is kept; only what is new goes to the owner of the folder."""
    (home / "config.yaml").unlink()
    (home / "config.yaml").write_bytes(b"a: 1\n")

    edit(home, Disk())

    assert owners(home) == {"config.yaml": (0, 0)}


def test_nothing_is_given_away_in_a_folder_of_ones_own(tmp_path: Path) -> None:
    """Root's own folder, and a folder that everybody may write to."""
    assert heir(tmp_path) is None
    os.chown(tmp_path, *SERVICE)
    assert heir(tmp_path) == SERVICE


def test_answers_to_the_shell_are_not_kept_in_somebody_elses_cache(home: Path) -> None:
    """Root's Tab in a user's shell leaves no folder that the user could not write to; in a folder of root's it does."""
    for base, kept in ((home / ".cache", False), (home.parent / "cache", True)):
        cache = Cache({"XDG_CACHE_HOME": str(base)}, "canon-ops 0", "question")
        cache.write([], ["answer"])

        assert (cache.read() == ["answer"]) is kept
        assert base.exists() is kept
