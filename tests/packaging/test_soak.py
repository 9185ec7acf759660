"""What counts as flat, and what is told and drawn of a soak."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts.soak_page import Setting, console, document, is_kept, picture
from scripts.soak_svg import Line, Mark, Strip, soak_svg
from tests.support.crash_outcome import Outcome
from tests.support.gauge import Dispatch, add_gauge
from tests.support.soak_gateways import Replacement
from tests.support.soak_run import MEASURES, Plan, Series, Soak
from tests.support.soak_talk import number_in
from tests.support.soaking import Life, Measure, Point, Verdict, Windows, added, is_flat, judged, medians, rise

SVG = "{http://www.w3.org/2000/svg}"
MEMORY = Measure("memory", "MB", share=0.05, least=8)
WINDOWS = Windows(settle_s=60, window_s=20)


def a_life(value: Callable[[float], float], *, begin_s: float = 0.0, seconds: float = 300.0) -> Life:
    """Measured every five seconds; ``value`` is asked with the age of the process."""
    ages = [number * 5.0 for number in range(int(seconds / 5))]
    return Life(begin_s, [(begin_s + age, value(age)) for age in ages])


def level(value: float) -> Callable[[float], float]:
    return lambda _age: value


def verdict(*lives: Life) -> Verdict:
    return judged(MEMORY, "A", lives, WINDOWS).verdict


@pytest.mark.parametrize(
    ("value", "said"),
    [
        pytest.param(lambda age: 150.0, Verdict.FLAT, id="level"),
        pytest.param(lambda age: 150 + age % 25, Verdict.FLAT, id="saw"),
        pytest.param(lambda age: 150 + 20 * math.sin(age / 7), Verdict.FLAT, id="swing"),
        pytest.param(lambda age: min(150.0, 90 + 2 * age), Verdict.FLAT, id="warms-up"),
        pytest.param(lambda age: 150 - age / 10, Verdict.FLAT, id="falls"),
        pytest.param(lambda age: 400.0 if 200 <= age < 215 else 150.0, Verdict.FLAT, id="one-bad-moment"),
        pytest.param(lambda age: 150 + age / 50, Verdict.FLAT, id="rises-less-than-is-forgiven"),
        pytest.param(lambda age: 150 + age / 10, Verdict.RISES, id="rises"),
        pytest.param(lambda age: 150 + age / 10 + age % 25, Verdict.RISES, id="saw-that-rises"),
        pytest.param(lambda age: 150 + 12 * (age // 60), Verdict.RISES, id="rises-in-steps"),
        pytest.param(lambda age: 150 + age / 10 + random.Random(age).uniform(-9, 9), Verdict.RISES, id="noise-too"),
        pytest.param(lambda age: 150 + random.Random(age).uniform(-9, 9), Verdict.FLAT, id="noise-alone"),
    ],
)
def test_a_life_is_flat_when_its_line_is(value: Callable[[float], float], said: Verdict) -> None:
    """What swings, saws, falls or warms up is flat; what comes up by more than is forgiven is not, however it does."""
    assert verdict(a_life(value)) is said


def test_one_life_that_rises_is_enough() -> None:
    """Of several lives the steepest counts."""
    steady, rising = a_life(level(150.0)), a_life(lambda age: 150 + age / 10, begin_s=400)

    assert [verdict(steady), verdict(steady, rising)] == [Verdict.FLAT, Verdict.RISES]


@pytest.mark.parametrize(("grows", "said"), [(0, Verdict.FLAT), (2, Verdict.FLAT), (6, Verdict.RISES)])
def test_what_each_life_leaves_to_the_next_is_seen(grows: int, said: Verdict) -> None:
    """Every life is level, and the level of each is that of the one before and a little more."""
    lives = [a_life(level(150.0 + grows * number), begin_s=400 * number) for number in range(4)]

    row = judged(MEMORY, "A", lives, WINDOWS)

    assert (row.in_a_life, row.over_lives, row.verdict) == (0, 3 * grows, said)


@pytest.mark.parametrize(
    "lives",
    [
        pytest.param([], id="none"),
        pytest.param([a_life(lambda _: 150.0, seconds=50)], id="never-settled"),
        pytest.param([a_life(lambda _: 150.0, seconds=100)], id="two-windows"),
        pytest.param([Life(0.0, [])], id="nothing-measured"),
    ],
)
def test_what_was_not_seen_long_enough_is_not_called_flat(lives: list[Life]) -> None:
    """A promise that could not be looked at was not kept."""
    row = judged(MEMORY, "A", lives, WINDOWS)

    assert row.verdict is Verdict.SHORT
    assert not is_flat([row])


def test_a_rise_is_forgiven_by_share_or_amount() -> None:
    """The larger of both: a share of what is large, an amount of what is small."""
    assert [MEMORY.allowed(level) for level in (10, 1_000)] == [8, 50]


def test_windows_begin_where_the_life_has_settled_and_half_of_one_is_none() -> None:
    """What came before is left out, a window without a measurement too."""
    points: list[Point] = [(9, 1), (10, 2), (14, 4), (30, 7), (39, 9), (41, 100)]

    assert medians(points, 10, 10) == [(15, 3), (35, 8)]


def test_a_line_needs_three_points() -> None:
    """Two are joined by a line whatever they are."""
    assert [rise([(0, 1), (1, 9)]), rise([(0, 1), (1, 9), (2, 3)])] == [None, 2]


def test_latency_is_compared_in_the_same_windows() -> None:
    """A window that has only one side says nothing of the difference."""
    ours = [(1.0, 30.0), (2.0, 50.0), (9.0, 40.0), (11.0, 60.0), (19.0, 60.0)]
    bare = [(3.0, 10.0), (9.5, 12.0), (25.0, 5.0), (29.0, 5.0)]

    assert added(ours, bare, 0, 10) == [(5, 29)]


def test_the_number_of_a_turn_is_the_last_that_is_named() -> None:
    """Whatever a host puts around a text."""
    assert [number_in("[note: turn-1]\n[say turn-22 done]"), number_in("hello")] == [22, None]


def test_a_gauge_leaves_out_what_a_dying_gateway_did_not_finish(tmp_path: Path) -> None:
    """A gateway that is killed writes half a line."""
    gauge = add_gauge(tmp_path, every_s=1.0)
    file = tmp_path / "plugins" / "gauge" / "seen.jsonl"
    file.write_text('{"pid": 1, "at_ms": 2.5, "text": "x", "tasks": 3}\n{"pid": 1, "at_m', encoding="utf-8")

    assert gauge.read() == ([Dispatch(1, 2.5, "x", 3)], [])


# What is told and drawn ----------------------------------------------------------------------------------------------

HERE = Setting("2026-01-31", "abc1234", "3.11.7", "0.19.0")


def a_soak(*, outcome: Outcome | None = None, grows: float = 0.0, load: float = 1.5) -> Soak:
    """Two gateways with two lives each, of which every measure is a level line, or a rising one."""
    plan = Plan(seconds=600, windows=WINDOWS)
    lives = tuple(a_life(lambda age: 100 + grows * age, begin_s=begin_s) for begin_s in (0.0, 320.0))
    series = [Series(key, gateway, lives) for gateway in ("A", "B") for key in MEASURES]
    outcome = outcome or Outcome(wanted={"m1": "x", "m2": "y"}, answers={"m1": ["x"], "m2": ["y"]})
    away = [Replacement("A", 300, 41, 60), Replacement("B", 360, 43, 58)]
    return Soak(plan, 620, outcome, series, away, 7, 1, [30, 40], [5], [9_000], {"the gateways": 0.5}, load, 2)


def test_a_kept_soak_says_so() -> None:
    """T7: numbers of messages, replacements and measures; every row with its verdict."""
    soak = a_soak()

    assert is_kept(soak)
    for text in (console(soak, HERE), document(soak, HERE)):
        assert "2 messages: none lost, none answered twice unmarked; every turn closed" in text
        assert "2 replacements" in text
        assert "12 of 12 measures are flat." in text
        assert text.count("resident memory") == 2


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        pytest.param(Outcome(wanted={"m1": "x"}), "1 lost", id="lost"),
        pytest.param(Outcome(wanted={"m1": "x"}, answers={"m1": ["x", "x"]}), "1 answered twice unmarked", id="twice"),
        pytest.param(Outcome(salvaged=["half"]), "1 salvaged by the server", id="salvaged"),
        pytest.param(Outcome(breaches=["order"]), "1 other breaches", id="breach"),
        pytest.param(Outcome(left=[("m1", "started")]), "1 unsettled", id="unsettled"),
    ],
)
def test_a_message_that_was_not_served_breaks_the_soak(outcome: Outcome, told: str) -> None:
    """T7: however flat everything was; the page says what happened and not that all was well."""
    soak = a_soak(outcome=outcome)

    assert not is_kept(soak)
    assert told in console(soak, HERE)
    assert "nothing left unsettled" not in console(soak, HERE)


def test_a_measure_that_rises_breaks_the_soak_and_is_named() -> None:
    """T7: in its row, and once more at the end."""
    soak = a_soak(grows=1.0)

    assert not is_kept(soak)
    assert "rising: resident memory of A, descriptors of A" in document(soak, HERE)


def test_latency_is_not_judged_on_a_crowded_machine() -> None:
    """T7: it says more of the other programs; what a process holds is its own all the same."""
    level, rising = a_soak(load=2.5), a_soak(grows=1.0, load=2.5)

    assert is_kept(level)
    assert "10 of 12 measures are flat; 2 could not be judged beside" in console(level, HERE)
    assert not is_kept(rising)
    assert "latency" not in console(rising, HERE).rpartition("rising:")[2]


def test_a_note_stands_at_the_end_of_the_page() -> None:
    """Numbers of a bad day are explained where they stand."""
    page = document(a_soak(), replace(HERE, note="The machine was busy."))

    assert page.endswith("\n\nThe machine was busy.\n")


def test_the_picture_has_a_strip_a_measure_and_a_line_a_life() -> None:
    """Over the same time, with both gateways' replacements in each strip."""
    root = ElementTree.fromstring(picture(a_soak()))  # noqa: S314 - it is ours

    assert len(root.findall(f".//{SVG}polyline")) == 4 * len(MEASURES)
    assert len(root.findall(f".//{SVG}rect")) == 1 + 2 + 2 * len(MEASURES)
    names = {text.text for text in root.findall(f".//{SVG}text")}
    assert {measure.name for measure in MEASURES.values()} <= names


def test_a_line_stands_where_its_numbers_say() -> None:
    """From left to right with the time, higher up where there is more, from zero on; outside of the picture nothing."""
    strip = Strip("<memory>", "MB", [Line(0, [(0, 0), (50, 100), (100, 50), (150, 50)])])

    root = ElementTree.fromstring(  # noqa: S314 - it is ours
        soak_svg([strip], [Mark(0, 50, 75)], seconds=100, title="a & b", names=["A"])
    )

    (line,) = root.findall(f".//{SVG}polyline")
    points = [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]
    (left, low), (middle, high), (right, half), (beyond, _) = points
    assert left < middle < right == beyond
    assert middle - left == pytest.approx(right - middle)
    assert high < half < low
    assert (low - half) / (low - high) == pytest.approx(0.5, abs=0.01)
    assert root.findtext(f"{SVG}title") == "a & b"
    mark = root.findall(f".//{SVG}rect")[-1]
    assert float(mark.attrib["x"]) == pytest.approx(middle)


def test_a_soaks_picture_asks_nobody() -> None:
    """No script, no style sheet, no font and no picture from elsewhere; the name space is the only address."""
    text = picture(a_soak())

    assert text.count("http") == 1
    assert not any(word in text for word in ("<script", "<style", "@import", "href", "url("))
