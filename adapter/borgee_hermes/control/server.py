"""The gateway's end: a socket that its own user alone can open, one question a connection.

The gateway holds the inbox's lock, so a socket that lies there already is a dead one's and is put away. Where the path
is too long for a socket, the real one is named in ``control.json`` beside the inbox.

Source: decisions B2.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import stat
import struct
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from borgee_hermes.control.protocol import (
    MAX_LINE,
    Answer,
    BadLine,
    Request,
    answer_line,
    read_request,
    refusal_line,
    socket_path,
)
from canon_ops.errors import CanonOpsError, InternalError
from canon_ops.runtime.ownership import hand_over

__all__ = ["ControlServer", "runtime_folder"]

logger = logging.getLogger(__name__)

ASK_S: Final = 5.0  # from connecting to the whole question
ANSWERS: Final = 8  # at the same time


def runtime_folder(environ: Mapping[str, str]) -> Path:
    """A short folder of this user's for a socket: the session's own, or the system's temporary one."""
    return Path(environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())


class ControlServer:
    """Answers commands of this user.

    Args:
        folder: the inbox's.
        carry_out: does what is asked; its errors are the answer.
    """

    def __init__(
        self,
        folder: Path,
        carry_out: Callable[[Request], Awaitable[Answer]],
        *,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._folder = folder
        self._carry_out = carry_out
        self.path = socket_path(folder, runtime_folder(environ))
        self._server: asyncio.Server | None = None
        self._slots = asyncio.Semaphore(ANSWERS)

    async def start(self) -> None:
        """Listen; it touches the disk for a moment."""
        listener = _listen(self.path)
        self._server = await asyncio.start_unix_server(self._answer, sock=listener, limit=MAX_LINE)
        if self.path.parent != self._folder:
            _note(self._folder, self.path)

    async def stop(self) -> None:
        """Listen no more and put the socket away."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        with contextlib.suppress(OSError):
            self.path.unlink()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with self._slots:
                writer.write(await self._reply(reader, writer))
                await writer.drain()
        except (OSError, TimeoutError):
            logger.debug("Borgee: somebody asked and went away")
        finally:
            writer.close()

    async def _reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        uid = _peer_uid(writer.get_extra_info("socket"))
        if uid is not None and uid not in (os.geteuid(), 0):
            return refusal_line(BadLine("the socket is for its own user"))
        try:
            async with asyncio.timeout(ASK_S):
                request = read_request(await reader.readline())
            return answer_line(await self._carry_out(request))
        except ValueError as error:  # a line beyond every measure
            return refusal_line(error if isinstance(error, CanonOpsError) else BadLine("a line that is too long"))
        except CanonOpsError as error:
            return refusal_line(error)
        except Exception as error:  # the connection's outermost edge
            logger.exception("Borgee: a command could not be carried out")
            return refusal_line(InternalError(f"the gateway failed over it: {type(error).__name__}"))


def _listen(path: Path) -> socket.socket:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)  # the socket has its mode from the first moment
    try:
        listener.bind(str(path))
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(before)
    listener.setblocking(False)
    return listener


def _note(folder: Path, path: Path) -> None:
    note = folder / "control.json"
    descriptor = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        hand_over(file.fileno(), folder)
        json.dump({"socket": str(path)}, file)


def _peer_uid(connection: socket.socket) -> int | None:
    """Who is at the other end; None where the system does not say (the socket's mode has kept others out)."""
    try:
        if sys.platform == "linux":
            _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            return int(uid)
        if sys.platform == "darwin":
            _, uid = struct.unpack("=Ii", connection.getsockopt(0, 1, 8))  # struct xucred: version, uid, groups
            return int(uid)
    except OSError:
        return -1
    return None
