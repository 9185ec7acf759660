"""SIGKILLs of a real gateway during conversations: nothing is lost, nothing is answered twice without a mark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.crash_canon import ASKING, crash, crash_bursts, schedule
from tests.support.crash_outcome import Hits, Outcome

pytestmark = [pytest.mark.host]


@pytest.fixture(scope="module")
def hits(pytestconfig: pytest.Config) -> Iterator[Hits]:
    """What the kills of all schedules hit, told at the end."""
    hits = Hits()
    yield hits
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\n\n{hits.table()}", end="")  # noqa: T201


def check(outcome: Outcome, capsys: pytest.CaptureFixture[str], label: str, hits: Hits) -> None:
    """The promises of the product, after the numbers."""
    hits.add(outcome)
    with capsys.disabled():
        numbers = {
            "lost": len(outcome.lost),
            "answered twice": outcome.repeated,
            "repeated unmarked": len(outcome.unmarked),
            "marked": outcome.marked,
            "salvaged": len(outcome.salvaged),
            "unsettled": len(outcome.left),
            "breaches": len(outcome.breaches),
            "kills put off": outcome.spared,
            "distinct traces": len(outcome.traces),
        }
        kills = f"{sum(outcome.phases.values())} kills {dict(outcome.phases)}"
        found = ", ".join(f"{count} {what}" for what, count in numbers.items())
        print(f"\n  {label}: {kills}, {len(outcome.wanted)} messages: {found}", end="")  # noqa: T201
    assert outcome.lost == []
    assert outcome.unmarked == []
    assert outcome.salvaged == []
    assert outcome.breaches == []
    assert outcome.left == []
    assert outcome.wanted


@pytest.mark.timeout(600)
def test_three_kills_lose_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str], hits: Hits) -> None:
    """T1: at work, idle and while it starts; the slice of `make crash-canon` that every run has."""
    check(crash(tmp_path, schedule(1, 3), seed=1), capsys, "seed 1", hits)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_three_kills_while_people_are_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str], hits: Hits) -> None:
    """T1, D17: with agents that wait for people nothing is lost either, and no request of a dead run stays behind."""
    check(crash(tmp_path, schedule(3, 3), seed=3, scripts=ASKING), capsys, "asking, seed 3", hits)


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_twenty_kills_while_people_are_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str], hits: Hits) -> None:
    """T1, D17: the same for twenty kills."""
    check(crash(tmp_path, schedule(41, 20), seed=41, scripts=ASKING), capsys, "asking, seed 41", hits)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", range(100, 110))
def test_two_hundred_kills_lose_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hits: Hits, seed: int
) -> None:
    """T1: ten schedules of twenty kills."""
    check(crash(tmp_path, schedule(seed, 20), seed=seed), capsys, f"seed {seed}", hits)


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_ten_kills_with_the_hosts_guard_lose_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hits: Hits
) -> None:
    """X3: with the guard on, the host resumes nothing after three kills in a minute; then we hand over ourselves."""
    check(crash(tmp_path, schedule(7, 10), seed=7, guard=True), capsys, "with the guard", hits)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", [800, 801])
def test_bursts_that_were_left_survive_a_second_kill(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hits: Hits, seed: int
) -> None:
    """T1, D60: three messages a room wait for a gateway that is killed again while it connects or just after."""
    check(crash_bursts(tmp_path, 10, seed=seed), capsys, f"bursts, seed {seed}", hits)
