"""Killed at any durable step, and at any other moment: nothing is lost, nothing runs twice, order is kept.

Eight sessions talk to the process under test (:mod:`tests.support.borgee_victim`) with commands and ``/stop`` in
between. After each kill the next start finds what was claimed, puts exactly that aside, and a person settles it with
what ``canon-ops inbox`` uses: through the running process or without one. The wire brings nothing again by itself, so
the server redelivers everything that was said; what is stored already must not run again.

What must hold, of each life and of all together:

* what was claimed at the kill is what is quarantined after the next start, neither more nor less;
* the agent was given each text once, and once more for each requeue that a person decided;
* in each session the plain texts were given in the order in which they were stored, requeued ones aside;
* in the end every message that was said has a settled receipt, and the database is whole.
"""

from __future__ import annotations

import ast
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from borgee_hermes.control.client import decide
from borgee_hermes.control.protocol import Request
from borgee_hermes.inbox import inbox
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.records import UNDECIDED, Receipt, Status
from borgee_hermes.inbox.rows import receipt_of
from borgee_hermes.inbox.schema import SCHEMA
from borgee_hermes.loopback.server import BorgeeSandbox
from canon_ops.durable import Snapshot, read_once
from canon_ops.durable.examine import find_damage
from canon_ops.errors import CanonOpsError
from tests.support.borgee_boxes import borgee_box
from tests.support.borgee_victim import EFFECTS, RARE, STEPS
from tests.support.waiting import wait_until

pytestmark = pytest.mark.host

ROOT = Path(__file__).parents[2]
SESSIONS = 8


@dataclass
class World:
    """The server, the home, and what people have said and decided."""

    box: BorgeeSandbox
    home: Path
    environ: dict[str, str]
    channels: list[str]
    rng: random.Random
    said: list[str] = field(default_factory=list)
    requeued: Counter[str] = field(default_factory=Counter)
    quarantined: int = 0
    kills: int = 0
    number: int = 0

    # -- lives ------------------------------------------------------------------------------------------------------

    def start(self, kill: str = "") -> subprocess.Popen[str]:
        """Begin a life."""
        return subprocess.Popen(
            [sys.executable, "-m", "tests.support.borgee_victim", str(self.home), self.box.endpoints.base_url],
            env={**self.environ, "KILL": kill},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def is_ready(self, process: subprocess.Popen[str]) -> bool:
        """Wait until it is connected; false when it was killed before."""
        assert process.stdout is not None
        return process.stdout.readline() == "ready\n"

    def ended(self, process: subprocess.Popen[str], *, by_signal: bool) -> None:
        """It is over, in the way that was meant."""
        process.wait(timeout=60)
        _, complained = process.communicate()
        self.kills += by_signal
        assert process.returncode == (-9 if by_signal else 0), complained[-3000:]

    # -- people -----------------------------------------------------------------------------------------------------

    def talk(self, count: int) -> None:
        """Say something in random channels: texts mostly, commands now and then."""
        for _ in range(count):
            self.number += 1
            kind = self.rng.random()
            text = "/stop" if kind < 0.08 else "/status" if kind < 0.25 else f"text {self.number}"
            self.said.append(self.box.human.say(self.rng.choice(self.channels), text))

    def talk_past_turns(self) -> None:
        """In each channel a text, and a command beside the turn that it becomes."""
        for channel in self.channels:
            self.number += 1
            self.said += [self.box.human.say(channel, text) for text in (f"text {self.number}", "/status")]

    def redeliver_missing(self) -> None:
        """What was said to nobody comes once more, in portions that a client has room for."""
        while missing := sorted(set(self.said) - {row.message_id for row in self.rows()})[:200]:
            for message_id in missing:
                self.box.human.redeliver(message_id)
            wait_until(lambda: {row.message_id for row in self.rows()}.issuperset(missing), timeout_s=60)

    def redeliver_some(self) -> None:
        """A few of the newest come once more."""
        for message_id in self.said[-30:]:
            self.box.human.redeliver(message_id)

    def settle(self, *, alone: bool = False) -> None:
        """Decide about everything that is quarantined; ``alone``, also about what a dead process had claimed."""
        for row in self.rows():
            if row.status not in (UNDECIDED if alone else {Status.QUARANTINED}):
                continue
            op = self.rng.choice(["discard", "requeue"])
            changed, _ = decide(
                self.home, Request(op, row.ingest_seq, True), reset_session=lambda _: True, environ=self.environ
            )
            assert changed
            self.requeued[row.message_id] += op == "requeue"

    # -- looking ----------------------------------------------------------------------------------------------------

    def rows(self) -> list[Receipt]:
        """The inbox, in order."""

        def all_of(snapshot: Snapshot) -> list[Receipt]:
            return [receipt_of(row) for row in snapshot.all("SELECT * FROM receipts ORDER BY ingest_seq")]

        return read_once(inbox_file(self.home), SCHEMA, all_of) if inbox_file(self.home).exists() else []

    def effects(self) -> list[tuple[str, str, str]]:
        """Message, channel and text of everything that the agent was given."""
        file = self.home / EFFECTS
        lines = file.read_text().splitlines() if file.exists() else []
        return [(*line.split("\t"),) for line in lines]  # type: ignore[misc]

    def of(self, status: Status) -> set[int]:
        return {row.ingest_seq for row in self.rows() if row.status is status}

    def check(self) -> None:
        """What must hold at any time."""
        given = Counter(message_id for message_id, _, _ in self.effects())
        for message_id, times in given.items():
            assert times <= 1 + self.requeued[message_id], (message_id, times, self.requeued[message_id])
        place = {row.message_id: row.ingest_seq for row in self.rows()}
        for channel in self.channels:
            order = [
                place[message_id]
                for message_id, where, text in self.effects()
                if where == channel and not text.startswith("/") and not self.requeued[message_id]
            ]
            assert order == sorted(order), (channel, order)

    def next_life(self, kill: str = "") -> tuple[subprocess.Popen[str], bool]:
        """Start again after a kill, and look whether exactly what was claimed is put aside."""
        claimed = self.of(Status.PROCESSING) | self.of(Status.IN_DOUBT)
        aside = self.of(Status.QUARANTINED)
        process = self.start(kill)
        is_ready = self.is_ready(process)
        if is_ready:
            assert self.of(Status.QUARANTINED) == aside | claimed
            self.quarantined += len(claimed)
        return process, is_ready

    def finish(self) -> None:
        """A last life, in which everything is settled; then the books are closed."""
        process, is_ready = self.next_life()
        assert is_ready
        self.redeliver_missing()
        self.settle()
        wait_until(lambda: not any(row.status.is_open for row in self.rows()), timeout_s=180)
        process.stdin.write("\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        self.ended(process, by_signal=False)
        self.check()
        given = {message_id for message_id, _, _ in self.effects()}
        for row in self.rows():
            assert row.status in (Status.COMPLETED, Status.FAILED), row
            assert row.message_id in given or row.outcome == "operator_discarded", row
        assert read_once(inbox_file(self.home), SCHEMA, find_damage) == ()


@contextmanager
def world(folder: Path, seed: int) -> Iterator[World]:
    """A server with eight rooms and an empty home."""
    home, user = folder / "hermes", folder / "user"
    home.mkdir(parents=True)
    user.mkdir()
    with borgee_box(require_mention=False, journal_entries=1_000) as box:
        ends = box.endpoints
        channels = [
            box.human.add_channel(f"room {n}", member_ids=["user_owner", ends.agent_id]) for n in range(SESSIONS)
        ]
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(user),
            "HERMES_HOME": str(home),
            "HERMES_GATEWAY_LOCK_DIR": str(folder / "locks"),
            "BORGEE_API_KEY": ends.agent_key,
        }
        yield World(box, home, environ, channels, random.Random(seed))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a kill leaves the kernel's memory alone, so it hides nothing."""
    memory = Path("/dev/shm")  # noqa: S108
    if not memory.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print a line that pytest does not swallow."""

    def say(line: str) -> None:
        with capsys.disabled():
            print(f"\n{line}")  # noqa: T201

    return say


def killed_at(world: World, point: str) -> None:
    """One life that ends at a step, and whatever is needed to get there."""
    step = point.partition(":")[0]
    if step in ("recover_processing", "quarantine_in_doubt", "discard", "requeue"):
        victim, is_ready = world.next_life("claim:after:2")  # leaves something in doubt
        assert is_ready
        world.talk(12)
        world.ended(victim, by_signal=True)
    victim, is_ready = world.next_life(point)
    if is_ready:
        if step in RARE:
            world.talk_past_turns()
        elif step != "prune":  # it dies of itself
            world.talk(12)
        if step in ("discard", "requeue"):
            decide_until_it_dies(world, step)
    world.ended(victim, by_signal=True)
    world.check()


def decide_until_it_dies(world: World, op: str) -> None:
    """Ask the running process to decide; it is killed over it, so that nobody hears the answer."""
    for row in world.rows():
        if row.status is Status.QUARANTINED:
            with contextlib.suppress(CanonOpsError):  # the other end of the socket is gone
                decide(world.home, Request(op, row.ingest_seq, True), reset_session=pytest.fail, environ=world.environ)
            world.requeued[row.message_id] += op == "requeue"
            return


POINTS = [f"{step}:{moment}" for step in STEPS for moment in ("before", "after")]


def test_the_steps_are_all_that_the_inbox_writes() -> None:
    """A call by which the inbox changes and that is not in the list would be killed at by chance only."""
    source = Path(inbox.__file__).read_text(encoding="utf-8")
    (made,) = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    writing = {
        method.name
        for method in made.body
        if isinstance(method, ast.AsyncFunctionDef) and "self._database.write" in ast.unparse(method)
    }

    assert writing == set(STEPS)


def nth(point: str) -> str:
    """At which call of its kind: the first for what happens once a life."""
    step = point.partition(":")[0]
    return f"{point}:{4 if step in ('insert', 'claim', 'finish', 'record_outbound') else 1}"


@pytest.mark.parametrize("point", ["claim:after", "finish:before"])
def test_killed_between_a_claim_and_its_end(folder: Path, point: str) -> None:
    """The two moments at which a turn is nobody's: in doubt afterwards, and settled by a person."""
    with world(folder, seed=1) as it:
        killed_at(it, nth(point))
        it.finish()

        assert it.quarantined >= 1


@pytest.mark.long
def test_killed_at_every_durable_step(folder: Path, report: Callable[[str], None]) -> None:
    """Before and after each commit that the inbox makes, one after the other in one home."""
    with world(folder, seed=2) as it:
        for point in POINTS:
            killed_at(it, nth(point))
            it.settle()
        it.finish()

        report(
            f"borgee: killed at {len(POINTS)} points ({len(STEPS)} durable steps, before and after), {it.kills} kills; "
            f"{len(it.said)} messages, {len(it.effects())} runs, {it.quarantined} in doubt, "
            f"{sum(it.requeued.values())} requeued: none lost, none run twice unasked, order kept"
        )


@pytest.mark.long
def test_killed_at_random_under_load(folder: Path, report: Callable[[str], None]) -> None:
    """Seeded SIGKILLs while eight sessions talk; half of the decisions go through the running process."""
    kills = int(os.environ.get("CRASH_KILLS", "300"))
    traces: set[tuple[Any, ...]] = set()
    with world(folder, seed=int(os.environ.get("CRASH_SEED", "3"))) as it:
        for _ in range(kills):
            victim, is_ready = it.next_life()
            assert is_ready
            if it.rng.random() < 0.5:
                it.redeliver_some()
            talking = threading.Thread(target=it.talk, args=(it.rng.randrange(8, 40),))
            talking.start()
            if it.rng.random() < 0.5:
                it.settle()
            threading.Event().wait(it.rng.random() * 0.4)
            victim.kill()
            it.ended(victim, by_signal=True)
            talking.join()
            it.check()
            traces.add(tuple(sorted(Counter(row.status.value for row in it.rows()).items())))
            if it.rng.random() < 0.5:
                it.settle(alone=True)
        it.finish()

        report(
            f"borgee: {it.kills} random kills, {len(traces)} distinct states left; {len(it.said)} messages, "
            f"{len(it.effects())} runs, {it.quarantined} in doubt, {sum(it.requeued.values())} requeued: "
            "none lost, none run twice unasked, order kept"
        )
