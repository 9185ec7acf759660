"""Kills between any two steps of a change of the registry, twice in a row: what is left is a crash and no crime."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.trail_crashes import SCENARIOS, Tally, play

SLICE = 10  # of the states that a kill leaves, one in ten is killed in again; each of them is looked at


def test_a_kill_is_no_crime(tmp_path: Path) -> None:
    """T6: after each kill the audit finds nothing, the change is there or not, and the next process makes it whole."""
    tally = Tally()

    for name in SCENARIOS:
        play(name, tmp_path / name, tally, every=SLICE)

    assert tally.schedules >= 700
    assert tally.voids > 0


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_kill_after_every_kill(name: str, tmp_path: Path) -> None:
    """The same with all pairs of kills; ``make crash-approvals``."""
    tally = Tally()

    play(name, tmp_path, tally)

    print(f"{name}: {tally.points} points, {tally.schedules} schedules, {tally.voids} lines taken back")  # noqa: T201
    assert tally.schedules >= tally.points**2 / 2
