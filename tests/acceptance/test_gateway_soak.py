"""Two gateways that are replaced under load: a slice of ``make soak``, with the host's own way to end.

The slice is too short to say what is flat (``tests/packaging/test_soak.py`` holds how that is said); it holds what the
people get, and that everything is measured.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.soak_run import MEASURES, Plan, soak
from tests.support.soaking import Windows

pytestmark = [pytest.mark.host, pytest.mark.timeout(600)]

SLICE = Plan(
    seconds=20,
    every_s=8,
    conversations=40,
    at_once=12,
    wait_s=1.5,
    drain_s=0,
    sample_s=0.5,
    count_s=1,
    is_whole=False,
    windows=Windows(settle_s=0.5, window_s=0.5),
)


def test_nothing_is_lost_while_two_gateways_are_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """T7, X1, X3: SIGTERM in mid-turn, without any patience; every message has its answer, none a second unmarked."""
    found = soak(tmp_path, SLICE)

    outcome = found.outcome
    with capsys.disabled():
        print(  # noqa: T201
            f"\n  {len(outcome.wanted)} messages, {found.carried} through {len(found.replacements)} replacements, "
            f"{outcome.marked} marked, {outcome.repeated} answered twice",
            end="",
        )
    assert outcome.lost == []
    assert outcome.unmarked == []
    assert outcome.salvaged == []
    assert outcome.breaches == []
    assert outcome.left == []
    assert [one.gateway for one in found.replacements] == ["A", "B"]
    assert found.carried
    assert len(outcome.wanted) > 20
    unmeasured = {(each.key, each.gateway) for each in found.series if not any(life.points for life in each.lives)}
    assert {key for key, _ in unmeasured} <= {"added"}  # on a busy machine no window may have both sides
    assert {each.key for each in found.series} == {*MEASURES}
