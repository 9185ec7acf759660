"""``request_input``: a question to a human, waited for while the turn runs.

What is secret goes to the owner and nobody else, whoever opened the turn.

Source: canon-adapter R9.3, R9.16, R9.17, R11.3, R11.5; Canon wire 9.2, 9.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from canon_hermes_plugin.acting import Acting
from canon_hermes_plugin.approvals.wish import clamp_timeout
from canon_hermes_plugin.interactions.left_open import Shown
from canon_hermes_plugin.interactions.polling import await_answer
from canon_hermes_plugin.tools.call import Call, text_argument
from canon_ops.errors import CanonOpsError
from canon_ops.wire.fields import JsonObject
from canon_ops.wire.interactions import InputRequest, InteractionKind

__all__ = ["is_owner_only", "request_input"]

Json = dict[str, Any]

DEFAULT_S, LONGEST_S = 300, 1_800


def is_owner_only(args: Mapping[str, Any]) -> bool:
    """Whether only the owner may answer. Source: R9.16."""
    kind = str(args.get("kind") or "").strip().lower()
    secret = any(isinstance(one, Mapping) and one.get("isSecret") is True for one in _objects(args.get("questions")))
    return kind in ("secret", "sudo") or args.get("sensitive") is True or secret


async def request_input(call: Call) -> Json:
    """Ask, and wait for the answer or the end of its time.

    Raises:
        ValueError: there is no ``inputId``.
        RequestFailed: Canon refused the question, or could not be asked for the answer.
    """
    args = call.args
    input_id = text_argument(args, "inputId")
    timeout_s = clamp_timeout(args.get("timeoutSeconds"), default=DEFAULT_S, most=LONGEST_S)

    async def work(acting: Acting) -> Json:
        room, until_ms = call.conversation(acting), acting.clock.now_ms() + timeout_s * 1_000
        sensitive = args.get("sensitive")
        request = InputRequest(
            room,
            input_id,
            _text(args.get("kind")) or "clarify",
            until_ms,
            _text(args.get("title")),
            _text(args.get("prompt")),
            _objects(args.get("choices")),
            _objects(args.get("questions")),
            sensitive if isinstance(sensitive, bool) else None,
            None if is_owner_only(args) else call.session.user_id,
            call.turn_id,
        )
        async with acting.asking.shown(Shown(InteractionKind.INPUT, input_id, room)):
            await acting.api.request_interaction(request.body())
            with acting.waiting(room, call.mark, call.session.session_key or ""):
                answer = await _answer(acting, room, input_id, until_ms)
        return {**answer, "conversationId": room}

    return await call.act(work)


async def _answer(acting: Acting, room: str, input_id: str, until_ms: int) -> JsonObject:
    async def consume() -> JsonObject:
        return await acting.api.consume_interaction(InteractionKind.INPUT, room, input_id)

    answer = await await_answer(consume, until_ms=until_ms, clock=acting.clock)
    if answer is not None:
        return answer
    try:  # an answer of the last moment comes with the cancellation (D17)
        last = await acting.api.consume_interaction(InteractionKind.INPUT, room, input_id, cancel=True)
    except CanonOpsError:
        last = {}
    return last if last.get("status") == "submitted" else {"status": "timeout", "inputId": input_id}


def _objects(value: object) -> tuple[Mapping[str, Any], ...]:
    return tuple(one for one in value if isinstance(one, Mapping)) if isinstance(value, list) else ()


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None
