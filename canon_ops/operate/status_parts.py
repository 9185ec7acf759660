"""What ``status`` says of a home, as data; every part may be missing where it could not be read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

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
    "ReadInbox",
    "UnseenSeen",
]


@dataclass(frozen=True, slots=True)
class HostSeen:
    """The Hermes of a home.

    Attributes:
        audited: whether the platforms answer on it; else ``refusal`` says why not, and ``refusal_fix`` what helps.
        canon_ops: the version that is in it; null where none is.
    """

    python: Path
    hermes_version: str | None
    python_version: str
    audited: bool
    canon_ops: str | None
    refusal: str | None = None
    refusal_fix: str | None = None


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
        running: messages whose turn runs; none where no gateway runs.
        in_doubt: messages that only a person can settle; ``blocked`` sessions wait behind them.
        trouble: why the file could not be read; the counts are zero then.
    """

    pending: int
    running: int
    in_doubt: int
    blocked: int
    trouble: str | None = None


class ReadInbox(Protocol):
    """Reads the inbox of a platform, which knows its file; None where there is none."""

    def __call__(self, home: Path, *, is_owned: bool) -> InboxSeen | None: ...


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

    @property
    def is_used(self) -> bool:
        """Whether a home has anything to do with the platform."""
        return self.plugin_enabled or self.switched_on is not None or self.inbox is not None

    @property
    def is_wanted(self) -> bool:
        """Whether somebody wants it to answer here: what is switched off is left alone."""
        return self.switched_on is True or (self.plugin_enabled and self.switched_on is None)


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
        is_fault: something is wrong; otherwise it is only not done yet.
    """

    about: str
    code: str
    message: str
    fix: str | None
    is_fault: bool = True


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
