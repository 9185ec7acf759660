"""Advice is about the home that the call was about."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.cli.aiming import aimed
from tests.unit.cli.conftest import Runner


@pytest.mark.parametrize(
    ("fix", "told"),
    [
        ("canon-ops history list", "canon-ops history list -A-"),
        ("canon-ops undo 2026   # the newer change first", "canon-ops undo 2026 -A-   # the newer change first"),
        ("canon-ops env lint && canon-ops env list", "canon-ops env lint -A- && canon-ops env list -A-"),
        ("canon-ops config get 'a;b|c' | head", "canon-ops config get 'a;b|c' -A- | head"),
        ("canon-ops config get a#b", "canon-ops config get a#b -A-"),
        ("canon-ops env set K --from-file <(pass show k)", "canon-ops env set K --from-file -A- <(pass show k)"),
        ("canon-ops undo --profile other", "canon-ops undo --profile other"),
        ("canon-ops undo -p other", "canon-ops undo -p other"),
        ("canon-ops undo --hermes-home=/h", "canon-ops undo --hermes-home=/h"),
        ("ls -ld /h", "ls -ld /h"),
        ("edit the file, then canon-ops env lint", "edit the file, then canon-ops env lint"),
    ],
)
def test_each_command_of_ours_gets_the_aim_once(fix: str, told: str) -> None:
    """Behind its own words, before a comment or what the shell does with the answer."""
    assert aimed(fix, profile="work", hermes_home=None) == told.replace("-A-", "--profile work")
    assert aimed(fix, profile=None, hermes_home=Path("/a b")) == told.replace("-A-", "--hermes-home '/a b'")
    assert aimed(fix, profile=None, hermes_home=None) == fix


def test_the_advice_of_a_failure_works_where_it_is_pasted(program: Runner, home: Path) -> None:
    """For people and in the document; the lower floors know of no option."""
    folder = home / "other home"
    folder.mkdir()

    told = program("undo", "--hermes-home", str(folder))
    document = program("history", "show", "1", "--hermes-home", str(folder), "--json")

    assert told.err.endswith(f"  fix: canon-ops history list --hermes-home '{folder}'\n")
    assert document.json["errors"][0]["fix"] == f"canon-ops history list --hermes-home '{folder}'"
