"""What a supervisor asks: each way in which a gateway can be less than alive and ready, from files written by hand."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from canon_ops.doctor.registry import CHECKS, PROBE_CHECKS
from canon_ops.errors import ExitCode
from canon_ops.sandbox.server import CanonSandbox
from tests.support.clinic import CONFIG, Clinic, open_clinic
from tests.support.sandboxes import canon_box

CONNECTED = {"canon": {"state": "connected"}}


@pytest.fixture(scope="module")
def box() -> Iterator[CanonSandbox]:
    with canon_box() as running:
        yield running


@pytest.fixture
def clinic(tmp_path: Path, box: CanonSandbox) -> Clinic:
    return open_clinic(tmp_path, box)


def gateway(clinic: Clinic, *, state: str = "running", platforms: object = None, pid: int | None = None) -> None:
    """The host's own word; this very process plays the gateway."""
    said = {
        "gateway_state": state,
        "pid": pid or os.getpid(),
        "platforms": CONNECTED if platforms is None else platforms,
    }
    clinic.home.joinpath("gateway_state.json").write_text(json.dumps(said))


def report(clinic: Clinic, platform: str = "canon", **fields: object) -> None:
    """The plugin's word."""
    now_ms = clinic.clock.now_ms()
    said = {
        "schema": "canon-ops.platform-health/1", "platform": platform, "version": "0.1.0", "host_version": "0.19.0",
        "pid": os.getpid(), "written_at_ms": now_ms, "environment_id": "canon-dev-v1", "agent_id": "agent_sandbox",
        "stream": "open", "stream_since_ms": now_ms, **fields,
    }  # fmt: skip
    file = clinic.home / "plugins" / platform / "health.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(said))


def asked(clinic: Clinic) -> dict[str, str]:
    return {one.check.id: one.finding.status.value for one in clinic.examine(PROBE_CHECKS).verdicts}


def both(live: str, ready: str) -> dict[str, str]:
    return {"probe.live": live, "probe.ready": ready}


def test_a_gateway_at_work_is_alive_and_ready(clinic: Clinic) -> None:
    """Its process is there, it serves, and the stream stands."""
    gateway(clinic)
    report(clinic)

    assert asked(clinic) == both("ok", "ok")


@pytest.mark.parametrize("file", [None, "stopped", "running"])
def test_without_a_gateway_both_fail(file: str | None, clinic: Clinic) -> None:
    """None yet, one that ended, one that was killed: to a supervisor all of these are faults, and exit 1."""
    if file is not None:
        gateway(clinic, state=file, pid=2**22 + 1)
    report(clinic, pid=2**22 + 1)

    assert asked(clinic) == both("error", "error")
    assert clinic.examine(PROBE_CHECKS).exit_code(asked_for=True) is ExitCode.FAILED


def test_a_gateway_that_still_starts_is_alive(clinic: Clinic) -> None:
    """A restart would not make it faster; the report of the process before it is not its own."""
    gateway(clinic, state="starting", platforms={"canon": {"state": "connecting"}})
    report(clinic, pid=1, written_at_ms=0)

    assert asked(clinic) == both("ok", "error")


@pytest.mark.parametrize("stream", ["connecting", "lost", "refused", "closed"])
def test_a_gateway_without_its_stream_is_alive_and_not_ready(stream: str, clinic: Clinic) -> None:
    """At once, before the host says so: the grace is the supervisor's to give."""
    gateway(clinic)
    report(clinic, stream=stream, last_trouble="the connection ended")

    assert asked(clinic) == both("ok", "error")


def test_a_gateway_that_hangs_is_not_alive(clinic: Clinic) -> None:
    """It was connected, its process is there, and it has not said anything for longer than three of its reports."""
    gateway(clinic)
    report(clinic, written_at_ms=clinic.clock.now_ms() - 91_000)

    assert asked(clinic) == both("error", "error")


@pytest.mark.parametrize("state", ["draining", "starting"])
def test_a_gateway_that_does_not_serve_is_not_ready(state: str, clinic: Clinic) -> None:
    """One that ends takes no new message, whatever its stream does."""
    gateway(clinic, state=state)
    report(clinic)

    assert asked(clinic) == both("ok", "error")


@pytest.mark.parametrize("platforms", [{}, {"canon": {"state": "fatal", "error_message": "the key was refused"}}])
def test_the_host_has_to_say_that_the_platform_stands(platforms: object, clinic: Clinic) -> None:
    """A plugin that was not loaded, or one that gave up."""
    gateway(clinic, platforms=platforms)
    report(clinic)

    assert asked(clinic) == both("ok", "error")


def test_every_platform_that_is_switched_on_counts(clinic: Clinic) -> None:
    """Canon stands and Borgee does not, by the host's word or by its own; without its switch it is nobody's concern."""
    gateway(clinic, platforms={**CONNECTED})
    report(clinic)
    alone = asked(clinic)
    clinic.write_config(
        CONFIG.replace("  - canon-hermes", "  - canon-hermes\n  - borgee") + "borgee: {enabled: true}\n"
    )
    half = asked(clinic)
    gateway(clinic, platforms={**CONNECTED, "borgee": {"state": "connected"}})
    report(clinic, "borgee", stream="lost")
    deaf = asked(clinic)
    report(clinic, "borgee")

    assert [alone, half, deaf] == [both("ok", "ok"), both("ok", "error"), both("ok", "error")]
    assert asked(clinic) == both("ok", "ok")


def test_a_home_without_a_platform_is_never_ready(clinic: Clinic) -> None:
    """A gateway that serves nobody looks healthy to itself."""
    clinic.write_config("plugins: {enabled: []}\n")
    gateway(clinic)

    assert asked(clinic) == both("ok", "error")


@pytest.mark.parametrize("file", ["gateway_state.json", "config.yaml"])
def test_what_cannot_be_read_is_no_yes(file: str, clinic: Clinic) -> None:
    """Exit 3 where the answer was asked for by name."""
    gateway(clinic)
    report(clinic)
    clinic.home.joinpath(file).write_text("{")

    found = clinic.examine(PROBE_CHECKS)

    assert asked(clinic)["probe.ready"] != "ok"
    assert found.exit_code(asked_for=True) is ExitCode.OUTSIDE


def test_nobody_else_is_asked_this() -> None:
    """A plain call asks what a person wants to know; without a gateway it is healthy."""
    assert not {check.id for check in PROBE_CHECKS} & {check.id for check in CHECKS}
    assert not any(check.network for check in PROBE_CHECKS)
