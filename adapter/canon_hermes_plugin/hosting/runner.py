"""The gateway's runner, as far as busy sessions need it. Every member is private to the host.

What is missing is found out when the host wires its handler, not when a message comes: without a member of
:data:`NEEDED` every message of a busy session is the host's own business, and doctor names the member
(``host.contract``).

Source: canon-adapter R5.2, R5.5, Appendix D; hermes-host 12.
"""

from __future__ import annotations

import inspect
import logging
from typing import Any, Final

__all__ = ["NEEDED", "HostRunner"]

logger = logging.getLogger(__name__)

NEEDED: Final = (
    "_queue_or_replace_pending_event",
    "_running_agents",
    "_is_user_authorized",
    "_agent_has_active_subagents",
    "_session_has_compression_in_flight",
)


class HostRunner:
    """A runner, which may lack anything; None is one that lacks everything."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner

    @property
    def object(self) -> Any:
        """The host's own object."""
        return self._runner

    @property
    def lacks(self) -> tuple[str, ...]:
        """The members that are needed and not there."""
        return tuple(name for name in NEEDED if not hasattr(self._runner, name))

    @property
    def is_draining(self) -> bool:
        """Whether the gateway is on its way down; a runner that does not say is."""
        return bool(getattr(self._runner, "_draining", True))

    @property
    def is_restoring(self) -> bool:
        """Whether the gateway still resumes sessions, and messages wait for that; one that says nothing may."""
        return bool(getattr(self._runner, "_startup_restore_in_progress", True))

    def agent(self, session_key: str) -> Any:
        """The agent that works in a session; None when there is none, or it is still being made."""
        agent = getattr(self._runner, "_running_agents", {}).get(session_key)
        return agent if callable(getattr(agent, "interrupt", None)) else None

    def is_authorized(self, source: Any) -> bool:
        """Whether the host lets the author of a message speak."""
        try:
            return bool(self._runner._is_user_authorized(source))
        except Exception:  # the host's own code: whatever it raises, the host decides itself then
            logger.warning("Canon: Hermes could not say whether a sender is authorized", exc_info=True)
            return False

    def takes_word(self, text: str) -> bool:
        """Whether the host itself takes a bare word for a decision about a command; one that does not say does."""
        words = getattr(self._runner, "_plaintext_approval_words", None)
        return not callable(words) or text.strip().lower() in words()

    def queue(self, session_key: str, event: Any) -> None:
        """Let an event wait for the session's turn to end; the host may merge it into another, or drop it."""
        self._runner._queue_or_replace_pending_event(session_key, event)

    async def is_protected(self, session_key: str, agent: Any) -> bool:
        """Whether stopping the agent would tear something down that people did not mean; not knowing counts."""
        try:
            if self._runner._agent_has_active_subagents(agent):
                return True
            answer = self._runner._session_has_compression_in_flight(session_key)
            return bool(await answer if inspect.isawaitable(answer) else answer)  # a plain function on 0.18
        except Exception:  # as above
            logger.warning("Canon: Hermes could not say what runs in session %s", session_key, exc_info=True)
            return True
