"""What the running gateway of a home has not seen yet, and what makes it see it: one answer for every command.

A gateway takes its connections, keys and plugins from files that it reads at its start. Compared with that moment are:

- ``.env``, by the time of its last change;
- config.yaml and the Canon profile in force, by what our own history says about them: Hermes and other profiles write
  the same files too, so that their time says nothing. The text that the gateway has read is the one from before our
  first write after its start; only where the present one differs is there anything to see;
- our package in the host, by the time at which it was put there, by whomever.

What restarts it depends on who started it. A service is restarted by Hermes' own command; one of the system needs its
administrator; in a container that is nothing but a gateway the container is restarted; and what somebody
started in a terminal only they can start there again.

:func:`gateway_lag` looks, the other two put it into words. Source: case BR-31; Hermes host, 10.1; decision record 0045.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from canon_ops.errors import CanonOpsError
from canon_ops.files.history import History
from canon_ops.hermes.gateway import GatewayState, read_state
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.service import GatewayService, ServiceKind, find_services
from canon_ops.lean import dataclass

__all__ = ["GatewayLag", "RestartWay", "Unseen", "gateway_lag", "restart_notice", "restart_step", "restart_way"]

_CLOCK_GRAIN = timedelta(seconds=2)  # a process's start time is computed from the boot time, which is whole seconds
_INITS = frozenset({"tini", "docker-init", "dumb-init", "catatonit"})  # what containers put before their one program


@dataclass(frozen=True, slots=True)
class Unseen:
    """One thing that changed after the gateway's start.

    Attributes:
        what: as a sentence begins: ".env", "config.yaml", "the Canon profile ops", "the package".
    """

    what: str
    file: Path
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class RestartWay:
    """What restarts a gateway.

    Attributes:
        service: what keeps it running; None when nothing of the operating system's does.
        words: the command, or one sentence with it.
    """

    service: GatewayService | None
    words: str


@dataclass(frozen=True, slots=True)
class GatewayLag:
    """A gateway that runs, and what it has not seen.

    Attributes:
        started_at: None where the system does not tell; then nothing can be said about what it has seen.
        restart: what restarts it.
    """

    pid: int
    started_at: datetime | None
    unseen: tuple[Unseen, ...]
    restart: str

    @property
    def since(self) -> str:
        return f", since {self.started_at:%Y-%m-%d %H:%M:%S} UTC" if self.started_at else ""

    @property
    def sentence(self) -> str:
        """``The gateway (pid 7, since …) has not seen .env, changed at …: that counts after a restart.``"""
        things = " and ".join(one.what for one in self.unseen)
        last = f"{max(one.changed_at for one in self.unseen):%Y-%m-%d %H:%M:%S} UTC"
        who = f"The gateway (pid {self.pid}{self.since})"
        return f"{who} has not seen {things}, changed at {last}: that counts after a restart."


def gateway_lag(
    home: HermesHome, environ: Mapping[str, str], *, state: GatewayState | None = None, system: Path = Path("/")
) -> GatewayLag | None:
    """What the gateway of ``home`` has not seen; None when none runs.

    Args:
        state: what the gateway says, when it was read already.
        system: where the operating system's own folders begin.

    Raises:
        GatewayStateDamaged, DiskError, NotAFile: whether one runs, or what restarts it, cannot be read.
    """
    state = state or read_state(home)
    if state is None or not state.is_alive:
        return None
    start = state.started_at
    unseen: tuple[Unseen, ...] = ()
    if start is not None:
        unseen = tuple(one for one in _changes(home, environ, start) if one.changed_at > start + _CLOCK_GRAIN)
    return GatewayLag(state.pid, start, unseen, restart_way(home, environ, state, system=system).words)


def restart_notice(home: HermesHome, environ: Mapping[str, str], *, system: Path = Path("/")) -> str | None:
    """After a change: the sentence for a gateway that runs on what was before; None when none runs.

    It never raises: a notice must not fail a command that is done, and a damaged state is the doctor's business.
    """
    with suppress(CanonOpsError):
        if (lag := gateway_lag(home, environ, system=system)) is not None:
            return f"A gateway runs (pid {lag.pid}{lag.since}) on what was before: {lag.restart}"
    return None


def restart_step(
    home: HermesHome,
    environ: Mapping[str, str],
    *,
    changed: bool,
    start: bool,
    tell: Callable[[str], None],
    system: Path = Path("/"),
) -> tuple[str, ...]:
    """What is left to do about the gateway of ``home`` after a command, if anything, with a sentence told about why.

    Args:
        changed: the command changed something that a gateway reads at its start.
        start: where none runs, starting one is the next step.
    """
    try:
        lag = gateway_lag(home, environ, system=system)
    except CanonOpsError:  # whether one runs is the doctor's finding
        lag = None
    if lag is None:
        return (home.command("gateway run"),) if start else ()
    if not changed and not lag.unseen:
        return ()
    tell(lag.sentence if lag.unseen else f"The gateway (pid {lag.pid}{lag.since}) still runs what was there before.")
    return (lag.restart,)


def restart_way(
    home: HermesHome, environ: Mapping[str, str], state: GatewayState | None, *, system: Path = Path("/")
) -> RestartWay:
    """What restarts the gateway that ``state`` is about, or starts one.

    Raises:
        NotAFile, DiskError: the definition of its service cannot be read.
    """
    services = find_services(home, environ, system=system)
    service = services[0] if services else None
    if service is not None:
        by_system = service.kind is ServiceKind.SYSTEMD
        words = home.command(f"gateway restart{' --system' if by_system else ''}")
        return RestartWay(service, f"sudo {words}" if by_system else words)
    if state is None or not state.is_alive:
        return RestartWay(None, home.command("gateway run"))
    if _is_the_container(state.pid, system):
        return RestartWay(None, "restart the container from outside   (docker restart NAME)")
    return RestartWay(None, f"stop it where it runs (Ctrl-C), then start it there: {home.command('gateway run')}")


def _changes(home: HermesHome, environ: Mapping[str, str], start: datetime) -> Iterator[Unseen]:
    """Everything that a gateway reads at its start, with the time of its last change that matters; each on its own."""
    for look in (_of_env, _of_config, _of_profile, _of_package):
        with suppress(CanonOpsError, OSError, ValueError):  # what cannot be read is the finding of another check
            if (found := look(home, environ, start)) is not None:
                yield found


def _of_env(home: HermesHome, _environ: Mapping[str, str], _start: datetime) -> Unseen | None:
    file = home.env_file
    return Unseen(".env", file, _time(file.stat().st_mtime)) if file.exists() else None


def _of_config(home: HermesHome, _environ: Mapping[str, str], start: datetime) -> Unseen | None:
    file = home.config_file
    written = _written_since(home.path, file, start)
    if written is None or written.before == (file.read_bytes() if file.exists() else None):
        return None
    return Unseen("config.yaml", file, written.at)


def _of_profile(home: HermesHome, environ: Mapping[str, str], start: datetime) -> Unseen | None:
    """The Canon profile in force; the other profiles of agents.json are other people's."""
    from canon_ops.hermes.surroundings import canon_paths_from_disk, surroundings_from_disk
    from canon_ops.settings.credentials import resolve
    from canon_ops.settings.profiles import AgentsFile

    file = canon_paths_from_disk(home.path, environ).agents_file
    written = _written_since(file.parent, file, start)
    if written is None:
        return None
    name = resolve(surroundings_from_disk(home.path, environ)).profile
    if name is None:
        return None
    before, now = (AgentsFile.parse(data, file=str(file)).profile(name) for data in (written.before, file.read_bytes()))
    return Unseen(f"the Canon profile {name}", file, written.at) if before != now else None


def _of_package(home: HermesHome, _environ: Mapping[str, str], _start: datetime) -> Unseen | None:
    """Its metadata folder in the environment that the record names is as old as the installation."""
    from canon_ops.operate.installation import read_installation

    package = read_installation(home.path).package
    if package is None:
        return None
    folders = Path(package.prefix).glob("lib*/python*/site-packages/canon_ops-*.dist-info")
    times = [(folder.stat().st_mtime, folder) for folder in folders]
    if package.by_us:
        times.append((package.at_ms / 1000, Path(package.prefix)))
    if not times:
        return None
    newest, folder = max(times)
    return Unseen("the package in its host", folder, _time(newest))


@dataclass(frozen=True, slots=True)
class _Written:
    """Our writes to a file since a moment: its text before the first, and the time of the last."""

    before: bytes | None
    at: datetime


def _written_since(lock_folder: Path, file: Path, start: datetime) -> _Written | None:
    history, real = History(lock_folder), str(file.resolve())
    newest: datetime | None = None
    before: bytes | None = None
    for record in history.records():  # newest first
        at = _time(record.time_ms / 1000)
        if at <= start + _CLOCK_GRAIN:
            break
        if record.outcome != "done":
            continue
        for number, entry in enumerate(record.files):
            if real in (entry.real, entry.path):
                newest, before = newest or at, history.texts(record, "before")[number]
    return _Written(before, newest) if newest is not None else None


def _is_the_container(pid: int, system: Path) -> bool:
    """Whether the process is what a container was started for: its first, or the one behind its init."""
    if not any((system / mark).exists() for mark in (".dockerenv", "run/.containerenv")):
        return False
    if pid == 1:
        return True
    with suppress(OSError, ValueError, IndexError):
        parent = (system / "proc" / str(pid) / "stat").read_text().rpartition(")")[2].split()[1]
        return parent == "1" and (system / "proc" / "1" / "comm").read_text().strip() in _INITS
    return False


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
