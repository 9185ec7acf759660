"""Gateways that begin with their libraries loaded.

More than half of a gateway's processor time up to its first answer is spent on loading the same modules and on asking
each file of the host's tools whether it registers one. A process of its own does that once for all gateways of a test
run; each of them is a fork of it, from before the host's script was begun
(``tests/support/warm_start/sitecustomize.py``). Home, environment, output, session and arguments are its own, and its
end is told as that of a child.

What differs from a gateway that was started whole: its libraries, our modules among them, were loaded before and in an
environment that names no home, and strings hash alike in all gateways of a run. The tests that walk a person's way
(``demo``, installing, the keyring, refused hosts) start theirs whole.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

from canon_ops.hermes.gateway import ChildProcess, isolated_environ

__all__ = ["launcher_for"]

_SITE = Path(__file__).parent / "warm_start"
_ARGUMENTS = ["gateway", "run", "-v"]
_LIMIT_S = 120.0


def launcher_for(python: Path, environ: Mapping[str, str]) -> Callable[..., ChildProcess]:
    """What starts a gateway of that interpreter: warm where a fork is the same as a start, else as everybody does.

    It is not the same for another interpreter, or with a variable that Python itself reads.
    """
    is_same = (
        hasattr(os, "pidfd_open")
        and python == Path(sys.executable)
        and not any(name.startswith("PYTHON") for name in environ)
    )
    return _launch if is_same else subprocess.Popen


def _launch(
    command: Sequence[str], *, stdout: IO[bytes], cwd: Path, env: Mapping[str, str], **more: object
) -> ChildProcess:
    if list(command[1:]) != _ARGUMENTS:  # the process table of a fork could not say so
        return subprocess.Popen(command, stdout=stdout, cwd=cwd, env=env, **more)  # type: ignore[call-overload, no-any-return]
    return _WaitingGateways.of(command[0]).fork(stdout, cwd, env)


class _WaitingGateways:
    """The process that the gateways of this test process are forks of."""

    def __init__(self, script: str) -> None:
        self._channel, theirs = socket.socketpair()
        nowhere = Path(os.devnull)
        kept = isolated_environ(os.environ, hermes_home=nowhere, user_home=nowhere)
        with theirs:
            number = theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, script, *_ARGUMENTS],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=kept | {"PYTHONPATH": str(_SITE), "WARM_GATEWAYS": str(number)},
                pass_fds=[number],
                start_new_session=True,
            )
        atexit.register(self._end)

    @classmethod
    @cache
    def of(cls, script: str) -> _WaitingGateways:
        """The one for ``script``; the first call starts it."""
        return cls(script)

    def fork(self, output: IO[bytes], folder: Path, environ: Mapping[str, str]) -> _Fork:
        """A gateway with both streams in ``output``."""
        line = json.dumps({"folder": str(folder), "environ": dict(environ)}).encode() + b"\n"
        report, theirs = socket.socketpair()
        with theirs:
            sent = socket.send_fds(self._channel, [line], [theirs.fileno(), output.fileno()])
            self._channel.sendall(line[sent:])
        return _Fork(report)

    def _end(self) -> None:
        self._channel.shutdown(socket.SHUT_RDWR)  # a forked child of ours may hold this end, too
        self._channel.close()
        self._process.wait(_LIMIT_S)


class _Fork:
    """A gateway whose parent is that process, which tells when and how it ended."""

    def __init__(self, report: socket.socket) -> None:
        report.settimeout(_LIMIT_S)
        self._report = report
        self._code: int | None = None
        self.pid = self._next("began")

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(_ARGUMENTS, timeout)
        return code

    def send_signal(self, sig: int, /) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def _ended(self, timeout_s: float | None) -> int | None:
        if self._code is None and select.select([self._report], [], [], timeout_s)[0]:
            self._code = self._next("ended")
            self._report.close()
        return self._code

    def _next(self, word: str) -> int:
        """The number in the next line of the report, which is about this event."""
        line = b""
        while not line.endswith(b"\n"):
            piece = self._report.recv(1)
            assert piece, "the process that gateways are forks of has ended"
            line += piece
        told, number = line.decode().split()
        assert told == word
        return int(number)
