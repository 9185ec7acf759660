"""One command at a time changes the packages of a host.

Many homes may share one Hermes, and a fleet sets several up at once: two installers in one environment would each find
the other's half. The lock is on the environment's folder itself, so that nothing of ours stays there; it is taken
before the lock of a home, which does not exclude the other homes.

Whoever had to wait finds another host than the one that was planned for, so the plan is made again (see
:func:`canon_ops.operate.install.carry_out`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from canon_ops.files.lock import FolderLock, LockTimeout
from canon_ops.hermes.discovery import HostInstallation
from canon_ops.operate.prompts import Prompts

__all__ = ["alone_in"]

PATIENCE_S: Final = 600.0  # ours: an installer on a slow line takes minutes, and several may be in front of us


@contextmanager
def alone_in(host: HostInstallation, prompts: Prompts, *, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Keep every other command of ours from changing the packages of ``host`` during the block.

    Raises:
        LockTimeout: another one was at it for the whole time.
    """
    folder = host.facts.prefix
    with ExitStack() as held:
        try:
            held.enter_context(FolderLock(folder, 0))
        except LockTimeout:
            with prompts.progress(f"Waiting for another command that changes the packages of {host.python}"):
                held.enter_context(FolderLock(folder, patience_s))
        yield
