"""Small values that the tests of Canon's wire share."""

from __future__ import annotations

import asyncio

from canon_ops.runtime.clock import ManualClock
from canon_ops.settings.environments import Connection
from canon_ops.settings.secret import Secret

__all__ = ["KEY", "InstantClock", "a_connection"]

KEY = Secret("agk_live_" + "k" * 24)


def a_connection(base_url: str = "https://api.test", stream_url: str | None = None) -> Connection:
    """The development environment behind the given addresses."""
    return Connection(
        environment_id="canon-dev-v1",
        project_id="canonmail-dev",
        region="europe-west1",
        base_url=base_url,
        stream_url=stream_url or base_url,
        rtdb_url="http://127.0.0.1:9000",
        firebase_api_key="web-key",
    )


class InstantClock(ManualClock):
    """A clock on which every pause is over at once, and written down."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)
