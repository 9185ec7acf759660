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


def test_nothing_of_the_host_is_imported_with_the_door() -> None:
    """The door itself imports at its top level nothing of the host: a gateway that is starting is not complete yet."""
    tree = ast.parse((FOLDER / "host.py").read_text(encoding="utf-8"))

    assert not {name for node in tree.body for name in imported(node) if HOST.match(name) and _is_import(node)}


def _is_import(node: ast.AST) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)
