"""Restarting the gateway of a home, through whatever keeps it running.

The service manager's own way is used, by Hermes' own command, which knows how to let running turns end. A gateway that
somebody started by hand is left to them: stopping it would end it for good, and starting one here would tie it to this
terminal. No process is ever killed on a guess.

Source: Hermes host, 10.1; decisions L9.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from canon_ops.errors import OutsideError, RefusedError
from canon_ops.hermes.discovery import find_host
from canon_ops.hermes.gateway import SERVING_STATES, GatewayState, GatewayStateDamaged, hermes_program, read_state
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.service import GatewayService
from canon_ops.operate.prompts import Prompts
from canon_ops.operate.unseen import RestartWay, restart_way
from canon_ops.operate.writing import require_consent

__all__ = ["GatewayRestarted", "NoService", "NotRestarted", "restart_gateway"]

_LOOK_EVERY_S = 0.2
_TAIL = 3


class NoService(RefusedError):
    """Nothing that could restart it keeps this gateway running."""

    code: ClassVar[str] = "gateway_without_service"


class NotRestarted(OutsideError):
    """The service manager was asked, and no new gateway came in time."""

    code: ClassVar[str] = "gateway_not_restarted"


@dataclass(frozen=True, slots=True)
class GatewayRestarted:
    """What was done.

    Attributes:
        pid_before: of the gateway that ran; null when none did.
        platforms: what the new one says of each platform; some may still connect.
    """

    run_by: str
    service: str
    pid_before: int | None
    pid: int
    state: str
    platforms: Mapping[str, str]
    seconds: float


def restart_gateway(
    home: HermesHome,
    environ: Mapping[str, str],
    prompts: Prompts,
    *,
    python: Path | None = None,
    wait_s: float = 120.0,
    system: Path = Path("/"),
    sleep: Callable[[float], None] = time.sleep,
) -> GatewayRestarted:
    """Ask, restart, and wait until the new gateway says that it runs.

    Args:
        wait_s: for the command, and then for the new gateway.
        system: where the operating system's own folders begin.

    Raises:
        NoService: whoever started the gateway has to restart it.
        ConsentMissing: nobody agreed.
        HostNotFound, HostUnusable: there is no ``hermes`` to ask.
        NotRestarted: it was asked, and it did not come.
    """
    before = _state(home)
    way = restart_way(home, environ, before, system=system)
    if way.service is None:
        raise _by_hand(before, way)
    service = way.service
    open_turns = " Turns that run are given time to end." if before and before.is_alive else ""
    require_consent(prompts, f"Restart the gateway of the Hermes profile {home.profile_name}?{open_turns}")
    host = find_host(home.environ(environ), python=python)
    began = time.monotonic()
    with prompts.progress(f"Restarting {service.name}"):
        _ask(home, environ, host.python, wait_s)
        state = _wait(home, service, before, began + wait_s, sleep)
    return GatewayRestarted(
        run_by=service.kind.value,
        service=service.name,
        pid_before=before.pid if before and before.is_alive else None,
        pid=state.pid,
        state=state.state,
        platforms={name: entry.state for name, entry in state.platforms.items()},
        seconds=round(time.monotonic() - began, 1),
    )


def _state(home: HermesHome) -> GatewayState | None:
    with suppress(GatewayStateDamaged):  # another moment: it is being written
        return read_state(home)
    return None


def _by_hand(state: GatewayState | None, way: RestartWay) -> NoService:
    if state is None or not state.is_alive:
        return NoService("No gateway runs on this home, and no service keeps one running.", fix=way.words)
    return NoService(
        f"The gateway (pid {state.pid}) was started by hand, and no service would start it again.", fix=way.words
    )


def _ask(home: HermesHome, environ: Mapping[str, str], python: Path, wait_s: float) -> None:
    """Run ``hermes gateway restart``; what it prints is told only when it fails."""
    command = [*hermes_program(python), *home.arguments(), "gateway", "restart"]
    fix = shlex.join(command)
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=home.environ(environ),
            timeout=wait_s,
            check=False,
            start_new_session=True,  # Ctrl-C ends our waiting, not a restart that is half done
        )
    except subprocess.TimeoutExpired as exc:
        raise NotRestarted(f"`{fix}` did not end within {wait_s:g} s.", fix=fix) from exc
    except OSError as exc:
        raise NotRestarted(f"{command[0]} cannot be started: {exc.strerror}.", fix=fix) from exc
    if done.returncode != 0:
        said = (done.stderr + done.stdout).decode(errors="replace").split(os.linesep)
        told = " ".join([line.strip() for line in said if line.strip()][-_TAIL:])
        raise NotRestarted(f"`hermes gateway restart` ended with code {done.returncode}: {told}", fix=fix)


def _wait(
    home: HermesHome,
    service: GatewayService,
    before: GatewayState | None,
    deadline: float,
    sleep: Callable[[float], None],
) -> GatewayState:
    """The state of a gateway that is another process than before and has begun to run."""
    old = before.pid if before else None
    while True:
        state = _state(home)
        if state is not None and state.is_alive and state.pid != old and state.state in SERVING_STATES:
            return state
        if time.monotonic() >= deadline:
            told = f"it says {state.state}" if state and state.is_alive and state.pid != old else "there is no new one"
            raise NotRestarted(
                f"{service.name} was asked to restart the gateway, and it is not running yet: {told}.",
                fix=home.own_command("logs --level warning"),
            )
        sleep(_LOOK_EVERY_S)
