"""Ties the gateway of a demo to its demo: a demo that is killed takes its gateway and its folder with it.

Nobody can catch SIGKILL, so somebody else has to notice it. The demo holds the one writing end of a pipe; whatever ends
the demo closes it. This file, run as a program, becomes the gateway and leaves a watcher in the gateway's process group
that reads the other end. While a process of that group lives, the system gives the group's number to nobody else, so
the watcher may signal it without a doubt; and the demo, which ends the group when it ends its gateway, ends the watcher
with it.

Two calls, both made by the program itself with nothing but the standard library:

- ``hold LIFELINE LOCK FOLDER COMMAND...``: starts the watcher and becomes the command;
- ``watch LIFELINE LOCK FOLDER GROUP``: waits for the end of the demo. It is a program of its own because its command
  line is read: what names ``gateway run`` counts as a gateway of this machine.

Both descriptors are inherited; the watcher holds the folder's lock on, so that no other run takes the folder for a dead
one's. LOCK is -1 and FOLDER empty where the folder is to stay.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["Lifeline"]

_PYTHON = (sys.executable, "-I", "-S", __file__)  # nothing of this user's settings, no packages
_STOP_S = 2.0  # ours: nobody waits for the last words of this gateway
_LOOK_EVERY_S = 0.05


class Lifeline:
    """The end of the pipe that the demo holds; closing it, or dying, ends what :meth:`launch` has started.

    Args:
        folder: what the watcher removes after a demo that was killed; None to leave it.
        lock: the descriptor that holds the folder's lock; None where there is none.
    """

    def __init__(self, folder: Path | None, lock: int | None) -> None:
        self._folder = folder
        self._lock = lock
        self._theirs, self._ours = os.pipe()

    def launch(self, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """``subprocess.Popen`` for a command that must not outlive this process."""
        lock = -1 if self._lock is None else self._lock
        words = ["hold", str(self._theirs), str(lock), str(self._folder or "")]
        kept = [one for one in (self._theirs, lock) if one >= 0]
        return subprocess.Popen([*_PYTHON, *words, *command], pass_fds=kept, **options)

    def close(self) -> None:
        """Let go: what still runs is ended."""
        os.close(self._theirs)
        os.close(self._ours)


def _hold(lifeline: int, lock: int, folder: str, command: Sequence[str]) -> None:
    group = os.getpid()
    if os.fork() == 0:
        if os.fork():
            os._exit(0)  # the watcher belongs to nobody: the gateway has no child that it has not made
        _become([*_PYTHON, "watch", str(lifeline), str(lock), folder, str(group)])
    os.wait()
    for descriptor in (lifeline, lock):
        if descriptor >= 0:
            os.close(descriptor)
    _become(command)


def _become(command: Sequence[str]) -> NoReturn:
    os.execv(command[0], list(command))  # noqa: S606 - the words are the demo's own, and no shell reads them


def _watch(lifeline: int, folder: str, group: int) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    os.read(lifeline, 1)  # nothing is ever written
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.kill(group, number)
        if _within(_STOP_S, lambda: not _exists(group)):
            break
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    os.kill(0, signal.SIGKILL)  # what is left of the group, this process too


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _within(limit_s: float, holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_EVERY_S)
    return True


def _main(verb: str, lifeline: str, lock: str, folder: str, *rest: str) -> None:
    if verb == "hold":
        _hold(int(lifeline), int(lock), folder, rest)
    else:
        _watch(int(lifeline), folder, int(rest[0]))


if __name__ == "__main__":
    _main(*sys.argv[1:])
