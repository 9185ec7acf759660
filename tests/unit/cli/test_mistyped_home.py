"""A home that is not there says nothing about the one that was meant: every command says so, and makes nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from canon_ops.cli.command import OperatorCommand
from canon_ops.cli.tree import Entry, leaves
from tests.unit.cli.conftest import Runner

# Commands that may be called with a home that is not there, and why.
ANY_HOME = {
    "install": "brings Hermes a platform, and with it the first lines of a home",
    "setup canon": "gives a home its agent, and with it the first lines of the home",
    "setup borgee": "likewise",
    "host show": "looks at the host's interpreter",
    "host list": "likewise",
    "config path": "names a place, and says whether something is there",
    "preferences list": "this tool's own settings",
    "preferences set": "likewise",
    "preferences unset": "likewise",
    "explain": "a text of ours",
    "version": "likewise",
    "schema list": "likewise",
    "schema show": "likewise",
    "man show": "likewise",
    "man path": "likewise",
    "completion show": "likewise",
    "completion install": "a file of the shell",
    "completion status": "likewise",
    "completion uninstall": "likewise",
    "demo": "has a home of its own",
    "sandbox canon": "serves, and only names the home in its advice",
    "sandbox borgee": "likewise",
    "sandbox model": "likewise",
}
# What some commands are to be given so that nothing else is wrong with the call.
GIVEN = {
    "creds move": ("--to", "file"),
    "doctor": ("--offline",),
    "inbox requeue": ("7", "--confirm-duplicate-side-effect-risk"),
    "profile import": ("{file}",),
}
FOREIGN = ("notes.txt", "src")


def missing(folder: Path) -> Path:
    return folder / "hermse"


def a_file(folder: Path) -> Path:
    (folder / "config.yaml").write_text("streaming: {enabled: true}\n")
    return folder / "config.yaml"


def empty(folder: Path) -> Path:
    """A volume that is not mounted."""
    (folder / "volume").mkdir()
    return folder / "volume"


def foreign(folder: Path) -> Path:
    """The folder above, or beside, the one that was meant."""
    (folder / "project").mkdir()
    for name in FOREIGN:
        (folder / "project" / name).mkdir()
    return folder / "project"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "agents.json").write_text("{}")
    return tmp_path / "agents.json"


def loaded(entry: Entry) -> OperatorCommand:
    module, _, attribute = entry.target.partition(":")
    found = getattr(importlib.import_module(f"canon_ops.cli.commands.{module}"), attribute)
    assert isinstance(found, OperatorCommand)
    return found


def arguments_of(words: tuple[str, ...], entry: Entry, file: Path) -> list[str]:
    """A value for each argument and option that the command cannot do without."""
    name = " ".join(words)
    if name in GIVEN:
        return [word.format(file=file) for word in GIVEN[name]]
    required = [param for param in loaded(entry).params if param.required]
    return [
        word for param in required for word in ([param.opts[-1]] if isinstance(param, click.Option) else [])
        + [param.type.choices[0] if isinstance(param.type, click.Choice) else "7"]
    ]  # fmt: skip


COMMANDS = [(words, entry) for words, entry in leaves() if " ".join(words) not in ANY_HOME]


@pytest.mark.parametrize(
    ("words", "entry"), COMMANDS, ids=lambda value: " ".join(value) if type(value) is tuple else ""
)
@pytest.mark.parametrize(
    "make", [pytest.param(missing, id="missing"), pytest.param(foreign, id="foreign", marks=pytest.mark.long)]
)
def test_every_command_says_that_the_home_is_not_there(
    make: Callable[[Path], Path], words: tuple[str, ...], entry: Entry, program: Runner, tmp_path: Path, file: Path
) -> None:
    """Exit 3, one sentence, the cure, in the document too; a command that comes is held to it, or listed above."""
    folder = make(tmp_path)
    call = (*words, *arguments_of(words, entry, file), "--hermes-home", str(folder), "--no-input", "--yes")

    told, document = program(*call), program(*call, "--json")

    assert (told.code, document.code) == (3, 3), told.err
    (error,) = document.json["errors"]
    assert error["code"] == ("hermes_home_missing" if make is missing else "hermes_home_foreign")
    assert (error["file"], document.json["hermes_home"]) == (str(folder), str(folder))
    assert told.out == ""
    assert told.err.startswith(f"Error: {error['message']}\n")
    assert f"  fix: {error['fix']}\n" in told.err and f"HERMES_HOME={folder} hermes setup" in error["fix"]
    assert not folder.exists() or {path.name for path in folder.rglob("*")} == set(FOREIGN)


@pytest.mark.parametrize("make", [a_file, empty, foreign], ids=["a file", "empty", "foreign"])
@pytest.mark.parametrize("words", [("inbox", "list"), ("config", "set", "streaming.enabled", "true"), ("doctor",)])
def test_what_is_no_home_either(
    make: Callable[[Path], Path], words: tuple[str, ...], program: Runner, tmp_path: Path
) -> None:
    """The file in the home instead of the home, and a mount point without its volume."""
    assert program(*words, "--hermes-home", str(make(tmp_path))).code == 3


@pytest.mark.parametrize("words", [("approvals", "list"), ("env", "set", "NOTE", "x")], ids=["reader", "writer"])
def test_a_home_that_the_environment_names_is_held_to_the_same(
    words: tuple[str, ...], program: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HERMES_HOME may be mistyped, too."""
    monkeypatch.setenv("HERMES_HOME", str(foreign(tmp_path)))

    assert program(*words).code == 3


@pytest.mark.parametrize("words", [("approvals", "list"), ("env", "set", "NOTE", "x")], ids=["reader", "writer"])
@pytest.mark.parametrize("way", ["HERMES_HOME", "--hermes-home"])
def test_the_folder_of_a_profile_that_hermes_deleted_is_no_home(
    way: str, words: tuple[str, ...], program: Runner, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stray process made it again; Hermes 0.21 writes nothing there either, and says how it comes back."""
    work = home / ".hermes" / "profiles" / "work"
    work.mkdir(parents=True)
    (work / "config.yaml").touch()
    (work.parent / ".deleted").mkdir()
    (work.parent / ".deleted" / "work").touch()
    if way == "HERMES_HOME":
        monkeypatch.setenv(way, str(work))

    ran = program(*words, *((way, str(work)) if way != "HERMES_HOME" else ()), "--json")

    (error,) = ran.json["errors"]
    assert (ran.code, error["code"], error["file"]) == (3, "hermes_home_missing", str(work))
    assert error["fix"].endswith("hermes profile create work")
    assert [path.name for path in work.iterdir()] == ["config.yaml"]


def test_the_home_that_hermes_chooses_by_itself_may_be_empty(program: Runner, home: Path) -> None:
    """Nobody typed it; Hermes fills it at its first start."""
    (home / ".hermes").mkdir()

    assert program("approvals", "list").code == 0


@pytest.mark.parametrize("name", ["config.yaml", ".env", "SOUL.md", "state.db", "plugins/", "profiles/", ".canon-ops/"])
def test_one_name_of_hermes_or_of_ours_makes_a_home(name: str, program: Runner, tmp_path: Path) -> None:
    """A home may hold little: a file of settings, or what a gateway left."""
    folder = empty(tmp_path)
    (folder / name).mkdir() if name.endswith("/") else (folder / name).touch()

    assert program("approvals", "list", "--hermes-home", str(folder)).code == 0


def test_what_changes_a_home_may_begin_the_one_that_hermes_chooses(program: Runner, home: Path) -> None:
    """Before its first start there is none; the doctor says what is to be done. Who tells says that it is missing."""
    codes = [
        program(*words).code
        for words in (("approvals", "list"), ("doctor", "--only", "config.parse"), ("config", "set", "a.b", "1"))
    ]

    assert codes == [3, 0, 0]
    assert (home / ".hermes" / "config.yaml").read_text() == "a:\n  b: 1\n"


def test_what_needs_no_home_answers_without_one(program: Runner, tmp_path: Path) -> None:
    """And each exception is a command."""
    assert set(ANY_HOME) <= {" ".join(words) for words, _ in leaves()}
    for words in (("version",), ("config", "path"), ("preferences", "set", "keyring.use", "true"), ("schema", "list")):
        assert program(*words, "--hermes-home", str(missing(tmp_path))).code == 0, words
    assert not missing(tmp_path).exists()
