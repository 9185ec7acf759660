"""One file replaced whole: modes, owners, links, and what happens when the disk refuses."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from canon_ops.files.atomic import BrokenLink, ForeignLink, NotAFile, find_target, replace_file
from canon_ops.files.disk import Disk, DiskError


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_private_from_its_first_moment(tmp_path: Path) -> None:
    """A new file is created 0600 in 0700 folders, not tightened afterwards."""
    seen: list[int] = []

    class Watching(Disk):
        def write(self, descriptor: int, data: bytes) -> int:
            seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
            return super().write(descriptor, data)

    path = tmp_path / "a" / "b" / "key.json"

    replace_file(path, b"{}", disk=Watching())

    assert seen == [0o600]
    assert mode_of(path) == 0o600
    assert mode_of(path.parent) == mode_of(path.parent.parent) == 0o700
    assert path.read_bytes() == b"{}"


def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    """BR-12: a 0640 file stays 0640, whatever mode a new one would get."""
    path = tmp_path / "env"
    path.write_bytes(b"old")
    path.chmod(0o640)

    replace_file(path, b"new")

    assert (mode_of(path), path.read_bytes()) == (0o640, b"new")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a foreign file")
def test_an_existing_file_keeps_its_owner(tmp_path: Path) -> None:
    """BR-12: root rewrites a service user's file, and the file still belongs to that user."""
    path = tmp_path / "env"
    path.write_bytes(b"old")
    os.chown(path, 10_000, 10_001)

    replace_file(path, b"new")

    assert (path.stat().st_uid, path.stat().st_gid) == (10_000, 10_001)


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    """BR-11: writing through a link changes the real file beside which the temporary one lay."""
    real = tmp_path / "dotfiles" / "hermes.yaml"
    real.parent.mkdir()
    real.write_bytes(b"old")
    link = tmp_path / "config.yaml"
    link.symlink_to(Path("dotfiles/hermes.yaml"))

    replace_file(link, b"new")

    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert find_target(link).real == real.resolve()


def test_a_dangling_link_is_refused_with_the_place_it_leads_to(tmp_path: Path) -> None:
    """BR-11: a link to nowhere is not filled in."""
    link = tmp_path / "config.yaml"
    link.symlink_to(tmp_path / "gone.yaml")

    with pytest.raises(BrokenLink, match=r"gone\.yaml"):
        replace_file(link, b"new")

    assert not (tmp_path / "gone.yaml").exists()


def test_a_circle_of_links_is_refused(tmp_path: Path) -> None:
    """BR-11: links that lead in a circle are named as such."""
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")

    with pytest.raises(BrokenLink, match="circle"):
        replace_file(tmp_path / "a", b"new")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    """Only regular files are replaced."""
    with pytest.raises(NotAFile):
        replace_file(tmp_path, b"new")


class Failing(Disk):
    """A disk whose calls of one name fail with one errno."""

    def __init__(self, name: str, code: int) -> None:
        def fail(*_: object) -> None:
            raise OSError(code, os.strerror(code))

        setattr(self, name, fail)


@pytest.mark.parametrize("call", ["create", "write", "sync", "rename"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS])
def test_a_refusing_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path, call: str, code: int) -> None:
    """Whatever call fails, the old file is whole, no temporary file is left, and the error is one sentence."""
    path = tmp_path / "config.yaml"
    path.write_bytes(b"old")

    with pytest.raises(DiskError) as caught:
        replace_file(path, b"new", disk=Failing(call, code))

    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["config.yaml"]
    assert "config.yaml" in caught.value.what


MALLORY = 10_007


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lay another user's link")
@pytest.mark.parametrize("where", ["the file", "a folder on the way", "behind a link of ours"])
def test_a_strangers_link_is_not_followed(tmp_path: Path, where: str) -> None:
    """Whoever may write into a folder cannot turn our writing onto a file that is ours and not theirs."""
    secret = tmp_path / "ours" / "authorized_keys"
    secret.parent.mkdir()
    secret.write_bytes(b"as it was")
    shared = tmp_path / "shared"
    shared.mkdir()
    link, path = shared / "health.json", shared / "health.json"
    if where == "a folder on the way":
        link, path = shared / "plugins", shared / "plugins" / "authorized_keys"
        link.symlink_to(secret.parent)
    else:
        link.symlink_to(secret)
    os.lchown(link, MALLORY, MALLORY)
    if where == "behind a link of ours":
        path = tmp_path / "mine"
        path.symlink_to(link)

    with pytest.raises(ForeignLink, match=f"{link} is a symbolic link of user {MALLORY}"):
        replace_file(path, b"hostile")

    assert secret.read_bytes() == b"as it was"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lay another user's link")
def test_a_link_to_its_owners_own_file_is_followed(tmp_path: Path) -> None:
    """BR-11, BR-12: root writes through a service user's own link to a file of that user, which stays theirs."""
    real, link = tmp_path / "dotfiles.yaml", tmp_path / "config.yaml"
    real.write_bytes(b"old")
    link.symlink_to(Path("..") / tmp_path.name / real.name)
    os.chown(real, MALLORY, MALLORY)
    os.lchown(link, MALLORY, MALLORY)

    replace_file(link, b"new")

    assert (real.read_bytes(), real.stat().st_uid, link.is_symlink()) == (b"new", MALLORY, True)


def test_what_a_killed_writer_left_goes_with_the_next(tmp_path: Path) -> None:
    """T6: only a file of this name, of a process that is gone, and older than any write takes."""
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    dead = int(gone.stdout)
    path = tmp_path / "keys.json"
    left = tmp_path / f".keys.json.{dead}.0123abcd.tmp"
    others = [
        tmp_path / f".keys.json.{os.getpid()}.0123abcd.tmp",
        tmp_path / f".other.json.{dead}.0123abcd.tmp",
        tmp_path / ".keys.json.20261202T231852.941Z-eb5f.tmp",  # of a transaction, whose journal knows it
        tmp_path / ".keys.json.mine.tmp",
    ]
    impossible = tmp_path / f".keys.json.{'9' * 30}.0123abcd.tmp"  # no process can have that number
    young = tmp_path / f".keys.json.{dead}.4567abcd.tmp"
    for file in (left, impossible, *others, young):
        file.write_bytes(b"key")
        if file != young:
            os.utime(file, (0, 0))

    replace_file(path, b"{}")

    assert not left.exists()
    assert not impossible.exists()
    assert all(file.exists() for file in (*others, young))


def test_a_text_that_stands_is_not_told_as_unwritten(tmp_path: Path) -> None:
    """T6: the last synchronisation fails, and the new text is there: the sentence says so."""

    class Unsure(Disk):
        def sync_folder(self, path: Path) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(DiskError, match="is written, but its disk does not confirm it") as raised:
        replace_file(tmp_path / "keys.json", b"{}", disk=Unsure())

    assert (tmp_path / "keys.json").read_bytes() == b"{}"
    assert raised.value.fix
