"""``canon-ops preferences`` as a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Runner


def settings(home: Path) -> Path:
    return home / ".config" / "canon-ops" / "settings.toml"


def test_list_tells_value_and_source(program: Runner, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable beats the file; what nobody knows is warned about on stderr, and kept."""
    settings(home).parent.mkdir(parents=True)
    settings(home).write_text("[history]\ndays = 5\n[future]\nx = 1\n")
    monkeypatch.setenv("CANON_OPS_HISTORY_ENTRIES", "3")

    ran = program("preferences", "list")

    assert ran.code == 0
    assert "history.entries\t3\tvariable\t" in ran.out
    assert "history.days\t5\tfile\t" in ran.out
    assert ran.err == (f"Warning: {settings(home)} sets future.x, which this version does not know; it is kept.\n")


def test_set_and_unset_keep_the_comments(program: Runner, home: Path) -> None:
    """The report names the file and the change; an undo is in its history."""
    settings(home).parent.mkdir(parents=True)
    settings(home).write_text("# mine\n[history]\nentries = 9  # few\n")

    changed = program("preferences", "set", "history.days", "7", "--diff")
    data = program("preferences", "unset", "history.days", "--json").json["data"]

    assert changed.code == 0
    assert changed.out.startswith(f"{settings(home)}\nChanged history.days: unset -> 7\n--- ")
    assert (data["before"], data["after"], data["changed"], bool(data["history_id"])) == (7, None, True, True)
    assert settings(home).read_text() == "# mine\n[history]\nentries = 9  # few\n"


def test_a_wrong_value_is_a_wrong_call(program: Runner, home: Path) -> None:
    """Exit 2; no file is made."""
    ran = program("preferences", "set", "keyring.store", "drawer")

    assert (ran.code, ran.out) == (2, "")
    assert "it must be file or keyring" in ran.err
    assert not settings(home).exists()


def test_a_preference_that_a_variable_beats_says_so(
    program: Runner, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file changes, and the operator is told that it does not count now."""
    monkeypatch.setenv("CANON_OPS_STORE", "file")

    ran = program("preferences", "set", "keyring.store", "keyring")

    assert "CANON_OPS_STORE is set and beats the file.\n" in ran.out


def test_the_retention_is_the_operators(program: Runner, home: Path) -> None:
    """history.entries bounds what a command leaves behind."""
    program("preferences", "set", "history.entries", "1")
    for days in ("1", "2", "3"):
        program("preferences", "set", "history.days", days)

    assert len(list((settings(home).parent / ".canon-ops" / "history").iterdir())) == 1


def test_a_file_that_is_no_toml_stops_what_would_need_it(program: Runner, home: Path) -> None:
    """Exit 1 with the line; the file stays as it is."""
    settings(home).parent.mkdir(parents=True)
    settings(home).write_text("[a\n")

    ran = program("preferences", "set", "history.days", "1")

    assert ran.code == 1
    assert f"  at {settings(home)}:1" in ran.err
    assert settings(home).read_text() == "[a\n"
