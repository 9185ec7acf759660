"""``canon-ops history`` and ``undo`` as commands: whole outputs in an isolated home."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from canon_ops.files.transaction import Transaction
from tests.unit.cli.conftest import Ran, Runner

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


def pasted(program: Runner, ran: Ran) -> Ran:
    """Carry out what a failure advises, as a shell would."""
    fix = next(line.removeprefix("  fix: ") for line in ran.err.splitlines() if line.startswith("  fix: "))
    name, *words = shlex.split(fix, comments=True)
    assert name == "canon-ops"
    return program(*words)


def identity_of(ran: Ran) -> str:
    return str(ran.json["data"]["history_id"])


class TestAdviceLeadsOut:
    """Each refusal of undo says what to do, and doing that ends: the change is taken back, or is there to look at."""

    def test_through_changes_that_were_undone_and_made_again(self, program: Runner, config: Path) -> None:
        """a, b, b undone, c, d: taking a back says d first, then c; it never says to have anything again."""
        first = identity_of(program("config", "set", "a", "1", "--json"))
        program("config", "set", "a", "2")
        program("undo")
        program("config", "set", "a", "3")
        program("config", "set", "a", "4")
        seen: list[str] = []

        ran = program("undo", first)
        while ran.code != 0:
            assert ran.err not in seen, seen  # a circle
            seen.append(ran.err)
            assert pasted(program, ran).code == 0
            ran = program("undo", first)

        assert ["the newer change first" in each for each in seen] == [True, True]
        assert config.read_text() == CONFIG

    def test_what_is_taken_back_is_not_taken_back_again(self, program: Runner, config: Path) -> None:
        """The refusal names the undo, and shows it; it does not say to take the undo back."""
        first = identity_of(program("config", "set", "a", "1", "--json"))
        undo = identity_of(program("undo", "--json"))

        ran = program("undo", first)

        assert ran.code == 1
        assert f"{first} was taken back already, by {undo}" in ran.err
        assert undo in pasted(program, ran).out
        assert config.read_text() == CONFIG

    def test_a_change_that_was_made_again_is_in_force(self, program: Runner, config: Path) -> None:
        """undo, undo of that: plain `undo` takes the change back again, and the list says that it is done."""
        program("config", "set", "a", "1")
        undo = identity_of(program("undo", "--json"))
        assert program("undo", undo).code == 0

        states = [line.split("\t")[3] for line in program("history", "list").out.splitlines()]
        ran = program("undo")

        assert states == ["undo", "undo", "done"]
        assert ran.code == 0
        assert config.read_text() == CONFIG

    def test_a_newer_change_in_another_history_counts(self, program: Runner, home: Path) -> None:
        """agents.json is in Canon's history and in a Hermes home's, beside files of that; a link is no other file."""
        agents = home / ".canon" / "agents.json"
        agents.parent.mkdir()
        agents.write_text("{}")
        with Transaction(home / ".canon") as older:
            older.stage(agents, b'{"a": 1}')
            first = older.commit()
        (home / ".hermes").mkdir()
        (home / "linked").symlink_to(home / ".canon")
        with Transaction(home / ".hermes", also=[home / ".canon"]) as newer:
            newer.stage(home / "linked" / "agents.json", b'{"a": 2}')
            second = newer.commit()

        ran = program("undo", str(first))

        assert ran.code == 5
        assert f"undo {second}" in ran.err
        assert pasted(program, ran).code == 0
        assert program("undo", str(first)).code == 0
        assert agents.read_text() == "{}"

    def test_what_somebody_else_wrote_is_left_to_a_person(self, program: Runner, config: Path) -> None:
        """The advice shows what the change was, in the profile that is meant."""
        (config.parent / "profiles" / "work").mkdir(parents=True)
        call = ("--profile", "work")
        program("config", "set", "a", "1", *call)
        (config.parent / "profiles" / "work" / "config.yaml").write_text("a: 5\n")

        ran = program("undo", *call)

        assert ran.code == 5
        shown = pasted(program, ran)
        assert (shown.code, "+a: 1" in shown.out) == (0, True)

    def test_what_changed_nothing_has_nothing_to_undo(self, program: Runner, config: Path) -> None:
        """A snapshot: the list is where to go on."""
        kept = identity_of(program("config", "snapshot", "--json"))

        ran = program("undo", kept)

        assert ran.code == 1
        assert kept in pasted(program, ran).out

    def test_lost_comments_can_be_copied_from_where_the_doctor_says(self, program: Runner, config: Path) -> None:
        """The finding has the id; what it leads to shows the comments, also those of a snapshot."""
        kept = identity_of(program("config", "snapshot", "--json"))
        config.write_text("platforms:\n  canon:\n    api_key: secret-one-two\nstreaming:\n  enabled: false\n")

        found = program("doctor", "--only", "config.comments_lost", "--offline").out

        assert kept in found
        assert "-# kept by hand\n" in program("config", "diff", kept).out
