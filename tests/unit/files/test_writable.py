"""Whether a place can be written, asked beforehand."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.files.disk import DiskError
from canon_ops.files.writable import require_place, require_writable
from tests.support.unwritable import unwritable


def test_a_folder_that_is_not_there_yet_is_writable_when_the_one_above_is(tmp_path: Path) -> None:
    """It would be made; nothing is made now."""
    require_writable(tmp_path / "a" / "b", tmp_path / "a" / "b" / "file")

    assert list(tmp_path.iterdir()) == []


def test_a_read_only_file_that_can_be_replaced_is_no_obstacle(tmp_path: Path) -> None:
    """Replacing a file needs its folder, not the file."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "file").chmod(0o400)

    require_writable(tmp_path, tmp_path / "file")


@pytest.mark.parametrize("wanted", ["closed", "closed/a/b"])
def test_what_takes_no_file_is_refused(tmp_path: Path, wanted: str) -> None:
    """The kernel is asked, so that root hears it too; the cure looks at what exists."""
    (tmp_path / "closed").mkdir()

    with unwritable(tmp_path / "closed"), pytest.raises(DiskError) as caught:
        require_writable(tmp_path / wanted)

    assert caught.value.fix == f"ls -ld {tmp_path / 'closed'}"


def test_a_place_needs_its_folder(tmp_path: Path) -> None:
    """A file that a caller names is written there or nowhere."""
    require_place(tmp_path / "file")

    with pytest.raises(DiskError) as caught:
        require_place(tmp_path / "nope" / "file")

    assert (caught.value.what, caught.value.fix) == (f"{tmp_path / 'nope'} does not exist", f"ls -ld {tmp_path}")
