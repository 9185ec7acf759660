"""What the plugin's own source may and may not contain."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import canon_hermes_plugin

FOLDER = Path(canon_hermes_plugin.__file__).parent
SOURCES = sorted(FOLDER.rglob("*.py"))
HOST = re.compile(r"^(gateway|hermes_cli|hermes_constants|agent|tools|run_agent|model_tools)(\.|$)")
VERSION_TESTS = {"ImportError", "ModuleNotFoundError", "AttributeError"}


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            names |= {str(word.value) for word in node.args if isinstance(word, ast.Constant)}
    return names


def caught(tree: ast.AST) -> set[str]:
    handlers = [node.type for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.type is not None]
    return {name.id for handler in handlers for name in ast.walk(handler) if isinstance(name, ast.Name)}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_only_one_module_knows_the_host(source: Path) -> None:
    """F5, T10, S1.14: host modules, and tests for a host's version by exception, stand in host.py alone."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    knows = {name for name in imported(tree) if HOST.match(name)}

    if source.name == "host.py":
        assert knows
    else:
        assert knows == set()
        assert not caught(tree) & VERSION_TESTS


BUNDLED = re.compile(r"\b(?:gateway|hermes_cli|plugins)[./]platforms[./]canon\b")  # a folder of the host's
WORD = r"(?:canon|hermes|runtime|input|card)"
TAG = re.compile(rf"</?\s*{WORD}(?:[\s_:-]{WORD}\w*)*\s*/?>", re.IGNORECASE)
TEXTS = [*SOURCES, *sorted(FOLDER.rglob("*.md")), *sorted(FOLDER.rglob("*.yaml")), *sorted(FOLDER.rglob("*.json"))]


@pytest.mark.parametrize("source", TEXTS, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_nothing_is_left_of_older_ways(source: Path) -> None:
    """S1.14: no path of a Canon platform bundled with the host, and no tags that stand for an input or a card."""
    text = source.read_text(encoding="utf-8")

    assert not BUNDLED.search(text)
    assert not TAG.search(text)


@pytest.mark.parametrize(
    ("text", "is_tag"),
    [
        ("<canon_runtime_input>", True), ("</runtime-card>", True), ("<card/>", True), ("<Canon:Input>", True),
        ("<canon conversation id>", False), ("a < card and input > b", False), ("list[Card]", False),
        ("<card-42>", False),
    ],
)  # fmt: skip
def test_a_tag_is_told_from_a_placeholder(text: str, is_tag: bool) -> None:
    """The search above would find what it looks for."""
    assert bool(TAG.search(text)) == is_tag
    assert BUNDLED.search("gateway.platforms.canon") and BUNDLED.search("plugins/platforms/canon")
    assert not BUNDLED.search("the block platforms.canon of config.yaml")


def test_nothing_of_the_host_is_imported_with_the_door() -> None:
    """The door itself imports at its top level nothing of the host: a gateway that is starting is not complete yet."""
    tree = ast.parse((FOLDER / "host.py").read_text(encoding="utf-8"))

    assert not {name for node in tree.body for name in imported(node) if HOST.match(name) and _is_import(node)}


def _is_import(node: ast.AST) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)
