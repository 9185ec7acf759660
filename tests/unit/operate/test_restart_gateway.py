"""Restarting a gateway: by what keeps it running, after consent, and never by killing something."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.operate.prompts import Unattended
from canon_ops.operate.restart_gateway import NoService, NotRestarted, restart_gateway
from canon_ops.operate.writing import ConsentMissing
from tests.support.fake_host import clean_environ, make_environment, put_hermes, script

STATE = {"gateway_state": "running", "platforms": {"canon": {"state": "connecting"}}}


@pytest.fixture
def process() -> Iterator[int]:
    """A process that could be a gateway."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as started:
        yield started.pid
        started.kill()


@pytest.fixture
def home(tmp_path: Path) -> HermesHome:
    """A home whose gateway is this very process, kept running by a service of the user."""
    home = resolve_home({"HOME": str(tmp_path)})
    home.path.mkdir()
    write_state(home, os.getpid())
    unit = tmp_path / ".config/systemd/user/hermes-gateway.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/x/bin/python -m hermes_cli.main gateway run\n")
    python = make_environment(tmp_path / "env")
    put_hermes(python)
    return home


def write_state(home: HermesHome, pid: int) -> None:
    home.path.joinpath("gateway_state.json").write_text(json.dumps({**STATE, "pid": pid}))


def hermes(home: HermesHome, text: str) -> None:
    """What the ``hermes`` of the host does when it is called; its arguments are written down."""
    user = home.path.parent
    script(user / "env" / "bin" / "hermes", f'#!/bin/sh\necho "$HERMES_HOME $*" >> "{user}/called"\n{text}\n')


def restart(home: HermesHome, *, yes: bool = True, wait_s: float = 5.0, before_sleep: object = None) -> object:
    user = home.path.parent
    environ = clean_environ(HOME=str(user))
    python = user / "env" / "bin" / "python"
    return restart_gateway(home, environ, Unattended(yes=yes), python=python, wait_s=wait_s, system=user / "system")


def test_hermes_is_asked_and_the_new_gateway_waited_for(home: HermesHome, process: int) -> None:
    """Its own command on this home; done when another process says that it runs."""
    state = json.dumps({**STATE, "pid": process})
    hermes(home, f"cat > '{home.path}/gateway_state.json' <<'END'\n{state}\nEND")

    done = restart(home)

    assert home.path.parent.joinpath("called").read_text() == f"{home.path} gateway restart\n"
    assert getattr(done, "pid_before", None) == os.getpid()
    assert getattr(done, "pid", None) == process
    assert getattr(done, "platforms", None) == {"canon": "connecting"}


def test_a_gateway_that_stays_the_old_one_is_no_success(home: HermesHome) -> None:
    """Hermes may print why it could not and end with 0; what counts is the process."""
    hermes(home, "echo 'linger is not enabled'; exit 0")

    with pytest.raises(NotRestarted, match="there is no new one") as caught:
        restart(home, wait_s=0.5)

    assert caught.value.fix == "canon-ops logs --level warning"


@pytest.mark.parametrize(
    ("text", "told"),
    [("echo 'unit not found' >&2; exit 4", "code 4: unit not found"), ("exec sleep 30", "did not end within 0.5 s")],
)
def test_what_hermes_says_is_told(text: str, told: str, home: HermesHome) -> None:
    """A failure of its command, and one that never ends."""
    hermes(home, text)

    with pytest.raises(NotRestarted, match=told):
        restart(home, wait_s=0.5)


def test_nothing_happens_without_consent(home: HermesHome) -> None:
    """Exit 2 and the option; Hermes is not asked."""
    hermes(home, "exit 0")

    with pytest.raises(ConsentMissing):
        restart(home, yes=False)

    assert not home.path.parent.joinpath("called").exists()


def test_a_gateway_started_by_hand_is_left(home: HermesHome) -> None:
    """No service, no restart: stopping it would end it for good."""
    home.path.parent.joinpath(".config/systemd/user/hermes-gateway.service").unlink()
    hermes(home, "exit 0")

    with pytest.raises(NoService, match=f"pid {os.getpid()}") as caught:
        restart(home)

    assert caught.value.fix == "stop it where it runs (Ctrl-C), then start it there: hermes gateway run"
    assert not home.path.parent.joinpath("called").exists()


def test_no_gateway_and_no_service(home: HermesHome) -> None:
    """Then starting one is the cure."""
    home.path.parent.joinpath(".config/systemd/user/hermes-gateway.service").unlink()
    write_state(home, 2**22 + 1)

    with pytest.raises(NoService) as caught:
        restart(home)

    assert caught.value.fix == "hermes gateway run"
