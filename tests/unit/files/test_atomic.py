"""One file replaced whole: modes, owners, links, and what happens when the disk refuses."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from canon_ops.files.atomic import BrokenLink, NotAFile, find_target, replace_file
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
