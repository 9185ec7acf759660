"""``canon-ops gateway``: how the gateway of a Hermes profile stands, and restarting it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from borgee_hermes.looking import read_inbox
from canon_ops.cli.amount import Amount
from canon_ops.cli.command import command as declare
from canon_ops.cli.commands.status import gateway_words, inbox_words, stale_gateway
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Fields, Item, Line, Mark, Problem, Result
from canon_ops.errors import ExitCode
from canon_ops.hermes.gateway import PlatformState, read_state
from canon_ops.hermes.service import GatewayService, find_services
from canon_ops.operate.restart_gateway import GatewayRestarted, restart_gateway
from canon_ops.operate.status import read_gateway
from canon_ops.operate.status_parts import GatewaySeen, InboxSeen

__all__ = ["GatewayReport", "ServiceFound", "restart_command", "status_command"]

_MARKS = {"connected": Mark.OK, "connecting": Mark.INFO}


@dataclass(frozen=True, slots=True)
class ServiceFound:
    """A definition that keeps a gateway running: systemd_user, systemd, launchd or s6."""

    kind: str
    name: str
    file: Path
    hermes_home: Path | None


@dataclass(frozen=True, slots=True)
class GatewayReport:
    """``data`` of ``canon-ops.gateway.status/1``.

    Attributes:
        platforms: what a gateway that runs says of each.
        services: the one that Hermes would act on first.
        inbox: what waits in Borgee's inbox; null where there is none.
    """

    running: bool
    gateway: GatewaySeen
    platforms: Mapping[str, PlatformState]
    services: tuple[ServiceFound, ...]
    inbox: InboxSeen | None = None


@declare("gateway status", data=GatewayReport, examples=("canon-ops gateway status", "canon-ops gateway status --json"))
def status_command(context: Context) -> Result:
    """Show whether a gateway runs on the Hermes profile, and what it says of its platforms.

    The process is looked for, because Hermes' own file goes on saying "running" after a kill. The exit code is 1 when
    none runs.
    """
    home = context.home
    state = read_state(home)
    gateway = read_gateway(home, context.environ, state)
    services = find_services(home, context.environ)
    platforms = state.platforms if state and state.is_alive else {}
    inbox = read_inbox(home.path, is_owned=gateway.is_running)
    report = GatewayReport(gateway.is_running, gateway, platforms, tuple(map(_service, services)), inbox)
    view: list[Block] = [Fields([("Hermes profile", f"{home.profile_name} ({home.path})")])]
    view.append(Item(Mark.OK if gateway.is_running else Mark.ERROR, "gateway", gateway_words(gateway)))
    view += stale_gateway(gateway)
    for name, entry in platforms.items():
        why = f": {entry.error_message}" if entry.error_message else ""
        view.append(Item(_MARKS.get(entry.state, Mark.ERROR), name, f"{entry.state}{why}"))
    if inbox is not None:
        mark = Mark.WARNING if inbox.in_doubt or inbox.trouble else Mark.INFO
        fix = home.own_command("inbox list") if inbox.in_doubt else None
        view.append(Item(mark, "borgee inbox", inbox_words(inbox), fix))
    if gateway.is_running:
        return Result(report, view)
    problem = Problem("gateway_not_running", "No gateway runs on this home.", fix=home.command(gateway.start_words))
    return Result(report, view, ExitCode.FAILED, (problem,))


def _service(found: GatewayService) -> ServiceFound:
    return ServiceFound(found.kind.name.lower(), found.name, found.file, found.hermes_home)


@declare(
    "gateway restart",
    data=GatewayRestarted,
    examples=("canon-ops gateway restart", "canon-ops gateway restart --yes --wait 300"),
)
@click.option(
    "--wait", "wait_s", metavar="SECONDS", type=Amount(min=0, min_open=True), default=120.0,
    show_default=True, help="How long to wait until the new gateway runs.",
)  # fmt: skip
@click.option(
    "--python",
    metavar="PATH",
    type=click.Path(path_type=Path),
    envvar="CANON_OPS_PYTHON",
    help="The host's interpreter, instead of the one that is found.",
)
def restart_command(context: Context, wait_s: float, python: Path | None) -> Result:
    """Restart the gateway through the service that keeps it running, and wait for the new one.

    Asks first. A gateway that somebody started by hand is left to them: no process is ever killed on a guess.
    """
    done = restart_gateway(context.home, context.environ, context.prompts, python=python, wait_s=wait_s)
    was = f", was {done.pid_before}" if done.pid_before else ""
    view: list[Block] = [Line(f"The gateway runs again (pid {done.pid}{was}), after {done.seconds:g} s.", Mark.OK)]
    view += [Item(_MARKS.get(state, Mark.WARNING), name, state) for name, state in done.platforms.items()]
    return Result(done, view)
