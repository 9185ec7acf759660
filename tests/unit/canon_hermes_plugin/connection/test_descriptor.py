"""The descriptor from the installed host's own registry, and from what operators, plugins and skills bring along."""

from __future__ import annotations

import ast
import contextvars
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from canon_hermes_plugin.connection.descriptor import COMMANDS, Dynamic, Native, describe
from canon_hermes_plugin.host import CommandSources, load_command_sources
from canon_hermes_plugin.hosting.commands import read_commands
from canon_ops.sandbox.descriptor import normalised

pytestmark = pytest.mark.host

GATED = {"verbose", "skills"}
NEVER = {"clear", "config", "tools", "quit", "topic", "start", "curator"}


@pytest.fixture
def sources() -> CommandSources:
    """The installed host's registry, and nothing else."""
    empty: Any = dict
    return replace(
        load_command_sources(),
        config_gates=set,
        plugin_commands=tuple,
        bundles=empty,
        skills=empty,
        disabled_skills=lambda platform: set(),
    )


def described(sources: CommandSources, quick: object = None) -> dict[str, Any]:
    return dict(describe(*read_commands(sources, quick)))


def by_alias(descriptor: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for command in descriptor["commands"]:
        for alias in command["aliases"]:
            assert alias not in found, alias
            found[alias] = command
    return found


def gates_of(sources: CommandSources) -> set[str]:
    return {one.name for one in sources.registry if one.gateway_config_gate}


@pytest.mark.parametrize("open_gates", [False, True])
def test_the_hosts_own_commands(sources: CommandSources, open_gates: bool) -> None:
    """S14.1: what a gateway takes under the present settings, less three; each with all that an app needs."""
    gates = gates_of(sources) if open_gates else set()
    available = [one for one in sources.registry if sources.is_available(one, gates)]

    found = described(replace(sources, config_gates=lambda: gates))

    natives = found["commands"][1:]
    offered = {one["id"].removeprefix("hermes-") for one in natives}
    assert offered == {one.name for one in available} - {"start", "topic", "curator"}
    assert not offered & NEVER and (offered & GATED == gates & GATED)
    assert all(one["description"] and not one["ownerOnly"] for one in natives)
    assert all(one["dispatch"] == {"kind": "text_passthrough", "template": one["label"]} for one in natives)
    assert all(one["placements"] == ["composer_slash", "command_palette"] for one in natives)
    names = by_alias(found)
    for one in available:
        if one.name in offered:
            assert all(names[alias] is names[one.name] for alias in one.aliases)
    assert (names["model"]["availability"], names["approve"]["availability"]) == (["idle"], ["always"])
    assert normalised(found)["commands"] == found["commands"]


def test_single_commands(sources: CommandSources) -> None:
    """S14.2: aliases, arguments, and the one command that is a signal."""
    names = by_alias(described(sources))
    new, stop, clear = names["new"], names["stop"], names["clear-queue"]

    assert names["reset"] is new and new["args"] == [argument("[name]", required=False)]
    assert (stop["dispatch"]["kind"], stop["availability"]) == ("text_passthrough", ["always"])
    assert (clear["dispatch"], clear["ownerOnly"]) == ({"kind": "signal", "signal": "stop_and_drop"}, True)
    assert clear["availability"] == ["busy_with_queue"] and "args" not in stop
    assert names["bg"]["args"][0]["required"] is True


def argument(label: str, *, required: bool) -> dict[str, Any]:
    return {"id": "arguments", "label": label, "kind": "string", "required": required, "captureRemaining": True}


def skill(name: str) -> dict[str, str]:
    return {"name": name, "description": f"Does {name}", "skill_md_path": f"/private/{name}/SKILL.md"}


def test_every_field_of_a_command() -> None:
    """R14.5: its names, texts within their limits, its place, whose it is, what it takes, and what typing it does."""
    aliases = ("go-on", "a", "go-on", *(f"a{number}" for number in range(9)))
    categories = ("Session", "Configuration", "Info", "Tools & Skills")
    natives = [Native(f"n{number}", "d", category, (), "", True, False) for number, category in enumerate(categories)]

    found = describe(
        [Native("go-on", "D" * 2_000, "Session", aliases, "<" + "x" * 200, True, True), *natives],
        [Dynamic("/own", "d", "[arguments]")],
    )
    first, *others, own = found["commands"][1:]

    assert first == {
        "id": "hermes-go-on",
        "label": "/go-on",
        "description": "D" * 1_024,
        "aliases": ["go-on", "a", *(f"a{number}" for number in range(6))],
        "category": "session",
        "placements": ["composer_slash", "command_palette"],
        "availability": ["always"],
        "ownerOnly": False,
        "args": [argument("<" + "x" * 159, required=True)],
        "dispatch": {"kind": "text_passthrough", "template": "/go-on"},
    }
    assert [one["category"] for one in others] == ["session", "runtime", "details", "custom"]
    assert all("args" not in one for one in others)
    assert (own["category"], own["availability"], own["aliases"]) == ("custom", ["idle"], ["own"])


def test_what_stands_behind_a_command_that_says_nothing_of_it(sources: CommandSources) -> None:
    """R14.5: arguments where it has parts, or somebody brought it along; an instruction for a skill or a bundle."""
    texts = {"description": "d", "category": "Info", "args_hint": ""}
    parts = SimpleNamespace(name="parts", aliases=(), subcommands=("a",), **texts)
    more = replace(
        sources,
        registry=[parts, SimpleNamespace(**{**vars(parts), "name": "bare", "subcommands": ()})],
        is_available=lambda command, gates: True,
        plugin_commands=lambda: [("plugged", "d", "")],
        bundles=lambda: {"/bundle": {"description": "d"}},
        skills=lambda: {"/skilled": {"description": "d"}},
    )

    names = by_alias(described(more, {"quick": {"type": "exec", "command": "true"}}))

    hints = {name: [arg["label"] for arg in one.get("args", ())] for name, one in names.items()}
    assert [hints[name] for name in ("parts", "bare", "quick", "plugged", "bundle", "skilled")] == [
        ["[arguments]"], [], ["[arguments]"], ["[arguments]"], ["[instruction]"], ["[instruction]"],
    ]  # fmt: skip


def test_what_others_bring_along(sources: CommandSources) -> None:
    """S14.3: quick commands, plugins, bundles, skills, in this order; a name is given once, the host's own first."""
    quick = {
        "shared": {"type": "alias", "target": "/new"},
        "quick": {"type": "exec", "command": "cat /private/key", "description": "Reads"},
        "odd": {"type": "other"},
        "none": "x",
    }
    found = described(
        replace(
            sources,
            plugin_commands=lambda: [
                ("plugin-command", "A plugin's", "<raw args>"),
                ("shared", "no", ""),
                ("model", "no", ""),
            ],
            bundles=lambda: {"/bundle": {"name": "bundle", "description": "A bundle", "handler": "x"}},
            skills=lambda: {
                f"/{name}": skill(name)
                for name in ("shared", "bundle", "reset", "clear", "my-skill", "disabled", "stop-clear", "ü")
            },
            disabled_skills=lambda platform: {"disabled"},
        ),
        quick,
    )
    names = by_alias(found)

    assert [names[name]["description"] for name in ("shared", "quick", "bundle", "my-skill")] == [
        "Run /shared", "Reads", "A bundle", "Does my-skill",
    ]  # fmt: skip
    assert names["stop-clear"]["dispatch"]["template"] == "/stop-clear"
    assert names["clear-queue"]["aliases"] == ["clear-queue"]
    assert names["plugin-command"]["args"] == [argument("<raw args>", required=True)]
    assert (names["my-skill"]["availability"], names["my-skill"]["args"][0]["label"]) == (["idle"], "[instruction]")
    assert not {"disabled", "clear", "odd", "none", "ü"} & {*names}
    text = json.dumps(found)
    assert "/private/" not in text and "cat " not in text and "handler" not in text
    assert normalised(found)["commands"] == found["commands"]


def test_skills_come_and_go(sources: CommandSources) -> None:
    """S14.4: what is there now is offered."""
    first = by_alias(described(replace(sources, skills=lambda: {"/old": skill("old")})))
    second = by_alias(described(replace(sources, skills=lambda: {"/new-one": skill("new-one")})))

    assert ("old" in first, "old" in second, "new-one" in second) == (True, False, True)


@pytest.fixture
def skill_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home whose skills the host's real scanner reads."""
    import agent.skill_commands
    import tools.skills_tool

    home = tmp_path / "skilled"
    for name in ("canon-on", "off", "off-canon", "new"):
        folder = home / "skills" / name
        folder.mkdir(parents=True)
        folder.joinpath("SKILL.md").write_text(f"---\nname: {name}\ndescription: The skill {name}\n---\nText.\n")
    home.joinpath("config.yaml").write_text(
        "skills:\n  disabled: [off]\n  platform_disabled:\n    canon: [off-canon]\n    telegram: [canon-on]\n"
    )
    monkeypatch.setenv("HERMES_HOME", str(home))
    monkeypatch.setattr(tools.skills_tool, "SKILLS_DIR", home / "skills")
    kept = next(name for name in ("_skill_commands", "_skill_commands_by_key") if hasattr(agent.skill_commands, name))
    monkeypatch.setattr(agent.skill_commands, kept, {})
    yield home
    setattr(agent.skill_commands, kept, {})


def test_the_hosts_own_scanner(skill_home: Path) -> None:
    """S14.5: skills as in a session of Canon, whoever asks; a skill with a name of the host's does not get it."""
    from gateway.session_context import get_session_env, set_session_vars

    def inside() -> tuple[dict[str, Any], list[str]]:
        set_session_vars(platform="telegram", user_id="other-user")
        found = described(load_command_sources())
        return found, [get_session_env(f"HERMES_SESSION_{name}", "") for name in ("PLATFORM", "USER_ID")]

    found, session = contextvars.copy_context().run(inside)
    names = by_alias(found)

    assert names["canon-on"]["description"] == "The skill canon-on"
    assert not {"off", "off-canon"} & {*names}
    assert names["new"]["description"] != "The skill new"
    assert session == ["telegram", "other-user"]


def test_a_great_many(sources: CommandSources) -> None:
    """S14.6: the list is cut at its end, and every text at its limit."""
    many = {f"/skill-{number}": skill("x" * 2_000) for number in range(300)}

    found = described(replace(sources, skills=lambda: many))

    commands = found["commands"]
    assert len(commands) == COMMANDS and commands[0]["id"] == "stop-and-clear-queue" and "model" in by_alias(found)
    for one in commands:
        assert len(one["id"]) <= 128 and len(one["label"]) <= 160 and len(one["description"]) <= 1_024
        assert len(one["aliases"]) <= 8 and all(arg["kind"] == "string" for arg in one.get("args", ()))
    assert normalised(found)["commands"] == commands


def test_texts_are_one_line() -> None:
    """R14.6: whatever a plugin says of itself, it stays a description."""
    found = describe((), [Dynamic("/a", "two\n lines\t ", " <x>\n y ")])

    assert found["commands"][1]["description"] == "two lines"
    assert found["commands"][1]["args"] == [argument("<x> y", required=True)]


@pytest.mark.parametrize("taken", [("stop-clear",), ("stop-clear", "clear-queue")])
def test_the_signal_always_has_a_name(taken: tuple[str, ...]) -> None:
    """R14.2: a server drops a command without an alias; this one keeps at least one."""
    found = describe((), [Dynamic(name, "d", "") for name in taken])

    assert found["commands"][0]["aliases"] == (["clear-queue"] if len(taken) == 1 else ["stop-and-clear-queue"])


def test_names_that_the_host_does_not_tell_apart() -> None:
    """R14.4: hidden names are taken too, with either of the two dashes, in any case."""
    native = Native("do_it", "d", "Other", ("Do-That",), "", False, False)

    found = describe((native,), [Dynamic(name, "d", "") for name in ("do-it", "do_that", "free", "FREE", "/", "")])

    assert [one["id"] for one in found["commands"][1:]] == ["hermes-free"]
    assert describe((replace(native, is_available=True),), ())["commands"][1]["category"] == "custom"


# --- what the host dispatches -------------------------------------------------------------------------------------


def dispatched() -> set[str]:
    """Every text that the gateway's own sources compare a command's name with, or look one up by."""
    import gateway

    folder = Path(gateway.__file__).parent
    found: set[str] = set()
    for file in [*folder.glob("run*.py"), *folder.glob("slash_*.py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Compare(left=left, comparators=comparators):
                    found |= {text for one in (left, *comparators) for text in texts_of(one)}
                case ast.Dict(keys=keys):
                    found |= {text for key in keys if key is not None for text in texts_of(key)}
                case ast.Assign(targets=[ast.Name(name)], value=names) if name.endswith("_COMMANDS"):
                    found |= texts_of(names)
    return found


def texts_of(node: ast.expr) -> set[str]:
    return {
        one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
        if re.fullmatch(r"[a-z][a-z0-9-]*", one.value)
    }  # fmt: skip


def test_what_is_offered_is_dispatched(sources: CommandSources) -> None:
    """S14.7, R14.8: each native command that is offered is one that this gateway's dispatch knows."""
    gates = gates_of(sources)
    found = described(replace(sources, config_gates=lambda: gates))

    offered = {one["id"].removeprefix("hermes-") for one in found["commands"][1:]}

    known = dispatched()
    assert offered <= known and "curator" not in known
