"""Running the program many times without starting Python many times.

A process of its own loads the whole command line once; each run is a fork of it, with descriptors of its own, ended by
the interpreter's ordinary shutdown. What differs from the real script is the start of the interpreter alone, so a test
that uses this has a sister that starts the script.

The request goes over a socket: one JSON line, with the descriptors of the run attached. The answer is the exit code.
"""

from __future__ import annotations

import array
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["Forking"]

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
        closed: Sequence[int] = (),
        stdout: int | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """One run: stdin is empty, stdout and stderr are files that are read afterwards.

        Args:
            closed: descriptors (0 to 2) with which the run is not started at all.
            stdout: a descriptor instead of the file.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, Path(os.devnull).open("rb") as nothing:
            given = [nothing.fileno(), out.fileno() if stdout is None else stdout, err.fileno()]
            passed = [given[number] for number in range(3) if number not in closed]
            request = {"arguments": list(arguments), "environ": dict(environ), "closed": list(closed)}
            line = json.dumps(request).encode() + b"\n"
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", passed))]
            self._socket.sendall(line[self._socket.sendmsg([line], rights) :])
            code = int(self._socket.recv(16))
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode())
        return subprocess.CompletedProcess(list(arguments), code, texts[0], texts[1])


def serve(channel: socket.socket) -> int | None:
    """Answer requests until the other side is gone; in the fork, give the exit code of the run."""
    from canon_ops.cli.commands.schema import loaded_commands

    loaded_commands()
    while True:
        request, descriptors = _receive(channel)
        if request is None:
            return None
        if (child := os.fork()) == 0:
            channel.close()
            return _run(request, descriptors)
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

    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if number in request["closed"]:
            os.close(number)
            setattr(sys, name, None)
            continue
        os.dup2(descriptors.pop(0), number)
        setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - it lives as long as the run
    os.environ.clear()
    os.environ.update(request["environ"])
    return run_as("canon-ops", "", request["arguments"])


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        ended = serve(channel)
    sys.exit(ended)
