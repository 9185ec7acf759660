"""Whom new files and folders belong to: what root makes in somebody's folder is theirs.

An operator runs one command with sudo, and from then on the gateway, which runs as a service user, may not open its own
lock, journal or registry. So whatever this project makes as root goes to the owner of the folder that it is made in
(docs/decisions/0041). For every other user nothing is to be decided: the kernel gives away nothing that is theirs.

Standard library only, and few lines of it: commands that start in a moment ask here, too.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["give_folder", "hand_over", "heir", "is_ours", "owner_of"]

Owner = tuple[int, int]


def heir(folder: Path) -> Owner | None:
    """User and group that what root makes in ``folder`` is for; None when it stays the maker's."""
    if os.geteuid() != 0:
        return None
    found = folder.stat()
    return (found.st_uid, found.st_gid) if found.st_uid != 0 and _is_known(found.st_uid) else None


def _is_known(uid: int) -> bool:
    """Whether this user namespace has the user: in a container without root's rights outside, nobody else is."""
    try:
        with Path("/proc/self/uid_map").open(encoding="ascii") as lines:
            ranges = [(int(first), int(count)) for first, _, count in map(str.split, lines)]
    except (OSError, ValueError):  # no Linux
        return True
    return any(first <= uid < first + count for first, count in ranges)


def hand_over(descriptor: int, folder: Path) -> None:
    """Give a file or a folder that this process just made, open as ``descriptor``, to whom ``folder`` belongs.

    Nothing is called where the owner is right: some file systems have one owner, and refuse even to set that one.

    Raises:
        OSError: the system refuses; leaving it root's would lock its reader out later, far from the cause.
    """
    if (owner := heir(folder)) is not None and owner_of(descriptor) != owner:
        os.fchown(descriptor, *owner)


def owner_of(descriptor: int) -> Owner:
    """User and group of an open file."""
    found = os.fstat(descriptor)
    return found.st_uid, found.st_gid


def give_folder(path: Path) -> None:
    """Give the folder ``path``, which this process just made, to whom the one above it belongs."""
    if heir(path.parent) is None:
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        hand_over(descriptor, path.parent)
    finally:
        os.close(descriptor)


def is_ours(found: os.stat_result, above: Path) -> bool:
    """Whether a file is this user's, or, for root, of whom the folder belongs to that it lies in."""
    if found.st_uid == os.geteuid():
        return True
    owner = heir(above)
    return owner is not None and found.st_uid == owner[0]
