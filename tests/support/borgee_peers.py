"""Borgee clients of several makers behind one handle: the published ones in child processes, ours on a thread.

The published package is a black box: it is installed into an environment of its own and used by its public names, its
source is not read.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.borgee_driver import Driver, Ours
from tests.support.environments import Environment

__all__ = ["OURS", "PUBLISHED_SDKS", "Maker", "Peer", "PeerError", "Pending", "running_peer"]

DRIVER = Path(__file__).with_name("borgee_driver.py")
LIMIT_S = 30.0


@dataclass(frozen=True)
class Maker:
    """Whose client it is; ``version`` is of the published package, None for ours."""

    version: str | None = None

    @property
    def name(self) -> str:
        return "ours" if self.version is None else f"sdk-{self.version}"

    @property
    def is_ours(self) -> bool:
        return self.version is None


OURS = Maker()
PUBLISHED_SDKS = (Maker("0.12.1"), Maker("0.13.1"))


class PeerError(Exception):
    """A command failed in the client."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['type']} {error['code']}: {error['text']}")
        self.kind: str = error["type"]
        self.code: str | None = error["code"]
        self.text: str = error["text"]
        self.had_no_effect: bool | None = error.get("had_no_effect")


class Pending:
    """A command that has been given."""

    def __init__(self, peer: Peer, number: int) -> None:
        self._peer = peer
        self.number = number
        self._done = threading.Event()
        self._answer: dict[str, Any] = {}

    def settle(self, answer: dict[str, Any]) -> None:
        self._answer = answer
        self._done.set()

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    def result(self, timeout_s: float = LIMIT_S) -> Any:
        """What came of it.

        Raises:
            PeerError: it failed.
        """
        assert self._done.wait(timeout_s), f"no answer within {timeout_s:g} s"
        if "error" in self._answer:
            raise PeerError(self._answer["error"])
        return self._answer["value"]

    def cancel(self) -> None:
        """Cancel it in the client."""
        self._peer.call("cancel", which=self.number)


class Peer(ABC):
    """One client, and the commands that a test gives it."""

    def __init__(self, maker: Maker) -> None:
        self.maker = maker
        self._numbers = itertools.count(1)
        self._pending: dict[int, Pending] = {}

    @abstractmethod
    def _give(self, order: dict[str, Any]) -> None: ...

    @abstractmethod
    def stop(self) -> None:
        """End it."""

    def start(self, do: str, **order: Any) -> Pending:
        """Give a command and go on."""
        number = next(self._numbers)
        pending = self._pending[number] = Pending(self, number)
        self._give({"id": number, "do": do, **order})
        return pending

    def _told(self, answer: dict[str, Any]) -> None:
        self._pending.pop(answer["id"]).settle(answer)

    def call(self, do: str, **order: Any) -> Any:
        """Give a command and wait for what comes of it."""
        return self.start(do, **order).result()

    def act(self, name: str, /, **args: Any) -> Any:
        """Carry a semantic action out."""
        return self.call("act", name=name, args=args)

    def begin(self, name: str, /, **args: Any) -> Pending:
        """Start a semantic action."""
        return self.start("act", name=name, args=args)

    def take(self) -> Any:
        """The next event, checkpointed."""
        event = self.call("take")
        self.call("checkpoint", delivery=event["delivery"])
        return event

    @property
    def status(self) -> str:
        return str(self.call("state")["status"])


class ChildPeer(Peer):
    """A published client in its own interpreter."""

    def __init__(self, maker: Maker) -> None:
        super().__init__(maker)
        requirements = (f"borgee-plugin-sdk=={maker.version}",)
        python = Environment(f"borgee-{maker.name}", requirements=requirements).make()
        self._process = subprocess.Popen(
            [str(python), str(DRIVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _give(self, order: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._told(json.loads(line))

    def stop(self) -> None:
        """It ends when its stdin does."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._process.stdout.close()


class ThreadPeer(Peer):
    """Our client on a loop of its own."""

    def __init__(self, maker: Maker) -> None:
        super().__init__(maker)
        self._loop = asyncio.new_event_loop()
        self._driver = Driver(Ours)
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def _give(self, order: dict[str, Any]) -> None:
        self._loop.call_soon_threadsafe(self._driver.start, order, self._told)

    def stop(self) -> None:
        """Close the client; nothing of it may be left on its loop."""
        asyncio.run_coroutine_threadsafe(self._driver.end(), self._loop).result(LIMIT_S)
        left = asyncio.run_coroutine_threadsafe(_others(), self._loop).result(LIMIT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        assert not left, f"the client left tasks behind: {left}"


async def _others() -> list[str]:
    """The tasks on this loop that are not this one, once those that were cancelled have had a moment to end."""
    for _ in range(10):
        await asyncio.sleep(0)
    return [repr(task) for task in asyncio.all_tasks() if task is not asyncio.current_task()]


@contextmanager
def running_peer(maker: Maker) -> Iterator[Peer]:
    """A client, not yet opened."""
    peer = ThreadPeer(maker) if maker.is_ours else ChildPeer(maker)
    try:
        yield peer
    finally:
        peer.stop()
