"""A file is read whole, or refused; nothing is waited for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from canon_ops.errors import CanonOpsError
from canon_ops.files.reading import read_optional


def test_a_file_and_a_link_to_it_are_read(tmp_path: Path) -> None:
    """Links are followed."""
    (tmp_path / "a").write_bytes(b"text")
    (tmp_path / "b").symlink_to("a")

    assert (read_optional(tmp_path / "a"), read_optional(tmp_path / "b")) == (b"text", b"text")


def test_nothing_is_none(tmp_path: Path) -> None:
    """An absent file and a dangling link are what they are for Hermes: not there."""
    (tmp_path / "b").symlink_to("a")

    assert (read_optional(tmp_path / "a"), read_optional(tmp_path / "b")) == (None, None)


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.mkdir()


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_circle(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize(
    ("make", "code"),
    [(a_pipe, "not_a_file"), (a_folder, "not_a_file"), (a_device, "not_a_file"), (a_circle, "broken_link")],
)
def test_what_is_no_file_is_refused_at_once(make: object, code: str, tmp_path: Path) -> None:
    """A pipe has no end and a device no limit; each refusal has a command to look further."""
    assert callable(make)
    make(tmp_path / "config.yaml")

    with pytest.raises(CanonOpsError) as caught:
        read_optional(tmp_path / "config.yaml")

    assert (caught.value.code, caught.value.file) == (code, str(tmp_path / "config.yaml"))
    assert str(tmp_path / "config.yaml") in (caught.value.fix or "")
