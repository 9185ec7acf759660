"""The typing dots of each conversation, as often as the host says so and never after it stopped.

Source: Canon adapter R6.10.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from canon_ops.errors import CanonOpsError
from canon_ops.wire.requests import Typing

__all__ = ["TypingDots"]

logger = logging.getLogger(__name__)

STATUSES: Final = ("typing", "thinking")


class TypingDots:
    """The dots of one connection.

    Args:
        set_typing: publishes them.
    """

    def __init__(self, set_typing: Callable[[Typing], Awaitable[None]]) -> None:
        self._set_typing = set_typing
        self._said: dict[str, object] = {}  # conversation → the newest call that Canon may have heard

    async def switch(self, conversation_id: str, *, on: bool, metadata: Any = None) -> None:
        """Switch the dots; a failure is not worth anybody's attention.

        Hosts stop them up to four times at the end of a run: once is enough when Canon has heard it.
        """
        if not (on or conversation_id in self._said):
            return
        said = self._said[conversation_id] = object()
        asked = metadata.get("status") if isinstance(metadata, Mapping) else None
        status = asked if asked in STATUSES else "thinking"
        try:
            await self._set_typing(Typing(conversation_id, on, status))
            if not on and self._said.get(conversation_id) is said:
                del self._said[conversation_id]
        except CanonOpsError as error:
            logger.debug("Canon: typing in %s: %s", conversation_id, error.what)
