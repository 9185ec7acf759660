"""What a scheduled job has to say arrives on Canon: through the running gateway, and from a process without one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from canon_ops.sandbox.model.server import ModelSandbox
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.gateways import direct_key, start_gateway
from tests.support.homes import GatewayHome, build_home
from tests.support.screen import Screen, assert_seamless
from tests.support.waiting import wait_until

pytestmark = pytest.mark.host

PART_BYTES = 3_800
WORDS = [f"word{number}" for number in range(1, 901)]


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, box: CanonSandbox) -> Iterator[GatewayHome]:
    """A home with one job that is due in a moment: it reports seven kilobytes to the home channel."""
    with ModelSandbox() as model:
        made = build_home(tmp_path, model_url=model.endpoints.base_url, dotenv=direct_key(box))
        due = datetime.now(UTC) + timedelta(seconds=4)  # longer than the command takes, shorter than a gateway's start
        hermes(made, "cron", "create", due.isoformat(), "[long 900]", "--deliver", "canon", "--name", "report")
        yield made


def hermes(home: GatewayHome, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "hermes_cli.main", *words],
        env=dict(home.environ), capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def reported(box: CanonSandbox) -> list[dict[str, Any]]:
    """The parts of the report, once it is whole: one message that notifies, of no turn, with every word."""
    box.wait("turn_complete", timeout_s=150)  # a host that was busy when it was due looks again after a minute
    parts = [entry for entry in box.transcript() if entry["origin"] == "agent"]
    assert [part["metadata"]["turnSemantics"] for part in parts] == ["progress"] * (len(parts) - 1) + ["turn_complete"]
    assert len(parts) >= 2 and all(len(part["text"].encode()) <= PART_BYTES for part in parts)
    assert [word for word in " ".join(part["text"] for part in parts).split() if word in WORDS] == WORDS
    assert not any("turnId" in part["metadata"] or "turnTrail" in part["metadata"] for part in parts)
    assert box.node() is None and box.human.turns() == [] and box.breaches() == []
    return parts


def paths(box: CanonSandbox) -> list[str]:
    sent = ("/messages/send", "/agent/verbs/send_to")
    return [entry["path"] for entry in box.journal() if entry["path"] in sent]


def assert_one_by_one(screen: Screen, parts: list[dict[str, Any]]) -> None:
    """Nobody saw anything but the report: part after part, without a node, without a turn's state."""
    assert_seamless(screen.sights)
    assert {(sight.node_turn, sight.turn, sight.state) for sight in screen.sights} == {(None, None, None)}
    assert screen.sights[-1].posted == tuple(("agent", None, part["text"]) for part in parts)


def test_a_running_gateway_delivers_a_job(tmp_path: Path, box: CanonSandbox, home: GatewayHome) -> None:
    """R7.5: the live adapter sends it as a message of no turn, in parts, whole."""
    with start_gateway(home, tmp_path / "gateway.out") as gateway, Screen(box) as screen:
        gateway.wait_ready()
        parts, sent = reported(box), paths(box)

    assert sent == ["/messages/send"] * len(parts)
    assert_one_by_one(screen, parts)


def test_a_job_is_delivered_without_a_gateway(box: CanonSandbox, home: GatewayHome) -> None:
    """R7.40-R7.44: another process passes Canon's policy for messages nobody asked for, under ids of one group."""

    def ticked() -> bool:
        hermes(home, "cron", "tick")
        return bool(box.transcript())

    with Screen(box) as screen:
        wait_until(ticked, timeout_s=60)
        parts = reported(box)

    assert_one_by_one(screen, parts)
    keys = [
        entry["body"]["envelope"]["idempotencyKey"]
        for entry in box.journal()
        if entry["path"] == "/agent/verbs/send_to"
    ]
    assert paths(box) == ["/agent/verbs/send_to"] * len(parts)
    assert [key.rpartition("-part-")[2] for key in keys] == [str(index) for index in range(1, len(parts) + 1)]
