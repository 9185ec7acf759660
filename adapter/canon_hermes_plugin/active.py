"""Which adapters of this process are connected, for the hooks and tools that the host calls without an adapter.

Host hooks and tools are process-wide functions; the adapter that a call belongs to is found here by the conversation
whose turn is open. Configuration is handed out, never a connection: a client is bound to the event loop that made it.

Source: Canon adapter R2.15, R6.26.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

from canon_hermes_plugin.turn.events import TurnEvent
from canon_ops.settings.secret import Secret

__all__ = ["ACTIVE", "ActiveAdapter", "ActiveSet", "LiveAuthority"]


@dataclass(frozen=True, slots=True)
class LiveAuthority:
    """Whose key a call outside the adapter may use, and what its agent may do."""

    api_key: Secret
    base_url: str
    stream_url: str
    outbound_policy: str | None


class ActiveAdapter(Protocol):
    """What the process-wide callers need of a connected adapter. Every method may be called from any thread."""

    def live_authority(self) -> LiveAuthority | None: ...
    def has_open_turn(self, conversation_id: str) -> bool: ...
    def note(self, conversation_id: str, session_key: str, event: TurnEvent) -> None: ...


class ActiveSet:
    """The connected adapters of a process; safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._members: list[ActiveAdapter] = []

    def join(self, adapter: ActiveAdapter) -> None:
        with self._lock:
            if adapter not in self._members:
                self._members.append(adapter)

    def leave(self, adapter: ActiveAdapter) -> None:
        with self._lock:
            if adapter in self._members:
                self._members.remove(adapter)

    def members(self) -> tuple[ActiveAdapter, ...]:
        with self._lock:
            return tuple(self._members)

    def live_authority(self, conversation_id: str | None = None) -> LiveAuthority | None:
        """The authority of the only adapter it can mean: the one with an open turn there, or the only one at all.

        Two candidates are as good as none: acting under the wrong agent is worse than not acting.
        """
        candidates = [
            member for member in self.members() if conversation_id is None or member.has_open_turn(conversation_id)
        ]
        return candidates[0].live_authority() if len(candidates) == 1 else None


ACTIVE = ActiveSet()
