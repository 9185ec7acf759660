"""Whether a running gateway has seen what was changed: compared by time, told with the command that restarts it."""

from __future__ import annotations

from datetime import UTC, datetime

from canon_ops.hermes.gateway import GatewayStateDamaged, read_state
from canon_ops.hermes.homes import HermesHome
from canon_ops.operate.installation import InstalledPackage
from canon_ops.operate.prompts import Prompts

__all__ = ["restart_step"]


def restart_step(
    home: HermesHome, *, changed: bool, package: InstalledPackage | None, prompts: Prompts, start: bool
) -> tuple[str, ...]:
    """The command that is left to do about the gateway of ``home``, if any, with a sentence told about the reason.

    Args:
        changed: something that a gateway reads at its start was changed just now.
        package: what was put into the host; a gateway that started before that runs the older code.
        start: where none runs, starting one is the next step.
    """
    try:
        state = read_state(home)
    except GatewayStateDamaged:
        state = None
    if state is None or not state.is_alive:
        return (home.command("gateway run"),) if start else ()
    since = datetime.fromtimestamp(package.at_ms / 1000, UTC) if package and package.by_us else None
    is_older = state.started_at is not None and since is not None and state.started_at < since
    if not changed and not is_older:
        return ()
    began = f", started {state.started_at:%Y-%m-%d %H:%M:%S} UTC" if state.started_at else ""
    prompts.note(f"The gateway (pid {state.pid}{began}) still runs what was there before.")
    return (home.command("gateway restart"),)
