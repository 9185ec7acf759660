"""A plugin as its author would write it: the type checker reads this, nobody runs it."""

from __future__ import annotations

from typing import Any, assert_type

from canon_hermes_plugin import (
    CanonInboundMedia,
    CanonTurnContext,
    check_detached_approval,
    current_canon_inbound_media,
    current_canon_turn,
    request_card_for_current_human,
    request_detached_approval_for_current_human,
    send_card_to_current_conversation,
    upload_media_for_current_conversation,
    validate_card,
)


async def file_invoice(args: dict[str, Any]) -> str:
    turn = current_canon_turn(require_human=True)
    assert_type(turn, CanonTurnContext)
    assert_type(turn.conversation_id, str)
    assert_type(turn.user_id, str | None)

    files = current_canon_inbound_media()
    assert_type(files, tuple[CanonInboundMedia, ...])
    assert_type([(one.data, one.mime_type, one.size_bytes) for one in files], list[tuple[bytes, str, int]])
    picture = await upload_media_for_current_conversation(b"%PDF-", "application/pdf", file_name="invoice.pdf")
    assert_type(picture, dict[str, Any])
    card: dict[str, Any] = {"schema": "canon.card.v1"}
    if validate_card(card)["ok"]:
        await send_card_to_current_conversation(card)
        answer = await request_card_for_current_human(card, timeout_seconds=60, native={"requestId": "r-1"})
        assert_type(answer, dict[str, Any])

    asked = await request_detached_approval_for_current_human(
        title="File invoice", question="File it?", options=["yes", "no"], context={"Supplier": "Acme"}
    )
    await request_detached_approval_for_current_human(question="File it?", context="urgent", timeout_seconds=3_600)
    approval = await check_detached_approval(asked["approvalId"])
    return str(approval["status"])
