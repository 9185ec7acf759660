"""How one Hermes home stands, at a glance: host, platforms, credential, gateway, and what is in the way.

It reads files and asks the host's interpreter one short question; nothing goes over the network and nothing is
imported that takes long. Each part is read by itself: what cannot be read is told with its cure, and the rest stands.
The doctor looks deeper; this is for the first ten seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from canon_ops.errors import CanonOpsError
from canon_ops.files.reading import read_optional
from canon_ops.hermes.audited import Audited, audit
from canon_ops.hermes.config_file import HermesConfig, read_config
from canon_ops.hermes.discovery import find_host
from canon_ops.hermes.gateway import GatewayState, read_state
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.platform_health import PlatformHealth, Trust, health_file
from canon_ops.hermes.platforms import PLATFORMS, PlatformNames
from canon_ops.hermes.service import find_services
from canon_ops.hermes.surroundings import canon_paths_from_disk, surroundings_from_disk
from canon_ops.operate.unseen import gateway_lag
from canon_ops.settings.credentials import resolve
from canon_ops.settings.pending import PendingFile

__all__ = [
    "ApprovalsSeen",
    "CredentialSeen",
    "GatewaySeen",
    "HealthSeen",
    "HomeStatus",
    "HostSeen",
    "InTheWay",
    "InboxSeen",
    "PlatformSeen",
    "UnseenSeen",
    "read_gateway",
    "read_status",
]

T = TypeVar("T")
ReadInbox = Callable[[Path], "InboxSeen | None"]


@dataclass(frozen=True, slots=True)
class HostSeen:
    """The Hermes of a home; ``audited`` says whether the platforms answer on it."""

    python: Path
    hermes_version: str | None
    python_version: str
    audited: bool
    canon_ops: str | None


@dataclass(frozen=True, slots=True)
class HealthSeen:
    """What the plugin in the gateway last said of itself; times are milliseconds since the epoch.

    Attributes:
        trust: current, stale (its loop hangs) or dead (its process is gone).
        in_work: events that came and are not dealt with; ``waiting_s`` is how long the oldest of them has waited.
        outbox: messages that are not on the platform yet.
    """

    trust: str
    written_at_ms: int
    stream: str
    stream_since_ms: int
    last_event_at_ms: int | None
    in_work: int
    waiting_s: float
    turns_open: int
    outbox: int
    trouble: str | None


@dataclass(frozen=True, slots=True)
class InboxSeen:
    """What waits in a platform's durable inbox.

    Attributes:
        pending: messages that wait for a turn.
        running: messages whose turn runs, as the file says.
        in_doubt: messages that only a person can settle; ``blocked`` sessions wait behind them.
        trouble: why the file could not be read; the counts are zero then.
    """

    pending: int
    running: int
    in_doubt: int
    blocked: int
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class PlatformSeen:
    """One platform of a home.

    Attributes:
        plugin_enabled: plugins.enabled names its plugin and plugins.disabled does not.
        switched_on: what its switch says; null when nobody says anything.
        state: of the gateway that runs: connecting, connected, disconnected, retrying, fatal; null without one.
        error: what the gateway said about it.
        inbox: of a platform that keeps its messages in a file of its own; null for any other, and without a file.
    """

    name: str
    label: str
    plugin_enabled: bool
    switched_on: bool | None
    state: str | None
    error: str | None
    health: HealthSeen | None
    inbox: InboxSeen | None = None


@dataclass(frozen=True, slots=True)
class CredentialSeen:
    """The Canon credential in force; never the key."""

    canon_profile: str | None
    agent_id: str | None
    agent_name: str | None
    environment_id: str
    origin: str


@dataclass(frozen=True, slots=True)
class UnseenSeen:
    """Something that a running gateway has not seen; ``changed_at`` is when it changed last."""

    what: str
    file: Path
    changed_at: str


@dataclass(frozen=True, slots=True)
class GatewaySeen:
    """The gateway of a home.

    Attributes:
        state: never, stopped, crashed, or what a live gateway says of itself: starting, running, degraded, draining.
        exit_reason: of one that has ended.
        run_by: what keeps it running, in words; null when nothing does.
        unseen: what was changed after its start and counts after a restart; the same answer as gateway.stale.
        restart: what restarts one that runs; null without one.
    """

    state: str
    pid: int | None
    started_at: str | None
    exit_reason: str | None
    run_by: str | None
    unseen: tuple[UnseenSeen, ...] = ()
    restart: str | None = None

    @property
    def is_running(self) -> bool:
        return self.pid is not None

    @property
    def start_words(self) -> str:
        """What starts it, behind ``hermes``."""
        return "gateway start" if self.run_by else "gateway run"


@dataclass(frozen=True, slots=True)
class ApprovalsSeen:
    """The detached approvals of Canon.

    Attributes:
        open: asked for and not settled.
        first_expires_at_ms: when the first of the open ones expires; null without one.
        due: what a gateway, or ``approvals reconcile``, has to act on.
        damaged: entries that cannot be read.
    """

    open: int
    first_expires_at_ms: float | None
    due: int
    damaged: int


@dataclass(frozen=True, slots=True)
class InTheWay:
    """Something that could not be read or has to be done.

    Attributes:
        about: host, platforms, credential, gateway or approvals.
    """

    about: str
    code: str
    message: str
    fix: str | None


@dataclass(frozen=True, slots=True)
class HomeStatus:
    """One home at a glance; a part that could not be read is null, and ``in_the_way`` says why.

    Attributes:
        registrations: the Canon profiles whose registration is unfinished.
        approvals: null without a registry.
    """

    hermes_profile: str
    hermes_home: Path
    host: HostSeen | None
    platforms: tuple[PlatformSeen, ...]
    credential: CredentialSeen | None
    registrations: tuple[str, ...]
    gateway: GatewaySeen | None
    approvals: ApprovalsSeen | None
    in_the_way: tuple[InTheWay, ...]


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
            trouble.append(InTheWay(about, error.code, error.sentence, error.fix))
            return None

    state = part("gateway", lambda: read_state(home))
    gateway = part("gateway", lambda: read_gateway(home, environ, state, system=system))
    if gateway is not None and gateway.state == "crashed":
        fix = home.command(gateway.start_words)
        trouble.append(InTheWay("gateway", "gateway_crashed", "The gateway was killed or crashed.", fix))
    config = part("platforms", lambda: read_config(home.config_file))
    return HomeStatus(
        home.profile_name,
        home.path,
        part("host", lambda: _host(home, environ, python)),
        tuple(_platform(home, config, state, names, now_ms, inboxes.get(names.name)) for names in PLATFORMS.values())
        if config
        else (),
        part("credential", lambda: _credential(home, environ)) if config else None,
        part("credential", lambda: _registrations(home, environ)) or (),
        gateway,
        part("approvals", lambda: approvals(home, environ, now_ms)),
        tuple(trouble),
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
    is_audited = isinstance(audit(host.version, facts.python, facts.platform), Audited)
    return HostSeen(host.python, host.version, facts.python, is_audited, facts.ours.version if facts.ours else None)


def _platform(
    home: HermesHome,
    config: HermesConfig,
    state: GatewayState | None,
    names: PlatformNames,
    now_ms: int,
    read_inbox: ReadInbox | None,
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
        read_inbox(home.path) if read_inbox is not None else None,
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


def _credential(home: HermesHome, environ: Mapping[str, str]) -> CredentialSeen:
    found = resolve(surroundings_from_disk(home.path, environ))
    origin = found.settings["api_key"].origin.describe()
    return CredentialSeen(found.profile, found.agent_id, found.agent_name, found.connection.environment_id, origin)


def _registrations(home: HermesHome, environ: Mapping[str, str]) -> tuple[str, ...]:
    file = canon_paths_from_disk(home.path, environ).pending_file
    return PendingFile.parse(read_optional(file), file=str(file)).for_hermes()
