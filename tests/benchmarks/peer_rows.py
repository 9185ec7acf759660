"""What ``make bench-peers`` measures: one function a subject, each with the lines that it gives.

The measuring is that of the benchmarks beside this file, where there is one. Each function takes how many pairs are
wanted and returns after its processes have ended. A peer is a black box in an environment of its own below ``.hosts``,
made on first use. Where the peer's host is not that of ``.venv``, ours runs on the peer's host, too.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from borgee_hermes.loopback.options import BorgeeOptions
from borgee_hermes.loopback.server import BorgeeSandbox
from canon_ops.hermes.gateway import GatewayProcess
from canon_ops.sandbox.model.server import ModelSandbox
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from scripts.peer_table import Line
from scripts.test_hosts import row as host_row
from tests.benchmarks import bench_borgee_receipts, bench_cards, bench_doctor, bench_inbound, bench_sse
from tests.benchmarks.peer_notes import NOTES
from tests.support.borgee_gateways import borgee_config
from tests.support.card_judges import PUBLISHED_VERSION as CARDS_VERSION
from tests.support.card_judges import judges
from tests.support.crashing import has_strace
from tests.support.environments import CHECKOUT
from tests.support.gateways import direct_key
from tests.support.homes import build_home
from tests.support.published import PUBLISHED, published_host, registry_interpreter
from tests.support.published_borgee import PUBLISHED_HOST as BORGEE_HOST
from tests.support.published_borgee import PUBLISHED_VERSION as BORGEE_VERSION
from tests.support.published_borgee import published_python as published_borgee

__all__ = ["SUBJECTS", "Subject"]

Subject = Callable[[int], list[Line]]

CANON, CARDS, BORGEE = (
    PUBLISHED[0].requirements[1].replace("==", " "),
    f"canon-hermes-plugin {CARDS_VERSION}",
    f"borgee-hermes-plugin {BORGEE_VERSION}",
)
EVENTS = 8_000
ENTRIES, CHANGES = 1_000, 30
BESIDE_BORGEE = f"both on Hermes {BORGEE_HOST} and Python 3.13"


def doctor(rounds: int) -> list[Line]:
    """Whole processes, without a network."""
    table = bench_doctor.rows()
    with tempfile.TemporaryDirectory() as folder:
        digest = bench_doctor.furnish(Path(folder))
        times = bench_doctor.measure(table, Path(folder), rounds)
    chosen = (bench_doctor.IN_THE_HOST, bench_doctor.FROM_OUTSIDE, bench_doctor.COLD)
    theirs = milli(times[bench_doctor.PEER])
    return [
        Line(
            name, CANON, "ms", milli(times[name]), theirs,
            least=least(table[name]), note=NOTES[name].format(digest=digest),
        )
        for name in chosen
    ]  # fmt: skip


def least(row: bench_doctor.Row) -> float | None:
    """The ratio that a limit in times the peer comes to."""
    return None if row.limit is None else 1 / row.limit


def milli(seconds: Sequence[float]) -> tuple[float, ...]:
    return tuple(each * 1e3 for each in seconds)


def install(rounds: int) -> list[Line]:
    """Plugin and platform enabled and access decided in a home that has nothing; the package is there on both sides."""
    here, peer = Path(sys.executable).parent, published_host(PUBLISHED[0]).parent
    commands = [
        [str(here / "canon-ops"), "install", "canon", "--no-input"],
        [str(peer / "canon-hermes"), "install"],
    ]
    lines = []
    for what, is_fresh in (("install", True), ("install, a second time", False)):
        times: tuple[list[float], list[float]] = ([], [])
        with tempfile.TemporaryDirectory() as folder:
            for number in range(rounds + 1):
                for which, (command, kept) in enumerate(zip(commands, times, strict=True)):
                    home = Path(folder) / str(which)
                    if is_fresh:
                        shutil.rmtree(home / ".hermes", ignore_errors=True)  # what is known of the host stays
                    took = timed(command, home)
                    if number:
                        kept.append(took)
        lines.append(Line(what, CANON, "ms", milli(times[0]), milli(times[1]), note=NOTES[what]))
    return lines


def timed(command: list[str], user: Path) -> float:
    """Seconds of a command that has to succeed."""
    user.joinpath(".hermes").mkdir(parents=True, exist_ok=True)
    environ = {"HOME": str(user), "PATH": f"{Path(command[0]).parent}:/usr/bin:/bin"}
    done: list[object] = []

    def work() -> None:
        ran = subprocess.run(command, env=environ, capture_output=True, check=False)
        done.append(ran.stderr.decode() if ran.returncode else None)

    took = bench_sse.seconds(work)
    if done != [None]:
        raise RuntimeError(f"{command[0]}: {done[0]}")
    return took


def cards(rounds: int) -> list[Line]:
    """Both validators on one interpreter."""
    lines = []
    with judges() as (ours, theirs):
        for name, (make, promised) in bench_cards.KINDS.items():
            chosen = make()
            pairs = bench_cards.pairs_of(chosen, ours, theirs, rounds)
            own, published = (tuple(nanos / 1e3 for nanos in column) for column in zip(*pairs, strict=True))
            digest = hashlib.sha256(json.dumps(chosen).encode()).hexdigest()[:12]
            what = f"cards: {name}"
            note = f"{NOTES['cards'].format(count=len(chosen), digest=digest)} {NOTES.get(what, '')}".strip()
            lines.append(Line(what, CARDS, "µs", own, published, least=promised or None, note=note))
    return lines


def sse(rounds: int) -> list[Line]:
    """The peer's decoder cannot be had alone, so both adapters read a stream of events that are nobody's business."""
    ours, peer = Path(sys.executable), published_host(PUBLISHED[0])
    pairs = [(stream_rate(ours), stream_rate(peer)) for _ in range(rounds + 1)][1:]
    digest = hashlib.sha256(json.dumps(bench_sse.TYPING).encode()).hexdigest()[:12]
    note = NOTES["stream"].format(count=f"{EVENTS:,}", digest=digest)
    return [Line("stream events (SSE)", CANON, "/s", *columns(pairs), more_is_better=True, note=note)]


def stream_rate(python: Path) -> float:
    """Events a second of the adapter's processor time."""
    with CanonSandbox(CanonOptions(seed="bench")) as box, tempfile.TemporaryDirectory() as folder:
        rooms = bench_inbound.open_rooms(box, 1)
        client = bench_inbound.Client(python, box, Path(folder), 1)
        for _ in range(EVENTS):
            box.human.publish("typing", bench_sse.TYPING)
        bench_inbound.speak(box, rooms, 1)
        return EVENTS / float(client.result()["processor_s"])


def inbound(rounds: int) -> list[Line]:
    """Messages from the stream to the host."""
    ours, peer = Path(sys.executable), published_host(PUBLISHED[0])
    pairs = [(bench_inbound.rate(ours), bench_inbound.rate(peer)) for _ in range(rounds + 1)][1:]
    digest = hashlib.sha256(bench_inbound.TEXT.encode()).hexdigest()[:12]
    note = NOTES["inbound"].format(
        count=f"{bench_inbound.MESSAGES:,}", conversations=bench_inbound.CONVERSATIONS, digest=digest
    )
    return [Line("inbound messages", CANON, "/s", *columns(pairs), more_is_better=True, least=1.0, note=note)]


def columns(pairs: Sequence[tuple[float, float]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    ours, theirs = zip(*pairs, strict=True)
    return ours, theirs


class Registry:
    """One registry of approvals in a process of its own."""

    def __init__(self, python: Path, folder: Path, *paths: Path) -> None:
        folder.mkdir()
        words = [python, Path(__file__).with_name("registry_client.py"), folder, ENTRIES, *paths]
        self.process = subprocess.Popen(
            [*map(str, words)],
            env={"PATH": os.environ["PATH"], "HOME": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the registry's process has ended")
        return line

    def change(self, count: int = CHANGES) -> dict[str, float]:
        """Milliseconds a change, on the clock and of the processor."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return {name: value / count * 1e3 for name, value in json.loads(self._answer()).items()}

    def stop(self) -> None:
        """It ends when its stdin does."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


def registry(rounds: int) -> list[Line]:
    """Read, change, replace, each through its own surface and on one interpreter."""
    python = registry_interpreter()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="canon-ops-")))
        both = Registry(python, folder / "ours", CHECKOUT, CHECKOUT / "adapter"), Registry(python, folder / "theirs")
        for each in both:
            stack.callback(each.stop)
        pairs = [(both[0].change(), both[1].change()) for _ in range(rounds + 1)][1:]
        waits = "not counted: no strace"
        if has_strace():
            counts = [bench_borgee_receipts.synchronisations(each.process.pid, each.change) for each in both]
            waits = f"ours waits for the disk {counts[0] / CHANGES:g} times a change, the peer {counts[1] / CHANGES:g}"
    note = NOTES["registry"].format(waits=waits)
    return [
        Line(
            f"registry of 1,000, {what}",
            CARDS,
            "ms",
            *columns([(own[name], published[name]) for own, published in pairs]),
            note=note,
        )
        for what, name in (("on the clock", "wall_s"), ("processor", "processor_s"))
    ]


def borgee_pythons() -> tuple[Path, Path]:
    """Ours and the published plugin, beside the one host that the published one asks for."""
    environment = host_row(BORGEE_HOST, "3.13").environment
    theirs = published_borgee()
    assert environment is not None
    return environment.make(), theirs


def inbox(rounds: int) -> list[Line]:
    """Two gateways taking in."""
    bench = bench_borgee_receipts
    ours_python, theirs_python = borgee_pythons()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="canon-ops-", dir="/tmp")))
        model = stack.enter_context(ModelSandbox())
        ours = stack.enter_context(bench.side("ours", ours_python, folder / "ours", model))
        theirs = stack.enter_context(bench.side("theirs", theirs_python, folder / "theirs", model))
        bench.take_turns((ours, theirs), rounds)
    digest = hashlib.sha256("\n".join(bench.TEXTS).encode()).hexdigest()[:12]
    return [
        Line(
            "inbox: receipts", BORGEE, "/s", tuple(ours.rates), tuple(theirs.rates),
            more_is_better=True, least=bench.FASTER,
            note=NOTES["inbox: receipts"].format(
                count=bench.BURST, channels=bench.CHANNELS, digest=digest, beside=BESIDE_BORGEE
            ),
        ),
        Line(
            "inbox: a single message", BORGEE, "ms", milli(ours.latencies), milli(theirs.latencies),
            least=1 / bench.SLOWER, note=NOTES["inbox: a single message"].format(beside=BESIDE_BORGEE),
        ),
    ]  # fmt: skip


def load(rounds: int) -> list[Line]:
    """What a plugin's import and registration take of a process that has loaded the host's gateway."""
    borgee = borgee_pythons()
    lines = []
    for name, entry, peer, pythons, why in (
        ("canon", "canon-hermes", CANON, (Path(sys.executable), published_host(PUBLISHED[0])), NOTES["load, canon"]),
        ("borgee", "borgee", BORGEE, borgee, f"Here {BESIDE_BORGEE}."),
    ):
        with tempfile.TemporaryDirectory() as folder:
            pairs = [
                tuple(loaded(python, entry, Path(folder)) for python in pythons) for _ in range(rounds + 1)
            ][1:]  # fmt: skip
        for what, unit, key in (("import time", "ms", "ms"), ("import memory", "MB", "megabytes")):
            values = columns([(own[key], published[key]) for own, published in pairs])
            measure = "processor time" if key == "ms" else "resident"
            note = f"{NOTES['load'].format(measure=measure)} {why}"
            lines.append(Line(f"{what}, {name}", peer, unit, *values, note=note))
    return lines


def loaded(python: Path, entry: str, user: Path) -> dict[str, float]:
    """What ``load_client.py`` counted."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(user), "HERMES_HOME": str(user / ".hermes")}
    script = Path(__file__).with_name("load_client.py")
    ran = subprocess.run([str(python), str(script), entry], env=environ, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    found: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return found


def memory(rounds: int) -> list[Line]:
    """Resident memory of real gateways that are ready and at rest; each is started anew for each reading."""
    ours, peer = Path(sys.executable), published_host(PUBLISHED[0])
    borgee = borgee_pythons()
    canon_pairs = [(resident(canon_gateway, ours), resident(canon_gateway, peer)) for _ in range(rounds)]
    borgee_pairs = [(resident(borgee_gateway, borgee[0]), resident(borgee_gateway, borgee[1])) for _ in range(rounds)]
    host = PUBLISHED[0].requirements[0].replace("hermes-agent==", "Hermes ")
    return [
        Line(
            "gateway memory, canon", CANON, "MB", *columns(canon_pairs),
            note=f"{NOTES['gateway memory'].format(beside=f'both on {host}')} {NOTES['gateway memory, canon']}",
        ),
        Line(
            "gateway memory, borgee", BORGEE, "MB", *columns(borgee_pairs),
            note=NOTES["gateway memory"].format(beside=BESIDE_BORGEE),
        ),
    ]  # fmt: skip


Gateway = Callable[[Path, Path, str], Any]


def resident(gateway: Gateway, python: Path) -> float:
    """Megabytes."""
    with (
        tempfile.TemporaryDirectory(prefix="canon-ops-", dir="/tmp") as folder,
        ModelSandbox() as model,
        gateway(python, Path(folder), model.endpoints.base_url) as running,
    ):
        pages = int(Path(f"/proc/{running.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextmanager
def canon_gateway(python: Path, folder: Path, model_url: str) -> Iterator[GatewayProcess]:
    """A whole process, no fork of a warm one."""
    with CanonSandbox(CanonOptions(seed="bench")) as box:
        home = build_home(folder, model_url=model_url, dotenv=direct_key(box))
        log = folder / "gateway.out"
        with GatewayProcess.start(home.home, python=python, environ=home.environ, log=log) as gateway:
            gateway.wait_ready()
            box.wait("connected")
            yield gateway


@contextmanager
def borgee_gateway(python: Path, folder: Path, model_url: str) -> Iterator[GatewayProcess]:
    """The same for Borgee."""
    with BorgeeSandbox(BorgeeOptions(require_mention=False)) as box:
        variables = {"BORGEE_API_KEY": box.endpoints.agent_key, "BORGEE_HOME_CHANNEL": "dm_owner"}
        config = borgee_config(box.endpoints.base_url)
        home = build_home(folder, model_url=model_url, dotenv=variables, config=config)
        log = folder / "gateway.out"
        with GatewayProcess.start(home.home, python=python, environ=home.environ, log=log) as gateway:
            gateway.wait_ready(platform="borgee")
            yield gateway


SUBJECTS: dict[str, Subject] = {
    "doctor": doctor,
    "install": install,
    "cards": cards,
    "sse": sse,
    "inbound": inbound,
    "registry": registry,
    "inbox": inbox,
    "load": load,
    "memory": memory,
}
"""Each by the word with which it is chosen, in the order of the table."""
