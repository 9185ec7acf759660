"""What Hermes says, as actions of the wire; a message is sent again only when it has certainly not been sent.

Hermes repeats a failed send when its text sounds like a network error, and sends a plain version of it after any other
failure, unless the text says that it timed out. So the text of a result is one of the fixed sentences below, and what
really happened goes into the log. Repeating is done here, where it is known whether the first attempt had an effect.

Source: Borgee 6.1-6.4; W4, W26.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from borgee_hermes.bpp import actions
from borgee_hermes.bpp.errors import ActionRefused, BppError, PermissionDenied
from borgee_hermes.bpp.port import BppSession
from borgee_hermes.host import MAX_MESSAGE_CHARS
from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.ports import Reply
from canon_ops.durable import DurableError
from canon_ops.runtime.clock import Clock

__all__ = ["PAUSES_S", "UNAVAILABLE", "UNCERTAIN", "Outbound"]

logger = logging.getLogger(__name__)

PAUSES_S: Final = (2.0, 4.0)  # as long as Hermes' own
UNAVAILABLE: Final = "Borgee: the connection is unavailable"
UNCERTAIN: Final = "Borgee: delivery outcome uncertain; timed out"
NOT_SENT: Final = "Borgee: not sent; timed out waiting for the server"
TOO_LONG: Final = f"Borgee: not sent: a message has at most {MAX_MESSAGE_CHARS} characters"
NOT_CHANGED: Final = "Borgee: the message was not changed"


class Outbound:
    """The way out of one adapter.

    Args:
        session: the client while the adapter is ready, None before and after.
        fail: ends the adapter over a fault of the inbox.
    """

    def __init__(
        self,
        session: Callable[[], BppSession | None],
        inbox: Inbox,
        clock: Clock,
        *,
        fail: Callable[[BaseException], None],
    ) -> None:
        self._session = session
        self._inbox = inbox
        self._clock = clock
        self._fail = fail

    async def send(self, channel_id: str, text: str, *, reply_to: str | None) -> Reply:
        """Write a message and remember its id."""
        if len(text) > MAX_MESSAGE_CHARS:
            return Reply(False, error=TOO_LONG)
        sent = await self._sent(actions.send_message(channel_id, text, reply_to_id=reply_to))
        if sent.message_id is None:
            return sent
        try:
            await self._inbox.record_outbound(sent.message_id, channel_id)
        except DurableError as error:  # the server has the message: a failure here would have it sent again
            self._fail(error)
        return sent

    async def _sent(self, action: actions.Action[str]) -> Reply:
        for pause_s in (*PAUSES_S, None):
            session = self._session()
            if session is None:
                return Reply(False, error=UNAVAILABLE)
            try:
                message_id = await session.act(action)
                return Reply(True, message_id=message_id)
            except BppError as error:
                logger.warning("Borgee: a message was not delivered (%s): %s", error.code, error.what)
                if not error.had_no_effect:
                    return Reply(False, error=UNCERTAIN)
                if isinstance(error, PermissionDenied | ActionRefused):
                    return Reply(False, error=f"Borgee: not sent: {error.code.removeprefix('bpp.')}")
            except Exception:  # nobody knows how far it came
                logger.exception("Borgee: a message was not delivered")
                return Reply(False, error=UNCERTAIN)
            if pause_s is not None:
                await self._clock.sleep(pause_s)
        return Reply(False, error=NOT_SENT)

    async def edit(self, message_id: str, text: str) -> Reply:
        """Replace the text of a message of ours; the same for a draft and for its last version."""
        if len(text) > MAX_MESSAGE_CHARS:
            return Reply(False, error=TOO_LONG)
        done = await self._done(actions.edit_message(message_id, text))
        return Reply(True, message_id=message_id) if done else Reply(False, error=NOT_CHANGED)

    async def delete(self, message_id: str) -> bool:
        """Take a message of ours away."""
        return await self._done(actions.delete_message(message_id))

    async def _done(self, action: actions.Action[None]) -> bool:
        session = self._session()
        if session is None:
            return False
        try:
            await session.act(action)
        except BppError as error:
            logger.warning("Borgee: %s was not carried out (%s): %s", action.name, error.code, error.what)
            return False
        except Exception:
            logger.exception("Borgee: %s was not carried out", action.name)
            return False
        return True
