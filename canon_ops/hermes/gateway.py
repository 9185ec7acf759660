"""The gateway process of one Hermes home: what it says about itself, and starting and stopping one.

Hermes writes ``gateway_state.json`` and does not correct it after SIGTERM or SIGKILL: the file goes on saying
``running``. So a gateway counts as alive only when its process exists and started when the file says it did
(Hermes host, 10.1).

Order of calls on a :class:`GatewayProcess`: ``start``, ``wait_ready``, then ``stop`` or ``kill``; as a context manager
it stops on the way out. Ready means three things (Hermes end-to-end, 3): the platform is connected, the gateway says
that it serves, and its log says that the inbound gate is open. A message that arrives before the third is queued by
the host.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from canon_ops.errors import OutsideError
from canon_ops.files.atomic import BrokenLink, NotAFile
from canon_ops.files.disk import DiskError
from canon_ops.files.reading import read_optional
from canon_ops.hermes.homes import HermesHome

__all__ = [
    "SERVING_STATES",
    "ChildProcess",
    "GatewayExited",
    "GatewayNotReady",
    "GatewayProcess",
    "GatewayState",
    "GatewayStateDamaged",
    "PlatformState",
    "hermes_program",
    "is_the_process",
    "isolated_environ",
    "read_state",
]

SERVING_STATES = ("running", "degraded")
"""What a gateway says of itself while it serves; degraded: one of its platforms does not stand."""

_LOG_FILE = Path("logs", "gateway.log")
_GATE_OPEN = b"Press Ctrl+C to stop"
_READY_S = (
    90.0  # cold start of the slowest audited host is below 15 s on two cores; Hermes end-to-end, 3, asks for 60-90
)
_STOP_S = 40.0  # Hermes end-to-end, 3
_LOOK_EVERY_S = 0.05
_TAIL_LINES = 15
_EXIT_MEANINGS = {
    75: "a restart was requested",
    78: "its configuration failed, or its only platform did for good",
}
_KEPT_VARIABLES = (
    "PATH",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TMPDIR",
    "TZ",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "LD_LIBRARY_PATH",
)


class GatewayStateDamaged(OutsideError):
    """The state file exists and cannot be read as one."""

    code = "gateway_state_damaged"


class GatewayNotReady(OutsideError):
    """The gateway runs, but was not ready in time."""

    code = "gateway_not_ready"


class GatewayExited(OutsideError):
    """The gateway ended before it was ready."""

    code = "gateway_exited"


@dataclass(frozen=True, slots=True)
class PlatformState:
    """What the gateway last said about one platform: connecting, connected, disconnected, retrying or fatal.

    ``writer_pid`` is the process that said it, None on a host that does not tell: the gateway before this one, maybe.
    """

    state: str
    error_code: str | None = None
    error_message: str | None = None
    writer_pid: int | None = None


@dataclass(frozen=True, slots=True)
class GatewayState:
    """``gateway_state.json``, checked against the process table.

    Attributes:
        state: starting, running, degraded, draining, stopped or startup_failed, as written.
        pid: the writer's process id, 0 when the file names none.
        is_alive: that process exists and is the one that wrote the file.
        started_at: when the live process started; None for a dead one, or when the system does not tell.
    """

    state: str
    pid: int
    is_alive: bool
    started_at: datetime | None
    exit_reason: str | None
    platforms: Mapping[str, PlatformState]

    @property
    def is_stale(self) -> bool:
        """The file claims a gateway at work and there is none."""
        return not self.is_alive and self.state not in ("stopped", "startup_failed")

    def is_connected(self, platform: str) -> bool:
        entry = self.platforms.get(platform)
        return self.is_alive and entry is not None and entry.state == "connected"


def read_state(home: HermesHome) -> GatewayState | None:
    """What the gateway of ``home`` says, or None when none has ever run there.

    Raises:
        GatewayStateDamaged: the file is unreadable or holds something else.
    """
    file = home.gateway_state_file
    try:
        data = read_optional(file)
        if data is None:
            return None
        document = json.loads(data.decode("utf-8"))
        if not isinstance(document, dict):
            raise ValueError("not an object")
    except (NotAFile, BrokenLink, DiskError, ValueError, RecursionError) as exc:
        raise GatewayStateDamaged(
            f"{file} cannot be read as the gateway's state: {exc}.", fix=home.command("gateway status"), file=str(file)
        ) from exc
    pid = document.get("pid")
    pid = pid if isinstance(pid, int) and pid > 0 else 0
    alive = pid > 0 and is_the_process(pid, document.get("start_time"))
    platforms = document.get("platforms")
    return GatewayState(
        state=str(document.get("gateway_state") or "unknown"),
        pid=pid,
        is_alive=alive,
        started_at=_started_at(pid) if alive else None,
        exit_reason=_text(document.get("exit_reason")),
        platforms={
            str(name): PlatformState(
                str(entry.get("state") or "unknown"),
                _text(entry.get("error_code")),
                _text(entry.get("error_message")),
                writer if isinstance(writer := entry.get("writer_pid"), int) else None,
            )
            for name, entry in (platforms.items() if isinstance(platforms, dict) else ())
            if isinstance(entry, dict)
        },
    )


def isolated_environ(base: Mapping[str, str], *, hermes_home: Path, user_home: Path) -> dict[str, str]:
    """The environment of a gateway that must touch nothing of this user and nothing outside loopback.

    Built up from nothing but search path, language and certificates: an inherited HERMES_, CANON_, PYTHON or provider
    variable would change what the gateway does. Source: Hermes end-to-end, 2.
    """
    kept = {name: base[name] for name in _KEPT_VARIABLES if name in base}
    kept |= {name: text for name, text in base.items() if name.startswith("LC_")}
    return kept | {
        "HOME": str(user_home),
        "HERMES_HOME": str(hermes_home),
        "XDG_STATE_HOME": str(user_home / ".local" / "state"),  # the host's scoped locks live below it
        "NO_PROXY": "*",
        "HERMES_PLUGINS_DEBUG": "1",  # tracebacks of plugin load errors on stderr
    }


def hermes_program(python: Path) -> list[str]:
    """What starts the ``hermes`` of an interpreter: the command beside it, or its module where there is none."""
    launcher = python.parent / "hermes"
    return [str(launcher)] if launcher.exists() else [str(python), "-m", "hermes_cli.main"]


class ChildProcess(Protocol):
    """What a gateway's process is asked for; a ``subprocess.Popen`` is one."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, sig: int, /) -> None: ...


class GatewayProcess:
    """A gateway that we started and own."""

    def __init__(self, home: HermesHome, process: ChildProcess, command: Sequence[str], log: Path) -> None:
        self.home = home
        self.command = tuple(command)
        self.log = log
        self._process = process
        self._gateway_log = home.path / _LOG_FILE
        self._log_start = 0

    @classmethod
    def start(
        cls,
        home: HermesHome,
        *,
        python: Path,
        environ: Mapping[str, str],
        log: Path,
        launch: Callable[..., ChildProcess] = subprocess.Popen,
    ) -> Self:
        """Start ``hermes gateway run`` for ``home`` in a session of its own.

        Args:
            python: the host's interpreter; the ``hermes`` beside it is used, or its module where there is none.
            environ: the child's environment; HERMES_HOME is set to ``home``.
            log: file that takes its standard output and error; appended to.
            launch: called as ``subprocess.Popen`` is.
        """
        command = [*hermes_program(python), *home.arguments(), "gateway", "run", "-v"]
        gateway_log = home.path / _LOG_FILE
        log_start = gateway_log.stat().st_size if gateway_log.exists() else 0
        try:
            with log.open("ab") as output:
                process = launch(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=home.environ(environ),
                    cwd=home.path,
                    start_new_session=True,
                )
        except OSError as exc:
            raise OutsideError(
                f"{command[0]} cannot be started: {exc.strerror}.", fix=home.own_command("doctor --area host")
            ) from exc
        gateway = cls(home, process, command, log)
        gateway._log_start = log_start
        return gateway

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def returncode(self) -> int | None:
        """None while it runs; negative when a signal ended it. 1 is Hermes' ordinary answer to SIGTERM."""
        return self._process.poll()

    def wait_ready(self, *, platform: str = "canon", timeout_s: float = _READY_S) -> GatewayState:
        """Block until a message to ``platform`` would be processed at once.

        Raises:
            GatewayExited: it ended first.
            GatewayNotReady: the time ran out, or the platform gave up for good; the message says what was missing.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            missing, state = self._missing(platform)
            if state is not None and not missing:
                return state
            if _is_fatal(state, platform) or time.monotonic() >= deadline:
                raise GatewayNotReady(
                    f"The gateway (pid {self.pid}) is not ready: {missing}.\n{self.tail()}",
                    fix=self.home.command("logs"),
                    file=str(self.log),
                )
            with suppress(subprocess.TimeoutExpired):
                code = self._process.wait(_LOOK_EVERY_S)
                raise GatewayExited(
                    f"The gateway ended with {_exit_text(code)} before it was ready: {missing}.\n{self.tail()}",
                    fix=self.home.command("logs"),
                    file=str(self.log),
                )

    def stop(self, *, timeout_s: float = _STOP_S) -> int:
        """Ask it to end (SIGTERM), wait, end what is left; its exit code."""
        if self.is_running:
            self._process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)
        return self.kill()

    def kill(self) -> int:
        """End it and its helpers at once (SIGKILL); its exit code."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # its own session: nobody else's process is in this group
        return self._process.wait()

    def tail(self, lines: int = _TAIL_LINES) -> str:
        """The end of what it printed."""
        with suppress(OSError):
            return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
        return ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _missing(self, platform: str) -> tuple[str, GatewayState | None]:
        """The first condition that does not hold yet, and the state of our process once it wrote one."""
        state = None
        with suppress(GatewayStateDamaged):  # another moment, it is written by replacement
            state = read_state(self.home)
        if state is None or state.pid != self.pid:
            return "it has not written its state", None
        entry = state.platforms.get(platform)
        if entry is None or entry.state != "connected":
            return f"{platform} is {_platform_text(entry)}", state
        if state.state not in SERVING_STATES:
            return f"the gateway says {state.state}", state
        if not self._gate_is_open():
            return "its inbound gate is closed", state
        return "", state

    def _gate_is_open(self) -> bool:
        try:
            with self._gateway_log.open("rb") as log:
                size = log.seek(0, os.SEEK_END)
                log.seek(self._log_start if size >= self._log_start else 0)  # smaller: it was rotated
                return _GATE_OPEN in log.read()
        except OSError:
            return False


def _is_fatal(state: GatewayState | None, platform: str) -> bool:
    """The platform has given up; a gateway with other platforms goes on without it and never retries.

    While a gateway starts, the file still holds what the platforms of the one before it came to: some hosts say that
    they run before the platform has said anything.
    """
    entry = state.platforms.get(platform) if state and state.state != "starting" else None
    if state is None or entry is None or entry.state != "fatal":
        return False
    return entry.writer_pid in (None, state.pid)


def _platform_text(entry: PlatformState | None) -> str:
    if entry is None:
        return "not loaded"
    return f"{entry.state} ({entry.error_message})" if entry.error_message else entry.state


def _exit_text(code: int) -> str:
    if code < 0:
        return f"signal {-code}"
    return f"code {code} ({_EXIT_MEANINGS[code]})" if code in _EXIT_MEANINGS else f"code {code}"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def is_the_process(pid: int, recorded: object) -> bool:
    """``pid`` exists, is no zombie, and started when the host recorded it (unknown counts as equal)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it exists and belongs to somebody else
    fields = _stat_fields(pid)
    if fields is None:
        started = _ps_started(pid)
        return started is not None and (not isinstance(recorded, int) or abs(started - recorded / 100) < 2)
    if fields[2] == "Z":
        return False
    return not isinstance(recorded, int) or fields[21] == str(recorded)


def _stat_fields(pid: int) -> list[str] | None:
    """Linux: the fields of /proc/PID/stat, split at blanks as the host splits them when it records field 22."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return None


def _ps_started(pid: int) -> float | None:
    """Elsewhere: seconds since the epoch, from ps, whole seconds; None for no such process or a zombie."""
    answer = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        timeout=5,
        check=False,
        env={"LC_ALL": "C", "PATH": os.environ.get("PATH", "")},
    )
    state, _, moment = answer.stdout.strip().partition(" ")
    if not moment or state.startswith("Z"):
        return None
    return time.mktime(time.strptime(moment.strip(), "%a %b %d %H:%M:%S %Y"))


def _started_at(pid: int) -> datetime | None:
    """When a live process started, to the second or better."""
    fields = _stat_fields(pid) if sys.platform == "linux" else None
    if fields is None:
        seconds = _ps_started(pid)
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
        if line.startswith("btime "):
            boot = int(line.split()[1])
            return datetime.fromtimestamp(boot + int(fields[21]) / os.sysconf("SC_CLK_TCK"), UTC)
    return None
