"""Who may start a turn: the verdict, the fallback, and the operator's list of people."""

from __future__ import annotations

from typing import Any

import pytest

from canon_hermes_plugin.policy import Allowed, Refused, may_start_turn
from canon_ops.settings.options import UserAccess
from canon_ops.wire.messages import MessageCreated

EVERYONE = UserAccess(allow_all=True, allowed=None)


def message(verdict: str | None = None, **fields: Any) -> MessageCreated:
    payload: dict[str, Any] = {"conversationId": "c1", "message": {"senderType": "human", "senderId": "u1", **fields}}
    if verdict:
        payload["turnDispatch"] = {"kind": verdict}
    created = MessageCreated.parse(payload)
    assert created is not None
    return created


@pytest.mark.parametrize(
    ("verdict", "metadata", "code"),
    [
        ("run_turn", {"replyBehavior": "suppress_auto_reply"}, None),
        ("record_only", {}, "verdict"),
        ("something_new", {}, "verdict"),
        (None, {}, None),
        (None, {"replyBehavior": "suppress_auto_reply"}, "fallback"),
    ],
)
def test_the_verdict_decides_alone(verdict: str | None, metadata: dict[str, str], code: str | None) -> None:
    """R3.3: the message's own metadata is asked only when the server said nothing."""
    decision = may_start_turn(message(verdict, metadata=metadata), EVERYONE)

    assert decision.reason
    assert (decision.code if isinstance(decision, Refused) else None) == code


@pytest.mark.parametrize(
    ("access", "sender", "sender_type", "admitted"),
    [
        pytest.param(UserAccess(False, frozenset({"u1"})), "u1", "human", True, id="listed"),
        pytest.param(UserAccess(False, frozenset({"u2"})), "u1", "human", False, id="not listed"),
        pytest.param(UserAccess(True, frozenset({"u2"})), "u1", "human", True, id="everyone"),
        pytest.param(UserAccess(False, frozenset({"*"})), "u1", "human", True, id="star"),
        pytest.param(UserAccess(False, None), "u1", "human", True, id="no list"),
        pytest.param(UserAccess(False, frozenset({"u2"})), None, "human", False, id="without id"),
        pytest.param(UserAccess(False, frozenset({"u2"})), "a1", "ai_agent", True, id="agents are Canon's matter"),
        pytest.param(UserAccess(False, frozenset({"u2"})), "u1", None, False, id="no kind"),
        pytest.param(UserAccess(False, frozenset({"u2"})), "u1", "", False, id="empty kind"),
        pytest.param(UserAccess(False, frozenset({"u2"})), "u1", "AI_AGENT", False, id="not Canon's word"),
        pytest.param(UserAccess(False, frozenset({"u2"})), "u1", "agent", False, id="nearly Canon's word"),
        pytest.param(UserAccess(False, frozenset({"u2"})), "u1", "system", False, id="unknown kind"),
        pytest.param(UserAccess(False, frozenset({"u1"})), "u1", "guest", True, id="unknown kind, listed"),
    ],
)
def test_the_list_names_people(access: UserAccess, sender: str | None, sender_type: str | None, admitted: bool) -> None:
    """C2: who is not listed starts no turn, whatever the verdict; only what Canon calls an agent needs no place."""
    decision = may_start_turn(message("run_turn", senderId=sender, senderType=sender_type), access)

    assert isinstance(decision, Allowed) is admitted
    assert admitted or (isinstance(decision, Refused) and decision.code == "not_listed")
