"""``canon-ops history`` and ``undo`` as commands: whole outputs in an isolated home."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
from pathlib import Path

import pytest

from canon_ops.files.disk import Disk
from canon_ops.files.transaction import Transaction
from tests.support.crash import KillingDisk, play
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
    (home / ".hermes").mkdir()

    assert program("history", "list").out == ""
    assert program("history", "list", terminal=True).out == "Nothing was changed yet.\n"
    assert program("history", "list", "--json").json["data"] == {"changes": [], "unreadable": []}


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
        f"--- {config}\n+++ {config}\n@@ -3,4 +3,4 @@\n   canon:\n     api_key: [REDACTED]\n streaming:\n"
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


@pytest.mark.parametrize("copy", ["edited", "cut", "a pipe", "gone"])
def test_a_copy_that_is_not_what_was_kept_is_never_written(program: Runner, config: Path, copy: str) -> None:
    """Undo would put a stranger's bytes over the file, and heal take its comments: both leave the file alone."""
    identity = program("config", "set", "streaming.enabled", "true", "--json").json["data"]["history_id"]
    changed = config.read_bytes()
    kept = config.parent / ".canon-ops" / "history" / identity / "0.before"
    match copy:
        case "edited":
            kept.write_bytes(b"# a stranger's\nmodel: x\n")
        case "cut":
            kept.write_bytes(kept.read_bytes()[:20])
        case "a pipe":
            kept.unlink()
            os.mkfifo(kept)
        case _:
            kept.unlink()

    ran, shown, healed = program("undo"), program("history", "show", identity), program("config", "heal", "--yes")

    assert (ran.code, shown.code, healed.code) == (1, 0, 0)
    assert ran.err.startswith(f"Error: {kept} is ")
    assert f"Its texts cannot be shown: {kept} is " in shown.out
    assert "stranger" not in ran.out + ran.err + shown.out + healed.out
    assert config.read_bytes() == changed


def test_an_entry_that_cannot_be_read_holds_nothing_up(program: Runner, config: Path) -> None:
    """A pipe in the place of its record would be waited for without end."""
    identity = program("config", "set", "streaming.enabled", "true", "--json").json["data"]["history_id"]
    entry = config.parent / ".canon-ops" / "history" / identity / "entry.json"
    entry.unlink()
    os.mkfifo(entry)

    assert program("history", "list").code == 0
    assert program("config", "set", "a", "1").code == 0


@pytest.mark.parametrize(
    "record", ["", "{", '{"format": 2}', None], ids=["empty", "cut", "of a newer release", "a pipe"]
)
def test_an_entry_that_cannot_be_read_is_named(program: Runner, config: Path, record: str | None) -> None:
    """The list says that it lacks one, and undo does not take an older change for the newest."""
    older = program("config", "set", "a", "1", "--json").json["data"]["history_id"]
    newest = program("config", "set", "streaming.enabled", "true", "--json").json["data"]["history_id"]
    changed, folder = config.read_bytes(), config.parent / ".canon-ops" / "history" / newest
    (folder / "entry.json").unlink()
    if record is None:
        os.mkfifo(folder / "entry.json")
    else:
        (folder / "entry.json").write_text(record)

    listed, undone = program("history", "list"), program("undo")

    named = [program("undo", newest), program("undo", newest[:-1], "--dry-run"), program("history", "show", newest)]

    assert (listed.code, listed.out) == (0, f"{older}\tconfig set a\tconfig.yaml\tdone\n")
    assert program("history", "list", "--json").json["data"]["unreadable"] == [str(folder)]
    for ran in named:
        assert ran.code == 1
        assert f"Error: The entry {folder} cannot be read: it is damaged, or a newer release wrote it.\n" in ran.err
    assert "2 entries of the id 2" in program("undo", "2").err
    assert listed.err == f"Warning: The entry {folder} cannot be read, so it is not listed.\n"
    assert (undone.code, undone.err) == (
        1,
        f"Error: The entry {folder} cannot be read, so it is unknown which change is the newest.\n"
        f"  fix: canon-ops undo {older}   # the newest that can be read\n",
    )
    assert config.read_bytes() == changed


def test_an_older_entry_that_cannot_be_read_keeps_nothing_from_undo(program: Runner, config: Path) -> None:
    """The newest change is known; nor does a half-removed entry or a stray file count as one."""
    older = program("config", "set", "a", "1", "--json").json["data"]["history_id"]
    before = config.read_bytes()
    program("config", "set", "b", "1")
    history = config.parent / ".canon-ops" / "history"
    (history / older / "entry.json").write_text("{")
    (history / "x-stray").write_text("")
    (history / "y-half").mkdir()
    listed = program("history", "list")

    assert listed.err == f"Warning: The entry {history / older} cannot be read, so it is not listed.\n"
    assert program("undo").code == 0
    assert config.read_bytes() == before


def test_a_journal_of_somebody_else_keeps_nobody_from_reading(
    program: Runner, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BR-12: a member of the group may read the files, and the journal, which has keys, is its owner's alone."""
    program("config", "set", "a", "1")
    stat, state = Path.stat, config.parent / ".canon-ops"

    def closed(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if state in self.parents:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))
        return stat(self, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", closed)
    read, undone = program("config", "get", "a"), program("undo")

    assert (read.code, read.out) == (0, "1\n")
    sentence = f"{state} may not be read by this user.\n"
    assert read.err == f"Warning: {sentence}"
    assert (undone.code, undone.err) == (3, f"Warning: {sentence}Error: {sentence}  fix: ls -ld {state}\n")


def test_an_empty_id_is_no_id(program: Runner, config: Path) -> None:
    """A script whose variable is empty does not take back the only change that there is."""
    program("config", "set", "a", "1")
    changed = config.read_bytes()

    undone, shown = program("undo", ""), program("history", "show", "")

    assert (undone.code, shown.code) == (2, 2)
    assert undone.err == "Error: ID is empty.\n  fix: canon-ops history list\n"
    assert config.read_bytes() == changed


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
    assert "+platforms:\n+  canon:\n+    api_key: [REDACTED]\n" in undone.out
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


SECRET = "agk_live_sandbox_half_written"


def half_done(folder: Path) -> tuple[Path, Path]:
    """A command that changes config.yaml and .env is killed between the two."""
    config, env = folder / "config.yaml", folder / ".env"

    def both(home: Path, disk: Disk) -> None:
        with Transaction(home, label="setup canon", disk=disk) as transaction:
            transaction.stage(home / "config.yaml", CONFIG.encode() + b"mine: 1\n")
            transaction.stage(home / ".env", f"TZ=UTC\nCANON_API_KEY={SECRET}\n".encode())
            transaction.commit()

    for point in range(30, 60):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        config.write_text(CONFIG)
        env.write_text("TZ=UTC\n")
        if play(both, folder, KillingDisk(point)) == "killed" and "mine" in config.read_text():
            break
    assert env.read_text() == "TZ=UTC\n"
    return config, env


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
class TestHalfAChange:
    """A home in which one file of a change is new and the other one is not."""

    @pytest.fixture
    def files(self, home: Path) -> tuple[Path, Path]:
        return half_done(home / ".hermes")

    def test_readers_name_it_and_change_nothing(self, program: Runner, files: tuple[Path, Path]) -> None:
        """On stderr, with what is new, what is not, and the way out; the answer is what the file says now."""
        config, env = files
        calls = [
            ("config", "get", "mine"),
            ("config", "list"),
            ("config", "get", "mine", "--json"),
            ("env", "list"),
            ("history", "list"),
            ("status", "--json"),
            ("creds", "list"),
            ("config", "set", "a", "1", "--dry-run"),
        ]

        for call in calls:
            ran = program(*call)

            said = f"(setup canon) half-way: {config} is changed already; {env} is not yet.\n"
            assert said in ran.err, call
            assert "fix: canon-ops history finish\n" in ran.err, call
            assert SECRET not in ran.out + ran.err
        assert env.read_text() == "TZ=UTC\n"

    def test_the_history_has_it(self, program: Runner, files: tuple[Path, Path]) -> None:
        """With a state of its own, and its texts; secrets are masked."""
        listed = program("history", "list").out.split("\t")
        shown = program("history", "show", listed[0])

        assert listed[1:] == ["setup canon", "config.yaml, .env", "interrupted\n"]
        assert shown.code == 0
        assert "+mine: 1" in shown.out
        assert "+CANON_API_KEY=" in shown.out
        assert SECRET not in shown.out

    def test_finish_carries_it_out(self, program: Runner, files: tuple[Path, Path]) -> None:
        """First as a plan; then the file that was not written yet is; once more there is nothing."""
        _, env = files

        plan = program("history", "finish", "--dry-run", "--json")
        before = env.read_text()
        held = program("history", "finish", "--if-unchanged", "0" * 64)
        ran = program("history", "finish", "--diff")
        again = program("history", "finish", "--json")

        assert plan.json["data"]["changes"][0]["outcome"] == "finished"
        assert plan.json["data"]["files"] == [str(env)]
        assert before == "TZ=UTC\n"
        assert held.code == 5
        assert ran.out.splitlines()[0] == f"Hermes profile default: {env}"
        assert "Finished: setup canon (" in ran.out
        assert "+CANON_API_KEY=" in ran.out
        assert SECRET not in ran.out + ran.err + plan.out
        assert env.read_text() == f"TZ=UTC\nCANON_API_KEY={SECRET}\n"
        assert again.json["data"]["changes"] == []
        assert program("config", "get", "mine").err == ""

    def test_a_writer_finishes_it_first(self, program: Runner, files: tuple[Path, Path]) -> None:
        """Its own change comes on top, and both are in the history."""
        _, env = files

        assert program("config", "set", "a", "1").code == 0

        assert SECRET in env.read_text()
        commands = [line.split("\t")[1] for line in program("history", "list").out.splitlines()]
        assert commands == ["config set a", "setup canon"]

    def test_undo_takes_it_back_whole(self, program: Runner, files: tuple[Path, Path]) -> None:
        """It is the newest change: finished, and then both files get their old texts."""
        config, env = files

        ran = program("undo")

        assert ran.code == 0
        assert "Took back: setup canon" in ran.out
        assert (config.read_text(), env.read_text()) == (CONFIG, "TZ=UTC\n")

    def test_what_somebody_wrote_since_stays(self, program: Runner, files: tuple[Path, Path]) -> None:
        """The change is given up: theirs stays, the other file is as before."""
        config, env = files
        env.write_text("TZ=CET\n")

        ran = program("history", "finish", "--json")

        (change,) = ran.json["data"]["changes"]
        assert (change["outcome"], change["command"]) == ("abandoned", "setup canon")
        assert (ran.json["ok"], ran.json["data"]["files"]) == (True, [str(config)])
        assert "-mine: 1" in ran.json["data"]["diff"]
        assert (config.read_text(), env.read_text()) == (CONFIG, "TZ=CET\n")

    def test_a_journal_that_nobody_can_read_is_told(self, program: Runner, files: tuple[Path, Path]) -> None:
        """Readers answer nevertheless; whoever would write stops, with the place of the texts."""
        config, _ = files
        (config.parent / ".canon-ops" / "pending" / "entry.json").write_text("{")

        read, written = program("config", "get", "mine"), program("config", "set", "a", "1")

        assert (read.code, read.out) == (0, "1\n")
        assert "entry.json cannot be read" in read.err
        assert written.code == 3
        assert "its .before files hold the old texts" in written.err
