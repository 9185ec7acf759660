"""``no_reply``: the agent says nothing in its own turn, and Canon is told that it chose to.

The silence is what counts and is local; the report is for statistics, has three seconds, and may fail.

Source: canon-adapter 8; decisions X7; Canon wire 5.8; D9.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from canon_hermes_plugin.acting import Acting
from canon_hermes_plugin.desk import Silence
from canon_hermes_plugin.tools.call import Call
from canon_ops.client.deadline import within
from canon_ops.errors import CanonOpsError

__all__ = ["NOTE", "no_reply"]

logger = logging.getLogger(__name__)

NOTE: Final = "Acknowledged — nothing was posted to the conversation."  # the server's own words, R8.4
REPORT_S: Final = 3.0
GIVEN: Final = "given"  # the reason itself stays here
REFUSALS: Final = {
    Silence.NO_TURN: "no open Canon turn could be silenced; nothing was changed",
    Silence.UNREAD: (
        "CANON_NEW_STEERING_PENDING: somebody has just said something into this turn, and it comes with the next "
        "result; read it first, then answer or choose no_reply anew"
    ),
}


async def no_reply(call: Call) -> dict[str, Any]:
    """Silence the caller's turn.

    Raises:
        RuntimeError: there is no open turn of the caller's, its model has not read what was said into it, or a
            delegated child asks.
    """
    conversation_id = call.session.conversation_id
    if conversation_id is None:
        raise RuntimeError("no_reply belongs to a running Canon turn, and there is none")
    if call.is_delegated:
        raise RuntimeError("a delegated child cannot silence the turn of its parent")
    room = conversation_id

    async def work(acting: Acting) -> None:
        silence = acting.silence(room, call.mark, call.session.session_key or "")
        if silence is not Silence.KEPT:
            raise RuntimeError(REFUSALS[silence])
        await _report(acting, room, call)

    await call.act(work)
    return {"status": "acknowledged", "conversationId": conversation_id, "note": NOTE}


async def _report(acting: Acting, conversation_id: str, call: Call) -> None:
    reason = call.args.get("reason")
    value = {"reason": GIVEN} if isinstance(reason, str) and reason.strip() else {}
    envelope = {"conversationId": conversation_id, "messageId": call.session.message_id}
    try:
        await within(acting.clock, REPORT_S, acting.api.verb("no_reply", envelope, value, timeout_s=REPORT_S))
    except (CanonOpsError, TimeoutError) as error:
        logger.debug("Canon did not take the report of a silence in %s: %s", conversation_id, error)
