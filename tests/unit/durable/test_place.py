"""The file's place: private from its first moment, refused when somebody else has a hand in it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from canon_ops.durable import Transaction, read_once, write_once
from canon_ops.durable.place import check_file, companions, prepare
from canon_ops.durable.problems import NoDatabase, NotWritable, UnsafeFile
from tests.support import letters


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def no_umask() -> Iterator[None]:
    """A umask that hides nothing."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("no_umask")
def test_every_file_is_private_whatever_the_umask(path: Path) -> None:
    """I4: the folder is 0700; the file and what SQLite puts beside it are 0600."""
    seen = {}

    def look(transaction: Transaction) -> None:
        letters.post(transaction, "ada", 1, ["one"])
        seen.update({each.name: mode_of(each) for each in path.parent.iterdir()})

    write_once(path, letters.SCHEMA, look)

    assert seen == {"state.sqlite3": 0o600, "state.sqlite3-wal": 0o600, "state.sqlite3-shm": 0o600}
    assert mode_of(path.parent) == mode_of(path.parent.parent) == 0o700


@pytest.mark.usefixtures("no_umask")
def test_the_file_is_private_from_its_first_moment(path: Path) -> None:
    """There is no instant at which another user could have opened it: the creating call carries the mode."""
    made: list[int] = []
    hooks_on = True

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if hooks_on and event == "open" and arguments[0] == str(path):
            flags = arguments[2]
            assert isinstance(flags, int)
            made.append(flags)

    sys.addaudithook(hook)
    prepare(path)
    hooks_on = False

    assert len(made) == 1
    assert made[0] & os.O_CREAT and made[0] & os.O_EXCL and made[0] & os.O_NOFOLLOW
    assert mode_of(path) == 0o600


def test_an_open_folder_is_tightened(path: Path) -> None:
    """The folder belongs to the database."""
    path.parent.mkdir(parents=True, mode=0o755)

    prepare(path)

    assert mode_of(path.parent) == 0o700


def a_linked_folder(path: Path, target: Path, mode: int) -> None:
    target.mkdir(mode=mode)
    target.chmod(mode)
    path.parent.parent.mkdir(parents=True)
    path.parent.symlink_to(target)


def test_a_private_folder_on_another_disk_is_used(path: Path, tmp_path: Path) -> None:
    """The folder may be a link: the file stands, private, where it leads."""
    a_linked_folder(path, tmp_path / "disk", 0o700)

    prepare(path)

    assert mode_of(tmp_path / "disk" / path.name) == 0o600


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701])
def test_what_a_link_leads_to_is_not_tightened(path: Path, tmp_path: Path, mode: int) -> None:
    """A folder that others use keeps its mode: it is refused, with the command that would change it."""
    a_linked_folder(path, tmp_path / "shared", mode)

    with pytest.raises(UnsafeFile, match=f"symbolic link to {tmp_path / 'shared'} .permissions {mode:04o}") as caught:
        prepare(path)

    assert caught.value.fix == f"chmod 700 {path.parent}"
    assert mode_of(tmp_path / "shared") == mode
    assert list((tmp_path / "shared").iterdir()) == []


def test_a_link_above_the_folder_is_followed(path: Path, tmp_path: Path) -> None:
    """A Hermes home that is a link: our folder below it is made, or tightened, as everywhere."""
    (tmp_path / "disk").mkdir(mode=0o755)
    path.parent.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.parent.symlink_to(tmp_path / "disk")
    (tmp_path / "disk").chmod(0o755)
    (tmp_path / "disk" / path.parent.name).mkdir(mode=0o755)

    prepare(path)

    assert mode_of(path.parent) == 0o700
    assert mode_of(tmp_path / "disk") == 0o755


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602, 0o660])
def test_a_file_that_others_may_open_is_refused(path: Path, mode: int) -> None:
    """I5: a file with any bit for group or others is not trusted, and the cure can be pasted."""
    prepare(path)
    path.chmod(mode)

    with pytest.raises(UnsafeFile, match=f"permissions {mode:04o}") as caught:
        prepare(path)

    assert caught.value.fix == f"chmod 600 {path}"
    assert mode_of(path) == mode


def test_a_symbolic_link_is_refused_also_to_a_good_file(path: Path) -> None:
    """I5: SQLite would keep the log beside the link's target, and two names would be two logs."""
    prepare(path)
    link = path.with_name("link.sqlite3")
    link.symlink_to(path)

    with pytest.raises(UnsafeFile, match="symbolic link"):
        prepare(link)


def test_a_dangling_link_is_refused_and_not_filled(path: Path, tmp_path: Path) -> None:
    """A link to nowhere makes no file there."""
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UnsafeFile, match="symbolic link"):
        prepare(path)

    assert not (tmp_path / "elsewhere").exists()


def test_a_file_with_two_names_is_refused(path: Path) -> None:
    """Hard links: each name would get a log of its own."""
    prepare(path)
    path.with_name("other").hardlink_to(path)

    with pytest.raises(UnsafeFile, match="2 names"):
        prepare(path)


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_a_companion_is_looked_at_like_the_file(path: Path, suffix: str) -> None:
    """A log that others may read, or that is a link, gives away what the file protects."""
    prepare(path)
    companion = path.with_name(path.name + suffix)
    assert companion in companions(path)
    companion.write_bytes(b"")
    companion.chmod(0o644)

    with pytest.raises(UnsafeFile, match=suffix):
        prepare(path)


def test_a_folder_in_the_files_place_is_refused(path: Path) -> None:
    """Only regular files."""
    path.mkdir(parents=True)

    with pytest.raises(UnsafeFile, match="not a regular file"):
        prepare(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a foreign file")
@pytest.mark.parametrize("which", ["file", "folder"])
def test_a_foreign_owner_is_refused_by_name(path: Path, which: str) -> None:
    """BR-12: root does not open a service user's database: it would leave files that the user cannot write."""
    prepare(path)
    os.chown(path if which == "file" else path.parent, 65534, -1)

    with pytest.raises(UnsafeFile, match="belongs to user nobody") as caught:
        prepare(path)

    assert caught.value.fix is not None and caught.value.fix.startswith("sudo -u nobody")


def test_a_reader_makes_nothing(path: Path) -> None:
    """A missing file is said to be missing; no folder appears."""
    with pytest.raises(NoDatabase):
        check_file(path)
    with pytest.raises(NoDatabase):
        read_once(path, letters.SCHEMA, letters.waiting)

    assert not path.parent.exists()


UNPRIVILEGED = """
import os, pathlib, sys
from canon_ops.durable import write_once, read_once
from canon_ops.durable.problems import DurableError
from tests.support import letters
path = pathlib.Path(sys.argv[1])
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
assert os.geteuid() != 0
try:
    write_once(path, letters.SCHEMA, letters.post, "ada", 1, ["one"])
except DurableError as error:
    print(error.code, "|", error.what, "|", error.fix)
"""


@pytest.mark.parametrize("what", ["folder", "parent"])
def test_a_place_that_may_not_be_written_is_one_sentence(tmp_path: Path, what: str) -> None:
    """T9: an unprivileged user meets a folder that forbids the file, or its making."""
    top = tmp_path / "home"
    top.mkdir()
    path = top / "state.sqlite3" if what == "folder" else top / "deep" / "state.sqlite3"
    if os.geteuid() == 0:
        for each in top.parents:
            if not each.stat().st_mode & 0o001:  # let the other user through to it
                each.chmod(each.stat().st_mode | 0o011)
        os.chown(top, 65534, 65534)
    top.chmod(0o500)

    run = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    top.chmod(0o700)

    code, sentence, _ = run.stdout.split(" | ")
    assert code == NotWritable.code
    assert str(path) in sentence
