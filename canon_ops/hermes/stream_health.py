"""How an adapter is doing: a value that is changed by what happens to its stream. Pure; each platform tells the world.

The stream is whatever brings what people say: Canon's event stream, Borgee's websocket. The platform is up while it is
open, and down once it has been away for :data:`GRACE_S`: a reconnect of a second is nobody's concern.

Source: decisions X9; canon-adapter D22, D62; Borgee 8.6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from canon_ops.hermes.platform_health import StreamState

__all__ = ["GRACE_S", "Health"]

GRACE_S: Final = 10.0  # ours: the first three reconnects are over by then


@dataclass(frozen=True, slots=True)
class Health:
    """What is known.

    Attributes:
        since_ms: since when the stream has been in this state.
        cursor_moved_ms: when the cursor last moved, or work last began behind it.
    """

    stream: StreamState
    since_ms: int
    reconnects: int = 0
    last_trouble: str | None = None
    last_event_ms: int | None = None
    cursor: str | None = None
    cursor_moved_ms: int = 0
    in_work: int = 0

    @classmethod
    def connecting(cls, *, now_ms: int) -> Health:
        """Before the stream has ever been open."""
        return cls(StreamState.CONNECTING, now_ms, cursor_moved_ms=now_ms)

    def opened(self, *, now_ms: int) -> Health:
        """The stream stands."""
        if self.stream is StreamState.OPEN:
            return self
        again = 0 if self.stream is StreamState.CONNECTING else 1
        return replace(self, stream=StreamState.OPEN, since_ms=now_ms, reconnects=self.reconnects + again)

    def lost(self, trouble: str, *, now_ms: int) -> Health:
        """The stream is gone, and is going to be opened again; a further failure only changes the reason."""
        if self.stream is StreamState.CONNECTING:
            return replace(self, last_trouble=trouble)
        since_ms = self.since_ms if self.stream is StreamState.LOST else now_ms
        return replace(self, stream=StreamState.LOST, since_ms=since_ms, last_trouble=trouble)

    def refused(self, trouble: str, *, now_ms: int) -> Health:
        """The platform refused the key."""
        return replace(self, stream=StreamState.REFUSED, since_ms=now_ms, last_trouble=trouble)

    def closed(self, *, now_ms: int) -> Health:
        """The adapter stops; a refusal stays one."""
        if self.stream is StreamState.REFUSED:
            return self
        return replace(self, stream=StreamState.CLOSED, since_ms=now_ms)

    def heard(self, *, now_ms: int) -> Health:
        """Something came over the stream."""
        return replace(self, last_event_ms=now_ms)

    def looked(self, cursor: str | None, in_work: int, *, now_ms: int) -> Health:
        """Where the cursor stands now, and how much waits behind it."""
        moved = cursor != self.cursor or not self.in_work
        since_ms = now_ms if moved else self.cursor_moved_ms
        return replace(self, cursor=cursor, in_work=in_work, cursor_moved_ms=since_ms)

    def is_up(self, *, now_ms: int) -> bool | None:
        """Whether what people say reaches us; None while it is too early to say that it does not."""
        if self.stream is StreamState.OPEN:
            return True
        if self.stream in (StreamState.CONNECTING, StreamState.LOST) and now_ms - self.since_ms < GRACE_S * 1_000:
            return None
        return False

    def cursor_age_s(self, *, now_ms: int) -> float:
        """For how long the oldest event that is not dealt with has waited."""
        return max(0, now_ms - self.cursor_moved_ms) / 1_000 if self.in_work else 0.0
