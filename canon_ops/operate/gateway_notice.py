"""After a change: does a gateway run that has not seen it? Source: case BR-31."""

from __future__ import annotations

from canon_ops.errors import CanonOpsError
from canon_ops.hermes.gateway import read_state
from canon_ops.hermes.homes import HermesHome

__all__ = ["restart_notice"]


def restart_notice(home: HermesHome) -> str | None:
    """The sentence with the command that makes a running gateway read the change; None when none runs."""
    try:
        state = read_state(home)
    except CanonOpsError:  # doctor's business; a notice must not fail a command that is done
        return None
    if state is None or not state.is_alive:
        return None
    since = f", since {state.started_at:%Y-%m-%d %H:%M:%S} UTC" if state.started_at else ""
    return f"A gateway runs (pid {state.pid}{since}) on what was before: {home.command('gateway restart')}"
