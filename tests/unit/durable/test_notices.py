"""What is worth saying about a file that opened well."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.durable.notices import SqliteVersion, has_wal_reset_bug, notices_for


@pytest.mark.parametrize(
    ("version", "has_it"),
    [
        ((3, 7, 0), True),
        ((3, 34, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 0), True),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 53, 0), False),
    ],
    ids=str,
)
def test_the_versions_with_the_wal_reset_bug_are_known(version: SqliteVersion, has_it: bool) -> None:
    """Mended in three branches of SQLite."""
    assert has_wal_reset_bug(version) is has_it


def test_a_network_disk_is_a_warning_and_not_an_error() -> None:
    """BR-53: the kind is named, with what to do."""
    (notice,) = notices_for(Path("/mnt/home/db"), version=(3, 53, 0), network=lambda folder: "nfs4")

    assert notice.code == "network_disk"
    assert notice.message == "/mnt/home/db lies on nfs4: SQLite's log and locks are not to be trusted there"
    assert notice.fix


def test_the_folder_is_asked_about_and_not_the_file() -> None:
    """The file may not be there yet."""
    asked: list[Path] = []

    def network(folder: Path) -> None:
        asked.append(folder)

    assert notices_for(Path("/home/db"), version=(3, 53, 0), network=network) == ()
    assert asked == [Path("/home")]


def test_an_old_sqlite_is_named_with_the_version_that_mends_it() -> None:
    """The notice says how likely the harm is, so that nobody panics over a single gateway."""
    (notice,) = notices_for(Path("/home/db"), version=(3, 40, 1), network=lambda folder: None)

    assert notice.code == "sqlite_wal_reset"
    assert "3.40.1" in notice.message and "3.51.3" in (notice.fix or "")
