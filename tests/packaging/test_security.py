"""The threat model names tests that exist: a promise without one is a wish.

Whether pytest really collects them is asked together with the table of scenarios, in ``test_scenarios.py``: listing the
suite takes half a minute.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

CHECKOUT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (?!promise |---)(?P<promise>.+?) \| (?P<tests>.*) \|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def promises() -> dict[str, set[str]]:
    """Every promise with the tests that show it, as ``module::name``."""
    text = (CHECKOUT / "docs" / "security.md").read_text(encoding="utf-8")
    return {row["promise"]: {"::".join(found) for found in TEST.findall(row["tests"])} for row in ROW.finditer(text)}


def test_every_promise_has_a_test_that_exists() -> None:
    """Each row names at least one, and each name is a function of that module."""
    found = promises()
    missing = {promise for promise, tests in found.items() if not tests}
    for test in set[str]().union(*found.values()):
        module, _, name = test.partition("::")
        file = CHECKOUT / module
        tree = ast.parse(file.read_text(encoding="utf-8")) if file.is_file() else ast.Module([], [])
        if not any(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name for node in tree.body
        ):
            missing.add(test)

    assert len(found) > 40
    assert missing == set()
