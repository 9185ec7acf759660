"""Asking a host made by hand without starting its interpreter: most of a question is the standard library's loading.

A process of its own has loaded what the child of host_question.py loads. Each question is a fork of it that takes the
environment, the streams, the prefix and the search path of the interpreter that was meant, runs the site module as
that one would have, and then the child's own text. Only an environment of this very Python is asked so; whatever else
stands at the path is started. tests/unit/hermes/test_host_call.py holds that a fork and a start say the same.

A request goes over a socket: one JSON text with the descriptors of the run, the last of them for the answers: the
child's process id, and when it has ended its exit code.
"""

from __future__ import annotations

import array
import json
import os
import selectors
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Lock
from types import CodeType, ModuleType
from typing import IO, Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from canon_ops.hermes.host_question import Child

__all__ = ["ForkedHosts"]

# What answers need. Not sysconfig: it remembers the prefix.
_LOADED = ("ast", "csv", "email.message", "importlib.metadata", "importlib.util", "inspect", "platform")
_REQUEST_BYTES = 1 << 17
_LIMIT_S = 60.0


class ForkedHosts:
    """Starts a question's child, as ``subprocess.Popen`` does; a fork where that comes to the same."""

    works = hasattr(os, "pidfd_open")  # the server waits for many children at once

    def __init__(self) -> None:
        self._base = Path(sys.executable).resolve()
        self._server: subprocess.Popen[bytes] | None = None
        self._starting = Lock()

    def _begin(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._server = subprocess.Popen(
            [self._base, "-S", "-P", __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env={},
        )
        theirs.close()

    def close(self) -> None:
        """End the server, and with it nothing that still runs."""
        if self._server is None:
            return
        self._channel.close()
        self._server.wait(timeout=_LIMIT_S)

    def start(self, command: list[str], *, env: Mapping[str, str]) -> Child:
        """The child, with a pipe for each of its streams."""
        python = Path(command[0])
        if python.parent.with_name("pyvenv.cfg").is_file() and python.resolve() == self._base:
            with self._starting:  # the doctor asks from several threads
                if self._server is None:
                    self._begin()
            return _Forked(self._channel, command, env)
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env)


class _Forked:
    """A child that is the server's, with what host_question.py uses of a ``Popen``."""

    def __init__(self, channel: socket.socket, command: list[str], env: Mapping[str, str]) -> None:
        self.returncode: int | None = None
        asked, stdin = os.pipe()
        stdout, said = os.pipe()
        stderr, complained = os.pipe()
        self._status, theirs = socket.socketpair()
        self.stdin: IO[bytes] | None = os.fdopen(stdin, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(stdout, "rb")
        self.stderr: IO[bytes] | None = os.fdopen(stderr, "rb")
        request = {"python": command[0], "text": command[2], "environ": dict(env), "folder": str(Path.cwd())}
        given = array.array("i", [asked, said, complained, theirs.fileno()])
        channel.sendmsg([json.dumps(request).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, given)])
        theirs.close()
        for descriptor in (asked, said, complained):
            os.close(descriptor)
        self._status.settimeout(_LIMIT_S)
        self._pid = int(self._status.recv(16))

    def communicate(self, timeout: float) -> tuple[bytes, bytes]:
        until = time.monotonic() + timeout
        texts = {stream: b"" for stream in (self.stdout, self.stderr) if stream is not None}
        with selectors.DefaultSelector() as waiting:
            for stream in texts:
                waiting.register(stream, selectors.EVENT_READ)
            while waiting.get_map():
                ready = waiting.select(max(0.0, until - time.monotonic()))
                if not ready:
                    raise subprocess.TimeoutExpired("a forked question", timeout)
                for key, _ in ready:
                    if data := os.read(key.fd, 1 << 16):
                        texts[key.fileobj] += data  # type: ignore[index]
                    else:
                        waiting.unregister(key.fileobj)
        self.wait(max(0.001, until - time.monotonic()))
        out, err = texts.values()
        return out, err

    def poll(self) -> int | None:
        try:
            return self.wait(0.0)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        os.kill(self._pid, 9)

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._status.settimeout(timeout)
            try:
                self.returncode = int(self._status.recv(16))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("a forked question", timeout or 0.0) from None
            self._status.close()
        return self.returncode


def serve(channel: socket.socket) -> None:
    """Fork for each request, and tell who ended, until the other side is gone."""
    for name in _LOADED:
        import_module(name)
    texts: dict[str, CodeType] = {}
    library = list(sys.path)  # without a site there is nothing else on it
    with selectors.DefaultSelector() as waiting:
        waiting.register(channel, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.data is not None:
                    waiting.unregister(key.fd)
                    _tell_the_end(key.fd, *key.data)
                    continue
                data, given, _, _ = socket.recv_fds(channel, _REQUEST_BYTES, 4)
                if not data:
                    return
                request = json.loads(data)
                text = request["text"]
                code = texts[text] = texts.get(text) or compile(text, "<string>", "exec")
                if (child := os.fork()) == 0:
                    _become(request, given[:3], library)
                    _run(code)
                *streams, status = given
                for descriptor in streams:
                    os.close(descriptor)
                os.write(status, str(child).encode())
                waiting.register(os.pidfd_open(child), selectors.EVENT_READ, (child, status))


def _tell_the_end(process: int, child: int, status: int) -> None:
    os.close(process)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(BrokenPipeError):  # it was abandoned
        os.write(status, str(code).encode())
    os.close(status)


def _become(request: Mapping[str, Any], streams: list[int], library: list[str]) -> None:
    """Be the interpreter that was meant, as it is when its own start is over."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    os.closerange(3, 1024)
    os.environ.clear()
    os.environ.update(request["environ"])
    if not os.environ.keys() & {"LC_ALL", "LC_CTYPE", "LANG"}:
        os.environ["LC_CTYPE"] = "C.UTF-8"  # PEP 538: the start leaves the C locale so
    os.chdir(request["folder"])
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - as long as the run
    sys.executable, sys.argv, sys.path = request["python"], ["-c"], list(library)
    import site  # here: it takes the prefix as it is when it is loaded

    site.main()
    sys.path.insert(0, "")


def _run(code: CodeType) -> None:
    """The child's text as the program; the process ends with it."""
    program = sys.modules["__main__"] = ModuleType("__main__")
    try:
        exec(code, program.__dict__)  # noqa: S102 - it is host_child.py
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as asked_over:
        serve(asked_over)
