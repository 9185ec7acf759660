"""``request_approval`` and ``check_approval``: ask a human who may take days, and look how it stands.

Source: canon-adapter R10.12, R10.15, R10.20, R11.5, R11.22; D13.
"""

from __future__ import annotations

import secrets
from typing import Any

from canon_hermes_plugin.acting import Acting
from canon_hermes_plugin.approvals.wish import Wish, read_wish
from canon_hermes_plugin.tools.call import Call, text_argument

__all__ = ["ask_for", "check_approval", "check_for", "request_approval"]

Json = dict[str, Any]


async def request_approval(call: Call) -> Json:
    """Ask; returns at once."""
    args = call.args
    wish = read_wish(
        title=args.get("title"),
        question=args.get("question"),
        options=args.get("options"),
        context=args.get("context"),
        timeout_seconds=args.get("timeoutSeconds"),
    )
    return await call.act(lambda acting: ask_for(acting, call, wish, call.conversation(acting)))


async def ask_for(acting: Acting, call: Call, wish: Wish, conversation_id: str) -> Json:
    """Ask the human of the turn; outside of a turn Canon chooses, which is the owner."""
    session = call.session
    return await acting.approvals.request(
        wish, conversation_id=conversation_id, responder=session.user_id, session_key=session.session_key
    )


async def check_approval(call: Call) -> Json:
    """How one stands that was asked for in the same conversation."""
    return await check_for(call, text_argument(call.args, "approvalId"))


async def check_for(call: Call, approval_id: str) -> Json:
    """Likewise, for an id that is known. A decision that the caller never gets is told by a wake.

    Raises:
        PermissionError: it belongs to a different Canon conversation; nothing was asked.
    """
    claim_id = secrets.token_hex(16)

    async def work(acting: Acting) -> Json:
        bound = call.session.conversation_id or acting.home_channel
        if bound is None:
            raise ValueError("an approval is checked in its Canon conversation, or in that of CANON_HOME_CHANNEL")
        return await acting.approvals.check(approval_id, conversation_id=bound, claim_id=claim_id)

    async def lost(acting: Acting, _: Json) -> None:
        await acting.approvals.nobody_heard(approval_id, claim_id)

    return await call.act(work, lost)
