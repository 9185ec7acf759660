"""What a completion script is told: values of this machine, kept until a file that they came from changes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from canon_ops.cli.completion.answer import answer
from canon_ops.cli.completion.kinds import ROWS, Kind, Row, kind_of
from canon_ops.cli.completion.outline import outline
from canon_ops.cli.tree import leaves

# 30 maps, each holding the one before twice: a few lines, and a thousand million paths.
BOMB = "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{l: *a{n - 1}, r: *a{n - 1}}}\n" for n in range(1, 31))
Ask = Callable[..., list[str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's home with a Hermes home and Canon profiles."""
    (tmp_path / ".hermes" / "profiles" / "work").mkdir(parents=True)
    (tmp_path / ".hermes" / "config.yaml").write_text("a:\n  b: 1\n  'c.d': 2\n")
    (tmp_path / ".canon").mkdir()
    (tmp_path / ".canon" / "agents.json").write_text(
        json.dumps({"ops": {"clientType": "hermes", "agentId": "agent_1"}})
    )
    return tmp_path


@pytest.fixture
def ask(home: Path) -> Ask:
    """The values of a kind, without their sentences."""

    def values(*arguments: str, **more: str) -> list[str]:
        text = answer(arguments, {"HOME": str(home), **more})
        return [line.partition("\t")[0] for line in text.splitlines()]

    return values


def cached(home: Path) -> list[Path]:
    return sorted((home / ".cache" / "canon-ops" / "complete").glob("*"))


def test_keys_of_the_file_come_first_and_known_ones_follow(ask: Ask) -> None:
    """A key with a dot is quoted as a path writes it."""
    found = ask("config-key")

    assert found[:3] == ["a", "a.b", 'a."c.d"']
    assert "plugins.enabled" in found


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("hermes-profile", ["default", "work"]),
        ("canon-profile", ["ops"]),
        ("agent-id", ["agent_1"]),
        ("registration", []),
        ("history-id", []),
    ],
)
def test_each_kind_is_read_where_it_lives(ask: Ask, kind: str, expected: list[str]) -> None:
    """Profiles from folders and agents.json; nothing where there is nothing."""
    assert ask(kind) == expected


def test_an_answer_is_kept_and_a_changed_file_drops_it(ask: Ask, home: Path) -> None:
    """Each file that decides is looked at: config.yaml, agents.json moved by .env, the sticky profile."""
    assert "a.b" in ask("config-key")
    (kept,) = cached(home)
    kept.write_text(kept.read_text().replace("a.b\t", "from_the_cache\t"))
    assert "from_the_cache" in ask("config-key")

    (home / ".hermes" / "config.yaml").write_text("new: {}\n")
    assert ask("config-key")[0] == "new"

    (home / ".hermes" / "profiles" / "work" / "config.yaml").write_text("at_work: 1\n")
    (home / ".hermes" / "active_profile").write_text("work\n")
    assert ask("config-key")[0] == "at_work"


def test_a_file_that_moves_is_followed(ask: Ask, home: Path) -> None:
    """CANON_HOME in .env leads to another agents.json, and the kept answer knows that .env decided."""
    assert ask("canon-profile") == ["ops"]
    (home / "other").mkdir()
    (home / "other" / "agents.json").write_text(json.dumps({"moved": {"clientType": "hermes"}}))
    (home / ".hermes" / ".env").write_text(f"CANON_HOME={home / 'other'}\n")

    assert ask("canon-profile") == ["moved"]


def test_a_registration_that_begins_is_offered(ask: Ask, home: Path) -> None:
    """Also after an answer was kept while there was none."""
    assert ask("registration") == []
    (home / ".canon" / "pending-registrations.json").write_text(json.dumps({"new": {"profile": "new"}}))

    assert ask("registration") == ["new"]


def test_homes_are_told_apart(ask: Ask, home: Path) -> None:
    """The answer for one profile is not given for another, however it is named."""
    (home / ".hermes" / "profiles" / "work" / "config.yaml").write_text("at_work: 1\n")

    ways = (
        ask("config-key", "config", "get", "-p", "work"),
        ask("config-key", "config", "get", "--profile", "=", "work"),
        ask("config-key", "config", "get", "--profile=work"),
        ask("config-key", CANON_OPS_PROFILE="work"),
        ask("config-key", "--hermes-home", str(home / ".hermes" / "profiles" / "work")),
    )

    assert [found[0] for found in ways] == ["at_work"] * 5
    assert ask("config-key")[0] == "a"


@pytest.mark.parametrize(
    "arguments",
    [(), ("",), ("nosuch",), ("check",), ("config-key", "-p", "nobody"), ("config-key", "-p", "a\nb"), ("\x1f",)],
    ids=repr,
)
def test_what_cannot_be_answered_is_silence(ask: Ask, arguments: tuple[str, ...]) -> None:
    """No kind, an unknown one, one that the script itself holds, a home that does not exist."""
    assert ask(*arguments) == []


@pytest.mark.parametrize(
    "text", ["a: [", "\t\n", "- 1\n- 2\n", "\x00", "a: &a [*a]", "{1: {2: 3}}", BOMB, "'': 1\n\"x\\ny\": 2"], ids=repr
)
def test_a_broken_file_has_no_keys_of_its_own(ask: Ask, home: Path, text: str) -> None:
    """The known keys are still offered, one a line."""
    (home / ".hermes" / "config.yaml").write_text(text)

    found = ask("config-key")

    assert "plugins.enabled" in found
    assert all(found)


def test_the_cache_is_private_and_a_missing_one_is_no_failure(ask: Ask, home: Path) -> None:
    """0600 in 0700; a cache that is a file, or cannot be made, costs time and nothing else."""
    ask("config-key")
    (kept,) = cached(home)
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)

    blocked = home / "blocked"
    blocked.write_text("")
    assert "a.b" in ask("config-key", XDG_CACHE_HOME=str(blocked))
    assert "a.b" in ask("config-key", XDG_CACHE_HOME="/proc/nowhere")


@pytest.mark.parametrize("text", ["", "\n\n", "canon-ops 0.0.0\nx\n\nold\t\n", "\x00\xff"], ids=repr)
def test_a_damaged_cache_is_made_anew(ask: Ask, home: Path, text: str) -> None:
    """Another version's, an empty one, anything."""
    ask("config-key")
    (kept,) = cached(home)
    kept.write_bytes(text.encode("latin-1"))

    assert "a.b" in ask("config-key")
    assert "a.b" in kept.read_text()


def test_values_with_control_characters_are_left_out(ask: Ask, home: Path) -> None:
    """A tab or an escape in a profile's name would break the line that a shell reads."""
    names = {"ops": {"clientType": "hermes"}, "a\tb": {"clientType": "hermes"}, "\x1b[31m": {"clientType": "hermes"}}
    (home / ".canon" / "agents.json").write_text(json.dumps(names))

    assert ask("canon-profile") == ["ops"]


def test_no_value_is_a_secret(home: Path) -> None:
    """Names of variables are offered, never what they hold."""
    (home / ".hermes" / ".env").write_text("CANON_API_KEY=agk_live_0123456789abcdef\nMINE=agk_live_other\n")

    text = answer(["variable"], {"HOME": str(home)})

    assert "MINE\t" in text
    assert "agk_live" not in text + "".join(path.read_text() for path in cached(home))


def test_a_warm_answer_needs_no_home(ask: Ask, home: Path) -> None:
    """It is read and checked; nothing is resolved, so an unreadable home does not even show."""
    ask("config-key")
    (home / ".hermes" / "config.yaml").chmod(0)
    times = {path: path.stat().st_mtime_ns for path in cached(home)}

    assert "a.b" in ask("config-key")
    assert {path: path.stat().st_mtime_ns for path in cached(home)} == times
    assert os.listdir(home / ".hermes") != []  # noqa: PTH208


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.words} {row.name}")
def test_each_row_of_a_known_command_can_apply(row: Row) -> None:
    """The first row that fits counts, so no row stands behind one that hides it."""
    assert kind_of(row.words.split(), row.name) is row.kind


def test_the_outline_holds_every_command() -> None:
    """Each command of the tree is a node, and what a script holds itself is never asked for."""
    nodes = outline()

    assert {node.path for node in nodes if not node.members} == {" ".join(words) for words, _ in leaves()}
    asked = {taken.takes for node in nodes for taken in node.valued} | {
        each for node in nodes for each in node.arguments
    }
    assert {each.split()[1] for each in asked if each.startswith("ask ")} <= {
        kind.value for kind in Kind if kind.is_asked
    }
    assert not [each for each in asked if each.split()[0] not in ("words", "ask", "files", "folders", "any")]
