"""The names for domain plugins, called as such a plugin calls them: on a thread, inside a turn of the real host."""

from __future__ import annotations

import asyncio
import base64
import inspect
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import copy_context
from functools import partial
from typing import Any

import pytest

import canon_hermes_plugin
from canon_hermes_plugin import (
    CanonTurnContext,
    check_detached_approval,
    current_canon_turn,
    request_card_for_current_human,
    request_detached_approval_for_current_human,
    send_card_to_current_conversation,
    upload_media_for_current_conversation,
)
from canon_hermes_plugin.active import ACTIVE
from canon_hermes_plugin.tools.session import HostSession
from canon_ops.errors import CanonOpsError
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.cards import QUESTION, SUMMARY
from tests.support.tool_calls import Turn, bind_session, canon_turn

pytestmark = pytest.mark.host

NINE = HostSession("conversation-1", "member-9", "Human Nine", "session-1", "key-1", "message-1")
PUBLIC = {
    "CanonInboundMedia", "CanonTurnContext", "RUNTIME_CARD_LIMITS", "check_detached_approval",
    "current_canon_inbound_media", "current_canon_turn", "register", "request_card_for_current_human",
    "request_detached_approval_for_current_human", "send_card_to_current_conversation",
    "upload_media_for_current_conversation", "validate_card",
}  # fmt: skip
FORBIDDEN = {"target", "conversation_id", "response_user_id", "responder"}


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


@pytest.fixture
async def turn(box: CanonSandbox) -> AsyncIterator[Turn]:
    async with canon_turn(box, active=ACTIVE) as running:
        yield running


def asked(box: CanonSandbox, path: str) -> list[dict[str, Any]]:
    return [row["body"] for row in box.journal() if row["path"] == path]


def in_session(session: HostSession, **more: Any) -> CanonTurnContext:
    def call() -> CanonTurnContext:
        bind_session(session)
        return current_canon_turn(**more)

    return copy_context().run(call)


def test_no_function_takes_a_conversation_or_a_person() -> None:
    """S13.1, R1.3: every public name is there and no other, and none can be told whom or where to ask."""
    public = [getattr(canon_hermes_plugin, name) for name in canon_hermes_plugin.__all__]

    functions = [one for one in public if inspect.isfunction(one)]
    assert set(canon_hermes_plugin.__all__) == PUBLIC
    assert not inspect.signature(canon_hermes_plugin.current_canon_inbound_media).parameters
    assert not any(FORBIDDEN & inspect.signature(one).parameters.keys() for one in functions)


def test_the_turn_of_the_task() -> None:
    """S13.2: the host's values of the calling task; outside of a Canon turn, or without a human where one is needed,
    an error."""
    turn = in_session(NINE, require_human=True)

    assert turn == CanonTurnContext("conversation-1", "member-9", "Human Nine", "session-1", "message-1")
    with pytest.raises(RuntimeError, match="active Canon"):
        in_session(HostSession())
    with pytest.raises(RuntimeError, match="human"):
        in_session(HostSession("conversation-1"), require_human=True)


async def test_a_human_answers_a_card(box: CanonSandbox, turn: Turn) -> None:
    """S13.3: the card goes to the human of the turn and its answer comes back as Canon gave it."""
    card = QUESTION | {"cardId": "card-1"}
    asking = asyncio.get_running_loop().create_task(
        turn.domain(lambda: request_card_for_current_human(card, native={"requestId": "r-1"}))
    )
    await box.until("interaction", kind="card")
    box.human.answer("card-1", actionId="file", values={"note": "now"})

    result = await asking

    (body,) = asked(box, "/runtime-interaction/request")
    assert (result["status"], result["actionId"], result["respondedBy"]) == ("submitted", "file", "user_owner")
    assert (body["responseUserId"], body["native"], body["conversationId"]) == (
        "user_owner", {"requestId": "r-1"}, "conv_direct",
    )  # fmt: skip


async def test_nobody_answers_a_card(box: CanonSandbox, turn: Turn) -> None:
    """R11.8, D17: at its deadline the card is over on Canon too."""
    result = await turn.domain(lambda: request_card_for_current_human(QUESTION | {"cardId": "k"}, timeout_seconds=5))

    assert (result["status"], result["cardId"]) == ("timeout", "k")
    assert box.human.interactions()[-1]["state"] == "gone"


@pytest.mark.parametrize("how", ["given up", "failed"])
async def test_a_card_whose_caller_is_gone(box: CanonSandbox, turn: Turn, how: str) -> None:
    """D17, R9.14: the host ends the tool, or Canon cannot be asked: the card does not stay for a human to answer into
    the void."""
    if how == "failed":
        box.fault("consume-500", times=1)

    async def give_up() -> None:
        asking = asyncio.create_task(request_card_for_current_human(QUESTION | {"cardId": "k"}))
        await box.until("interaction", kind="card")
        asking.cancel()
        await asking

    with pytest.raises(asyncio.CancelledError if how == "given up" else CanonOpsError):
        await turn.domain(
            give_up if how == "given up" else lambda: request_card_for_current_human(QUESTION | {"cardId": "k"})
        )
    await box.until(lambda world: world.interactions["card", "k"].state == "gone")

    assert box.human.interactions()[-1]["state"] == "gone"


@pytest.mark.parametrize(
    ("by", "words"),
    [("user_else", "answered by a different human"), (None, "without authenticated responder identity")],
)
async def test_an_answer_that_is_not_the_humans(box: CanonSandbox, turn: Turn, by: str | None, words: str) -> None:
    """S13.5, S13.6: an answer by somebody else, or by nobody that Canon names, is an error and not a result."""
    asking = asyncio.get_running_loop().create_task(
        turn.domain(lambda: request_card_for_current_human(QUESTION | {"cardId": "card-1"}))
    )
    await box.until("interaction", kind="card")

    def forge(world: Any, now_ms: int) -> None:
        interaction = world.interactions["card", "card-1"]
        interaction.state = "answered"
        interaction.answer = {"status": "submitted", "cardId": "card-1", "actionId": "file", "values": {}} | (
            {"respondedBy": by} if by else {}
        )

    box.engine.act(forge)

    with pytest.raises(RuntimeError, match=words):
        await asking


async def test_a_human_who_is_not_in_the_room_is_not_asked(box: CanonSandbox, turn: Turn) -> None:
    """R13.4: Canon refuses a responder who is no member, and nobody else is asked in their place."""
    box.human.add_person("Else", user_id="user_else")
    turn.session = HostSession("conv_direct", "user_else", session_key=turn.session.session_key)

    with pytest.raises(Exception, match="responseUserId is not a human member"):
        await turn.domain(lambda: request_card_for_current_human(QUESTION))

    assert box.human.interactions() == []


async def test_what_is_wrong_with_a_card_needs_no_turn() -> None:
    """S13.4, S13.7, R12.12, R13.11: validity and actions are looked at before the turn is; every error is named."""
    outside = Turn(ACTIVE, HostSession())

    with pytest.raises(ValueError, match="requires at least one action"):
        await outside.domain(lambda: request_card_for_current_human(SUMMARY))
    everything = "; ".join(canon_hermes_plugin.validate_card({"schema": "wrong"})["errors"])
    helpers: tuple[Callable[[Any], Any], ...] = (request_card_for_current_human, send_card_to_current_conversation)
    for helper in helpers:
        with pytest.raises(ValueError, match="^" + re.escape(f"Invalid canon.card.v1: {everything}") + "$"):
            await outside.domain(partial(helper, {"schema": "wrong"}))
        with pytest.raises(ValueError, match=r"^Invalid canon\.card\.v1: card must be an object$"):
            await outside.domain(partial(helper, "a card"))
    with pytest.raises(ValueError, match="actionless"):
        await outside.domain(lambda: send_card_to_current_conversation(QUESTION))
    with pytest.raises(RuntimeError, match="active Canon conversation"):
        await outside.domain(lambda: send_card_to_current_conversation(SUMMARY))


async def test_a_card_is_shown_to_everybody(box: CanonSandbox, turn: Turn) -> None:
    """S13.7: no responder is passed, and nobody waits."""
    result = await turn.domain(lambda: send_card_to_current_conversation(SUMMARY))

    (body,) = asked(box, "/runtime-interaction/request")
    assert (result["status"], "responseUserId" in body) == ("displayed", False)
    assert asked(box, "/runtime-interaction/consume") == []


async def test_bytes_are_uploaded(box: CanonSandbox, turn: Turn) -> None:
    """S13.8: to the conversation of the turn, as base64, with MIME type and name."""
    result = await turn.domain(
        lambda: upload_media_for_current_conversation(b"pdf", " Application/PDF", file_name="invoice.pdf")
    )

    (body,) = asked(box, "/media/upload")
    assert (base64.b64decode(body["data"]), body["mimeType"], body["fileName"], body["conversationId"]) == (
        b"pdf", "application/pdf", "invoice.pdf", "conv_direct",
    )  # fmt: skip
    assert result["attachment"]["sizeBytes"] == 3


@pytest.mark.parametrize(
    ("data", "mime_type", "error"),
    [
        pytest.param("text", "text/plain", TypeError, id="no-bytes"),
        pytest.param(b"", "text/plain", ValueError, id="empty"),
        pytest.param(bytes(10_485_761), "text/plain", ValueError, id="too-long"),
        pytest.param(b"x", " ", ValueError, id="blank-type"),
        pytest.param(b"x", "pdf", ValueError, id="no-type"),
    ],
)
async def test_what_cannot_be_uploaded(data: Any, mime_type: str, error: type[Exception]) -> None:
    """R13.6, R13.11: the turn is looked at first, then what is given; Canon is not asked."""
    inside, outside = Turn(ACTIVE, NINE), Turn(ACTIVE, HostSession())

    with pytest.raises(error):
        await inside.domain(lambda: upload_media_for_current_conversation(data, mime_type))
    with pytest.raises(RuntimeError, match="active Canon"):
        await outside.domain(lambda: upload_media_for_current_conversation(data, mime_type))


async def test_an_approval_of_the_human(box: CanonSandbox, turn: Turn) -> None:
    """S13.9, S13.10: asked of the human of the turn in its conversation, and checked there, whatever blanks stand
    around the id."""
    asked_for = await turn.domain(lambda: request_detached_approval_for_current_human(question="Pay?"))
    box.human.answer(asked_for["approvalId"], decision="allow", receipt="never")

    result = await turn.domain(lambda: check_detached_approval(f" {asked_for['approvalId']} "))

    (body,) = asked(box, "/runtime-interaction/request")
    assert (body["responseUserId"], body["conversationId"], body["toolName"]) == (
        "user_owner", "conv_direct", "Approval",
    )  # fmt: skip
    assert (result["status"], result["decision"], result["respondedBy"]) == ("resolved", "allow", "user_owner")


async def test_an_approval_needs_a_human(turn: Turn) -> None:
    """R13.7: a turn that an agent opened asks nobody."""
    turn.session = HostSession("conv_direct", session_key=turn.session.session_key)

    with pytest.raises(RuntimeError, match="human"):
        await turn.domain(lambda: request_detached_approval_for_current_human(question="Pay?"))


async def test_another_conversations_approval(box: CanonSandbox, turn: Turn) -> None:
    """S13.11, S13.12, S10.46: a blank id, no turn, and another conversation fail before Canon is contacted."""
    asked_for = await turn.domain(lambda: request_detached_approval_for_current_human(question="Pay?"))
    elsewhere = Turn(ACTIVE, HostSession("conv_b", "user_owner"))
    outside = Turn(ACTIVE, HostSession())

    with pytest.raises(PermissionError, match="different Canon conversation"):
        await elsewhere.domain(lambda: check_detached_approval(asked_for["approvalId"]))
    with pytest.raises(ValueError, match="approval_id"):
        await outside.domain(lambda: check_detached_approval("  "))
    with pytest.raises(RuntimeError, match="active Canon"):
        await outside.domain(lambda: check_detached_approval(asked_for["approvalId"]))

    assert asked(box, "/runtime-interaction/consume") == []
