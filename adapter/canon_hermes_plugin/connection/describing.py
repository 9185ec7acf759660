"""The heartbeat: Canon is told again and again that the runtime lives, and what it offers now.

What is offered changes while a gateway runs: a person adds a skill, a plugin comes, a setting opens a command. So it is
read anew for each beat, away from the loop, and the next beat carries what has changed. When reading fails the beat
goes on with what was known.

Source: canon-adapter R2.8, section 14; Canon wire 8.4.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from canon_hermes_plugin.complaints import Complaints
from canon_ops.runtime.clock import Clock
from canon_ops.wire.fields import JsonObject
from canon_ops.wire.requests import RuntimeStatus

__all__ = ["Describing"]

logger = logging.getLogger(__name__)


class Describing:
    """The heartbeat of one connected agent.

    Args:
        read: the descriptor of now; it blocks.
        offloaded: away from the loop.
    """

    def __init__(
        self,
        publish: Callable[[RuntimeStatus], Awaitable[None]],
        read: Callable[[], JsonObject],
        *,
        offloaded: Callable[[Callable[[], JsonObject]], Awaitable[JsonObject]],
        clock: Clock,
    ) -> None:
        self._publish = publish
        self._read = read
        self._offloaded = offloaded
        self._complaints = Complaints(logger, clock)
        self._known: JsonObject = {}

    async def beat(self) -> None:
        """One heartbeat.

        Raises:
            CanonOpsError: Canon did not take it.
        """
        try:
            found = await self._offloaded(self._read)
        except Exception as error:  # the host's code and people's skills: whatever they raise, the heart goes on
            self._complaints.say("commands", f"Canon: the host's commands could not be read: {error!r}")
        else:
            if self._known and found != self._known:
                logger.info("Canon: the commands have changed; Canon is told of %d now", len(found["commands"]))
            self._known = found
        await self._publish(RuntimeStatus(self._known))
