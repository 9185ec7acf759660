"""What other plugins of the same gateway may use of Canon: the names that the package exports.

Every function belongs to the Canon turn that is running, read from the host's session of the calling task. None takes a
conversation, a person or a message: a plugin cannot reach further than the turn whose tool it is, whatever a model
writes into its arguments. They may be called from any event loop; the adapter that owns the turn does the work.

Errors: RuntimeError outside of a Canon turn or when nobody can be trusted with an answer, ValueError and TypeError for
arguments, PermissionError for another conversation's approval, and :class:`canon_ops.errors.CanonOpsError` when Canon
refuses or cannot be reached.

Source: canon-adapter 13; defects D32, D51.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canon_hermes_plugin import binding, host
from canon_hermes_plugin.acting import Acting
from canon_hermes_plugin.active import ACTIVE
from canon_hermes_plugin.approvals.wish import read_wish
from canon_hermes_plugin.interactions.answers import wrong_responder
from canon_hermes_plugin.interactions.cards import CardIdUsed, card_for, has_actions
from canon_hermes_plugin.interactions.store import Card
from canon_hermes_plugin.media.captures import FILE_BYTES, CanonInboundMedia
from canon_hermes_plugin.tools.approval_actions import ask_for, check_for
from canon_hermes_plugin.tools.call import Call
from canon_hermes_plugin.tools.card_actions import DEFAULT_S, checked_card, planned, show, wait_for
from canon_hermes_plugin.tools.session import HostSession, read_session
from canon_ops.errors import CanonOpsError

__all__ = [
    "CanonInboundMedia",
    "CanonTurnContext",
    "check_detached_approval",
    "current_canon_inbound_media",
    "current_canon_turn",
    "request_card_for_current_human",
    "request_detached_approval_for_current_human",
    "send_card_to_current_conversation",
    "upload_media_for_current_conversation",
]

MEDIA_BYTES: Final = FILE_BYTES
WITHDRAW_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class CanonTurnContext:
    """Where the running turn comes from, as Canon authenticated it; what the host does not know is None.

    Attributes:
        user_id: the human who opened the turn; None when an agent did.
        message_id: the message that opened it.
    """

    conversation_id: str
    user_id: str | None = None
    user_name: str | None = None
    session_id: str | None = None
    message_id: str | None = None


def current_canon_turn(*, require_human: bool = False) -> CanonTurnContext:
    """The Canon turn of the calling task.

    Raises:
        RuntimeError: there is none, or ``require_human`` and no human opened it.
    """
    return _context(_session(), require_human=require_human)


def current_canon_inbound_media() -> tuple[CanonInboundMedia, ...]:
    """The attachments of the message that opened the turn, in its order; from any thread.

    They are all there or none: the tuple is empty when the message had none, when one that belongs to them could not be
    had, when they were more than is held, and once the turn is over.

    Raises:
        RuntimeError: there is no Canon turn, or nothing says which message opened it.
    """
    turn = _context(_session())
    if turn.message_id is None:
        raise RuntimeError("this needs message provenance, and nothing says which message opened the running turn")
    owner = ACTIVE.owner(turn.conversation_id)
    return owner.inbound_media(turn.conversation_id, turn.message_id) if owner is not None else ()


async def request_card_for_current_human(
    card: Mapping[str, Any], *, timeout_seconds: int = DEFAULT_S, native: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Show an interactive card to the human of the turn and wait for the answer.

    Args:
        timeout_seconds: 5 to 1,800; the card is taken back afterwards.
        native: ids of the caller's that Canon keeps beside the card.

    Returns:
        Canon's response; go on only with ``status`` ``submitted`` and an ``actionId`` that the card declares.

    Raises:
        ValueError: the card is not valid, or has no action.
        RuntimeError: no human opened the turn, or the answer is not certainly that human's.
    """
    if not has_actions(checked_card(card)):
        raise ValueError("a card for a human requires at least one action; send_card_… shows one without")
    call = _call({"timeoutSeconds": timeout_seconds})
    human = _context(call.session, require_human=True).user_id

    async def work(acting: Acting) -> dict[str, Any]:
        request = planned(acting, call, card, native=native)
        try:
            shown = await acting.cards.show(request)
            left_s = max(0.0, (shown.card.expires_at_ms - acting.clock.now_ms()) / 1_000)
            result = await wait_for(acting, call, shown, wait_s=left_s)
        except CardIdUsed:
            raise  # that one is another call's
        except BaseException:  # given up by the host, or by a failure: nobody would read what the human answers now
            await _withdrawn(acting, card_for(request))
            raise
        if result["status"] == "pending":
            result = await acting.cards.take_back(shown.card)
        answer = await acting.cards.answer_of(shown.card.card_id)
        if answer is not None and (problem := wrong_responder(answer, human)):
            raise RuntimeError(problem)
        return result

    return await call.act(work)


async def send_card_to_current_conversation(
    card: Mapping[str, Any], *, native: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Show a card that asks for nothing in the conversation of the turn.

    Raises:
        ValueError: the card is not valid, or is not actionless.
        RuntimeError: there is no Canon turn.
    """
    if has_actions(checked_card(card)):
        raise ValueError("only actionless cards are sent; request_card_for_current_human asks for an answer")
    call = _call()
    _context(call.session)
    to_all = Call(call.args, _without_human(call.session), call.mark, call.is_delegated, call.active)

    async def work(acting: Acting) -> dict[str, Any]:
        return (await show(acting, to_all, card, native=native)).result()

    return await call.act(work)


async def upload_media_for_current_conversation(
    data: bytes, mime_type: str, *, file_name: str | None = None
) -> dict[str, Any]:
    """Put bytes where a card of this conversation can show them (``mediaPreview``).

    Args:
        data: 1 to 10,485,760 bytes.

    Returns:
        Canon's answer, with ``url`` and ``attachment``.

    Raises:
        RuntimeError: there is no Canon turn.
        TypeError: ``data`` is not bytes.
        ValueError: it is empty or too long, or ``mime_type`` is none.
    """
    call = _call()
    room = _context(call.session).conversation_id
    if not isinstance(data, bytes):
        raise TypeError(f"data must be bytes, not {type(data).__name__}")
    if not 0 < len(data) <= MEDIA_BYTES:
        raise ValueError(f"data has {len(data)} bytes; 1 to {MEDIA_BYTES} can be uploaded")
    kind = mime_type.strip().lower() if isinstance(mime_type, str) else ""
    if "/" not in kind:
        raise ValueError(f"mime_type must be like image/png, not {mime_type!r}")
    body = {"conversationId": room, "data": base64.b64encode(data).decode("ascii"), "mimeType": kind}
    if file_name:
        body["fileName"] = file_name
    return await call.act(lambda acting: acting.upload(body))


async def request_detached_approval_for_current_human(
    *,
    title: str | None = None,
    question: str | None = None,
    options: Sequence[str] | None = None,
    context: str | Mapping[str, Any] | None = None,
    timeout_seconds: int | None = None,
) -> dict[str, Any]:
    """Ask the human of the turn for a yes or no that may take days; returns at once with ``status`` ``pending``.

    One decision authorises one act, and may be told twice after a crash: guard the act with a durable key of your own.

    Args:
        timeout_seconds: 5 to 259,200, which is the default.

    Raises:
        RuntimeError: no human opened the turn, or no answer of that human could be accepted.
        ValueError: neither a title nor a question says what is to be approved.
    """
    call = _call()
    turn = _context(call.session, require_human=True)
    wish = read_wish(title=title, question=question, options=options, context=context, timeout_seconds=timeout_seconds)
    result = await call.act(lambda acting: ask_for(acting, call, wish, turn.conversation_id))
    if result.get("responseUserId", turn.user_id) != turn.user_id:
        raise RuntimeError("Canon asked a different human than the one of this turn")
    return result


async def check_detached_approval(approval_id: str) -> dict[str, Any]:
    """How an approval stands that was asked for in the conversation of the turn.

    Returns:
        ``status`` is ``resolved`` with ``decision`` ``allow`` or ``deny``, ``pending``, ``expired`` or ``unknown``;
        only ``allow`` authorises anything, and only ``deny`` is a refusal.

    Raises:
        ValueError: the id is blank.
        RuntimeError: there is no Canon turn.
        PermissionError: it belongs to a different Canon conversation; Canon was not asked.
    """
    wanted = approval_id.strip() if isinstance(approval_id, str) else ""
    if not wanted:
        raise ValueError("approval_id is required")
    call = _call()
    _context(call.session)
    return await check_for(call, wanted)


async def _withdrawn(acting: Acting, card: Card) -> None:
    """Take a card back whose caller is gone, within the time that a stopping gateway has (D17)."""
    with contextlib.suppress(CanonOpsError, TimeoutError):
        async with asyncio.timeout(WITHDRAW_S):
            await acting.cards.take_back(card)


def _session() -> HostSession:
    return read_session(host.session_value)


def _call(args: Mapping[str, Any] | None = None) -> Call:
    return Call(args or {}, _session(), binding.current_mark(), False, ACTIVE)


def _without_human(session: HostSession) -> HostSession:
    return HostSession(session.conversation_id, session_key=session.session_key, message_id=session.message_id)


def _context(session: HostSession, *, require_human: bool = False) -> CanonTurnContext:
    if session.conversation_id is None:
        raise RuntimeError("this needs an active Canon conversation, and the running task belongs to none")
    if require_human and session.user_id is None:
        raise RuntimeError("this needs a human, and no human opened the running Canon turn")
    return CanonTurnContext(
        session.conversation_id, session.user_id, session.user_name, session.session_id, session.message_id
    )
