"""What one adapter has on the disk: the inbox and the outbox of its agent, and what an earlier gateway left there.

Source: decisions X1-X3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from canon_hermes_plugin.inbox.adoption import Adoption
from canon_hermes_plugin.inbox.keeper import Inbox, Remains
from canon_hermes_plugin.inbox.recovery import Remedy, remedy_for
from canon_hermes_plugin.interactions.left_open import Shown, left
from canon_hermes_plugin.outbox.keeper import Outbox
from canon_hermes_plugin.outbox.operations import Operation
from canon_hermes_plugin.state.file import StateFile
from canon_hermes_plugin.state.owner import Owner
from canon_ops.runtime.clock import Clock

__all__ = ["Kept", "open_kept"]


@dataclass(frozen=True, slots=True)
class Kept:
    """Whoever holds it closes ``file``, last of all.

    Attributes:
        owner: whose rows these are.
        owed: the operations that an earlier gateway did not bring to their end.
        adoption: the messages whose run died with it, and who takes them.
        left_open: what it asked of people, and nobody waits for any more.
    """

    owner: Owner
    file: StateFile
    inbox: Inbox
    outbox: Outbox
    remains: Remains
    owed: tuple[Operation, ...]
    adoption: Adoption
    left_open: tuple[Shown, ...] = ()


async def open_kept(
    path: Path, owner: Owner, *, clock: Clock, lost: Callable[[], None], is_gate_open: Callable[[], bool]
) -> Kept:
    """Open the state file and read what is left of ``owner``.

    Args:
        lost: told when something could not be written that the stream can bring again.
        is_gate_open: whether the host takes messages by now.

    Raises:
        DurableError: the file cannot be used; nothing is left open.
    """
    file = StateFile(path)
    await file.open()
    try:
        inbox = Inbox(file, owner, clock, lost=lost)
        outbox = Outbox(file, owner, clock, covered=inbox.covered)
        remains, owed = await inbox.load(), await outbox.pending()
        shown = await file.read(left, owner)
    except BaseException:
        await file.close()
        raise
    died = [item for item in remains.items if remedy_for(item) is Remedy.AWAIT_ADOPTION]
    adoption = Adoption(died, is_gate_open=is_gate_open, clock=clock)
    return Kept(owner, file, inbox, outbox, remains, owed, adoption, shown)
