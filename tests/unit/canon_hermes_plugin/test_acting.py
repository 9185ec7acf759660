"""Work that a tool's thread hands to the adapter's loop: its result arrives, or is said to be lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

from canon_hermes_plugin.acting import on_loop


class Elsewhere:
    """An event loop on a thread of its own, as the adapter's is for a tool."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()

    def until_idle(self) -> None:
        """Everything that was handed to the loop before has run."""
        for _ in range(5):
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self.loop).result(5)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        self.loop.close()


@pytest.fixture
def there() -> Iterator[Elsewhere]:
    elsewhere = Elsewhere()
    yield elsewhere
    elsewhere.close()


async def test_a_result_arrives(there: Elsewhere) -> None:
    """D51: the work runs on the other loop; what it returns or raises comes back, and nothing is lost."""
    lost: list[object] = []

    async def work() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    async def fail() -> None:
        raise KeyError("no")

    assert await on_loop(there.loop, work, lost.append) is there.loop
    with pytest.raises(KeyError):
        await on_loop(there.loop, fail, lost.append)
    there.until_idle()
    assert lost == []


async def cancelled(there: Elsewhere, lost: Callable[[str], None], *, when: str) -> list[str]:
    """Cancel a caller at a moment of its work; what the work noticed."""
    noticed: list[str] = []
    begun, goes_on = threading.Event(), threading.Event()

    async def work() -> str:
        begun.set()
        try:
            if when == "on the way":
                goes_on.wait(5)  # its end and the cancellation are both on their way, and the end is first
            else:
                await asyncio.sleep(30)
        except asyncio.CancelledError:
            noticed.append("cancelled")
            if when == "too late to stop it":
                return "decision"
            raise
        return "decision"

    caller = asyncio.create_task(on_loop(there.loop, work, lost))
    await asyncio.sleep(0)
    begun.wait(5)
    if when == "on the way":
        goes_on.set()
        there.until_idle()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    there.until_idle()
    return noticed


async def test_a_result_that_was_on_its_way(there: Elsewhere) -> None:
    """R10.31: the work has ended, and its caller is cancelled before it knows: the result is said to be lost."""
    lost: list[str] = []

    assert await cancelled(there, lost.append, when="on the way") == []

    assert lost == ["decision"]


async def test_a_work_that_ends_in_spite_of_its_cancellation(there: Elsewhere) -> None:
    """R10.31: a step that must not be torn ends first, and its result has nobody to go to."""
    lost: list[str] = []

    assert await cancelled(there, lost.append, when="too late to stop it") == ["cancelled"]

    assert lost == ["decision"]


async def test_a_work_that_was_cancelled_has_lost_nothing(there: Elsewhere) -> None:
    """It is cancelled where it runs, and there is no result."""
    lost: list[str] = []

    assert await cancelled(there, lost.append, when="in the middle") == ["cancelled"]

    assert lost == []
