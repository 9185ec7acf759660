"""Two gateways of two agents under one load: their homes, their lives, and how one is replaced.

A replacement is what a rolling update does: SIGTERM, and when the process is gone, the next one on the same home. Each
gateway has Canon and a platform with no service behind it (:mod:`tests.support.bare_platform`), whose people say one
thing after the other: what Canon's path costs is held against theirs, in the same process and under the same load.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from canon_ops.hermes.gateway import GatewayProcess
from canon_ops.sandbox.server import CanonSandbox
from tests.support import bare_platform, gauge, vitals
from tests.support.gateways import direct_key, start_gateway
from tests.support.gauge import Gauge
from tests.support.homes import GatewayHome, build_home
from tests.support.soaking import Point

__all__ = ["Life", "Probe", "Replacement", "Side", "sides"]

READY_S = 180.0  # a busy machine starts a gateway in more than a minute
STOP_S = 60.0  # beyond its drain: the host closes its sessions, and waits for its threads
STARTED_WHOLE = {"PYTHONUNBUFFERED": "1"}  # a variable that Python reads: no fork of a warm process
BARE_ROOMS = 20
BREATH_S = 1.0  # between two messages on the bare platform


@dataclass(slots=True)
class Life:
    """One process of a gateway, from when it was ready to when it was told to end.

    Attributes:
        begin_s, end_s: since the epoch; ``end_s`` is None while it lives.
        samples: measure -> what the system said of the process.
        processor_s: used so far.
    """

    pid: int
    begin_s: float
    end_s: float | None = None
    samples: dict[str, list[Point]] = field(default_factory=lambda: {"memory": [], "descriptors": [], "threads": []})
    processor_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Probe:
    """A message on the bare platform: its number, when it was said, when its answer was there."""

    number: int
    said_ms: float
    answered_ms: float


@dataclass(frozen=True, slots=True)
class Replacement:
    """When a gateway was told to end, how long it took to do so, and how long until the next one was ready."""

    gateway: str
    at_s: float
    stop_s: float
    away_s: float


@dataclass(slots=True)
class Side:
    """One gateway with its agent.

    Attributes:
        probes: the messages on its bare platform.
        quiet: held by whoever wants no message under way on the bare platform.
    """

    name: str
    agent_id: str
    home: GatewayHome
    gauge: Gauge
    bare: Path
    log: Path
    is_whole: bool
    drain_s: float
    gateway: GatewayProcess | None = None
    lives: list[Life] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    quiet: threading.Lock = field(default_factory=threading.Lock)

    @property
    def life(self) -> Life | None:
        """The one that goes on; None while it is being replaced."""
        return self.lives[-1] if self.lives and self.lives[-1].end_s is None else None

    def start(self) -> None:
        """Start a gateway; returns when it is ready."""
        self.bare.joinpath("port").unlink(missing_ok=True)
        self.gateway = start_gateway(self.home, self.log, extra=STARTED_WHOLE if self.is_whole else None)
        self.gateway.wait_ready(timeout_s=READY_S)
        bare_platform.port_of(self.bare)
        self.lives.append(Life(self.gateway.pid, time.time()))

    def stop(self) -> None:
        """End the gateway, if there is one."""
        if self.gateway is not None:
            self.gateway.stop(timeout_s=self.drain_s + STOP_S)

    def replace(self) -> Replacement:
        """End the gateway as a service manager does, and start the next; returns when that is ready."""
        with self.quiet:
            began = time.time()
            self.lives[-1].end_s = began
            self.stop()
            stopped = time.time()
            self.start()
        return Replacement(self.name, began, stopped - began, time.time() - began)

    def sample(self) -> None:
        """Ask the system about the process."""
        life = self.life
        if life is None:
            return
        with suppress(OSError):  # it has just been replaced
            now = time.time()
            life.samples["memory"].append((now, vitals.resident_mb(life.pid)))
            life.samples["descriptors"].append((now, vitals.descriptors(life.pid)))
            life.samples["threads"].append((now, vitals.threads(life.pid)))
            life.processor_s = vitals.processor_s(life.pid)

    def probe(self, next_number: Callable[[], int], done: threading.Event) -> None:
        """Say one thing after the other on the bare platform until told to stop; ``quiet`` is free between two."""
        while not done.is_set():
            with self.quiet:
                life, port = self.life, bare_platform.port_of(self.bare)
                connection = socket.create_connection(("127.0.0.1", port), timeout=READY_S)
            with connection, connection.makefile("rw") as line:
                while not done.wait(BREATH_S):
                    with self.quiet:
                        if life is not self.life:
                            break
                        self._ask(line, next_number())

    def _ask(self, line: IO[str], number: int) -> None:
        said_ms = time.time() * 1_000
        room = f"room{len(self.lives)}-{number % BARE_ROOMS}"  # the host takes up those of the life before
        line.write(json.dumps([room, f"[say turn-{number} done]"]) + "\n")
        line.flush()
        answered = line.readline()
        assert f"turn-{number} done" in answered, answered
        self.probes.append(Probe(number, said_ms, time.time() * 1_000))


@contextmanager
def sides(
    folder: Path, box: CanonSandbox, model_url: str, *, is_whole: bool, drain_s: float, count_s: float
) -> Iterator[list[Side]]:
    """Two gateways of two agents, ready; both are gone at the end.

    Args:
        folder: takes homes and output.
        is_whole: started as people start them, instead of as forks of a process that has loaded everything.
        drain_s: how long a gateway that is told to end waits for its turns; 0 is the host's own choice.
        count_s: pause between two counts of the plugin's objects.
    """
    second = box.human.add_agent("Second")
    keys = {
        "A": ("agent_sandbox", {}),
        "B": (
            str(second["agent_id"]),
            {"CANON_API_KEY": second["agent_key"], "CANON_HOME_CHANNEL": second["conversation_id"]},
        ),
    }
    with ExitStack() as running:
        found = []
        for name, (agent_id, key) in keys.items():
            side = _side(
                folder / name, name, agent_id, {**direct_key(box), **key}, model_url, is_whole, drain_s, count_s
            )
            found.append(side)
            running.callback(side.stop)
            side.start()
        yield found


def _side(
    folder: Path,
    name: str,
    agent_id: str,
    dotenv: dict[str, Any],
    model_url: str,
    is_whole: bool,
    drain_s: float,
    count_s: float,
) -> Side:
    tools = ["terminal", "clarify"]
    config = {
        "plugins": {"enabled": ["canon-hermes", bare_platform.NAME, gauge.NAME]},
        "platforms": {bare_platform.NAME: {"enabled": True, "token": "none"}},
        "agent": {"restart_drain_timeout": drain_s},
        "platform_toolsets": {bare_platform.NAME: tools},
    }
    folder.mkdir(parents=True)
    dotenv |= {"GATEWAY_ALLOW_ALL_USERS": "true"}
    home = build_home(folder, model_url=model_url, dotenv=dotenv, config=config)
    return Side(
        name,
        agent_id,
        home,
        gauge.add_gauge(home.path, every_s=count_s),
        bare_platform.add_bare_platform(home.path),
        folder / "gateway.out",
        is_whole,
        drain_s,
    )
