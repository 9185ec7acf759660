"""Approvals under kills, lost answers and processes that overtake each other: ``make crash-approvals`` for all.

Source: the issue's "Must show" 1; decisions T6.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterable

import pytest

from tests.support.approval_traces import Trace, run_trace

SLICE, ALL = 150, 12_000
RARE = (275,)  # what the first ones do not meet: a clock that is set back while a lease is held
OFTEN = 400  # a step that is met as often as that is killed, and given up, at each of its points


ENDS = {"woken", "checked", "wrong human", "taken back", "never created", "expired"}
# Not among them: what changes nothing, what another program does, and what a person does.
CHANGING = {"T2a", *(f"T{number}" for number in range(1, 25) if number not in (7, 13, 16, 23))}


async def _run(seeds: Iterable[int]) -> list[Trace]:
    return [await run_trace(seed) for seed in seeds]


def report(traces: list[Trace]) -> str:
    """How many were different, what happened to them, and how often each step was killed or lost at each point."""
    covered: Counter[tuple[str, str, str]] = Counter()
    transitions: Counter[str] = Counter()
    for trace in traces:
        covered += trace.covered
        transitions += trace.transitions
    steps = sorted({(step, point) for step, point, _ in covered})
    lines = [
        f"{len(traces)} traces, {len({trace.digest for trace in traces})} distinct",
        "ends: " + ", ".join(f"{word} {count}" for word, count in Counter(t.outcome for t in traces).most_common()),
        "transitions: " + ", ".join(f"{number} {transitions[number]}" for number in sorted(transitions, key=_order)),
        f"{'step / point':48} {'passed':>8} {'lost':>6} {'killed':>7} {'given up':>9}",
    ]
    for step, point in steps:
        counts = [covered[step, point, word] for word in ("go", "lose", "kill", "cancel")]
        lines.append(f"{step + ' / ' + point:48} {counts[0]:8} {counts[1]:6} {counts[2]:7} {counts[3]:9}")
    return "\n".join(lines)


def _order(number: str) -> tuple[int, str]:
    return int("".join(filter(str.isdigit, number)) or 0), number


def test_a_slice_of_all_interleavings() -> None:
    """T1: kills and losses at every kind of step, and no approval is lost, doubled or guessed."""
    traces = asyncio.run(_run((*range(SLICE), *RARE)))

    assert len({trace.digest for trace in traces}) > SLICE * 0.9
    assert {trace.outcome for trace in traces} == ENDS
    assert {number for trace in traces for number in trace.transitions} >= CHANGING


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_ten_thousand_interleavings() -> None:
    """Issue, must show 1: at least 10,000 distinct traces, every transition taken, every step killed at every point."""
    traces = asyncio.run(_run(range(ALL)))
    sys.stdout.write(f"\n{report(traces)}\n")

    assert len({trace.digest for trace in traces}) >= 10_000
    assert {trace.outcome for trace in traces} == ENDS
    assert {number for trace in traces for number in trace.transitions} >= CHANGING
    met = Counter[tuple[str, str]]()
    for trace in traces:
        for (step, point, _), count in trace.covered.items():
            met[step, point] += count
    often = {place for place, count in met.items() if count >= OFTEN}
    for end in ("kill", "cancel"):
        assert {(step, point) for trace in traces for step, point, word in trace.covered if word == end} >= often
