"""How one Hermes home stands, at a glance: host, platforms, credential, gateway, and what is in the way.

It reads files and asks the host's interpreter one short question; nothing goes over the network and nothing is
imported that takes long. Each part is read by itself: what cannot be read is told with its cure, and the rest stands.
The doctor looks deeper; this is for the first ten seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from canon_ops.errors import CanonOpsError
from canon_ops.files.reading import read_optional
from canon_ops.hermes.audited import Audited
from canon_ops.hermes.config_file import HermesConfig, read_config
from canon_ops.hermes.discovery import find_host
from canon_ops.hermes.gateway import GatewayState, read_state
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.platform_health import PlatformHealth, Trust, health_file
from canon_ops.hermes.platforms import PLATFORMS, PlatformNames
from canon_ops.hermes.service import find_services
from canon_ops.hermes.surroundings import canon_paths_from_disk, surroundings_from_disk
from canon_ops.operate.installation import InterruptedNote
from canon_ops.operate.platform_setup import setup_lack
from canon_ops.operate.status_advice import advice
from canon_ops.operate.status_parts import (
    ApprovalsSeen,
    CredentialSeen,
    GatewaySeen,
    HealthSeen,
    HomeStatus,
    HostSeen,
    InboxSeen,
    InTheWay,
    PlatformSeen,
    ReadInbox,
    UnseenSeen,
)
from canon_ops.operate.unseen import gateway_lag
from canon_ops.settings.credentials import resolve
from canon_ops.settings.pending import PendingFile

__all__ = ["read_gateway", "read_status"]

T = TypeVar("T")


def read_status(
    home: HermesHome,
    environ: Mapping[str, str],
    *,
    now_ms: int,
    python: Path | None = None,
    inboxes: Mapping[str, ReadInbox] = MappingProxyType({}),
    system: Path = Path("/"),
    approvals: Callable[[HermesHome, Mapping[str, str], int], ApprovalsSeen | None] = lambda *_: None,
) -> HomeStatus:
    """Look at one home.

    Args:
        python: the host's interpreter, when it is told.
        inboxes: by platform, what reads its inbox; the platforms know their files, this room does not.
        system: where the operating system's own folders begin.
        approvals: reads the registry, whose form only the platform knows.
    """
    trouble: list[InTheWay] = []

    def part(about: str, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except CanonOpsError as error:
            trouble.append(InTheWay(about, error.code, error.sentence, home.aim(error.fix)))
            return None

    state = part("gateway", lambda: read_state(home))
    is_unread = bool(trouble)  # then nobody knows whether one runs
    gateway = None if is_unread else part("gateway", lambda: read_gateway(home, environ, state, system=system))
    config = part("platforms", lambda: read_config(home.config_file))
    host = part("host", lambda: _host(home, environ, python))
    is_owned = is_unread or (state is not None and state.is_alive)

    def look_into(name: str) -> InboxSeen | None:
        read = inboxes.get(name)
        return read(home.path, is_owned=is_owned) if read else None

    platforms = (
        tuple(_platform(home, config, state, names, now_ms, look_into(names.name)) for names in PLATFORMS.values())
        if config
        else None
    )
    lacks = _lacking(home, environ) if config else {}
    credential = _credential(home, environ) if config and "canon" not in lacks else None
    registrations = part("credential", lambda: _registrations(home, environ)) or ()
    waiting = part("approvals", lambda: approvals(home, environ, now_ms))
    return HomeStatus(
        home.profile_name,
        home.path,
        host,
        platforms or (),
        credential,
        registrations,
        gateway,
        waiting,
        (*trouble, *advice(home, host, platforms, lacks, gateway, InterruptedNote.find(home.path))),
    )


def read_gateway(
    home: HermesHome, environ: Mapping[str, str], state: GatewayState | None, *, system: Path = Path("/")
) -> GatewaySeen:
    """The gateway of ``home``, from what it wrote last.

    Raises:
        NotAFile, DiskError: the definition of its service cannot be read.
    """
    services = find_services(home, environ, system=system)
    run_by = services[0].kind.value if services else None
    if state is None:
        return GatewaySeen("never", None, None, None, run_by)
    if not state.is_alive:
        return GatewaySeen("crashed" if state.is_stale else "stopped", None, None, state.exit_reason, run_by)
    started = state.started_at.isoformat() if state.started_at else None
    lag = gateway_lag(home, environ, state=state, system=system)
    unseen = tuple(UnseenSeen(one.what, one.file, one.changed_at.isoformat()) for one in lag.unseen) if lag else ()
    return GatewaySeen(state.state, state.pid, started, None, run_by, unseen, lag.restart if lag else None)


def _host(home: HermesHome, environ: Mapping[str, str], python: Path | None) -> HostSeen:
    host = find_host(home.environ(environ), python=python)
    facts = host.facts
    verdict = host.audit()
    ours = facts.ours.version if facts.ours and facts.ours.is_whole else None
    if isinstance(verdict, Audited):
        return HostSeen(host.python, host.version, facts.python, True, ours)
    return HostSeen(host.python, host.version, facts.python, False, ours, verdict.sentence, verdict.fix)


def _platform(
    home: HermesHome,
    config: HermesConfig,
    state: GatewayState | None,
    names: PlatformNames,
    now_ms: int,
    inbox: InboxSeen | None,
) -> PlatformSeen:
    entry = state.platforms.get(names.name) if state and state.is_alive else None
    enabled = names.plugin in (config.enabled_plugins or ()) and names.plugin not in config.disabled_plugins
    return PlatformSeen(
        names.name,
        names.label,
        enabled,
        config.platform_switch(names.name),
        entry.state if entry else None,
        entry.error_message if entry else None,
        _health(home, names, state, now_ms),
        inbox,
    )


def _health(home: HermesHome, names: PlatformNames, state: GatewayState | None, now_ms: int) -> HealthSeen | None:
    try:
        report = PlatformHealth.parse(read_optional(health_file(home.path, names.name)) or b"")
    except CanonOpsError:
        return None
    if report is None:
        return None
    is_alive = state is not None and state.is_alive and state.pid == report.pid
    trust = report.trust(now_ms=now_ms, is_alive=is_alive)
    return HealthSeen(
        trust.value,
        report.written_at_ms,
        report.stream.value,
        report.stream_since_ms,
        report.last_event_at_ms,
        report.in_work,
        report.cursor_age_s,
        report.turns_open,
        report.outbox_depth,
        report.last_trouble if trust is not Trust.CURRENT or report.stream != "open" else None,
    )


def _lacking(home: HermesHome, environ: Mapping[str, str]) -> dict[str, CanonOpsError]:
    """By platform, what keeps it from being somebody; a platform that has what it needs is not in it."""
    lacking = {name: setup_lack(home, environ, names) for name, names in PLATFORMS.items()}
    return {name: lack for name, lack in lacking.items() if lack is not None}


def _credential(home: HermesHome, environ: Mapping[str, str]) -> CredentialSeen:
    found = resolve(surroundings_from_disk(home.path, environ))
    origin = found.settings["api_key"].origin.describe()
    return CredentialSeen(found.profile, found.agent_id, found.agent_name, found.connection.environment_id, origin)


def _registrations(home: HermesHome, environ: Mapping[str, str]) -> tuple[str, ...]:
    file = canon_paths_from_disk(home.path, environ).pending_file
    return PendingFile.parse(read_optional(file), file=str(file)).for_hermes()
