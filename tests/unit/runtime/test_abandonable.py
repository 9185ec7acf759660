"""Threads that nobody has to wait for."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from canon_ops.runtime.abandonable import AbandonableThreads


def test_calls_answer_or_raise_side_by_side() -> None:
    """Each call has a thread of its own: one may wait for another."""
    executor, told = AbandonableThreads("test"), threading.Event()

    first = executor.submit(told.wait, 5)
    executor.submit(told.set)

    assert first.result(5) is True
    with pytest.raises(ZeroDivisionError):
        executor.submit(divmod, 1, 0).result(5)


def test_a_closed_executor_takes_nothing() -> None:
    """Closing returns at once, and a later call is a fault of the caller."""
    executor, never = AbandonableThreads("test"), threading.Event()
    executor.submit(never.wait)

    executor.shutdown(wait=True)

    with pytest.raises(RuntimeError):
        executor.submit(never.wait)
    never.set()


async def test_a_loop_takes_it_for_its_own_calls() -> None:
    """``to_thread`` and name look-ups of the loop run there."""
    asyncio.get_running_loop().set_default_executor(AbandonableThreads("test"))

    assert (await asyncio.to_thread(threading.current_thread)).daemon


def test_a_hung_call_does_not_keep_the_process() -> None:
    """Neither the end of the loop nor the end of the interpreter joins the thread."""
    script = (
        "import asyncio, threading\n"
        "from canon_ops.runtime.abandonable import AbandonableThreads\n"
        "async def main():\n"
        "    asyncio.get_running_loop().set_default_executor(AbandonableThreads('x'))\n"
        "    try:\n"
        "        await asyncio.wait_for(asyncio.to_thread(threading.Event().wait), 0.01)\n"
        "    except TimeoutError:\n"
        "        print('gave up')\n"
        "asyncio.run(main())\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True)

    assert done.stdout == "gave up\n"
