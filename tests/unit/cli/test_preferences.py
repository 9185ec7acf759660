"""``canon-ops preferences`` as a command."""

from __future__ import annotations

import shlex
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


@pytest.mark.parametrize(
    "values", [{"history.entries": '"x"'}, {"history.entries": "0", "lock.timeout": "true"}], ids=len
)
def test_a_value_that_cannot_be_meant_is_cured_by_the_command_that_is_named(
    program: Runner, home: Path, values: dict[str, str]
) -> None:
    """Other commands that write refuse and name a command; that one is not stopped by what it mends."""
    settings(home).parent.mkdir(parents=True)
    tables = [f"[{name.split('.')[0]}]  # mine\n{name.split('.')[1]} = {value}\n" for name, value in values.items()]
    settings(home).write_text("".join(tables))

    for _ in values:
        refused = program("env", "set", "CANON_HOME_CHANNEL", "c_1")
        fix = next(line.split("fix: ", 1)[1] for line in refused.err.splitlines() if "fix: " in line)
        assert refused.code == 2
        assert program(*shlex.split(fix)[1:]).code == 0

    assert program("env", "set", "CANON_HOME_CHANNEL", "c_1").code == 0
    assert settings(home).read_text().count("# mine") == len(values)


def test_a_value_that_cannot_be_meant_can_be_dropped(program: Runner, home: Path) -> None:
    """unset takes it out."""
    settings(home).parent.mkdir(parents=True)
    settings(home).write_text("[history]\nentries = []\ndays = 7\n")

    assert program("preferences", "unset", "history.entries").code == 0
    assert settings(home).read_text() == "[history]\ndays = 7\n"


def test_a_variable_that_cannot_be_meant_is_to_be_unset(
    program: Runner, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No command can change a variable of the caller; setting the file would be beaten by it."""
    monkeypatch.setenv("CANON_OPS_LOCK_TIMEOUT", "soon")

    ran = program("env", "set", "CANON_HOME_CHANNEL", "c_1")

    assert ran.code == 2
    assert "lock.timeout cannot be 'soon' (CANON_OPS_LOCK_TIMEOUT)" in ran.err
    assert "fix: unset CANON_OPS_LOCK_TIMEOUT\n" in ran.err


def test_a_wrong_word_is_not_laid_to_the_variable(program: Runner, home: Path) -> None:
    """What was given on the command line is not said to stand elsewhere."""
    ran = program("preferences", "set", "lock.timeout", "soon")

    assert "lock.timeout cannot be 'soon'; it must be a number from 0" in ran.err
