"""What a crash left behind, dealt with before the client connects: no turn runs twice, and none is continued unseen.

Hermes continues an interrupted session by itself after a restart. So every session that would be, and every session of
a receipt in doubt, is suspended first; one refusal ends the start. Sessions of other platforms are not looked at.

Source: Borgee 8.2.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.ports import HostPort, HostSession
from canon_ops.errors import OutsideError

__all__ = ["HostSessions", "SessionRefused", "recover"]

logger = logging.getLogger(__name__)


class OffLoop(Protocol):
    """Calls what blocks on a thread."""

    def __call__(self, function: Callable[[], Any], /) -> Awaitable[Any]: ...


class SessionRefused(OutsideError):
    """Hermes did not suspend a session."""

    code = "borgee_session_refused"


class HostSessions:
    """The host's sessions, asked off the loop."""

    def __init__(self, port: HostPort, off_loop: OffLoop) -> None:
        self._port = port
        self._off_loop = off_loop

    async def all(self) -> list[HostSession]:
        """Every Borgee session that the host remembers."""
        found: list[HostSession] = await self._off_loop(self._port.sessions)
        return found

    async def suspend(self, session_key: str) -> None:
        """Make its next message begin afresh.

        Raises:
            SessionRefused: the host did not.
        """
        if not await self._off_loop(lambda: self._port.suspend(session_key)):
            raise SessionRefused(f"Hermes did not suspend the session {session_key}")

    async def suspend_if_there(self, session_key: str) -> bool:
        """Suspend it; false when the host knows none."""
        if not await self._off_loop(lambda: self._port.has_session(session_key)):
            return False
        await self.suspend(session_key)
        return True

    async def reset_if_there(self, session_key: str) -> bool:
        """Begin it afresh; false when the host would not, true also when there is none."""
        if not await self._off_loop(lambda: self._port.has_session(session_key)):
            return True
        return bool(await self._off_loop(lambda: self._port.reset(session_key)))


async def recover(inbox: Inbox, sessions: HostSessions) -> int:
    """Put every receipt that was in work aside; return how many those are.

    Raises:
        SessionRefused: a session could not be suspended; nothing is quarantined yet, and the next start tries again.
    """
    await inbox.recover_processing()
    in_doubt = await inbox.in_doubt_sessions()
    suspended = []
    for session in sorted(await sessions.all(), key=lambda each: each.key):
        if session.resumes or session.key in in_doubt:
            await sessions.suspend(session.key)
            suspended.append(session.key)
    count = await inbox.quarantine_in_doubt(suspended)
    if count:
        told = "1 message was" if count == 1 else f"{count} messages were"
        logger.warning("Borgee: %s in work when the gateway ended. Fix: canon-ops inbox list", told)
    return count
