"""A person's control signal as the commands it stands for, one for each session that it concerns.

In a group every member may have a session of their own. The signal means what runs and waits in the conversation, not
the session of the person who pressed the button, so each busy session gets the command under its own member's name; one
that members share gets it once.

Source: Canon adapter R5.30, R5.32; defect D10.
"""

from __future__ import annotations

from collections.abc import Iterable

from canon_hermes_plugin.inbound.gate import MessageType, Request
from canon_hermes_plugin.turn.registry import Turns
from canon_ops.wire.ids import ConversationId
from canon_ops.wire.requests import Signal, SignalKind

__all__ = ["control_requests"]

NOBODY = "canon-runtime-control"
AUTHOR = "Canon"


def control_requests(
    signal: Signal,
    conversation_id: str,
    turns: Turns,
    *,
    waiting: Iterable[tuple[str, str | None]] = (),
    is_group: bool,
    agent_id: str | None,
    now_ms: int,
) -> tuple[Request, ...]:
    """The requests to hand to the host, in order; never none.

    Args:
        waiting: the sessions of the conversation in which something waits, each with a person who waits in it.
        agent_id: stands in as the author when the server does not say who pressed the button.
        now_ms: makes the message id unique.
    """
    busy: dict[str, str | None] = {
        turn.opening.session or "": turn.opening.responder_id for turn in turns.open_in(ConversationId(conversation_id))
    }
    for session, author in waiting:
        busy.setdefault(session, author)
    authors = list(busy.values()) or [signal.updated_by or agent_id or NOBODY]
    return tuple(
        Request(
            conversation_id=conversation_id,
            text="/new" if signal.kind is SignalKind.NEW_SESSION else "/stop",
            type=MessageType.COMMAND,
            is_group=is_group,
            chat_name=None,
            user_id=author,
            user_name=AUTHOR,
            message_id=f"canon-control:{signal.kind}:{now_ms + index}",
            reply_to=None,
            channel_prompt=None,
            channel_context=None,
            delivery_intent=None,
            media_urls=(),
            media_types=(),
            raw={"canonSignal": str(signal.kind)},
        )
        for index, author in enumerate(authors)
    )
