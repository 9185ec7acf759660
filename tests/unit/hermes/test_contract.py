"""What a plugin needs of a host, against what a host says it has."""

from __future__ import annotations

import ast
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import canon_hermes_plugin
from canon_hermes_plugin.host import HELPERS, HostFacts
from canon_hermes_plugin.registration import register
from canon_ops.hermes.contract import Described, Difference, Effect, Need, Parameter, Use, compare, worst
from canon_ops.hermes.contract_canon import CANON_NEEDS
from canon_ops.hermes.host_call import describe_symbols
from tests.support.fake_host import clean_environ, make_environment, site_of
from tests.unit.canon_hermes_plugin.conftest import RecordingContext

CALL = Need("host:speak", Use.CALL, "it speaks", 1, ("loud",))
HEARD = Need("host:Ear.hear", Use.OVERRIDE, "it hears", keywords=("text", "twice"), is_async=True)
PLUGIN = Path(canon_hermes_plugin.__file__).parent


def parameter(name: str, kind: str = "POSITIONAL_OR_KEYWORD", *, optional: bool = False) -> Parameter:
    return Parameter(name, kind, optional)


def told(need: Need, host: Described) -> list[tuple[str, Effect]]:
    return [(one.what, one.effect) for one in compare([need], {need.path: host})]


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ([parameter("text"), parameter("loud")], []),
        ([parameter("text"), parameter("loud", "KEYWORD_ONLY", optional=True), parameter("x", optional=True)], []),
        ([parameter("args", "VAR_POSITIONAL"), parameter("more", "VAR_KEYWORD")], []),
        ([parameter("text")], ["takes no loud"]),
        ([parameter("loud", "KEYWORD_ONLY")], ["takes 0 arguments by position, not 1"]),
        ([parameter("text"), parameter("loud"), parameter("to")], ["wants to too"]),
    ],
)
def test_a_call_is_held_against_the_parameters(parameters: list[Parameter], what: list[str]) -> None:
    """A call that Python would refuse breaks the platform, and the sentence says why Python would refuse it."""
    host = Described(CALL.path, True, parameters=tuple(parameters))

    assert told(CALL, host) == [(one, Effect.BREAKS) for one in what]


def test_a_new_parameter_of_an_override_wants_a_look() -> None:
    """What the host may hand over and ours does not take is unseen, not broken: hosts ask the signature first."""
    host = Described(HEARD.path, True, is_async=True, parameters=(parameter("text"), parameter("metadata")))

    assert told(HEARD, host) == [("has a parameter metadata that ours does not take", Effect.UNSEEN)]


def test_awaiting_is_part_of_the_contract() -> None:
    """A member that became a coroutine function, or ceased to be one, breaks its caller."""
    assert told(HEARD, Described(HEARD.path, True)) == [("is not awaited here", Effect.BREAKS)]
    assert told(CALL, Described(CALL.path, True, is_async=True)) == [("is awaited here", Effect.BREAKS)]


def test_what_has_a_stand_in_degrades() -> None:
    """A missing helper whose fallback is ours is told with the stand-in; without one it breaks."""
    absent = {CALL.path: Described(CALL.path, False, "AttributeError: speak")}

    (broken,) = compare([CALL], absent)
    (degraded,) = compare([replace(CALL, without="we whisper")], absent)

    assert broken == Difference("host:speak", "is missing", Effect.BREAKS, "it speaks")
    assert degraded.sentence == "host:speak is missing (we whisper)."
    assert worst([degraded, broken]) is Effect.BREAKS
    assert worst([]) is None


def test_what_was_not_described_counts_as_missing() -> None:
    """A host that answers less than it was asked is not taken for one that has everything."""
    assert [one.what for one in compare([CALL], {})] == ["is missing"]


def test_what_other_versions_have_elsewhere_is_looked_for_there() -> None:
    """A symbol that moved is as needed in its new place, held against the same parameters, and told by its old one."""
    moved = replace(CALL, elsewhere=("other:speak",))
    gone, there = Described(CALL.path, False), Described("other:speak", True, parameters=(parameter("text"),))

    assert [one.sentence for one in compare([moved], {CALL.path: gone, "other:speak": there})] == [
        "host:speak takes no loud (Canon needs it: it speaks)."
    ]
    assert [one.what for one in compare([moved], {CALL.path: gone})] == ["is missing"]
    assert compare([moved], {"other:speak": replace(there, parameters=None)}) == ()


def test_entries_of_a_collection_are_held_against_it() -> None:
    """A collection that lacks an entry is told entry by entry."""
    need = Need("host:HOOKS", Use.VALUE, "hooks", holds=("a", "b"))

    assert told(need, Described(need.path, True, entries=("b", "c"))) == [("lacks a", Effect.BREAKS)]


def test_a_host_describes_what_it_has(tmp_path: Path) -> None:
    """Functions, members, attributes of objects, enums, dataclasses; and why something is not there."""
    python = make_environment(tmp_path / "env")
    site_of(python).joinpath("hosted.py").write_text(
        "import enum, dataclasses\n"
        "class Kind(enum.Enum):\n    TEXT = 1\n"
        "@dataclasses.dataclass\nclass Row:\n    name: str\n    size: int = 0\n"
        "class Base:\n"
        "    def __init__(self, config, platform):\n        self._pending = {}\n"
        "    async def send(self, chat_id, *, metadata=None): ...\n"
        "    @property\n    def name(self): return ''\n"
        "    @staticmethod\n    def plain(x): ...\n"
        "class Sub(Base): ...\n"
    )
    names = ("Kind", "Row", "Sub", "Sub.send", "Sub.name", "Sub.plain", "Sub._pending", "Row.size", "Sub.gone")

    rows = describe_symbols(python, [*(f"hosted:{name}" for name in names), "nowhere:x"], environ=clean_environ())

    told_of = {path.partition(":")[2]: row for path, row in rows.items()}
    assert told_of["Kind"].entries == ("TEXT",)
    assert told_of["Row"].entries == ("name", "size")
    assert told_of["Sub"].parameters == (parameter("config"), parameter("platform"))
    assert told_of["Sub.send"] == Described(
        "hosted:Sub.send",
        True,
        is_async=True,
        parameters=(parameter("chat_id"), parameter("metadata", "KEYWORD_ONLY", optional=True)),
    )
    assert told_of["Sub.plain"].parameters == (parameter("x"),)
    assert [told_of[name].found for name in ("Sub.name", "Sub._pending", "Row.size", "Sub.gone")] == [
        True, True, True, False,
    ]  # fmt: skip
    assert told_of["Sub.gone"].reason == "AttributeError: gone"
    assert told_of["x"].reason == "ModuleNotFoundError: No module named 'nowhere'"


# --- the table of Canon ----------------------------------------------------------------------------------------------


def module_of(node: ast.AST) -> str | None:
    """``gateway.config`` of the expression ``importlib.import_module("gateway.config")``."""
    match node:
        case ast.Call(
            func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"), args=[ast.Constant(name)]
        ):
            return str(name)
    return None


def symbols_of_the_door() -> set[str]:
    """``module:name`` for everything that host.py takes from a host module, directly or through a local name."""
    found = set()
    for scope in ast.parse(PLUGIN.joinpath("host.py").read_text(encoding="utf-8")).body:
        nodes = list(ast.walk(scope))
        local = {
            node.targets[0].id: module
            for node in nodes
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            if (module := module_of(node.value))
        }
        for node in nodes:
            if isinstance(node, ast.Attribute):
                named = local.get(node.value.id) if isinstance(node.value, ast.Name) else module_of(node.value)
                if named:
                    found.add(f"{named}:{node.attr}")
    return found | {f"{helper.module}:{helper.attribute}" for helper in HELPERS}


def test_each_symbol_that_the_door_takes_is_in_the_table() -> None:
    """H3: host.py takes nothing of the host that the contract does not know."""
    taken = symbols_of_the_door()

    assert len(taken) > 15
    assert taken <= {need.path for need in CANON_NEEDS}


@pytest.mark.host
def test_each_argument_of_the_platform_entry_is_in_the_table() -> None:
    """R1.11: what registration hands over is what the contract looks for in the host's entry."""
    (entry,) = (need for need in CANON_NEEDS if need.path == "gateway.platform_registry:PlatformEntry")
    ctx = RecordingContext()

    register(ctx, facts=HostFacts("0.19.0", "3.11", "linux"))

    assert {*ctx.platforms[0]} <= {*entry.holds}


def test_each_helper_with_a_fallback_degrades() -> None:
    """H3: a row with a stand-in in host.py has one in the contract."""
    rows = {need.path: need for need in CANON_NEEDS}

    helpers = {f"{helper.module}:{helper.attribute}" for helper in HELPERS}

    assert all(rows[path].without for path in helpers)


ON_THE_OBJECT = {"_send_clarify": "send_clarify"}
"""Methods that an adapter puts upon itself under the host's name; its class has them under ours (decision 0090)."""


def members_of_adapter() -> dict[str, list[str]]:
    """The methods of the adapter class with the names of their parameters, read from its source."""
    tree = ast.parse(PLUGIN.joinpath("adapter.py").read_text(encoding="utf-8"))
    (adapter,) = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == "CanonAdapter")
    return {
        ON_THE_OBJECT.get(node.name, node.name): [one.arg for one in (*node.args.args[1:], *node.args.kwonlyargs)]
        for node in adapter.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name != "__init__"
    }


def test_the_overrides_are_those_of_the_adapter_class() -> None:
    """Each method of the adapter class is an OVERRIDE of the contract with just the parameters that ours takes."""
    overrides = {
        need.path.rpartition(".")[2]: sorted(need.keywords) for need in CANON_NEEDS if need.use is Use.OVERRIDE
    }

    assert overrides == {name: sorted(parameters) for name, parameters in members_of_adapter().items()}


HOST_OBJECTS = {
    "adapter": "gateway.platforms.base:BasePlatformAdapter",
    "runner": "gateway.run:GatewayRunner",
    "event": "gateway.platforms.base:MessageEvent",
    "streaming": "gateway.config:StreamingConfig",
}
"""What the plugin calls an object of the host, and whose it is; ``self._adapter`` and ``self._runner`` count too."""

HOLDERS = ("adapter.py", "hosting/queue.py", "hosting/runner.py", "busy/dispatcher.py")
"""The files that have objects of the host in hand; elsewhere these names mean objects of ours."""


def host_object(node: ast.AST) -> str | None:
    match node:
        case ast.Name(name) | ast.Attribute(value=ast.Name("self"), attr=name):
            return HOST_OBJECTS.get(name.removeprefix("_"))
        case ast.Call(func=ast.Name("super")):
            return HOST_OBJECTS["adapter"]
        case ast.Call(func=ast.Name("getattr"), args=[_, ast.Constant(str(name)), *_]):
            return HOST_OBJECTS.get(name) if name != "config" else None
    return None


def reads_of(source: str) -> set[str]:
    """``module:Class.member`` for each member that a source takes of a host's object, by a dot or by ``getattr``."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case (
                ast.Attribute(value=whose, attr=name)
                | ast.Call(func=ast.Name("getattr"), args=[whose, ast.Constant(str(name)), *_])
            ):
                if owner := host_object(whose):
                    found.add(f"{owner}.{name}")
    return found


def private_reads() -> set[str]:
    """The underscored names that any file of the plugin asks an object for by ``getattr``: never one of ours."""
    return {
        name
        for file in PLUGIN.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        for name in [_asked_for(node)]
        if name.startswith("_") and not name.startswith("__")  # those are Python's
    }


def _asked_for(call: ast.Call) -> str:
    match call:
        case ast.Call(func=ast.Name("getattr"), args=[_, ast.Constant(str(name)), *_]):
            return name
    return ""


def test_a_read_of_a_hosts_object_is_seen_however_it_is_written() -> None:
    """The reader of sources finds a dot, a getattr, a super(), and one read behind another."""
    source = (
        "runner = getattr(self._adapter, 'gateway_runner', None)\n"
        "runner._draining, self._runner.config, getattr(runner, '_a', 1), super()._b(), adapter._c\n"
        "other._d, getattr(other, name)\n"
    )

    base, runner = HOST_OBJECTS["adapter"], HOST_OBJECTS["runner"]

    assert reads_of(source) == {
        f"{base}.gateway_runner", f"{runner}._draining", f"{runner}.config", f"{runner}._a", f"{base}._b", f"{base}._c",
    }  # fmt: skip


def test_each_member_that_the_plugin_reads_is_in_the_table() -> None:
    """H3: nothing is read of the host's adapter, runner or events that the contract does not know."""
    taken = set[str]().union(*(reads_of(PLUGIN.joinpath(name).read_text(encoding="utf-8")) for name in HOLDERS))
    events = {need.path: need for need in CANON_NEEDS}[HOST_OBJECTS["event"]]
    known = {need.path for need in CANON_NEEDS} | {f"{events.path}.{name}" for name in events.keywords}
    ours = {
        f"{HOST_OBJECTS['adapter']}._canon",
        f"{HOST_OBJECTS['adapter']}.__init__",
        f"{HOST_OBJECTS['event']}.delivery_intent",  # set and read by ours
    }

    assert len(taken) > 25
    assert taken - ours <= known


def test_private_members_are_in_the_table_wherever_they_are_read() -> None:
    """No file of the plugin asks an object for a private member that no row names."""
    private = private_reads()

    assert {"_draining", "_startup_restore_in_progress"} <= private
    assert private <= {re.split("[.:]", need.path)[-1] for need in CANON_NEEDS}


def test_version_tests_by_exception_stand_in_the_door_only() -> None:
    """T10: what a host lacks is found out in host.py; elsewhere no import or attribute error is caught."""
    caught = {
        f"{file.relative_to(PLUGIN)}:{node.lineno}"
        for file in PLUGIN.rglob("*.py")
        if file.name != "host.py"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler) and node.type is not None
        if {"ImportError", "AttributeError"} & {one.id for one in ast.walk(node.type) if isinstance(one, ast.Name)}
    }

    assert caught == set()


@pytest.mark.host
def test_this_host_keeps_the_contract() -> None:
    """Nothing that the platform relies on is missing or other on the host of this environment, but for stand-ins."""
    described = describe_symbols(Path(sys.executable), [need.path for need in CANON_NEEDS], environ=os.environ)

    differences = compare(CANON_NEEDS, described)

    assert worst(differences) in (None, Effect.DEGRADES), [one.sentence for one in differences]
