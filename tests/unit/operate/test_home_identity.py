"""The lines of .env that say which Canon identity a home uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.hermes.homes import resolve_home
from canon_ops.operate.home_identity import HomeIdentity, key_lines, masked_diff, overriding, profile_lines
from canon_ops.operate.setup_answers import ManagedHome
from canon_ops.settings.environments import connection_for
from canon_ops.settings.provenance import Origin, Source
from canon_ops.settings.secret import Secret

KEY = "agk_live_0123456789a1b2"
OVERRULING = [
    "CANON_API_KEY",
    "CANON_ENVIRONMENT_ID",
    "CANON_BASE_URL",
    "CANON_STREAM_URL",
    "CANON_RTDB_URL",
    "CANON_FIREBASE_API_KEY",
]


def identity(folder: Path, **environ: str) -> HomeIdentity:
    return HomeIdentity(resolve_home({"HOME": str(folder), **environ}))


def test_a_profile_replaces_all_that_would_overrule_it() -> None:
    """Step 11: CANON_AGENT is set, the six other variables go."""
    assert profile_lines("ops") == {"CANON_AGENT": "ops", **dict.fromkeys(OVERRULING)}


def test_packaged_endpoints_are_not_written() -> None:
    """A key of a packaged environment stands there with its environment only; older endpoints go."""
    assert key_lines(Secret(KEY), connection_for("canon-prod-v1")) == {
        "CANON_API_KEY": KEY,
        "CANON_ENVIRONMENT_ID": "canon-prod-v1",
        **dict.fromkeys(OVERRULING[2:]),
        "CANON_AGENT": None,
    }


def test_only_endpoints_of_ones_own_are_written() -> None:
    """What differs from the package is needed, the rest is not."""
    lines = key_lines(Secret(KEY), connection_for("canon-dev-v1", stream_url="http://127.0.0.1:1"))

    assert {name: value for name, value in lines.items() if value and "URL" in name} == {
        "CANON_STREAM_URL": "http://127.0.0.1:1"
    }


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    """The second time there is no change and the file is not touched."""
    here = identity(tmp_path)
    here.write(profile_lines("ops"))
    before = (tmp_path / ".hermes" / ".env").stat()

    assert here.write(profile_lines("ops")) == ()

    after = (tmp_path / ".hermes" / ".env").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_nothing_to_remove_makes_no_file(tmp_path: Path) -> None:
    """Removing lines from a file that is not there does not create it."""
    assert identity(tmp_path).write(dict.fromkeys(OVERRULING)) == ()

    assert not (tmp_path / ".hermes" / ".env").exists()


def test_no_key_shows_in_the_diff(tmp_path: Path) -> None:
    """Old and new keys appear as marks that differ, quoted and exported ones too."""
    (tmp_path / ".hermes").mkdir()
    (tmp_path / ".hermes" / ".env").write_text(f"export CANON_API_KEY='{KEY}'\n")

    changes = identity(tmp_path).plan(key_lines(Secret("agk_live_new456789c3d4"), connection_for("canon-prod-v1")))

    diff = masked_diff(changes)
    assert "-export CANON_API_KEY=[REDACTED]\n" in diff
    assert "+export CANON_API_KEY=[REDACTED 2]\n" in diff
    assert "0123456789" not in diff


def test_no_line_of_another_program_shows_in_the_diff(tmp_path: Path) -> None:
    """Neighbours of our lines hold other secrets: they are left out, also a last line that gets a line end."""
    (tmp_path / ".hermes").mkdir()
    (tmp_path / ".hermes" / ".env").write_text(
        'OPENAI_API_KEY=sk-neighbour\nCANON_AGENT=old\nPEM="-----BEGIN\nabcdef\n-----END"\nOTHER_TOKEN=last'
    )

    changes = identity(tmp_path).plan(key_lines(Secret("agk_live_new456789c3d4"), connection_for("canon-prod-v1")))

    lines = [line for line in masked_diff(changes).splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")]
    assert lines == [
        "-CANON_AGENT=old",
        "+CANON_API_KEY=[REDACTED]",
        "+CANON_ENVIRONMENT_ID=canon-prod-v1",
    ]


def test_a_managed_home_is_not_written(tmp_path: Path) -> None:
    """The refusal names who manages the home."""
    with pytest.raises(ManagedHome, match="NixOS"):
        identity(tmp_path, HERMES_MANAGED="nixos").write(profile_lines("ops"))


def test_a_key_without_environment_outside_the_file_overrules(tmp_path: Path) -> None:
    """An exported key makes even the resolution fail; it is named as the one that overrules."""
    (tmp_path / ".hermes").mkdir()
    environ = {"HOME": str(tmp_path), "CANON_API_KEY": KEY}

    found = overriding(tmp_path / ".hermes", environ, lambda _found: True)

    assert found == (Origin(Source.PROCESS, "CANON_API_KEY"),)


def test_a_resolution_that_fails_for_another_reason_names_no_place(tmp_path: Path) -> None:
    """No key anywhere: nothing overrules anything."""
    (tmp_path / ".hermes").mkdir()

    assert overriding(tmp_path / ".hermes", {"HOME": str(tmp_path)}, lambda _found: True) == ()
