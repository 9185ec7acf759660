"""The table of scenarios names tests that pytest runs, and nothing that only looks like one.

``scripts/scenarios.py`` reads the source, so that ``make check`` needs no second for it; here pytest itself is asked.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import scenarios
from tests.conftest import COLLECTED
from tests.packaging.test_security import promises

pytestmark = pytest.mark.checkout

CHECKOUT = Path(__file__).resolve().parents[2]


def collected(text: str) -> set[str]:
    """``module::name`` of each line that pytest lists, without its class and its parameters."""
    ids = re.findall(r"^(tests/\S+?\.py)::([^\[\n]+)", text, re.MULTILINE)
    return {f"{module}::{name.rpartition('::')[2]}" for module, name in ids}


@pytest.fixture
def found(request: pytest.FixtureRequest) -> set[str]:
    """What pytest finds in all the tests: this run knows it when it was asked for all of them."""
    if request.config.args == request.config.getini("testpaths"):
        return request.config.stash[COLLECTED]
    listing = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert listing.returncode == 0, listing.stdout[-2_000:]
    return collected(listing.stdout)


@pytest.mark.timeout(300)
def test_every_test_of_the_table_is_collected(found: set[str]) -> None:
    """T2: a test in a class of the wrong name, a nested function or a module that pytest skips would prove nothing."""
    named = set[str]().union(*scenarios.tests_by_scenario(CHECKOUT / "tests").values(), *promises().values())

    assert named - found == set()
    assert len(named) > 500


def test_what_pytest_lists_is_read() -> None:
    """Classes and parameters fall away, also where a parameter holds what looks like a place."""
    text = "tests/a/test_b.py::TestC::test_d[x::y[z]]\ntests/a/test_b.py::test_e\n\n2 tests collected in 0.1s\n"

    assert collected(text) == {"tests/a/test_b.py::test_d", "tests/a/test_b.py::test_e"}


@pytest.mark.parametrize(
    ("tested", "excused", "complaint"),
    [
        ({"S1.1", "S1.10"}, {"S1.2": "later"}, None),
        ({"S1.1", "S1.10"}, {}, "S1.2 has no test and no reason for that"),
        ({"S1.1", "S1.2", "S1.10"}, {"S1.2": "later"}, "S1.2 has a test; its reason for having none goes"),
        ({"S1.1", "S1.2", "S1.10", "S1.11"}, {}, "S1.11 is no scenario, and a test names it"),
        ({"S1.1", "S1.2", "S1.10"}, {"S1.12": "later"}, "S1.12 is no scenario, and has a reason"),
    ],
)
def test_lists_that_do_not_agree(tested: set[str], excused: dict[str, str], complaint: str | None) -> None:
    """A gap is listed, a list holds gaps only, and nobody invents a number."""
    said = scenarios.complaints(["S1.1", "S1.2", "S1.10"], tested, excused)

    assert said == ([complaint] if complaint else [])


def test_only_names_docstrings_and_ids_count(tmp_path: Path) -> None:
    """What a row holds, what the code says and what a helper is called prove nothing."""
    folder = tmp_path / "tests"
    (folder / "borgee").mkdir(parents=True)
    (folder / "test_a.py").write_text(
        '''
"""S1.1: of the whole module."""
@pytest.mark.parametrize("row", [pytest.param("S1.2", id="S1.3-an id"), "S1.4"])
@pytest.mark.parametrize("other", [{"S1.5": 1}, 2], ids=["S1.6", "plain"])
@pytest.mark.skipif(True, reason="S1.7")
def test_s1_8_rows(row, other):
    """S1.9, and A1 of something else."""
    assert row == "S1.10"  # S1.11

def helper():
    """S1.12"""
'''
    )
    (folder / "borgee" / "test_b.py").write_text('def test_b():\n    """A1, W-2; decisions L9; decision C1."""\n')

    assert scenarios.tests_by_scenario(folder) == {
        **{f"S1.{number}": {"tests/test_a.py::test_s1_8_rows"} for number in (3, 6, 8, 9)},
        **{f"borgee {number}": {"tests/borgee/test_b.py::test_b"} for number in ("A1", "W-2")},
    }


def test_each_scenario_has_a_test_or_a_reason() -> None:
    """T2: all of the specifications, held against the tests as they are."""
    known = [*scenarios.all_scenarios()]

    assert len(known) == len({*known}) == 441 + 121 + 57
    assert scenarios.complaints(known, scenarios.tests_by_scenario(CHECKOUT / "tests"), scenarios.WITHOUT_A_TEST) == []
    assert all(scenarios.WITHOUT_A_TEST.values())
