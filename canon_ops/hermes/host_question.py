"""Asking the host's interpreter: host_child.py runs in it, with a time limit, one request and one answer.

The child's text is handed over on the command line, not as a file: a script's folder would come first on the module
search path, and this folder's ``gateway.py`` would hide the host's own ``gateway`` package.
"""

from __future__ import annotations

import json
import pkgutil
import shlex
import subprocess
import weakref
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, ClassVar, Protocol

from canon_ops.errors import OutsideError

__all__ = ["Child", "HostUnusable", "Question", "Start", "start_process", "try_by_hand"]

_PROTOCOL = 1


class HostUnusable(OutsideError):
    """The interpreter could not be started, took too long, or answered nonsense."""

    code = "host_unusable"


class Child(Protocol):
    """The running interpreter: what is used of a ``subprocess.Popen``."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None
    returncode: int | None

    def communicate(self, *, timeout: float) -> tuple[bytes, bytes]: ...
    def poll(self) -> int | None: ...
    def kill(self) -> None: ...
    def wait(self) -> int: ...


class Start(Protocol):
    """Starts a program with a pipe for each of its streams."""

    def __call__(self, command: list[str], /, *, env: Mapping[str, str]) -> Child: ...


def start_process(command: list[str], *, env: Mapping[str, str]) -> Child:
    """A process of the operating system."""
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env)


class Question:
    """A child that is at work on one request; whoever does not wait for its answer has to abandon it.

    Attributes:
        start: how a child is started; the same answer may come from something that is at hand already.

    Args:
        request: as host_child.py describes it, without the version.
        environ: for the child, which takes none of Python's own variables from it.

    Raises:
        HostUnusable: the interpreter cannot be started.
    """

    start: ClassVar[Start] = staticmethod(start_process)

    def __init__(self, python: Path, request: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        self._python = python
        try:
            self._child = self.start(
                [str(python), "-c", _child()],
                env={name: text for name, text in environ.items() if not name.startswith("PYTHON")},
            )
        except OSError as exc:
            raise HostUnusable(
                f"{python} cannot be started: {exc.strerror}.", fix=f"ls -l {shlex.quote(str(python))}"
            ) from exc
        # A signal may leave the thread that waits behind. What came before the child is taken away after it.
        self._end = weakref.finalize(self, _end, self._child)
        self._ask({"v": _PROTOCOL} | dict(request))

    def _ask(self, request: Mapping[str, Any]) -> None:
        """Everything at once: a request is smaller than what a pipe holds."""
        pipe, self._child.stdin = self._child.stdin, None
        assert pipe is not None  # noqa: S101 - asked for above
        with suppress(BrokenPipeError):  # it has ended already; its answer says so
            pipe.write(json.dumps(request).encode())
        with suppress(BrokenPipeError):
            pipe.close()

    def answer(self, timeout_s: float) -> dict[str, Any]:
        """The answer; the child has ended.

        Raises:
            HostUnusable: there is none.
        """
        python = self._python
        try:
            out, err = self._child.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as exc:
            raise HostUnusable(
                f"{python} did not answer within {timeout_s:g} s: this machine is busy, its disk is slow, or "
                "what Hermes imports hangs.",
                fix=f"{try_by_hand(python)}   # and again when that is quick",
            ) from exc
        finally:
            self.abandon()
        try:
            answer = json.loads(out)
            if not isinstance(answer, dict) or answer.get("v") != _PROTOCOL:
                raise ValueError
        except ValueError as exc:
            said = err.decode(errors="replace").strip().splitlines()
            raise HostUnusable(
                f"{python} gave no usable answer (exit {self._child.returncode}{': ' + said[-1] if said else ''}).",
                fix=try_by_hand(python),
            ) from exc
        return answer

    def abandon(self) -> None:
        """End the child if it still runs."""
        child = self._child
        self._end()
        for pipe in (child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()


def _end(child: Child) -> None:
    if child.poll() is None:
        child.kill()
    child.wait()


def try_by_hand(python: Path) -> str:
    """What shows the operator what is wrong with an interpreter."""
    return f"{shlex.quote(str(python))} -c 'import hermes_cli; print(hermes_cli.__version__)'"


@cache
def _child() -> str:
    text = pkgutil.get_data("canon_ops.hermes", "host_child.py")
    assert text is not None  # noqa: S101 - it lies beside this file, in whatever the package was loaded from
    return text.decode("utf-8")
