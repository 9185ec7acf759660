"""Running the program many times without starting Python many times.

A process of its own loads the whole command line once; each run is a fork of it, with descriptors of its own. It ends
with what the interpreter's ordinary shutdown does for the outside: threads are waited for, exit functions called, the
streams written out. What differs from the real script is the start of the interpreter and the taking apart of its
modules, each many times the run itself, so a test that uses this has a sister that starts the script.

The request goes over a socket: one JSON line, with the descriptors of the run attached. The answer is the exit code.
"""

from __future__ import annotations

import array
import atexit
import fcntl
import json
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

__all__ = ["Forking", "OnTerminal"]

ROOT = Path(__file__).resolve().parents[2]
_LIMIT_S = 60.0


class Forking:
    """The program, loaded; a context manager that ends it."""

    def __enter__(self) -> Self:
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(_LIMIT_S)
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.support.forking", str(theirs.fileno())],
            cwd=ROOT,
            pass_fds=[theirs.fileno()],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"},
        )
        theirs.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
        self._process.wait(timeout=_LIMIT_S)

    def run(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        *,
        program: str = "",
        closed: Sequence[int] = (),
        stdout: int | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """One run: stdin is empty, stdout and stderr are files that are read afterwards.

        Args:
            program: a text that is run instead of the command line, as with ``python -c``.
            closed: descriptors (0 to 2) with which the run is not started at all.
            stdout: a descriptor instead of the file.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, Path(os.devnull).open("rb") as nothing:
            given = [nothing.fileno(), out.fileno() if stdout is None else stdout, err.fileno()]
            passed = [given[number] for number in range(3) if number not in closed]
            request = {"arguments": list(arguments), "environ": dict(environ), "closed": list(closed)}
            self._ask(request | {"program": program}, passed)
            code = int(self._socket.recv(16))
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode())
        return subprocess.CompletedProcess(list(arguments), code, texts[0], texts[1])

    def on_terminal(
        self, arguments: Sequence[str], environ: Mapping[str, str], *, columns: int, rows: int
    ) -> OnTerminal:
        """One run that has all three streams on a terminal of its own; the next one begins when it has ended."""
        master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        request = {"arguments": list(arguments), "environ": dict(environ), "closed": [], "terminal": True}
        self._ask(request, [slave, slave, slave])
        os.close(slave)
        return OnTerminal(master, self._socket)

    def _ask(self, request: Mapping[str, Any], descriptors: Sequence[int]) -> None:
        line = json.dumps(request).encode() + b"\n"
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        self._socket.sendall(line[self._socket.sendmsg([line], rights) :])


class OnTerminal:
    """A run on a terminal, with what tests/support/terminal.py uses of a ``pexpect.spawn``."""

    def __init__(self, master: int, answers: socket.socket) -> None:
        self._master = master
        self._answers = answers
        self._code: int | None = None

    @property
    def exitstatus(self) -> int | None:
        return self._code if self._code is not None and self._code >= 0 else None

    @property
    def signalstatus(self) -> int | None:
        return -self._code if self._code is not None and self._code < 0 else None

    def send(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def read_nonblocking(self, size: int, timeout: float) -> bytes:
        """What was written to the terminal; nothing after ``timeout`` seconds, and when nobody has it open any more."""
        if not select.select([self._master], [], [], timeout)[0]:
            return b""
        try:
            return os.read(self._master, size)
        except OSError:  # EIO: everybody has left
            return b""

    def isalive(self) -> bool:
        if self._code is None and select.select([self._answers], [], [], 0.01)[0]:
            self._code = int(self._answers.recv(16))
        return self._code is None

    def kill(self, number: int) -> None:
        raise NotImplementedError(f"signal {number}: the process is the server's")

    def close(self, force: bool = False) -> None:
        """Hang up, which ends what still runs, and wait for its end."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1
        if self._code is None:
            self._code = int(self._answers.recv(16))


def serve(channel: socket.socket) -> None:
    """Answer requests until the other side is gone."""
    from canon_ops.cli.commands.schema import loaded_commands

    loaded_commands()
    while True:
        request, descriptors = _receive(channel)
        if request is None:
            return
        if (child := os.fork()) == 0:
            channel.close()
            _end(_run(request, descriptors))
        for descriptor in descriptors:
            os.close(descriptor)
        _, status = os.waitpid(child, 0)
        channel.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _receive(channel: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    data, descriptors, _, _ = socket.recv_fds(channel, 1 << 16, 3)
    while data and not data.endswith(b"\n"):
        data += channel.recv(1 << 16)
    return (json.loads(data) if data else None), descriptors


def _run(request: Mapping[str, Any], descriptors: list[int]) -> int:
    """The run itself, in a process that has become its own: streams as the interpreter would have made them."""
    from canon_ops.cli.main import run_as

    if request.get("terminal"):
        os.setsid()
        fcntl.ioctl(descriptors[0], termios.TIOCSCTTY, 0)
    given = list(descriptors)
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if number in request["closed"]:
            os.close(number)
            setattr(sys, name, None)
            continue
        os.dup2(given.pop(0), number)
        setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - it lives as long as the run
    for descriptor in descriptors:
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environ"])
    try:
        if program := request.get("program"):
            sys.argv = ["-c", *request["arguments"]]
            exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - a test's own text
            return 0
        return run_as("canon-ops", "", request["arguments"])
    except SystemExit as ended:
        return int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1


def _end(code: int) -> NoReturn:
    """What the interpreter does at its end as far as anybody outside can tell, in its order."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except Exception:
            traceback.print_exc()
            code = 120
    os._exit(code)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        serve(channel)
