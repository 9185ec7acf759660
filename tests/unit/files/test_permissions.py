"""What happens where this user may not write: a sentence, no change, nothing left behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from canon_ops.errors import CanonOpsError
from canon_ops.files.disk import Disk
from canon_ops.files.transaction import Transaction
from tests.support.crash import play

NOBODY = 65534

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home that anybody may enter, whose files belong to root."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o755)
    home = tmp_path / "home"
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    (home / "config.yaml").write_bytes(b"a: 1\n")
    (home / "config.yaml").chmod(0o644)
    return home


def as_nobody(work: Callable[[Path, Disk], None], home: Path) -> str:
    """Run ``work`` without root's rights; how it ended, as ``play`` tells it."""

    def unprivileged(home: Path, disk: Disk) -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        if os.geteuid() == 0:
            raise RuntimeError("still root: this test would prove nothing")
        work(home, disk)

    return play(unprivileged, home, Disk())


def edit(home: Path, disk: Disk) -> None:
    with Transaction(home, disk=disk) as transaction:
        transaction.read(home / "config.yaml")
        transaction.stage(home / "config.yaml", b"a: 2\n")
        transaction.commit()


def state(home: Path) -> list[tuple[str, bytes, int]]:
    files = [path for path in home.rglob("*") if path.is_file() and ".canon-ops" not in path.parts]
    return [(path.name, path.read_bytes(), path.stat().st_uid) for path in files]


def test_a_file_of_somebody_else_is_not_taken_away(home: Path) -> None:
    """BR-12: where the folder would allow a replacement that changes the owner, it is refused instead."""
    before = state(home)

    assert as_nobody(edit, home) == "foreign_owner"

    assert state(home) == before
    assert not (home / ".canon-ops" / "pending").exists()


def test_a_folder_that_may_not_be_written_is_said(home: Path) -> None:
    """A read-only home: one sentence, no change."""
    home.chmod(0o755)
    before = state(home)

    assert as_nobody(edit, home) == "disk"

    assert state(home) == before
    assert not (home / ".canon-ops").exists()


def test_a_file_that_may_not_be_read_is_said(home: Path) -> None:
    """BR-12: root ran the command once, and the service user cannot read the file any more."""
    (home / "config.yaml").chmod(0o600)

    assert as_nobody(edit, home) == "disk"


def test_an_own_file_in_a_group_keeps_its_group(home: Path) -> None:
    """BR-12: mode and group survive an edit by the owner; a 0640 file does not become 0600."""
    os.chown(home, NOBODY, NOBODY)
    os.chown(home / "config.yaml", NOBODY, NOBODY)
    (home / "config.yaml").chmod(0o640)

    assert as_nobody(edit, home) == "done"

    found = (home / "config.yaml").stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (NOBODY, NOBODY, 0o640)
    assert (home / "config.yaml").read_bytes() == b"a: 2\n"


def test_root_gives_the_file_back_to_its_owner(home: Path) -> None:
    """BR-12: an edit by root in a container leaves owner, group and mode as they were, also through undo."""
    os.chown(home / "config.yaml", 10_000, 10_001)
    (home / "config.yaml").chmod(0o640)

    edit(home, Disk())

    found = (home / "config.yaml").stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (10_000, 10_001, 0o640)


def test_the_sentence_names_file_and_cure(tmp_path: Path) -> None:
    """The error has the path, an exit code for "outside", and a command to look further."""
    (tmp_path / "a").write_text("file")

    with pytest.raises(CanonOpsError) as caught, Transaction(tmp_path / "a" / "home"):
        pass

    assert str(tmp_path / "a") in caught.value.what
    assert caught.value.exit_code == 3
