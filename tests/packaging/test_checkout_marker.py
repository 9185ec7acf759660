"""A test that reads files of the checkout says so: an installed wheel has none of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[2]
COPIED = {"tests", "scripts", "examples", "pyproject.toml"}  # scripts/test_wheel.sh takes these along
LEFT = {entry.name for entry in ROOT.iterdir()} - COPIED


def _names_root(node: ast.AST, depth: int) -> bool:
    """Whether the root of the checkout is named, as ``parents[depth]`` of the file."""
    return any(
        isinstance(one, ast.Subscript)
        and "__file__" in ast.unparse(one.value)
        and ast.unparse(one.value).endswith("parents")
        and ast.unparse(one.slice) == str(depth)
        for one in ast.walk(node)
    )


def _names_what_is_left(node: ast.AST) -> bool:
    words = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str))
    return any(word.split("/")[0] in LEFT for word in words)


def _is_marked(node: ast.AST) -> bool:
    return "mark.checkout" in ast.unparse(node)


def _unmarked(file: Path) -> Iterator[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    depth = len(file.relative_to(ROOT).parts) - 1
    roots: set[str] = set()
    left: set[str] = set()
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(name := node.targets[0], ast.Name):
            continue
        if name.id == "pytestmark" and _is_marked(node.value):
            return
        used = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
        is_below = bool(used & roots) or _names_root(node.value, depth)
        if used & left or (is_below and _names_what_is_left(node.value)):
            left.add(name.id)
        elif is_below:
            roots.add(name.id)
    for test in ast.walk(tree):
        if not isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef) or not test.name.startswith("test_"):
            continue
        used = {one.id for one in ast.walk(test) if isinstance(one, ast.Name)}
        is_below = bool(used & roots) or _names_root(test, depth)
        reads = bool(used & left) or (is_below and _names_what_is_left(test))
        if reads and not any(map(_is_marked, test.decorator_list)):
            yield f"{file.relative_to(ROOT)}::{test.name}"


def test_whoever_reads_the_checkout_is_marked() -> None:
    """Whether the test itself names the place, or a constant of its module."""
    assert [found for file in (ROOT / "tests").rglob("test_*.py") for found in _unmarked(file)] == []
