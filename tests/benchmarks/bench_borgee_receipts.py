"""How fast a message becomes durable: our gateway and the published plugin's, black boxes, on the same Borgee server.

Run ``python -m tests.benchmarks.bench_borgee_receipts``. Each side is a real Hermes gateway with a home and a
server of its own, with 64 channels. One long turn holds the only dispatch slot, so what is measured is
taking in: from the moment at which a person says something to the row in the inbox, which another process reads. A
burst is :data:`BURST` messages, said in turn in all channels, never more than :data:`WINDOW` ahead of the inbox: a
client gives up when too many wait. Five interleaved pairs after a warm-up.

Durability is counted, not believed: ``strace`` counts the fsync and fdatasync of one more burst, and of some messages
that come one at a time. In WAL mode a commit waits for the disk under FULL only, so each side has to reach one for each
of the latter. The environment of the published plugin is made once, below ``.hosts``, in about a minute; the rest takes
two.

Limits: at least twice the receipts in a second; a single receipt at most 1.2 times as slow; both under FULL.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from borgee_hermes.loopback.options import BorgeeOptions
from borgee_hermes.loopback.server import BorgeeSandbox
from canon_ops.hermes.gateway import GatewayProcess
from canon_ops.sandbox.model.server import ModelSandbox
from tests.support.borgee_gateways import borgee_config
from tests.support.crashing import has_strace
from tests.support.homes import build_home, merged
from tests.support.published_borgee import PUBLISHED_VERSION, published_python

CHANNELS, BURST, WINDOW, PAIRS, SINGLES, COUNTED = 64, 640, 200, 5, 40, 20
FASTER, SLOWER = 2.0, 1.2
TEXTS = [f"message {number}: {'x' * 120}" for number in range(BURST)]


@dataclass
class Side:
    """One plugin in its gateway, taking in."""

    name: str
    box: BorgeeSandbox
    gateway: GatewayProcess
    inbox: Path
    channels: list[str]
    rates: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)

    def stored(self, connection: sqlite3.Connection) -> int:
        (count,) = connection.execute("SELECT max(ingest_seq) FROM receipts").fetchone()
        return int(count or 0)

    def reader(self) -> closing[sqlite3.Connection]:
        return closing(sqlite3.connect(f"file:{self.inbox}?mode=ro", uri=True, isolation_level=None))

    def burst(self) -> float:
        """Receipts a second."""
        with self.reader() as connection:
            before = self.stored(connection)
            began = time.perf_counter()
            for number, text in enumerate(TEXTS):
                while number - (self.stored(connection) - before) >= WINDOW:
                    time.sleep(0.0005)
                self.box.human.say(self.channels[number % CHANNELS], text)
            while self.stored(connection) - before < BURST:
                time.sleep(0.0005)
            return BURST / (time.perf_counter() - began)

    def single(self) -> float:
        """Seconds from a person's word to the row."""
        with self.reader() as connection:
            before = self.stored(connection)
            began = time.perf_counter()
            self.box.human.say(self.channels[0], "one")
            while self.stored(connection) == before:
                pass
            return time.perf_counter() - began

    def singles(self) -> None:
        """Some messages, one at a time."""
        for _ in range(COUNTED):
            self.single()


def synchronisations(pid: int, work: Callable[[], object]) -> int:
    """How often a process waits for the disk meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "strace"
        words = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", str(log), "-p", str(pid)]
        with subprocess.Popen(words, stderr=subprocess.DEVNULL) as tracer:
            time.sleep(1.0)  # strace says nothing once it is attached
            work()
            tracer.terminate()
        return len(re.findall(r"\b(?:fsync|fdatasync)\(", log.read_text()))


@contextmanager
def side(name: str, python: Path, folder: Path, model: ModelSandbox) -> Iterator[Side]:
    """A gateway, below a folder that it makes, whose one slot is taken by a turn that lasts."""
    folder.mkdir()
    with BorgeeSandbox(BorgeeOptions(require_mention=False)) as box:
        channels = [box.human.add_channel(f"channel-{number}") for number in range(CHANNELS)]
        home = build_home(
            folder,
            model_url=model.endpoints.base_url,
            dotenv={"BORGEE_API_KEY": box.endpoints.agent_key, "BORGEE_HOME_CHANNEL": "dm_owner"},
            config=merged(borgee_config(box.endpoints.base_url), {"borgee": {"max_concurrent_dispatches": 1}}),
        )
        gateway = GatewayProcess.start(home.home, python=python, environ=home.environ, log=folder / "gateway.out")
        try:
            gateway.wait_ready(platform="borgee")
            box.human.say(None, f"[wait 3000][say {name} held]")
            model.wait(where=lambda request: f"{name} held" in request.user_text, timeout_s=120)
            yield Side(name, box, gateway, home.path / "plugins" / "borgee" / "inbox.sqlite3", channels)
        finally:
            gateway.kill()


def take_turns(sides: Sequence[Side], pairs: int) -> None:
    """A warm-up, then as many rounds of a burst and some single messages each."""
    progress("warm-up")
    for each in sides:
        each.burst()
    for pair in range(1, pairs + 1):
        progress(f"pair {pair} of {pairs}")
        for each in sides:
            each.rates.append(each.burst())
        for each in sides:
            each.latencies += [each.single() for _ in range(SINGLES // PAIRS)]


def progress(text: str) -> None:
    """What takes its time now, beside the numbers."""
    print(text, file=sys.stderr, flush=True)


def said(values: list[float], unit: float, digits: int) -> str:
    """Median and range."""
    low, middle, high = (
        f"{value * unit:.{digits}f}" for value in (min(values), statistics.median(values), max(values))
    )
    return f"{middle} ({low} to {high})"


def main() -> int:
    """Print the numbers; 1 when a limit is broken."""
    digest = hashlib.sha256("\n".join(TEXTS).encode()).hexdigest()[:12]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="canon-ops-", dir="/tmp")))
        model = stack.enter_context(ModelSandbox())
        progress("the environment of the published plugin; the first time it is made")
        published = published_python()
        progress("two gateways")
        ours = stack.enter_context(side("ours", Path(sys.executable), folder / "ours", model))
        theirs = stack.enter_context(
            side(f"borgee-hermes-plugin {PUBLISHED_VERSION}", published, folder / "theirs", model)
        )
        sides = (ours, theirs)
        take_turns(sides, PAIRS)
        progress("durability")
        is_full = True
        print(f"{BURST} messages in {CHANNELS} channels, at most {WINDOW} ahead; input {digest}; {PAIRS} pairs")
        for each in sides:
            calls = "fsync not counted: no strace"
            if has_strace():
                at_once = synchronisations(each.gateway.pid, each.burst)
                one_by_one = synchronisations(each.gateway.pid, each.singles)
                calls = f"{at_once} fsync a burst, {one_by_one} for {COUNTED} one at a time"
                is_full = is_full and one_by_one >= COUNTED
            with each.reader() as connection:
                (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
            print(
                f"{each.name:28} {said(each.rates, 1, 0):>24} receipts/s; one {said(each.latencies, 1e3, 2):>22} ms; "
                f"{calls}; {mode}"
            )
        faster = statistics.median(ours.rates) / statistics.median(theirs.rates)
        slower = statistics.median(ours.latencies) / statistics.median(theirs.latencies)
        print(f"receipts {faster:.2f} times (at least {FASTER}), latency {slower:.2f} times (at most {SLOWER})")
        if not is_full:
            print("a commit that did not wait for the disk")
        fine = faster >= FASTER and slower <= SLOWER and is_full
        print("within the limits" if fine else "OVER A LIMIT")
        return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
