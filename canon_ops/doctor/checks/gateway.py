"""Does a gateway run on this home, and has it connected the platform?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from canon_ops.doctor.check import Check, Finding, Fix, Place, Status, from_error
from canon_ops.doctor.examination import Examination
from canon_ops.errors import CanonOpsError

__all__ = ["CHECKS"]

_CLOCK_GRAIN = timedelta(seconds=2)  # a process's start time is computed from the boot time, which is whole seconds


def _running(examination: Examination) -> Finding:
    names, home = examination.platform, examination.home
    run = Fix(home.command("gateway run"))
    try:
        state = examination.gateway.examine()
    except CanonOpsError as exc:
        return from_error(Status.UNKNOWN, exc)
    if state is None:
        return Finding(Status.INFO, "No gateway has run on this home yet.", run)
    data = {
        "pid": state.pid,
        "state": state.state,
        "started_at": state.started_at.isoformat() if state.started_at else None,
        "platforms": {name: entry.state for name, entry in state.platforms.items()},
    }
    if state.is_stale:
        return Finding(
            Status.WARNING,
            f"The gateway's file says {state.state}, but its process {state.pid} is gone: it was killed or crashed.",
            run,
            data=data,
        )
    if not state.is_alive:
        reason = f" ({state.exit_reason})" if state.exit_reason else ""
        return Finding(Status.INFO, f"No gateway runs; the last one ended: {state.state}{reason}.", run, data=data)
    entry = state.platforms.get(names.name)
    if state.is_connected(names.name):
        return Finding(Status.OK, f"The gateway (pid {state.pid}) is connected to {names.label}.", data=data)
    if entry is None:
        return Finding(
            Status.ERROR,
            f"A gateway runs (pid {state.pid}) without {names.label}: the plugin was not loaded or not configured.",
            Fix(home.command("gateway restart") + "   (after the other findings are mended)"),
            data=data,
        )
    why = f": {entry.error_message}" if entry.error_message else ""
    return Finding(
        Status.ERROR if entry.state in ("fatal", "retrying", "disconnected") else Status.INFO,
        f"The gateway (pid {state.pid}) says that {names.label} is {entry.state}{why}.",
        Fix(home.command("gateway status")),
        data=data | {"error_code": entry.error_code},
    )


def _stale(examination: Examination) -> Finding:
    """Compare .env alone: a gateway itself rewrites config.yaml, and so would call itself stale."""
    state, file = examination.gateway(), examination.home.env_file
    if state is None or not state.is_alive or state.started_at is None or not file.exists():
        return Finding(Status.OK, "No gateway runs on older settings.")
    changed = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    if changed <= state.started_at + _CLOCK_GRAIN:
        return Finding(Status.OK, "The gateway has read .env as it is.", at=Place(str(file)))
    return Finding(
        Status.WARNING,
        f".env was changed at {changed:%H:%M:%S} UTC, after the gateway (pid {state.pid}) started at "
        f"{state.started_at:%H:%M:%S}; it holds the older values.",
        Fix(examination.home.command("gateway restart")),
        Place(str(file)),
        {"changed_at": changed.isoformat(), "started_at": state.started_at.isoformat()},
    )


CHECKS = (
    Check("gateway.running", "Gateway", "Does a gateway run here, connected to the platform?", _running),
    Check("gateway.stale", "Freshness", "Has the gateway read .env since it was changed?", _stale),
)
