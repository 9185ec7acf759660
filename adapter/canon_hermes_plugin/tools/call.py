"""One call of a tool: its arguments, whose it is, and the adapter that carries it out.

Source: canon-adapter R2.15, R11.2-R11.4; D9, D51.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from canon_hermes_plugin.acting import Acting, Lost
from canon_hermes_plugin.active import ActiveSet
from canon_hermes_plugin.binding import TurnMark
from canon_hermes_plugin.tools.session import HostSession, conversation_for

__all__ = ["Call", "NoOwner", "text_argument"]

T = TypeVar("T")


class NoOwner(RuntimeError):
    """No adapter, or more than one, could be meant: acting as the wrong agent is worse than not acting."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a tool was called with.

    Attributes:
        mark: the turn that the calling task is bound to.
        is_delegated: a child of the turn calls, not the turn itself.
    """

    args: Mapping[str, Any]
    session: HostSession
    mark: TurnMark | None
    is_delegated: bool
    active: ActiveSet

    async def act(
        self,
        work: Callable[[Acting], Awaitable[T]],
        lost: Lost[T] | None = None,
    ) -> T:
        """Let the adapter do it that owns the turn, or outside of a turn the only one.

        Args:
            lost: makes good that the caller was cancelled after the end of the work, and never got its result.

        Raises:
            NoOwner: it is not clear which.
            NotConnected: it is gone.
        """
        owner = self.active.owner(self.session.conversation_id)
        if owner is None:
            raise NoOwner("No unambiguous connected Canon adapter owns this turn")
        return await owner.act(work, lost)

    @property
    def turn_id(self) -> str | None:
        """The turn of the caller; a model has no say in it."""
        mark = self.mark
        return mark.turn_id if mark is not None and mark.conversation_id == self.session.conversation_id else None

    def conversation(self, acting: Acting) -> str:
        """The conversation that the call is about; see :func:`conversation_for`."""
        return conversation_for(self.args.get("target"), self.session, acting.home_channel)


def text_argument(args: Mapping[str, Any], name: str) -> str:
    """A required argument, trimmed.

    Raises:
        ValueError: it is missing, blank, or no text.
    """
    value = args.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is required")
    return value.strip()
