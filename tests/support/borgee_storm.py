"""Agents that talk through our Borgee client while everything goes wrong that a client can survive, and the accounts.

Every answer is a text of its own, so what the server has kept can be held against what the client was told about each
send. Source: decisions T7.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from borgee_hermes.bpp import actions
from borgee_hermes.bpp.client import BppClient, BppOptions
from borgee_hermes.bpp.errors import BppError, HandshakeTimeout, StaleDelivery
from borgee_hermes.bpp.limits import Limits
from borgee_hermes.bpp.port import Delivery
from borgee_hermes.bpp.state import Status
from borgee_hermes.loopback.server import BorgeeSandbox
from canon_ops.runtime.clock import SystemClock
from canon_ops.settings.secret import Secret
from tests.support.struck import unfired

__all__ = ["SURVIVABLE", "Agent", "Storm", "alive", "arm_all"]

SURVIVABLE: Final[dict[str, dict[str, Any]]] = {
    # upgrades: met at each reconnect only, so they strike more often
    "upgrade-404": {"every": 29},
    "upgrade-500": {"every": 31},
    "upgrade-502": {"every": 37},
    "upgrade-503": {"every": 23},
    "upgrade-200": {"every": 41},
    "upgrade-redirect": {"every": 43},
    "upgrade-reset": {"every": 19},
    "upgrade-end": {"every": 17},
    "upgrade-silent": {"every": 47},
    "upgrade-late": {"every": 13, "seconds": 0.05},
    # frames of the client
    "frame-close": {"every": 211},
    "frame-reset": {"every": 223},
    "frame-end": {"every": 227},
    "frame-freeze": {"every": 331},
    "frame-stall": {"every": 163, "seconds": 0.02},
    "connect-close": {"every": 11},
    "heartbeat-freeze": {"every": 13},
    # actions
    "action-close": {"every": 101},
    "action-close-after": {"every": 103},
    "action-reset": {"every": 107},
    "action-reset-after": {"every": 109},
    "action-end-after": {"every": 113},
    "action-freeze": {"every": 127},
    "action-freeze-after": {"every": 131},
    "action-error": {"every": 29},
    "action-denied": {"every": 31},
    "action-late": {"every": 37, "seconds": 0.02},
    "action-lost": {"every": 137},
    "action-ignored": {"every": 139},
    # answers
    "result-twice": {"every": 17},
    "result-not-json": {"every": 149},
    "result-bad-payload": {"every": 151},
    "result-bad-status": {"every": 157},
    "result-no-code": {"every": 163},
    "result-no-nonce": {"every": 167},
    "result-unknown-nonce": {"every": 173},
    # inbound messages
    "push-twice": {"every": 11},
    "push-lost": {"every": 41},
    "push-late": {"every": 53, "seconds": 0.02},
    "push-cursor": {"every": 13},
    "push-unknown-kind": {"every": 59},
    "push-unknown-type": {"every": 61},
    "push-no-body": {"every": 139},
    "push-bad-time": {"every": 149},
    "push-not-json": {"every": 151},
    "push-not-utf8": {"every": 157},
    "push-no-type": {"every": 163},
    "push-list": {"every": 167},
    "push-binary": {"every": 19},
    "push-fragments": {"every": 23},
    "push-bytewise": {"every": 29},
    "push-bad-opcode": {"every": 173},
    "push-close": {"every": 101},
    "push-close-after": {"every": 103},
    "push-close-talking": {"every": 107},
    "push-close-hanging": {"every": 109},
    "push-reset": {"every": 113},
    "push-reset-middle": {"every": 127},
    "push-end": {"every": 131},
    "push-end-middle": {"every": 137},
    "push-freeze": {"every": 179},
}
"""The faults after which a client goes on, and how often each strikes. The others end it, as they must."""

LOOK_EVERY_S: Final = 2.0
FIRST_TRIES: Final = 10  # a first connection is made once by each client, within a limit that a busy machine may need

LIMITS: Final = Limits(
    opening_s=0.5,
    action_s=1.0,
    heartbeat_s=0.05,  # a connection of a fast machine meets its next fault soon after
    quiet_s=0.2,
    dead_s=0.2,
    write_s=2.0,
    settle_s=0.02,
    close_s=0.2,
    farewell_s=0.5,
    backoff_first_s=0.005,
    backoff_max_s=0.05,
    malformed=1_000_000,  # a client of a server like this one would have given up
)


def arm_all(box: BorgeeSandbox) -> None:
    """Put every survivable fault on duty, for ever."""
    for name, settings in SURVIVABLE.items():
        box.fault(name, **{"times": None, "burst": 1, **settings})


@dataclass
class Agent:
    """One client and its accounts.

    Attributes:
        fates: what was told of each answer, by its text: ``ok``, ``none`` (no effect) or ``unknown``.
        taken: the positions of the messages that were taken over, in order.
    """

    agent_id: str
    dm_id: str
    new_client: Callable[[], BppClient]
    client: BppClient = field(init=False)
    fates: dict[str, str] = field(default_factory=dict)
    codes: Counter[str] = field(default_factory=Counter)
    taken: list[int] = field(default_factory=list)
    stale: int = 0

    async def connect(self) -> None:
        """Be online, with a fresh client for each try."""
        for left in reversed(range(FIRST_TRIES)):
            self.client = self.new_client()
            try:
                await self.client.connect()
            except HandshakeTimeout:
                if not left:
                    raise
            else:
                return

    async def receive(self) -> None:
        """Take events over until the client ends, and answer each beside the intake, as a gateway does."""
        async with asyncio.TaskGroup() as answering:
            async for delivery in self.client.deliveries():
                number = int(delivery.event.body)
                self.taken.append(number)
                await self._checkpoint(delivery)
                answering.create_task(self._answer(f"answer {number} {len(self.taken)}"))

    async def _checkpoint(self, delivery: Delivery) -> None:
        await asyncio.sleep(0.001)  # as long as a commit may take: meanwhile the connection may end
        try:
            await delivery.checkpoint()
        except StaleDelivery:
            self.stale += 1

    async def _answer(self, text: str) -> None:
        try:
            await self.client.act(actions.send_message(self.dm_id, text))
        except BppError as error:
            self.codes[error.code] += 1
            self.fates[text] = "none" if error.had_no_effect else "unknown"
        else:
            self.fates[text] = "ok"


class Storm:
    """Some agents, their people, and the time."""

    def __init__(self, box: BorgeeSandbox, *, agents: int, seed: int) -> None:
        self.box = box
        self.agents = [self._agent(number, seed) for number in range(agents)]
        self.said: Counter[str] = Counter()
        self.most_tasks = 0
        self.most_alive = 0

    def _agent(self, number: int, seed: int) -> Agent:
        made = self.box.human.add_agent(f"Agent {number}")
        options = BppOptions(
            base_url=self.box.endpoints.base_url, api_key=Secret(made["agent_key"]), limits=LIMITS
        )  # fmt: skip

        def new_client() -> BppClient:
            return BppClient(options, clock=SystemClock(), rng=random.Random(seed * 1_000 + number))

        return Agent(made["agent_id"], made["dm_id"], new_client)

    async def run(self, seconds: float, *, longest_s: float = 0.0, every_s: float = 0.002) -> None:
        """Connect in peace, storm for a while, calm down, let everybody say a last word, and close.

        Args:
            longest_s: go on for at most that long while a fault has not struck yet: some wait for a rare frame.
        """
        loop = asyncio.get_running_loop()
        for agent in self.agents:
            await agent.connect()
        arm_all(self.box)
        async with asyncio.TaskGroup() as group:
            for agent in self.agents:
                group.create_task(agent.receive())
            end, last, look_at = loop.time() + seconds, loop.time() + longest_s, 0.0
            while loop.time() < end or (loop.time() < last and unfired(self.box.human.faults())):
                self._speak()
                self.most_tasks = max(self.most_tasks, len(asyncio.all_tasks()))
                if loop.time() >= look_at:
                    self.most_alive = max(self.most_alive, alive())
                    look_at = loop.time() + LOOK_EVERY_S
                await asyncio.sleep(every_s)
            self.box.human.calm()
            await self._last_words()
            for agent in self.agents:
                await agent.client.close()

    def _speak(self) -> None:
        for agent in self.agents:
            self.said[agent.agent_id] += 1
            self.box.human.say(agent.dm_id, str(self.said[agent.agent_id]))

    async def _last_words(self) -> None:
        """Each agent finds back, also from a connection that has gone half-open, and answers once more."""
        for agent in self.agents:
            answered = len(agent.fates)
            async with asyncio.timeout(120):
                while agent.client.state.status is not Status.ONLINE or len(agent.fates) == answered:
                    self.said[agent.agent_id] += 1
                    self.box.human.say(agent.dm_id, str(self.said[agent.agent_id]))
                    await asyncio.sleep(0.05)

    # The accounts ---------------------------------------------------------------------------------------------------

    def contradictions(self) -> Iterator[str]:
        """Where what an agent was told is not what the server has kept, or what was said came in another order."""
        for agent in self.agents:
            kept = Counter(row["content"] for row in self.box.transcript(agent.dm_id))
            for text, fate in agent.fates.items():
                if not {"ok": kept[text] == 1, "none": kept[text] == 0, "unknown": kept[text] <= 1}[fate]:
                    yield f"{agent.agent_id}: {text!r} was told to be {fate} and is kept {kept[text]} times"
            if agent.taken != sorted(agent.taken):
                yield f"{agent.agent_id}: what was said was taken over in another order"
            if len(agent.fates) != len(agent.taken):
                yield f"{agent.agent_id}: {len(agent.taken)} messages taken over, {len(agent.fates)} answers settled"

    def fates(self) -> Counter[str]:
        """How many answers came to which end."""
        return Counter(fate for agent in self.agents for fate in agent.fates.values())

    def codes(self) -> Counter[str]:
        """How many answers failed with which code."""
        return sum((agent.codes for agent in self.agents), Counter())


def alive() -> int:
    """How many objects of the client's own types there are."""
    return sum(str(type(one).__module__).startswith("borgee_hermes.bpp.") for one in gc.get_objects())
