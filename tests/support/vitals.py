"""What a process holds, as the system says: memory, descriptors, threads. Linux; elsewhere there is no ``/proc``."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["descriptors", "processor_s", "resident_mb", "threads"]


def resident_mb(pid: int | str = "self") -> float:
    """What a process holds in memory, in megabytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1_024


def descriptors(pid: int | str = "self") -> int:
    """How many files, sockets and pipes a process has open; 0 where nobody says so."""
    return _entries(pid, "fd")


def threads(pid: int | str = "self") -> int:
    """How many threads a process has; 0 where nobody says so."""
    return _entries(pid, "task")


def processor_s(pid: int | str = "self") -> float:
    """How much processor time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime and stime, proc(5)


def _entries(pid: int | str, name: str) -> int:
    folder = Path(f"/proc/{pid}/{name}")
    return len(list(folder.iterdir())) if folder.exists() else 0
