"""A soak from its first message to its verdict: load, replacements, samples.

The parts decide nothing: people talk (:mod:`tests.support.soak_talk`), gateways live and are replaced
(:mod:`tests.support.soak_gateways`), and what was measured is judged by :mod:`tests.support.soaking`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support import soaking, vitals
from tests.support.crash_outcome import Outcome
from tests.support.gauge import Dispatch, Objects
from tests.support.soak_gateways import Life, Replacement, Side, sides
from tests.support.soak_talk import People, TimedModel, Turn, number_in, outcome_of
from tests.support.soaking import Judged, Measure, Point, Windows

__all__ = ["MEASURES", "Plan", "Series", "Soak", "soak"]

MEASURES: Final = {
    "memory": Measure("resident memory", "MB", share=0.05, least=8),
    "descriptors": Measure("descriptors", "", share=0.1, least=8),
    "threads": Measure("threads", "", share=0.1, least=4),
    "tasks": Measure("tasks of the loop", "", share=0.1, least=10),
    "objects": Measure("objects of the plugin", "", share=0.05, least=2_000),  # four a turn, until it remembers enough
    "added": Measure("latency added by the plugin", "ms", share=0.5, least=50),
}
SETTLED: Final = Windows(settle_s=150.0, window_s=15.0)  # the host keeps 128 agents; by then as many have come
LOOK_S: Final = 0.05
END_S: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How large, how long, and how closely looked at.

    Attributes:
        seconds: for which people say new things; all of them are waited for.
        every_s: from one round of replacements to the next, in which one gateway follows the other.
        wait_s: how long the model takes for an answer.
        drain_s: how long a gateway that is told to end waits for its turns. 0, the host's own choice, cuts them off,
            and the next gateway resumes every session of the last two minutes by itself: as much work again.
        is_whole: gateways are started as people start them.
    """

    seconds: float = 3_600.0
    every_s: float = 300.0
    conversations: int = 1_000
    at_once: int = 50
    wait_s: float = 8.0
    drain_s: float = 90.0
    sample_s: float = 5.0
    count_s: float = 15.0
    is_whole: bool = True
    windows: Windows = SETTLED


@dataclass(frozen=True, slots=True)
class Series:
    """One measure of one gateway, seconds since the beginning."""

    key: str
    gateway: str
    lives: tuple[soaking.Life, ...]


@dataclass(slots=True)
class Soak:
    """What a soak came to.

    Attributes:
        ours_ms, bare_ms: what Canon's path and the bare one took beside the host's own time.
        cores: how many of them gateways and loopback servers used.
        load: what the machine said of all its programs, as a median; above ``machine_cores`` it was crowded.
        carried: how many turns lived through a replacement.
        waits_ms: from a word to its answer, in the life of one gateway.
    """

    plan: Plan
    seconds: float
    outcome: Outcome
    series: list[Series]
    replacements: list[Replacement]
    bare_turns: int
    carried: int
    ours_ms: list[float]
    bare_ms: list[float]
    waits_ms: list[float]
    cores: dict[str, float]
    load: float
    machine_cores: int

    @property
    def rows(self) -> list[Judged]:
        """The verdicts."""
        return [
            soaking.judged(
                MEASURES[each.key],
                each.gateway,
                each.lives,
                self.plan.windows,
                is_crowded=each.key == "added" and self.load > self.machine_cores,
            )
            for each in self.series
        ]


@dataclass(slots=True)
class _Watch:
    """What is looked at meanwhile."""

    sides: Sequence[Side]
    sample_s: float
    loads: list[float] = field(default_factory=list)
    next_s: float = 0.0

    def look(self) -> None:
        now = time.monotonic()
        if now < self.next_s:
            return
        self.next_s = now + self.sample_s
        self.loads.append(os.getloadavg()[0])
        for side in self.sides:
            side.sample()


def soak(folder: Path, plan: Plan, tell: Callable[[str], None] = lambda _: None) -> Soak:
    """Play a plan.

    Args:
        tell: gets a line now and then.
    """
    with ExitStack() as running:
        box = running.enter_context(CanonSandbox(CanonOptions(journal_entries=100_000)))
        model = running.enter_context(TimedModel())
        url = model.endpoints.base_url
        both = running.enter_context(
            sides(folder, box, url, is_whole=plan.is_whole, drain_s=plan.drain_s, count_s=plan.count_s),
        )
        people = People(box, both, conversations=plan.conversations, at_once=plan.at_once, wait_s=plan.wait_s)
        began, used = time.time(), vitals.processor_s()
        replacements, watch = _play(plan, people, both, tell)
        seconds = time.time() - began
        tell("everything was said and answered; counting")
        outcome = outcome_of(box, people, both)
        cores = {"the gateways": sum(life.processor_s for side in both for life in side.lives) / seconds}
        cores["Canon, the model and the people"] = (vitals.processor_s() - used) / seconds
        turns = people.turns
    paths = {side.name: _paths(side, [turn for owner, turn in turns if owner is side], model.said_ms) for side in both}
    series = [one for side in both for one in _series(side, paths[side.name], began, plan.windows)]
    return Soak(
        plan,
        seconds,
        outcome,
        series,
        [Replacement(each.gateway, each.at_s - began, each.stop_s, each.away_s) for each in replacements],
        bare_turns=sum(len(side.probes) for side in both),
        carried=sum(not turn.is_of_one_life for _, turn in turns),
        ours_ms=[took for path in paths.values() for _, took in path.ours],
        bare_ms=[took for path in paths.values() for _, took in path.bare],
        waits_ms=[turn.answered_ms - turn.said_ms for _, turn in turns if turn.is_of_one_life],
        cores=cores,
        load=sorted(watch.loads)[len(watch.loads) // 2],
        machine_cores=os.cpu_count() or 1,
    )


def _play(
    plan: Plan, people: People, both: Sequence[Side], tell: Callable[[str], None]
) -> tuple[list[Replacement], _Watch]:
    """Let people talk for as long as is planned, while others measure and replace; until all has an answer."""
    watch, done = _Watch(both, plan.sample_s), threading.Event()
    replacements: list[Replacement] = []
    with ThreadPoolExecutor(len(both) + 1) as others:
        probing = [others.submit(side.probe, people.next_number, done) for side in both]
        rolling: Future[None] | None = None
        try:
            end = time.monotonic() + plan.seconds
            next_roll = time.monotonic() + plan.every_s
            while time.monotonic() < end or (rolling is not None and not rolling.done()):
                _look(people, watch, probing, speak=True)
                if next_roll <= time.monotonic() < end - plan.every_s / 2 and (rolling is None or rolling.done()):
                    next_roll += plan.every_s
                    rolling = others.submit(_roll, both, replacements, people, tell)
                time.sleep(LOOK_S)  # between two looks, as people look at their telephones
            if rolling is not None:
                rolling.result()
            _wait_for_the_rest(people, watch, probing)
        finally:
            done.set()
        for each in probing:
            each.result()
    return replacements, watch


def _look(people: People, watch: _Watch, probing: Sequence[Future[None]], *, speak: bool) -> None:
    for each in probing:
        if each.done():
            each.result()  # it does not end by itself
    people.look()
    if speak:
        people.speak()
    watch.look()


def _wait_for_the_rest(people: People, watch: _Watch, probing: Sequence[Future[None]]) -> None:
    def are_all_answered() -> bool:
        _look(people, watch, probing, speak=False)
        return people.waiting == 0

    deadline = time.monotonic() + END_S
    while not are_all_answered() and time.monotonic() < deadline:
        time.sleep(LOOK_S)


def _roll(both: Sequence[Side], replacements: list[Replacement], people: People, tell: Callable[[str], None]) -> None:
    """One gateway, and when the next one is ready, the other."""
    for side in both:
        replacement = side.replace()
        replacements.append(replacement)
        tell(
            f"{len(people.over)} turns, {people.waiting} people wait; gateway {side.name} replaced: "
            f"ended in {replacement.stop_s:.1f} s, away for {replacement.away_s:.1f} s"
        )


# What was measured ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Paths:
    """When each turn was said, and how long its path took beside the host: in and out together."""

    ours: list[Point]
    bare: list[Point]


def _paths(side: Side, turns: Sequence[Turn], said_by_model_ms: dict[int, float]) -> _Paths:
    """From a person's word to the host's dispatch, and from the model's last word to the answer.

    What lies between is the host's and the model's: the wait for one of the host's threads, and the answer itself.
    Turns under which a gateway was replaced are left out, and streamed ones, whose last word nobody stamps.
    """
    dispatched: dict[int, list[float]] = {}
    for each in side.gauge.read()[0]:
        number = number_in(each.text)
        if number is not None:
            dispatched.setdefault(number, []).append(each.at_ms)

    def path(number: int, said_ms: float, answered_ms: float) -> list[Point]:
        handed, model_ms = dispatched.get(number, []), said_by_model_ms.get(number)
        if len(handed) != 1 or model_ms is None:
            return []
        return [(said_ms / 1_000, handed[0] - said_ms + answered_ms - model_ms)]

    ours = [
        point
        for turn in turns
        if turn.is_of_one_life and not turn.is_streamed
        for point in path(turn.number, turn.said_ms, turn.answered_ms)
    ]
    bare = [point for each in side.probes for point in path(each.number, each.said_ms, each.answered_ms)]
    return _Paths(sorted(ours), sorted(bare))


def _series(side: Side, paths: _Paths, began: float, windows: Windows) -> list[Series]:
    """Everything that was measured of one gateway, in one row of lives a measure."""
    dispatches, objects = side.gauge.read()
    return [
        Series(
            key, side.name, tuple(_life(key, life, dispatches, objects, paths, began, windows) for life in side.lives)
        )
        for key in MEASURES
    ]


def _life(
    key: str,
    life: Life,
    dispatches: Sequence[Dispatch],
    objects: Sequence[Objects],
    paths: _Paths,
    began: float,
    windows: Windows,
) -> soaking.Life:
    end_s = life.end_s or time.time()

    def lived(points: Sequence[Point]) -> list[Point]:
        return [(at_s, value) for at_s, value in points if life.begin_s <= at_s < end_s]

    match key:
        case "tasks":
            points = lived([(each.at_ms / 1_000, float(each.tasks)) for each in dispatches])
        case "objects":
            points = lived([(each.at_ms / 1_000, float(each.objects)) for each in objects])
        case "added":
            settled = life.begin_s + windows.settle_s
            points = soaking.added(lived(paths.ours), lived(paths.bare), settled, windows.window_s)
        case _:
            points = life.samples[key]
    return soaking.Life(life.begin_s - began, [(at_s - began, value) for at_s, value in points])
