"""What an adapter is made of, handed in: a gateway brings the real things, tests bring their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from borgee_hermes.bpp.port import BppSession, Handlers
from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.locks.ownership import OWNERSHIP, Ownership, ScopedLocks
from borgee_hermes.tools.bridge import ACTIVE, Active
from canon_ops.settings.borgee import BorgeeOptions
from canon_ops.settings.secret import Secret

__all__ = ["Parts"]


@dataclass(frozen=True, slots=True)
class Parts:
    """Where an adapter's parts come from.

    Attributes:
        check: raises what is wrong with the settings.
        find_key: the key; may ask the keyring, so it blocks.
        open_session: a client that is not connected.
        inbox: the inbox of a home, not open.
    """

    home: Path
    check: Callable[[], BorgeeOptions]
    find_key: Callable[[], Secret]
    open_session: Callable[[BorgeeOptions, Secret, Handlers], BppSession]
    inbox: Callable[[Path], Inbox]
    locks: ScopedLocks
    ownership: Ownership = OWNERSHIP
    active: Active = ACTIVE
