"""Which adapters of this process are connected, for the hooks and tools that the host calls without an adapter.

Host hooks and tools are process-wide functions; the adapter that a call belongs to is found here by the conversation
whose turn is open. Configuration is handed out, never a connection: a client is bound to the event loop that made it.

Source: Canon adapter R2.15, R6.26.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from canon_hermes_plugin.media.captures import CanonInboundMedia
from canon_hermes_plugin.turn.events import TurnEvent
from canon_ops.settings.secret import Secret

if TYPE_CHECKING:
    from canon_hermes_plugin.acting import Acting, Lost

T = TypeVar("T")

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

    @property
    def agent(self) -> Hashable:
        """Which agent it connects; the same for every adapter of it."""
        ...

    def live_authority(self) -> LiveAuthority | None: ...
    def has_open_turn(self, conversation_id: str) -> bool: ...
    async def act(
        self,
        work: Callable[[Acting], Awaitable[T]],
        lost: Lost[T] | None = None,
    ) -> T: ...
    def inbound_media(self, conversation_id: str, message_id: str) -> tuple[CanonInboundMedia, ...]: ...
    def note(self, conversation_id: str, session_key: str, event: TurnEvent) -> None: ...


class ActiveSet:
    """The connected adapters of a process; safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._members: list[ActiveAdapter] = []
        self._agents: set[Hashable] = set()  # that were ever connected by this process

    def join(self, adapter: ActiveAdapter) -> None:
        with self._lock:
            self._agents.add(adapter.agent)
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
        owner = self.turn_owner(conversation_id)
        return owner.live_authority() if owner is not None else None

    def turn_owner(self, conversation_id: str | None) -> ActiveAdapter | None:
        """The only adapter with an open turn there; None for the conversation: the only one at all."""
        return _only(self._with_turn(conversation_id))

    def owner(self, conversation_id: str | None) -> ActiveAdapter | None:
        """The adapter that a call belongs to: the one with an open turn there, else the only one at all.

        Work in the background belongs to a conversation and to no turn. In a process of several agents it has no owner:
        the only adapter that is left may be another agent's, and would ask for money in its own name (D51).
        """
        candidates = self._with_turn(conversation_id)
        with self._lock:
            is_of_one_agent = len(self._agents) == 1
        return _only(candidates or (self.members() if is_of_one_agent else ()))

    def _with_turn(self, conversation_id: str | None) -> tuple[ActiveAdapter, ...]:
        members = self.members()
        return tuple(one for one in members if conversation_id is None or one.has_open_turn(conversation_id))


def _only(candidates: tuple[ActiveAdapter, ...]) -> ActiveAdapter | None:
    return candidates[0] if len(candidates) == 1 else None


ACTIVE = ActiveSet()
