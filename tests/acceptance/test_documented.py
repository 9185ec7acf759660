"""The pages about testing and hosts say what is: the scenario runs as it stands, each column is its host's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from canon_ops.hermes.contract_check import NEEDS, contract_differences
from scripts.contract_table import PAGE, cells, column
from tests.support.gateways import Stage
from tests.support.hosts import THIS_HOST

pytestmark = [pytest.mark.host, pytest.mark.checkout]


def documented_scenario() -> Callable[[Stage], None]:
    """The first Python block of docs/testing.md, executed; its one test."""
    page = PAGE.with_name("testing.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    exec(page.split("```python\n")[1].split("```")[0], names)  # noqa: S102  # our own page
    (test,) = (value for name, value in names.items() if name.startswith("test_"))
    assert callable(test)
    return test


def test_the_scenario_of_the_page_runs(stage: Stage) -> None:
    """docs/testing.md shows a scenario that passes."""
    documented_scenario()(stage)


@pytest.mark.parametrize("platform", NEEDS)
def test_the_page_of_hosts_says_what_this_host_has(platform: str) -> None:
    """docs/hosts.md: the column of this host holds exactly the differences that its interpreter describes."""
    told = column(PAGE.read_text(encoding="utf-8"), platform, THIS_HOST.hermes)

    found = contract_differences(Path(sys.executable), environ=os.environ, platform=platform)

    assert told is not None, "python -m scripts.contract_table"
    assert told == cells(found)
