"""What a loopback Borgee server is started with, and what it tells once it listens."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

__all__ = ["KEY_PREFIX", "PATH", "BorgeeEndpoints", "BorgeeOptions"]

KEY_PREFIX: Final = "bgr_live_sandbox_"
"""Every key minted here starts like this, so that a log or a report shows at a glance that it opens nothing real."""

PATH: Final = "/ws/plugin"


@dataclass(frozen=True, slots=True, kw_only=True)
class BorgeeOptions:
    """How a loopback Borgee server behaves from its first connection on.

    Args:
        port: of the websocket, 0 for any free one.
        admin_port: of the verbs over HTTP, 0 for any free one.
        faults: texts for :func:`canon_ops.sandbox.faults.parse_fault`, armed before the first connection.
        ready_file: written atomically when both listeners accept, and only then.
        seed: makes every minted id and key reproducible; None takes a random one.
        journal_entries: how many upgrades, frames and closes the journal remembers.
        require_mention: whether the first agent gets only those new messages of channels that mention it.
        echo_self: also push an agent's own messages back to it, before or after the result of the action.
        withhold_changes: treat edits, deletions and reactions like messages where a mention is required; what real
            servers do is not known.
        refuse_by_close: accept a key that is not good and close with 4004, as newer servers may, instead of HTTP 401.
        second_socket: what happens to an agent's connection when it makes another one: it stays open without being
            pushed to any more, or it is closed with this code.
    """

    port: int = 0
    admin_port: int = 0
    faults: tuple[str, ...] = ()
    ready_file: Path | None = None
    seed: str | None = None
    journal_entries: int = 50_000
    require_mention: bool = True
    echo_self: Literal["no", "before", "after"] = "no"
    withhold_changes: bool = False
    refuse_by_close: bool = False
    second_socket: Literal["stays"] | int = "stays"


@dataclass(frozen=True, slots=True, kw_only=True)
class BorgeeEndpoints:
    """Where a running server is reached, and who lives there: the content of the ready file.

    ``agent_key`` belongs to ``agent_id``; ``dm_id`` is its direct channel with the owner, ``channel_id`` a channel of
    the Server ``guild_id`` in which both and a colleague are members.
    """

    base_url: str
    admin: str
    admin_token: str
    agent_key: str
    agent_id: str
    owner_id: str
    guild_id: str
    channel_id: str
    dm_id: str

    def as_dict(self) -> dict[str, str]:
        """The keys of the ready file, in its order."""
        return asdict(self)
