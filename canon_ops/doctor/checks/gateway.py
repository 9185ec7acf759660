"""Does a gateway run on this home, and has it connected the platform?"""

from __future__ import annotations

from pathlib import Path

from canon_ops.doctor.check import HOST_LIMIT_S, About, Check, Finding, Fix, Place, Status, from_error
from canon_ops.doctor.examination import Examination
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.contract_canon import HOOKS
from canon_ops.hermes.discovery import HostInstallation
from canon_ops.hermes.service import find_services
from canon_ops.operate.unseen import gateway_lag

__all__ = ["CHECKS"]


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
    """The same answer as `status` gives, and every command that changes something."""
    state = examination.gateway()
    if state is None:
        return Finding(Status.OK, "No gateway runs on older settings.")
    lag = gateway_lag(examination.home, examination.environ, state=state, system=examination.system)
    if lag is None:
        return Finding(Status.OK, "No gateway runs on older settings.")
    if lag.started_at is None:
        told = f"This system does not tell when the gateway (pid {lag.pid}) started."
        return Finding(Status.UNKNOWN, told, Fix(lag.restart))
    if not lag.unseen:
        return Finding(Status.OK, "The gateway has read its files as they are.")
    last = max(lag.unseen, key=lambda one: one.changed_at)
    return Finding(
        Status.WARNING,
        lag.sentence,
        Fix(lag.restart),
        Place(str(last.file)),
        {
            "changed_at": last.changed_at.isoformat(),
            "started_at": lag.started_at.isoformat(),
            "unseen": [{"what": one.what, "file": str(one.file)} for one in lag.unseen],
        },
    )


def _service(examination: Examination) -> Finding:
    """What keeps the gateway running has to start this Hermes on this home."""
    home = examination.home
    services = find_services(home, examination.environ, system=examination.system)
    if not services:
        return Finding(Status.OK, "No service is defined for this gateway; whoever starts it keeps it running.")
    data = {"services": [{"kind": one.kind.name.lower(), "name": one.name, "file": str(one.file)} for one in services]}
    first = services[0]
    at = Place(str(first.file))
    if len(services) > 1:
        files = " and ".join(str(one.file) for one in services)
        return Finding(
            Status.WARNING,
            f"Two services start a gateway on this home, and each stops the other's: {files}.",
            Fix(home.command("gateway uninstall")),
            at,
            data,
        )
    again = Fix(home.command("gateway install --force"))
    if first.hermes_home is not None and first.hermes_home.resolve() != home.path.resolve():
        told = f"The service {first.name} starts a gateway on {first.hermes_home}, not on {home.path}."
        return Finding(Status.ERROR, told, again, at, data)
    if first.python is not None and not first.python.exists():
        told = f"The service {first.name} starts {first.python}, which is gone."
        return Finding(Status.ERROR, told, again, at, data)
    if first.python is not None and not _is_same(first.python, examination.host()):
        told = f"The service {first.name} starts {first.python}; the Hermes that is looked at runs"
        return Finding(Status.WARNING, f"{told} {examination.host().python}.", again, at, data)
    return Finding(Status.OK, f"The service {first.name} starts this Hermes on this home.", at=at, data=data)


def _is_same(python: Path, host: HostInstallation) -> bool:
    return python.parent.parent.resolve() == host.facts.prefix.resolve()


def _hooks(examination: Examination) -> Finding:
    """The hooks through which a platform sees what tools do."""
    label = examination.platform.label
    missing = [one for one in examination.contract() if one.path == HOOKS]
    if not missing:
        return Finding(Status.OK, f"Hermes tells {label} about tool calls.")
    return Finding(
        Status.WARNING,
        f"This Hermes does not tell plugins about all tool calls ({missing[0].path} {missing[0].what}), so {label} "
        "shows less activity.",
        Fix(examination.command("host show")),
        data={"missing": [one.what for one in missing]},
    )


CHECKS = (
    Check(
        "gateway.running",
        "Gateway",
        "Does a gateway run here, connected to the platform?",
        _running,
        about=About(
            "Nobody started it, it was killed or crashed, or it runs without the plugin.",
            "Without a gateway that is connected, nothing that people say to the agent arrives.",
            "Start it with `hermes gateway run`, and read logs/gateway.log of the home when it does not connect.",
            ("gateway_state.json", "logs/gateway.log"),
        ),
    ),
    Check(
        "gateway.stale",
        "Freshness",
        "Has the gateway seen what was changed?",
        _stale,
        about=About(
            "A file or the package was changed while the gateway ran; it reads them at its start.",
            "The gateway goes on with the older key or setting, however often the file is looked at.",
            "Restart it: a service with `hermes gateway restart`; in a terminal with Ctrl-C and `hermes gateway run`.",
            (".env", "config.yaml", "agents.json", "gateway_state.json"),
        ),
    ),
    Check(
        "gateway.service",
        "Service",
        "Does its service start this Hermes on this home?",
        _service,
        about=About(
            "The service was installed from another Hermes or another profile, or the Hermes that it starts was moved.",
            "The gateway that runs after a reboot is not the one that was set up, and shows other settings.",
            "Write the definition anew from the right profile: `hermes --profile NAME gateway install --force`.",
            ("HERMES_HOME", "~/.config/systemd/user", "/etc/systemd/system", "~/Library/LaunchAgents"),
        ),
    ),
    Check(
        "gateway.hooks",
        "Activity hooks",
        "Does Hermes tell plugins about tool calls?",
        _hooks,
        limit_s=HOST_LIMIT_S,
        about=About(
            "This Hermes is of a version that lacks one of the hooks, or was changed by hand.",
            "Answers arrive all the same; the steps that led to them are not shown.",
            "Use a Hermes version that is audited: `canon-ops host list` names them.",
        ),
    ),
)
