"""The gateway's state is believed only as far as the process table agrees; a gateway we start is ours to the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from canon_ops.errors import OutsideError
from canon_ops.hermes.gateway import (
    GatewayExited,
    GatewayNotReady,
    GatewayProcess,
    GatewayStateDamaged,
    PlatformState,
    isolated_environ,
    read_state,
)
from canon_ops.hermes.homes import HermesHome, resolve_home
from tests.support.hermes_rig import furnish_rig
from tests.support.waiting import wait_until


@pytest.fixture
def home(tmp_path: Path) -> HermesHome:
    folder = tmp_path / "home"
    folder.mkdir()
    return resolve_home({"HOME": str(tmp_path)}, hermes_home=folder)


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A live process that is no gateway."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.communicate()


def write_state(home: HermesHome, **fields: object) -> None:
    home.path.joinpath("gateway_state.json").write_text(json.dumps(fields))


def recorded_start(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().split()[21])


def test_a_home_without_gateway_has_no_state(home: HermesHome) -> None:
    """None says that no gateway ever ran here."""
    assert read_state(home) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00"])
def test_a_damaged_state_file_is_an_error(home: HermesHome, text: str) -> None:
    """A file that is no state is reported by name, never taken for a stopped gateway."""
    home.path.joinpath("gateway_state.json").write_text(text)

    with pytest.raises(GatewayStateDamaged) as caught:
        read_state(home)

    assert caught.value.file == str(home.path / "gateway_state.json")


@pytest.mark.skipif(sys.platform != "linux", reason="the start time is recorded in clock ticks only there")
def test_a_live_writer_is_alive(home: HermesHome, bystander: subprocess.Popen[bytes]) -> None:
    """The process of that id with that start time is the gateway, and its age is known."""
    write_state(
        home,
        pid=bystander.pid,
        start_time=recorded_start(bystander.pid),
        gateway_state="running",
        platforms={
            "canon": {"state": "retrying", "error_code": "http", "error_message": "503"},
            "rig": {"state": "fatal", "error_code": "key", "error_message": "401", "writer_pid": 7},
        },
    )

    state = read_state(home)

    assert state is not None
    assert (state.is_alive, state.is_stale, state.state) == (True, False, "running")
    assert state.platforms == {
        "canon": PlatformState("retrying", "http", "503"),
        "rig": PlatformState("fatal", "key", "401", writer_pid=7),
    }
    assert state.started_at is not None
    assert abs(datetime.now(UTC) - state.started_at) < timedelta(minutes=2)


@pytest.mark.skipif(sys.platform != "linux", reason="the start time is recorded in clock ticks only there")
def test_a_reused_process_id_is_not_the_gateway(home: HermesHome, bystander: subprocess.Popen[bytes]) -> None:
    """Another process under the recorded id leaves the file stale."""
    write_state(home, pid=bystander.pid, start_time=recorded_start(bystander.pid) - 1, gateway_state="running")

    state = read_state(home)

    assert state is not None
    assert (state.is_alive, state.is_stale, state.started_at) == (False, True, None)


def test_a_zombie_is_not_alive(home: HermesHome) -> None:
    """A process that has ended and was not collected does not count."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    write_state(home, pid=process.pid, gateway_state="running")

    state = read_state(home)
    process.wait()

    assert state is not None
    assert not state.is_alive


def test_nothing_is_inherited_but_search_path_and_language(tmp_path: Path) -> None:
    """The isolated environment holds no variable that could steer Hermes, Canon, Python or a provider."""
    base = {
        "PATH": "/bin", "LC_ALL": "C", "HOME": "/home/a", "HERMES_MANAGED": "1", "CANON_API_KEY": "k",
        "OPENAI_API_KEY": "k", "PYTHONPATH": "/x", "VIRTUAL_ENV": "/v", "https_proxy": "http://p", "GATEWAY_X": "1",
    }  # fmt: skip

    environ = isolated_environ(base, hermes_home=tmp_path / "h", user_home=tmp_path)

    assert environ == {
        "PATH": "/bin",
        "LC_ALL": "C",
        "HOME": str(tmp_path),
        "HERMES_HOME": str(tmp_path / "h"),
        "XDG_STATE_HOME": str(tmp_path / ".local" / "state"),
        "NO_PROXY": "*",
        "HERMES_PLUGINS_DEBUG": "1",
    }


def start(home: HermesHome, **environ: str) -> GatewayProcess:
    user = home.path.parent
    base = isolated_environ(os.environ, hermes_home=home.path, user_home=user)
    return GatewayProcess.start(home, python=Path(sys.executable), environ=base | environ, log=user / "gateway.out")


def platform_says(home: HermesHome, platform: str) -> str | None:
    state = read_state(home)
    entry = state.platforms.get(platform) if state else None
    return entry.state if entry else None


@pytest.mark.host
def test_a_real_gateway_starts_becomes_ready_and_ends(home: HermesHome) -> None:
    """Ready means connected, running and open; after the end the file still says running, and is called stale."""
    furnish_rig(home.path)

    with start(home) as gateway:
        ready = gateway.wait_ready(platform="rig")
        live = read_state(home)
        code = gateway.stop()
    dead = read_state(home)

    assert ready.is_connected("rig")
    assert live is not None
    assert (live.pid, live.is_alive) == (gateway.pid, True)
    assert code in (0, 1)
    assert dead is not None
    assert (dead.pid, dead.is_alive) == (gateway.pid, False)


@pytest.mark.host
def test_a_killed_gateway_is_stale_and_a_new_one_is_not_taken_for_it(home: HermesHome) -> None:
    """After SIGKILL the file says running, and readiness of the next process is not read from the old one's log."""
    furnish_rig(home.path)
    with start(home) as first:
        first.wait_ready(platform="rig")
        code = first.kill()
    stale = read_state(home)

    with start(home) as second:
        ready = second.wait_ready(platform="rig")

    assert code == -signal.SIGKILL
    assert stale is not None
    assert stale.is_stale
    assert ready.pid == second.pid != first.pid


@pytest.mark.parametrize(
    ("says", "is_ready"), [("running", True), ("degraded", True), ("starting", False), ("draining", False)]
)
def test_what_a_gateway_says_while_it_serves(
    home: HermesHome, bystander: subprocess.Popen[bytes], says: str, is_ready: bool
) -> None:
    """One of its platforms may be down: the one that was asked about stands, and its people are answered."""
    write_state(home, pid=bystander.pid, gateway_state=says, platforms={"canon": {"state": "connected"}})
    log = home.path / "logs" / "gateway.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text("Press Ctrl+C to stop\n")
    gateway = GatewayProcess(home, bystander, ["hermes"], home.path / "out")

    if is_ready:
        assert gateway.wait_ready(platform="canon", timeout_s=0).state == says
        return
    with pytest.raises(GatewayNotReady, match=f"the gateway says {says}"):
        gateway.wait_ready(platform="canon", timeout_s=0)


@pytest.mark.host
def test_a_platform_that_does_not_connect_is_named(home: HermesHome) -> None:
    """When the time is up, the error says which condition was missing and shows the end of the output."""
    furnish_rig(home.path)

    with start(home, RIG="decline") as gateway:
        wait_until(lambda: platform_says(home, "rig") == "retrying")
        with pytest.raises(GatewayNotReady) as caught:
            gateway.wait_ready(platform="rig", timeout_s=0)

    assert "rig is retrying" in caught.value.what


@pytest.mark.host
def test_a_gateway_that_ends_first_is_reported_at_once(home: HermesHome) -> None:
    """An exit before readiness is an error with its code, not a wait until the deadline."""
    furnish_rig(home.path)

    with start(home, RIG="crash") as gateway, pytest.raises(GatewayExited) as caught:
        gateway.wait_ready(platform="rig")

    assert "ended with code 7" in caught.value.what


def test_an_interpreter_that_is_not_there_is_an_outside_error(home: HermesHome, tmp_path: Path) -> None:
    """Nothing is started and nothing is left behind."""
    with pytest.raises(OutsideError):
        GatewayProcess.start(home, python=tmp_path / "bin" / "python", environ={}, log=tmp_path / "out")
