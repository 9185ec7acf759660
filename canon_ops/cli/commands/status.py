"""``canon-ops status``: host, platforms, credential and gateway on one screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from borgee_hermes.looking import INBOXES
from canon_ops.cli.amount import Amount
from canon_ops.cli.approvals_seen import read_approvals
from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Fields, Item, Line, Mark, Result, Table
from canon_ops.hermes.home_list import homes_beside
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.operate.status import read_status
from canon_ops.operate.status_parts import ApprovalsSeen, GatewaySeen, HomeStatus, InboxSeen, InTheWay, PlatformSeen
from canon_ops.runtime.clock import SystemClock

__all__ = ["StatusReport", "command"]

_CLEAR = "\x1b[H\x1b[2J"


@dataclass(frozen=True, slots=True)
class StatusReport:
    """``data`` of ``canon-ops.status/1`` and, with ``--watch``, of ``canon-ops.status.event/1``.

    Attributes:
        profiles: the Hermes profile, or with ``--all-profiles`` every one.
    """

    profiles: tuple[HomeStatus, ...]


@declare(
    "status",
    data=StatusReport,
    events=StatusReport,
    examples=("canon-ops status", "canon-ops status --watch 5", "canon-ops status --all-profiles --json"),
)
@click.option(
    "--watch", metavar="SECONDS", type=Amount(min=0.2), is_flag=False, flag_value=2.0,
    help="Look again and again, with this pause between two looks.  [default pause: 2]",
)  # fmt: skip
@click.option("--all-profiles", is_flag=True, help="Show every Hermes profile.")
@click.option(
    "--python",
    metavar="PATH",
    type=click.Path(path_type=Path),
    envvar="CANON_OPS_PYTHON",
    help="The host's interpreter, instead of the one that is found.",
)
def command(context: Context, watch: float | None, all_profiles: bool, python: Path | None) -> Result:
    """Show host, platforms, credential and gateway on one screen.

    Nothing is asked over the network; `doctor` looks deeper, and says what to do. With --watch it goes on until it is
    stopped.
    """
    if watch is None:
        return _look(context, all_profiles, python)
    context.follow()
    while True:
        result = _look(context, all_profiles, python)
        if context.session.for_people:
            context.session.streams.out.write(_CLEAR)
        context.emit(result)
        context.pause(watch)


def _look(context: Context, all_profiles: bool, python: Path | None) -> Result:
    now_ms = SystemClock().now_ms()
    homes = homes_beside(context.home, context.environ) if all_profiles else (context.home,)
    seen = tuple(
        read_status(home, context.environ, now_ms=now_ms, python=python, approvals=read_approvals, inboxes=INBOXES)
        for home in homes
    )
    view = _table(seen) if all_profiles else _screen(context, seen[0], now_ms)
    return Result(StatusReport(seen), view, canon_profile=_canon_profile(seen))


def _canon_profile(seen: tuple[HomeStatus, ...]) -> str | None:
    only = seen[0].credential if len(seen) == 1 else None
    return only.canon_profile if only else None


def _screen(context: Context, status: HomeStatus, now_ms: int) -> list[Block]:
    pairs = [("Hermes profile", f"{status.hermes_profile} ({status.hermes_home})")]
    if host := status.host:
        ours = f"canon-ops {host.canon_ops} in it" if host.canon_ops else "canon-ops is not in it"
        doubt = "" if host.audited else ", not audited"
        pairs.append(("Hermes", f"{host.hermes_version} on Python {host.python_version}{doubt}; {ours}"))
    used = [one for one in status.platforms if one.is_used]
    shown = used or status.platforms[:1]
    pairs += [(platform.label, _platform_words(platform, now_ms)) for platform in shown]
    if credential := status.credential:
        agent = credential.agent_name or credential.agent_id or "an agent that only Canon knows"
        through = f", Canon profile {credential.canon_profile}" if credential.canon_profile else ""
        pairs.append(("Credential", f"{agent} at {credential.environment_id}{through}"))
    if status.gateway:
        pairs.append(("Gateway", gateway_words(status.gateway)))
    if status.approvals:
        pairs.append(("Approvals", _approvals_words(status.approvals)))
    view: list[Block] = [Fields(pairs)]
    if (approvals := status.approvals) and (approvals.due or approvals.damaged):
        view += _approvals_advice(context, approvals)
    view += stale_gateway(status.gateway)
    view += [_item(one.about, one) for one in status.in_the_way]
    for name in status.registrations:
        again = context.home.own_command(f"setup canon --canon-profile {name}")
        told = f"The registration of {name} is unfinished; `profile cancel {name}` gives it up."
        view.append(Item(Mark.INFO, "registration", told, again))
    return view


def _item(name: str, told: InTheWay) -> Item:
    return Item(Mark.ERROR if told.is_fault else Mark.INFO, name, told.message, told.fix)


def _approvals_words(approvals: ApprovalsSeen) -> str:
    """``2 open, the first expires 2026-11-30 22:33 UTC``."""
    if not approvals.open:
        return "none open"
    expires = _minute(approvals.first_expires_at_ms)
    return f"{approvals.open} open, the first expires {expires}" if expires else f"{approvals.open} open"


def _approvals_advice(context: Context, approvals: ApprovalsSeen) -> Iterator[Block]:
    if due := approvals.due:
        one = "approval waits" if due == 1 else "approvals wait"
        told = f"{due} {one} for a gateway to act."
        yield Item(Mark.INFO, "approvals", told, context.home.own_command("approvals reconcile"))
    if damaged := approvals.damaged:
        rest = "entry is damaged, and left as it is" if damaged == 1 else "entries are damaged, and left as they are"
        told = f"{damaged} {rest}."
        yield Item(Mark.ERROR, "approvals", told, context.home.own_command("approvals verify"))


def _minute(milliseconds: float | None) -> str | None:
    """The minute in UTC; None for a time outside of the calendar."""
    try:
        return (
            None if milliseconds is None else f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M} UTC"
        )
    except (ValueError, OverflowError, OSError):
        return None


def _platform_words(platform: PlatformSeen, now_ms: int) -> str:
    """``enabled, switched on; connected; stream open for 3 min, 1 in work, 0 to be sent``."""
    words = ["enabled" if platform.plugin_enabled else "not enabled"]
    words += {True: ["switched on"], False: ["switched off"], None: []}[platform.switched_on]
    parts = [", ".join(words)]
    if platform.state:
        parts.append(platform.state + (f" ({platform.error})" if platform.error else ""))
    if (health := platform.health) and health.trust == "current":
        counts = "" if platform.inbox else f", {health.in_work} in work, {health.outbox} to be sent"
        parts.append(f"stream {health.stream} for {_span(now_ms - health.stream_since_ms)}{counts}")
    elif health and health.trust == "stale":
        parts.append(f"silent for {_span(now_ms - health.written_at_ms)}: its loop hangs")
    if platform.inbox is not None:
        parts.append(inbox_words(platform.inbox))
    return "; ".join(parts)


def inbox_words(inbox: InboxSeen) -> str:
    """``2 waiting, 1 running, 1 in doubt``."""
    if inbox.trouble:
        return f"its inbox cannot be read: {inbox.trouble}"
    words = f"{inbox.pending} waiting, {inbox.running} running"
    return words + (f", {inbox.in_doubt} in doubt" if inbox.in_doubt else "")


def gateway_words(gateway: GatewaySeen) -> str:
    """``running, pid 123, since 2026-11-30 22:33:08 UTC; run by systemd, as a service of this user``."""
    said = {
        "never": "none has run yet",
        "crashed": "not running: it was killed or crashed",
        "stopped": "not running",
    }.get(gateway.state, gateway.state)
    if gateway.is_running:
        since = f", since {gateway.started_at[:19].replace('T', ' ')} UTC" if gateway.started_at else ""
        said += f", pid {gateway.pid}{since}"
    if gateway.exit_reason:
        said += f" ({gateway.exit_reason})"
    return said + (f"; run by {gateway.run_by}" if gateway.run_by else "")


def stale_gateway(gateway: GatewaySeen | None) -> list[Block]:
    """The warning about a gateway that runs on what was before."""
    if gateway is None or not gateway.unseen:
        return []
    things = " and ".join(one.what for one in gateway.unseen)
    return [Item(Mark.WARNING, "gateway", f"It has not seen {things}, changed after its start.", gateway.restart)]


def _table(seen: tuple[HomeStatus, ...]) -> list[Block]:
    others = {names.name: names.label for names in PLATFORMS.values() if names.name != "canon"}
    rows = []
    for status in seen:
        credential = status.credential
        rows.append(
            (
                status.hermes_profile,
                status.gateway.state if status.gateway else "unknown",
                _state_of("canon", status),
                (credential.agent_name or credential.agent_id or "?") if credential else "-",
                credential.environment_id if credential else "-",
                *(_state_of(name, status) for name in others),
            )
        )
    heads = ("profile", "gateway", "Canon", "agent", "environment", *others.values())
    told = [_item(status.hermes_profile, one) for status in seen for one in status.in_the_way]
    return [Table(heads, rows), *told] if rows else [Line("There is no Hermes profile.")]


def _state_of(name: str, status: HomeStatus) -> str:
    """What the gateway says of a platform, or whether it could connect it; ``-`` for one that is not used here."""
    platform = next((one for one in status.platforms if one.name == name), None)
    if platform is None:
        return "unknown"
    return platform.state or ("enabled" if platform.plugin_enabled else "not enabled" if platform.is_used else "-")


def _span(ms: int) -> str:
    seconds = max(ms, 0) / 1000
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
