"""What the health file of a running gateway says, of everything that the parts of the adapter know.

Source: decisions X9.
"""

from __future__ import annotations

import os

from canon_hermes_plugin import host as host_door
from canon_hermes_plugin.outbox.store import Owed
from canon_ops import __version__
from canon_ops.hermes.platform_health import PlatformHealth
from canon_ops.hermes.stream_health import Health

__all__ = ["report_of"]


def report_of(
    health: Health,
    *,
    host_version: str,
    environment_id: str,
    agent_id: str | None,
    turns_open: int,
    owed: Owed,
    now_ms: int,
) -> PlatformHealth:
    """The report of this process.

    Args:
        environment_id: empty while nothing is known of the connection.
        turns_open: runs of the agent.
        owed: what was not on Canon yet when the outbox was looked at last.
    """
    return PlatformHealth(
        platform=host_door.PLATFORM_NAME,
        version=__version__,
        host_version=host_version,
        pid=os.getpid(),
        written_at_ms=now_ms,
        environment_id=environment_id,
        agent_id=agent_id,
        stream=health.stream,
        stream_since_ms=health.since_ms,
        reconnects=health.reconnects,
        last_trouble=health.last_trouble,
        last_event_at_ms=health.last_event_ms,
        cursor=health.cursor,
        cursor_age_s=health.cursor_age_s(now_ms=now_ms),
        in_work=health.in_work,
        turns_open=turns_open,
        outbox_depth=owed.count,
        outbox_oldest_ms=owed.oldest_ms,
    )
