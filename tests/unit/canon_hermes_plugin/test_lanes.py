"""Order within a key, independence across keys, and nothing left behind."""

from __future__ import annotations

import asyncio

from canon_hermes_plugin.lanes import Lanes


def no_error(exc: Exception) -> None:
    raise AssertionError(exc)


async def test_jobs_of_one_key_run_in_order() -> None:
    """A later job of a key starts only when the earlier one has ended."""
    lanes, seen, gate = Lanes(no_error), [], asyncio.Event()

    async def slow() -> None:
        await gate.wait()
        seen.append("first")

    async def quick() -> None:
        seen.append("second")

    lanes.add("c1", slow)
    lanes.add("c1", quick)
    gate.set()
    await lanes.drain()

    assert seen == ["first", "second"]


async def test_a_stuck_key_does_not_hold_up_another() -> None:
    """A job that never ends leaves the other keys alone."""
    lanes, done = Lanes(no_error), asyncio.Event()

    async def stuck() -> None:
        await asyncio.Event().wait()

    async def quick() -> None:
        done.set()

    lanes.add("c1", stuck)
    lanes.add("c2", quick)

    await asyncio.wait_for(done.wait(), 1)
    await lanes.stop()


async def test_a_failing_job_is_reported_and_the_lane_goes_on() -> None:
    """What a job raises reaches the reporter once; the next job of the key still runs."""
    errors: list[Exception] = []
    lanes, seen = Lanes(errors.append), []

    async def broken() -> None:
        raise ValueError("no")

    async def quick() -> None:
        seen.append("ran")

    lanes.add("c1", broken)
    lanes.add("c1", quick)
    await lanes.drain()

    assert ([str(error) for error in errors], seen) == (["no"], ["ran"])


async def test_the_backlog_is_what_waits() -> None:
    """The running job does not count, nor do those of other keys."""
    lanes, gate = Lanes(no_error), asyncio.Event()

    async def slow() -> None:
        await gate.wait()

    for _ in range(3):
        lanes.add("c1", slow)
    await asyncio.sleep(0)

    assert (lanes.backlog("c1"), lanes.backlog("c2")) == (2, 0)

    gate.set()
    await lanes.drain()
    assert lanes.backlog("c1") == 0


async def test_stop_leaves_no_task() -> None:
    """Stopping cancels what runs, forgets what waits, and returns when both are gone."""
    lanes, seen = Lanes(no_error), []

    async def stuck() -> None:
        await asyncio.Event().wait()

    async def never() -> None:
        seen.append("ran")

    before = asyncio.all_tasks()
    lanes.add("c1", stuck)
    lanes.add("c1", never)
    lanes.add("c2", stuck)
    await lanes.stop()

    assert (asyncio.all_tasks(), seen) == (before, [])


async def test_a_key_is_usable_again_after_its_lane_ended() -> None:
    """A key without work has no task; new work starts a new one."""
    lanes, seen = Lanes(no_error), []

    async def quick() -> None:
        seen.append("ran")

    lanes.add("c1", quick)
    await lanes.drain()
    lanes.add("c1", quick)
    await lanes.drain()

    assert seen == ["ran", "ran"]
