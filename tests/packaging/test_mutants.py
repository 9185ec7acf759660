"""The mutants of known defects: each patch fits the tree and names tests that exist, and each is judged right.

``make mutants`` runs them; here only what a change of the code can break unnoticed is looked at.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from scripts.mutants import CHECKOUT, BadMutant, Mutant, Verdict, applies, judge, read_mutant, read_mutants

pytestmark = pytest.mark.checkout

SOURCE = "def twice(number):\n    return number * 2\n"
TEST = """\
from doubling import twice


def test_twice():
    assert twice(3) == 6


def test_zero():
    assert twice(0) == 0
"""
OPEN = {
    "D58",  # one module of five thousand lines: no patch puts that back, and import-linter and reviewers look at it
}
"""Defects of the published plugin that no mutant stands for yet."""

PATCH = """\
diff --git a/doubling.py b/doubling.py
--- a/doubling.py
+++ b/doubling.py
@@ -1,2 +1,2 @@
 def twice(number):
-    return number * 2
+    return number * {factor}
"""


@pytest.mark.parametrize("mutant", read_mutants(), ids=lambda mutant: mutant.file.stem)
def test_each_mutant_fits_the_tree_and_names_tests_that_exist(mutant: Mutant) -> None:
    """A patch that no longer applies, or a test that was renamed, is noticed where it happens."""
    assert applies(mutant, CHECKOUT)
    for test in mutant.tests:
        file, _, name = test.partition("[")[0].partition("::")  # one row of a table may be named
        assert name in functions_of(file)


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse((CHECKOUT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_defect_of_the_published_canon_plugin_has_a_mutant_but_these() -> None:
    """T2: D1 to D65. One that gets its first patch leaves :data:`OPEN`, and none may come to it unnoticed."""
    defects = {f"D{number}" for number in range(1, 66)}

    assert defects - {mutant.defect for mutant in read_mutants()} == OPEN


def test_every_weakness_of_the_published_borgee_plugin_has_a_mutant() -> None:
    """W1 to W30, W3b among them: none may come back unnoticed."""
    weaknesses = {"W3b", *(f"W{number}" for number in range(1, 31))}

    assert weaknesses - {mutant.defect for mutant in read_mutants()} == set()


def test_every_transition_of_an_approval_has_a_mutant_that_the_interleavings_catch() -> None:
    """Issue of the approvals, must show 1: one mutant a transition. T13 is a tool of other programs' tests."""
    theirs = "tests/acceptance/test_approvals_crash.py::test_a_slice_of_all_interleavings"
    transitions = {f"T{number}" for number in range(1, 26)} - {"T13"}

    assert {mutant.defect for mutant in read_mutants() if theirs in mutant.tests} == transitions


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project of two files; git is told that it is no part of a repository."""
    folder = tmp_path / "project"
    folder.mkdir()
    folder.joinpath("doubling.py").write_text(SOURCE)
    folder.joinpath("test_doubling.py").write_text(TEST)
    return folder


def mutant(folder: Path, *, factor: str, tests: str) -> Mutant:
    file = folder.parent / "one.patch"
    names = "".join(f"Test: test_doubling.py::{name}\n" for name in tests.split())
    file.write_text(f"Defect: D1\n{names}\nIt does not double.\n\n{PATCH.format(factor=factor)}")
    return read_mutant(file)


@pytest.mark.parametrize(
    ("factor", "tests", "verdict"),
    [
        ("3", "test_twice", Verdict.KILLED),
        ("3", "test_zero", Verdict.SURVIVED),
        ("3", "test_twice test_zero", Verdict.SURVIVED),
        ("3", "test_gone", Verdict.BROKEN),
        ("(", "test_twice", Verdict.BROKEN),
    ],
)
def test_a_mutant_is_judged_by_the_tests_it_names(tree: Path, factor: str, tests: str, verdict: Verdict) -> None:
    """Killed when all of them fail; broken when they cannot run; and the tree is as it was afterwards."""
    assert judge(mutant(tree, factor=factor, tests=tests), tree) is verdict
    assert tree.joinpath("doubling.py").read_text() == SOURCE


def test_a_patch_that_does_not_fit_is_broken(tree: Path) -> None:
    """Code that moved on makes a mutant broken, not killed."""
    stale = mutant(tree, factor="3", tests="test_twice")
    tree.joinpath("doubling.py").write_text("def twice(number):\n    return number + number\n")

    assert judge(stale, tree) is Verdict.BROKEN


@pytest.mark.parametrize(
    "text",
    [
        "Defect: D1\nTest: a::b\n\nStory.\n",
        f"Test: a::b\n\nStory.\n\n{PATCH}",
        f"Defect: D1\n\nStory.\n\n{PATCH}",
        f"Defect: D1\nTest: a::b\n\n{PATCH}",
    ],
    ids=["no diff", "no defect", "no test", "no story"],
)
def test_a_file_that_says_too_little_is_no_mutant(tmp_path: Path, text: str) -> None:
    """Every part of the header is asked for."""
    file = tmp_path / "x.patch"
    file.write_text(text)

    with pytest.raises(BadMutant, match=r"x\.patch"):
        read_mutant(file)
