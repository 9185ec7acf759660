"""What the gateway of the demo says of itself, asked of the running process and not of the host that was found.

Source: decisions L6.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from canon_ops.demo.narration import GatewayFacts
from canon_ops.files.reading import read_optional
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.platform_health import PlatformHealth, health_file

__all__ = ["gateway_facts"]

PROCESSES: Final = Path("/proc")
REPORT_S: Final = 10.0  # ours: the report is written when the stream opens, a moment before or after the host knows
LOOK_EVERY_S: Final = 0.05


def gateway_facts(home: HermesHome, pid: int, *, processes: Path = PROCESSES, wait_s: float = REPORT_S) -> GatewayFacts:
    """What the running process tells of itself; what it does not tell stays unknown.

    Args:
        processes: the system's process table as files, where it has one (``/proc``).
        wait_s: how long to wait for its report, which it writes beside its work.
    """
    deadline = time.monotonic() + wait_s
    while (health := _report_of(home, pid)) is None and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY_S)
    return GatewayFacts(pid, _executable_of(pid, processes), health.host_version if health else None)


def _report_of(home: HermesHome, pid: int) -> PlatformHealth | None:
    data = read_optional(health_file(home.path, "canon"))
    health = PlatformHealth.parse(data) if data is not None else None
    return health if health is not None and health.pid == pid else None


def _executable_of(pid: int, processes: Path) -> Path | None:
    """The program of a process as its own command line names it; None where the system does not tell."""
    try:
        first = processes.joinpath(str(pid), "cmdline").read_bytes().split(b"\0")[0].decode(errors="surrogateescape")
    except OSError:
        return None
    return Path(first) if first.startswith("/") else None
