"""Reading one file whole, without ever waiting for it.

A pipe or a device in a file's place would be read for ever, and reading a terminal takes somebody's keys. So whatever
is not a regular file is refused, by what the opened descriptor says and not by what the name said before.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from canon_ops.files.atomic import BrokenLink, NotAFile
from canon_ops.files.disk import explain

__all__ = ["not_a_file", "read_optional", "read_required"]


def read_optional(path: Path) -> bytes | None:
    """A file's bytes; None when there is no such file, or a link that leads nowhere.

    Raises:
        NotAFile: a folder, a pipe, a socket, a device.
        BrokenLink: a link that leads in a circle.
        DiskError: it cannot be opened or read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a device may already do something
            raise not_a_file(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123  # a descriptor, not a name
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # it was replaced in between
                raise not_a_file(path)
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BrokenLink(
                f"{path} is a symbolic link that leads in a circle", fix=f"ls -l {path}", file=str(path)
            ) from error
        raise explain(error, path, verb="read") from error


def read_required(path: Path) -> bytes:
    """A file's bytes.

    Raises:
        DiskError: there is no such file; and as :func:`read_optional`.
    """
    data = read_optional(path)
    if data is None:
        raise explain(FileNotFoundError(errno.ENOENT, "No such file"), path, verb="read")
    return data


def not_a_file(path: Path) -> NotAFile:
    """The refusal of a folder, a pipe, a socket or a device where a file belongs."""
    return NotAFile(f"{path} is not a regular file", fix=f"ls -ld {path}", file=str(path))
