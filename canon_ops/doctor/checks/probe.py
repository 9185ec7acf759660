"""What a supervisor asks every few seconds: is the gateway alive, and does what people say reach it?

Both are asked only by name or by area (``doctor --only probe.ready``), because they answer a narrower question than a
person has: to a supervisor a gateway that nobody started is a fault, and to everybody else it is worth knowing at most.
Nothing goes over the network; the gateway's own word is compared with its process and with the clock.

- live: its process is there and its loop turns. When this fails, a restart helps.
- ready: it is live, serves, and each platform that is switched on stands. When this fails, a restart does not help: the
  network is away, Canon is, or a key was refused. The gateway goes on trying by itself.

Source: decisions X9; Hermes host 10.1.
"""

from __future__ import annotations

from canon_ops.doctor.check import About, Check, Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination
from canon_ops.hermes.config_file import HermesConfig
from canon_ops.hermes.gateway import SERVING_STATES, GatewayState
from canon_ops.hermes.platform_health import PlatformHealth, StreamState, Trust, health_file
from canon_ops.hermes.platforms import PLATFORMS, PlatformNames
from canon_ops.hermes.surroundings import read_optional

__all__ = ["PROBE_CHECKS"]


def _live(examination: Examination) -> Finding:
    state, home = examination.gateway.examine(), examination.home
    if state is None or not state.is_alive:
        return Finding(Status.ERROR, "No gateway runs on this home.", Fix(home.command("gateway run")))
    data = {"pid": state.pid, "state": state.state}
    for names in PLATFORMS.values():
        report = _report(examination, state, names)
        if report is not None and report.trust(now_ms=examination.clock.now_ms(), is_alive=True) is Trust.STALE:
            silent_s = (examination.clock.now_ms() - report.written_at_ms) // 1_000
            return Finding(
                Status.ERROR,
                f"The gateway (pid {state.pid}) has not said for {silent_s} s how {names.label} is doing: it hangs.",
                Fix(home.command("gateway restart")),
                Place(str(health_file(home.path, names.name))),
                data | {"silent_s": silent_s},
            )
    return Finding(Status.OK, f"The gateway (pid {state.pid}) is alive.", data=data)


def _ready(examination: Examination) -> Finding:
    alive = _live(examination)
    state, config = examination.gateway(), examination.config.examine()
    if alive.status is not Status.OK or state is None:
        return alive
    if state.state not in SERVING_STATES:
        return Finding(Status.ERROR, f"The gateway (pid {state.pid}) is {state.state}.", data=alive.data)
    on = [names for names in PLATFORMS.values() if _is_on(config, state, names)]
    if not on:
        return Finding(
            Status.ERROR, "No platform of ours is switched on.", Fix(examination.command("install")), data=alive.data
        )
    troubles = {names.label: trouble for names in on if (trouble := _trouble(examination, state, names)) is not None}
    told = " and ".join(names.label for names in on)
    if not troubles:
        return Finding(Status.OK, f"What people say on {told} reaches the gateway (pid {state.pid}).", data=alive.data)
    return Finding(
        Status.ERROR,
        "; ".join(f"{label}: {trouble}" for label, trouble in troubles.items()) + ".",
        Fix(examination.command("doctor")),
        data=alive.data,
    )


def _is_on(config: HermesConfig, state: GatewayState, names: PlatformNames) -> bool:
    enabled = names.plugin in (config.enabled_plugins or ()) and names.plugin not in config.disabled_plugins
    return enabled and (config.platform_switch(names.name) is True or names.name in state.platforms)


def _trouble(examination: Examination, state: GatewayState, names: PlatformNames) -> str | None:
    """Why a platform does not stand; None when it does."""
    entry = state.platforms.get(names.name)
    if not state.is_connected(names.name):
        why = f" ({entry.error_message})" if entry is not None and entry.error_message else ""
        return f"{entry.state if entry is not None else 'not loaded'}{why}"
    report = _report(examination, state, names)
    if report is None:
        return "the gateway has not said yet how its stream stands"
    if report.stream is StreamState.OPEN:
        return None
    return f"the stream is {report.stream.value}{f' ({report.last_trouble})' if report.last_trouble else ''}"


def _report(examination: Examination, state: GatewayState, names: PlatformNames) -> PlatformHealth | None:
    """What this very process said; the file may still hold the word of the one before it."""
    report = PlatformHealth.parse(read_optional(health_file(examination.home.path, names.name)) or b"")
    return report if report is not None and report.pid == state.pid else None


PROBE_CHECKS = (
    Check(
        "probe.live",
        "Alive",
        "Is the gateway's process there, and does its loop turn?",
        _live,
        about=About(
            "Nobody started a gateway on this home, it ended, or its event loop hangs: its plugin writes a report "
            "twice a minute, and the last one is older than 90 seconds.",
            "A gateway that hangs hears nothing and says nothing, and looks like one that works.",
            "Restart it: `hermes gateway restart`, or let the supervisor do it.",
            ("gateway_state.json", "plugins/canon/health.json", "plugins/borgee/health.json"),
        ),
    ),
    Check(
        "probe.ready",
        "Ready",
        "Does what people say reach the gateway, on every platform that is switched on?",
        _ready,
        about=About(
            "The gateway still starts or already ends, the network or the platform is away, or a key was refused.",
            "Until it is ready nothing that people say arrives; what they say meanwhile arrives afterwards.",
            "Wait: the gateway goes on trying. Where a key was refused, set up another one.",
            ("gateway_state.json", "plugins/canon/health.json", "plugins/borgee/health.json"),
        ),
    ),
)
