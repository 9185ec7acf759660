"""One at a time within a key."""

from __future__ import annotations

import asyncio

from canon_hermes_plugin.turnstile import Turnstile


async def test_callers_of_a_key_go_through_one_by_one() -> None:
    """The order is the order of arrival; another key does not wait, and nothing is left when all have passed."""
    stile, seen, gate = Turnstile(), [], asyncio.Event()

    async def walk(name: str, key: str, *, waits: bool = False) -> None:
        async with stile.through(key):
            seen.append(f"{name} in")
            if waits:
                await gate.wait()
            seen.append(f"{name} out")

    tasks = [asyncio.ensure_future(walk(*each, waits=each[0] == "first")) for each in [("first", "a"), ("second", "a")]]
    await asyncio.sleep(0)
    await walk("third", "b")
    gate.set()
    await asyncio.gather(*tasks)

    assert seen == ["first in", "third in", "third out", "first out", "second in", "second out"]
    assert len(stile) == 0


async def test_who_gives_up_waiting_holds_nobody_up() -> None:
    """A cancelled caller leaves the queue, and the next one goes through."""
    stile, gate = Turnstile(), asyncio.Event()

    async def walk(*, waits: bool = False) -> None:
        async with stile.through("a"):
            if waits:
                await gate.wait()

    first, second, third = (asyncio.ensure_future(walk(waits=number == 0)) for number in range(3))
    await asyncio.sleep(0)
    second.cancel()
    gate.set()
    await asyncio.gather(first, second, third, return_exceptions=True)

    assert (second.cancelled(), third.exception(), len(stile)) == (True, None, 0)
