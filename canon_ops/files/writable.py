"""May this user write here? Asked before people are asked for anything, and before the first step of many.

The answer is the kernel's (``access``), so that read-only mounts, immutable folders and root's powers count as they do
when it comes to writing. It is advice: what is true now may be false in a moment, and the write says so again.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from canon_ops.files.disk import existing, explain

__all__ = ["require_place", "require_writable"]


def require_writable(folder: Path, *files: Path) -> None:
    """Refuse when files could not be made or replaced in ``folder``, which need not exist yet.

    Args:
        files: those that will be replaced; links may lead elsewhere, and one that its mode lets its owner write and the
            system does not is immutable, or a read-only mount of its own.

    Raises:
        DiskError: the folder, or the first one above it that exists, may not be written.
    """
    for place in {folder, *(file.resolve().parent for file in files)}:
        above = existing(place)
        if not os.access(above, os.W_OK | os.X_OK):
            raise explain(_refusal(above), above)
    for file in files:
        if _is_meant_to_be_writable(file) and not os.access(file, os.W_OK):
            raise explain(_refusal(file), file)


def _is_meant_to_be_writable(file: Path) -> bool:
    try:
        found = file.stat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and bool(found.st_mode & stat.S_IWUSR) and found.st_uid == os.geteuid()


def require_place(file: Path) -> None:
    """Refuse when ``file`` could not be written where the caller named it: no folder is made for it.

    Raises:
        DiskError: its folder is not there, or may not be written.
    """
    if not file.parent.is_dir():
        raise explain(FileNotFoundError(errno.ENOENT, "No such folder"), file.parent)
    require_writable(file.parent, file)


def _refusal(place: Path) -> OSError:
    is_read_only = os.statvfs(place).f_flag & os.ST_RDONLY
    return OSError(errno.EROFS if is_read_only else errno.EACCES, "")
