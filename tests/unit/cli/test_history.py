"""``canon-ops history`` and ``undo`` as commands: whole outputs in an isolated home."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Runner

CONFIG = "# kept by hand\nplatforms:\n  canon:\n    api_key: secret-one-two\nstreaming:\n  enabled: false   # off\n"


@pytest.fixture
def config(home: Path) -> Path:
    (home / ".hermes").mkdir()
    file = home / ".hermes" / "config.yaml"
    file.write_text(CONFIG)
    return file


def test_an_empty_history_says_so_to_people_only(program: Runner, home: Path) -> None:
    """No record in a pipe, and an empty list in JSON."""
    assert program("history", "list").out == ""
    assert program("history", "list", terminal=True).out == "Nothing was changed yet.\n"
    assert program("history", "list", "--json").json["data"] == {"changes": []}


def test_the_newest_change_comes_first(program: Runner, config: Path) -> None:
    """Id, command, files and state; -n shows the newest only."""
    first = program("config", "set", "a", "1", "--json").json["data"]["history_id"]
    second = program("config", "unset", "a", "--json").json["data"]["history_id"]

    assert program("history", "list").out == (
        f"{second}\tconfig unset a\tconfig.yaml\tdone\n{first}\tconfig set a\tconfig.yaml\tdone\n"
    )
    assert program("history", "list", "-n", "1").out == f"{second}\tconfig unset a\tconfig.yaml\tdone\n"


def test_an_id_is_whole_on_a_terminal(program: Runner, config: Path) -> None:
    """However long the command is: an id is there to be copied, here on a line of its own."""
    key = "a." + "very." * 12 + "long_key"
    identity = program("config", "set", key, "1", "--json").json["data"]["history_id"]

    lines = program("history", "list", "--color", "never", terminal=True).out.splitlines()

    assert lines[0] == identity
    assert lines[1].startswith("  command  config set")


def test_show_has_the_difference_with_secrets_masked(program: Runner, config: Path) -> None:
    """The beginning of an id will do; old keys are masked although no file has them any more."""
    identity = program("config", "set", "streaming.enabled", "true", "--json").json["data"]["history_id"]
    config.write_text("# all gone\n")

    ran = program("history", "show", identity[:20])

    assert (ran.code, ran.err) == (0, "")
    assert "secret-one-two" not in ran.out
    assert ran.out.endswith(
        f"--- {config}\n+++ {config}\n@@ -3,4 +3,4 @@\n   canon:\n     api_key: [secret]\n streaming:\n"
        "-  enabled: false   # off\n+  enabled: true   # off\n"
    )


def test_an_unknown_id_is_not_found(program: Runner, config: Path) -> None:
    """Exit 1 with the way to the list; an ambiguous beginning likewise."""
    program("config", "set", "a", "1")
    program("config", "set", "b", "1")

    nothing, several = program("history", "show", "1999"), program("undo", "2")

    assert (nothing.code, several.code) == (1, 1)
    assert nothing.err == "Error: The history has no entry of the id 1999.\n  fix: canon-ops history list\n"
    assert several.err.startswith("Error: The history has 2 entries of the id 2.")


def test_undo_gives_back_the_bytes(program: Runner, config: Path) -> None:
    """The newest change first, a second undo one further back, and both can be had again."""
    program("config", "set", "streaming.enabled", "true")
    first = config.read_text()
    program("config", "unset", "platforms")

    undone = program("undo", "--diff")
    after_one = config.read_text()
    program("undo")
    after_two = config.read_text()

    assert undone.out.splitlines()[0] == f"Hermes profile default: {config}"
    assert undone.out.splitlines()[1].startswith("Took back: config unset platforms (")
    assert "+platforms:\n+  canon:\n+    api_key: [secret]\n" in undone.out
    assert (after_one, after_two) == (first, CONFIG)
    ran = program("undo")
    assert (ran.code, ran.err) == (1, "Error: There is nothing to undo.\n  fix: canon-ops history list\n")
    states = [line.split("\t")[3] for line in program("history", "list").out.splitlines()]
    assert states == ["undo", "undo", "undone", "undone"]
    again = program("history", "list").out.splitlines()[0].split("\t")[0]
    assert program("undo", again).code == 0
    assert config.read_text() == first


def test_undo_leaves_a_file_alone_that_was_changed_since(program: Runner, config: Path) -> None:
    """Exit 5, the later change stays."""
    program("config", "set", "streaming.enabled", "true")
    config.write_text("# by hand\n")

    ran = program("undo", "--json")

    assert (ran.code, ran.json["errors"][0]["code"]) == (5, "changed_under_us")
    assert config.read_text() == "# by hand\n"


def test_a_dry_undo_writes_nothing(program: Runner, config: Path) -> None:
    """It tells what it would take back."""
    program("config", "set", "streaming.enabled", "true")
    before = config.read_text()

    ran = program("undo", "--dry-run", "--json")

    data = ran.json["data"]
    assert (data["changed"], data["dry_run"], data["history_id"], data["command"]) == (
        True, True, None, "config set streaming.enabled",
    )  # fmt: skip
    assert config.read_text() == before


def test_undo_takes_back_the_making_of_a_file(program: Runner, home: Path) -> None:
    """A file that a command made is gone again; a snapshot in between is no change."""
    program("config", "set", "a", "1")
    program("config", "snapshot")

    ran = program("undo")

    assert ran.code == 0
    assert not (home / ".hermes" / "config.yaml").exists()


def test_undo_reaches_the_other_homes(program: Runner, home: Path) -> None:
    """This tool's own settings are in the same list, and are taken back where they are."""
    program("config", "set", "a", "1")
    program("preferences", "set", "keyring.use", "false")
    settings = home / ".config" / "canon-ops" / "settings.toml"
    assert settings.exists()

    ran = program("undo")

    assert ran.out.splitlines()[1].startswith("Took back: preferences set keyring.use (")
    assert not settings.exists()
    assert (home / ".hermes" / "config.yaml").exists()


def test_undo_of_a_managed_home_is_refused(program: Runner, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package manager owns it now."""
    program("config", "set", "a", "1")
    monkeypatch.setenv("HERMES_MANAGED", "nixos")

    ran = program("undo")

    assert ran.code == 1
    assert "NixOS" in ran.err


def test_undo_can_be_held_to_a_digest(program: Runner, config: Path) -> None:
    """--if-unchanged works as for every writer."""
    program("config", "set", "a", "1")

    ran = program("undo", "--if-unchanged", "0" * 64)

    assert ran.code == 5
    assert "a: 1" in config.read_text()
