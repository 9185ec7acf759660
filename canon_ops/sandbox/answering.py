"""How a person answers an interaction, and the receipt the server writes about it. Pure.

The server checks who answers and what; a receipt is a hint on the stream, the truth is what the consume call gives.
Source: Canon wire 9.3-9.5, 9.9, 11.5.
"""

from __future__ import annotations

from typing import Any, Final

from canon_ops.errors import UsageError
from canon_ops.sandbox.cards import actions_of, values_fault
from canon_ops.sandbox.posting import post
from canon_ops.sandbox.records import Interaction, Json
from canon_ops.sandbox.state import World

__all__ = ["RECEIPTS", "AnswerRefused", "answer", "give_standing_answer"]

RECEIPTS: Final = ("once", "twice", "never", "contradicting")
"""What happens on the stream when somebody answers; ``contradicting`` tells the opposite of the stored decision."""

_RECEIPT_TYPES: Final = {
    "approval": ("approval_reply", "approvalId"),
    "input": ("runtime_input_reply", "inputId"),
    "card": ("runtime_card_reply", "cardId"),
}
_RULE_TYPES = frozenset({"approve-all", "approve-tool", "deny-tool"})


class AnswerRefused(UsageError):
    """The server would not take this answer: the wrong person, or not what was asked."""

    code = "sandbox_answer_refused"


def answer(world: World, interaction: Interaction, content: Json, *, by: str | None, receipt: str, now_ms: int) -> None:
    """Store a person's answer and write the receipt.

    Args:
        content: ``decision`` (and ``sessionRule``) for an approval, ``value`` or ``answers`` for an input, ``actionId``
            and ``values`` for a card; ``cancelled: True`` for an input or a card that is turned down.
        by: the person; None is the one who may.
        receipt: one of :data:`RECEIPTS`.

    Raises:
        AnswerRefused: it is not theirs to answer, no longer open, or the content does not fit.
    """
    person = by or interaction.responder_id
    if person != interaction.responder_id:
        raise AnswerRefused(f"{person} may not answer {interaction.request_id}: {interaction.responder_id} was asked")
    if interaction.state != "pending" or now_ms >= interaction.expires_at_ms:
        raise AnswerRefused(f"{interaction.request_id} is no longer open")
    if receipt not in RECEIPTS:
        raise AnswerRefused(f"no such receipt: {receipt!r} (there are {', '.join(RECEIPTS)})")
    interaction.answer = _stored(interaction, content, person)
    interaction.state = "answered"
    for _ in range({"never": 0, "twice": 2}.get(receipt, 1)):
        _write_receipt(world, interaction, person, contradict=receipt == "contradicting", now_ms=now_ms)


def give_standing_answer(world: World, interaction: Interaction, *, now_ms: int) -> None:
    """Let the answer that was prepared for the next interaction overtake the create call's own answer."""
    if world.standing_answers:
        prepared = world.standing_answers.popleft()
        answer(world, interaction, prepared["content"], by=None, receipt=prepared["receipt"], now_ms=now_ms)


def _stored(interaction: Interaction, content: Json, person: str) -> Json:
    """What the consume call will hand out."""
    _, id_key = _RECEIPT_TYPES[interaction.kind]
    named = {id_key: interaction.request_id}
    if content.get("cancelled") is True and interaction.kind != "approval":
        by = {"respondedBy": person} if interaction.kind == "card" else {}
        return {"status": "cancelled", **named, **by}
    match interaction.kind:
        case "approval":
            return _decision(interaction, content, named, person)
        case "card":
            return _submitted_card(interaction, content, named, person)
    given: Json = {key: content[key] for key in ("value", "answers") if key in content}
    if not given:
        raise AnswerRefused("an input is answered with value or answers")
    return {"status": "submitted", **named, **given}


def _decision(interaction: Interaction, content: Json, named: Json, person: str) -> Json:
    decision, rule = content.get("decision"), content.get("sessionRule")
    if decision not in {"allow", "deny"}:
        raise AnswerRefused(f"the decision must be allow or deny, not {decision!r}")
    stored: Json = {"status": decision, **named, "respondedBy": person}
    if rule is None:
        return stored
    if not interaction.allow_session_rule:
        raise AnswerRefused("this approval permits no session rule")
    if not isinstance(rule, dict) or rule.get("type") not in _RULE_TYPES:
        raise AnswerRefused(f"unknown session rule: {rule!r}")
    return {**stored, "sessionRule": rule}


def _submitted_card(interaction: Interaction, content: Json, named: Json, person: str) -> Json:
    actions = actions_of(interaction.request["card"])
    action = actions.get(str(content.get("actionId")))
    if action is None:
        there = ", ".join(actions) or "none"
        raise AnswerRefused(f"the card has no action {content.get('actionId')!r}; there is {there}")
    values: Any = content.get("values", {})
    fault = values_fault(action, values)
    if fault is not None:
        raise AnswerRefused(fault)
    return {"status": "submitted", **named, "actionId": content["actionId"], "values": values, "respondedBy": person}


def _write_receipt(world: World, interaction: Interaction, person: str, *, contradict: bool, now_ms: int) -> None:
    """The chat message that says somebody answered; nobody's turn starts because of it."""
    kind, id_key = _RECEIPT_TYPES[interaction.kind]
    metadata: Json = {"type": kind, id_key: interaction.request_id}
    words = "Answered"
    if interaction.kind == "approval" and interaction.answer is not None:
        allowed = (interaction.answer["status"] == "allow") != contradict
        metadata["decision"] = "allow" if allowed else "deny"
        words = "Approved" if allowed else "Denied"
    post(
        world,
        world.conversations[interaction.conversation_id],
        sender_id=person,
        sender_type="human",
        text=words,
        origin="server",
        now_ms=now_ms,
        metadata=metadata,
        verdict="record_only",
        announce=interaction.kind != "card",  # clients of this line know no card receipts, Canon wire 6.7
    )
