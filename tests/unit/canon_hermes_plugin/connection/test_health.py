"""Health as a value, and the pulse that tells it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from canon_hermes_plugin.connection.health_report import report_of
from canon_hermes_plugin.connection.pulse import WRITE_EVERY_S, Pulse
from canon_hermes_plugin.offload import Offload
from canon_hermes_plugin.outbox.store import Owed
from canon_ops import __version__
from canon_ops.hermes.platform_health import PlatformHealth, StreamState
from canon_ops.hermes.stream_health import GRACE_S, Health
from canon_ops.runtime.clock import ManualClock

NOW = 1_000_000
LATER = NOW + int(GRACE_S * 1_000)


class Marks:
    """What the host was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def mark_connected(self) -> None:
        self.told.append("connected")

    def mark_disconnected(self) -> None:
        self.told.append("disconnected")


@contextmanager
def a_pulse(clock: ManualClock, file: Path | None = None) -> Iterator[tuple[Pulse, Marks]]:
    def report(health: Health) -> PlatformHealth:
        return PlatformHealth(
            "canon", "1", "2", 3, clock.now_ms(), "e", None, health.stream, health.since_ms, health.reconnects
        )

    marks, offload = Marks(), Offload("test-pulse")
    try:
        yield Pulse(marks, report, file=file, offload=offload, clock=clock), marks
    finally:
        offload.close()


def test_a_stream_that_comes_back_is_counted() -> None:
    """The first opening is no reconnect; each later one is; a failure in between only changes the reason."""
    health = Health.connecting(now_ms=NOW).lost("no", now_ms=NOW + 1).opened(now_ms=NOW + 2)
    first = health.reconnects
    lost = health.lost("ended", now_ms=NOW + 3).lost("refused", now_ms=NOW + 4)
    again = lost.opened(now_ms=NOW + 5)

    assert (first, lost.since_ms, lost.last_trouble) == (0, NOW + 3, "refused")
    assert (again.reconnects, again.stream, again.since_ms) == (1, StreamState.OPEN, NOW + 5)
    assert again.opened(now_ms=NOW + 9) == again


@pytest.mark.parametrize(
    ("health", "at", "is_up"),
    [
        (Health.connecting(now_ms=NOW), NOW, None),
        (Health.connecting(now_ms=NOW), LATER, False),
        (Health.connecting(now_ms=NOW).opened(now_ms=NOW), LATER, True),
        (Health.connecting(now_ms=NOW).opened(now_ms=NOW).lost("x", now_ms=NOW), LATER - 1, None),
        (Health.connecting(now_ms=NOW).opened(now_ms=NOW).lost("x", now_ms=NOW), LATER, False),
        (Health.connecting(now_ms=NOW).refused("x", now_ms=NOW), NOW, False),
        (Health.connecting(now_ms=NOW).closed(now_ms=NOW), NOW, False),
    ],
)
def test_connected_means_that_the_stream_is_alive(health: Health, at: int, is_up: bool | None) -> None:
    """D62: a short break is no news, a long one is; a stream that never opened is not up."""
    assert health.is_up(now_ms=at) is is_up


def test_a_refusal_outlives_the_end() -> None:
    """The file of a gateway that was refused says so after it stopped."""
    assert Health.connecting(now_ms=NOW).refused("no", now_ms=NOW).closed(now_ms=LATER).stream is StreamState.REFUSED


def test_the_cursors_age_is_that_of_the_oldest_work() -> None:
    """It counts from when work began behind a cursor that stands still; a cursor that moved is young again."""
    idle = Health.connecting(now_ms=NOW).looked("e1", 0, now_ms=NOW)
    stuck = idle.looked("e1", 2, now_ms=NOW + 1_000).looked("e1", 3, now_ms=NOW + 5_000)
    moved = stuck.looked("e2", 3, now_ms=NOW + 6_000)

    ages = [health.cursor_age_s(now_ms=NOW + 7_000) for health in (idle, stuck, moved)]
    assert ages == [0.0, 6.0, 1.0]


async def test_the_host_hears_of_changes_only() -> None:
    """D62: up when the stream opens, nothing about a short break, down after a long one, up again."""
    clock = ManualClock()
    with a_pulse(clock) as (pulse, marks):
        await pulse.look(None, 0)
        pulse.opened()
        pulse.lost("ended")
        await clock.advance(GRACE_S / 2)
        await pulse.look(None, 0)
        pulse.opened()
        pulse.lost("ended")
        await clock.advance(GRACE_S)
        for _ in range(3):
            await pulse.look(None, 0)
        pulse.opened()

    assert marks.told == ["connected", "disconnected", "connected"]


async def test_a_refusal_is_not_overwritten_by_a_mark() -> None:
    """The host holds a fatal error then, which says more than 'disconnected'."""
    clock = ManualClock()
    with a_pulse(clock) as (pulse, marks):
        pulse.opened()
        pulse.refused("no")
        await pulse.look(None, 0)

    assert marks.told == ["connected"]


async def test_the_file_is_written_at_each_change_and_twice_a_minute(tmp_path: Path) -> None:
    """X9: a look without news writes nothing until the file is half a minute old; the folder is made."""
    clock, file = ManualClock(), tmp_path / "plugins" / "canon" / "health.json"
    seen: list[tuple[str, int]] = []

    async def look(pulse: Pulse) -> None:
        await pulse.look(None, 0)
        report = PlatformHealth.parse(file.read_bytes())
        assert report is not None
        seen.append((report.stream, report.written_at_ms - start))

    start = clock.now_ms()
    with a_pulse(clock, file) as (pulse, _):
        await look(pulse)
        await clock.advance(1)
        await look(pulse)
        pulse.opened()
        await look(pulse)
        await clock.advance(WRITE_EVERY_S)
        await look(pulse)
        await pulse.close()

    closed = PlatformHealth.parse(file.read_bytes())
    assert seen == [("connecting", 0), ("connecting", 0), ("open", 1_000), ("open", 31_000)]
    assert closed is not None and closed.stream is StreamState.CLOSED
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_report_carries_everything_that_is_known() -> None:
    """X9: each part of the health, of the runs and of the outbox stands under its own name."""
    health = Health(StreamState.LOST, 1, 2, "the network", 3, "e4", 5_000, 6)

    report = report_of(
        health,
        host_version="7",
        environment_id="env-8",
        agent_id="agent-9",
        turns_open=10,
        owed=Owed(11, 12),
        now_ms=18_000,
    )

    assert report == PlatformHealth(
        platform="canon",
        version=__version__,
        host_version="7",
        pid=os.getpid(),
        written_at_ms=18_000,
        environment_id="env-8",
        agent_id="agent-9",
        stream=StreamState.LOST,
        stream_since_ms=1,
        reconnects=2,
        last_trouble="the network",
        last_event_at_ms=3,
        cursor="e4",
        cursor_age_s=13.0,
        in_work=6,
        turns_open=10,
        outbox_depth=11,
        outbox_oldest_ms=12,
    )


async def test_a_file_that_cannot_be_written_costs_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A folder in the file's place, or a full disk, never stops the adapter."""
    file = tmp_path / "health.json"
    file.mkdir()
    with a_pulse(ManualClock(), file) as (pulse, _):
        await pulse.look(None, 0)
        await pulse.close()

    assert caplog.text.count("the health file could not be written") == 1
