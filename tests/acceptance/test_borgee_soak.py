"""Our Borgee client in a storm of faults: what it was told is true, nothing comes in another order, nothing is left.

The default run is a slice of a few seconds. The long set has one of three minutes, and ``make soak-borgee`` goes on for
``SOAK_S`` seconds (an hour): they also find the number of objects and tasks flat. Source: decisions T7.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys

import pytest

from tests.support.borgee_boxes import borgee_box
from tests.support.borgee_storm import SURVIVABLE, Storm, alive
from tests.support.struck import table, unfired
from tests.support.vitals import descriptors

SLICE_S = 4.0
LONG_S = float(os.environ.get("SOAK_S", "180"))
SEED = int(os.environ.get("SOAK_SEED", "1"))


def report(storm: Storm, seconds: float) -> str:
    """The numbers, as a table for people."""
    lines = [table(storm.box.human.faults())]
    connections = storm.box.human.connections()
    taken = sum(len(agent.taken) for agent in storm.agents)
    stale = sum(agent.stale for agent in storm.agents)
    lines += [
        f"{seconds:g} s, {len(storm.agents)} agents, {connections['accepted']} connections",
        f"said {sum(storm.said.values())}, taken over {taken} (stale {stale}); answers {dict(storm.fates())}",
        f"failures {dict(storm.codes())}; at most {storm.most_tasks} tasks",
    ]
    return "\n".join(lines)


def test_a_slice_of_the_storm() -> None:
    """Every survivable fault strikes; accounts and records agree; no task and no descriptor is left."""
    with borgee_box() as box:
        storm = Storm(box, agents=4, seed=SEED)
        before = descriptors()

        async def scene() -> int:
            await storm.run(SLICE_S, longest_s=60.0)
            return len(asyncio.all_tasks())

        left = asyncio.run(scene())
        after = descriptors()
        sys.stdout.write(report(storm, SLICE_S))

        assert list(storm.contradictions()) == []
        assert left == 1
        assert after <= before + len(storm.agents)  # the server's ends may take a moment longer
        assert unfired(box.human.faults()) == []
        assert {row["name"] for row in box.human.faults()} == set(SURVIVABLE)
        assert storm.fates()["ok"] > 20


@pytest.mark.long
@pytest.mark.timeout(LONG_S + 600)
def test_the_storm_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """In rounds: none holds more than the first ones did, and after each of them nothing of the client is left."""
    caplog.set_level(logging.ERROR)  # a record that is kept may hold an object of the client
    rounds = max(4, round(LONG_S / 60))
    held, tasks = [], []
    gc.collect()
    before = alive()
    for number in range(rounds):
        with borgee_box() as box:
            storm = Storm(box, agents=4, seed=SEED + number)
            asyncio.run(storm.run(LONG_S / rounds))
            held.append(storm.most_alive)
            tasks.append(storm.most_tasks)
            text = report(storm, LONG_S / rounds)
            assert list(storm.contradictions()) == []
            assert unfired(box.human.faults()) == []
        del storm, box
        gc.collect()
        left = alive() - before
        sys.stdout.write(f"\n{text}\nround {number + 1}: at most {held[-1]} objects of the client, {left} left\n")
        assert left == 0
    assert max(held[2:]) <= 2 * max(held[:2])
    assert max(tasks[2:]) <= 2 * max(tasks[:2])
