"""Which file system a path lies on, where the answer changes what a lock or a rename is worth."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["file_system", "network_file_system"]

# Mounts on which flock may be a no-op, hang or outlive its process.
NETWORK_TYPES = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "afs", "ceph", "glusterfs"})


def file_system(path: Path, *, table: str | None = None) -> str | None:
    """The type of the file system that holds ``path`` ("ext4", "fuse.sshfs"), or None where it is not told.

    Args:
        table: the text of ``/proc/self/mountinfo``; read from there when None.
    """
    if table is None:
        try:
            table = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return None
    real = path.resolve()
    best: tuple[int, str] | None = None
    for line in table.splitlines():
        left, separator, right = line.partition(" - ")
        fields = left.split()
        if not separator or len(fields) < 5 or not right:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4]))
        # A later line of equal depth is mounted over an earlier one.
        if real.is_relative_to(point) and (best is None or len(point.parts) >= best[0]):
            best = (len(point.parts), right.split()[0])
    return best[1] if best else None


def network_file_system(path: Path, *, table: str | None = None) -> str | None:
    """The type of the file system when it is one on which locks are not to be trusted, else None."""
    kind = file_system(path, table=table)
    return kind if kind and (kind in NETWORK_TYPES or kind.split(".")[0] == "fuse") else None
