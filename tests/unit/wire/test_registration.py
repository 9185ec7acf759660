"""Registration's bodies and answers."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.errors import CanonOpsError
from canon_ops.settings.secret import Secret
from canon_ops.wire.registration import (
    KeyAlreadyDelivered,
    KeyExpired,
    MalformedApproval,
    MalformedRegistration,
    RegistrationReceipt,
    RegistrationRequest,
    RegistrationStatus,
    Verdict,
)

KEY = "agk_live_" + "x" * 24


def test_the_request_has_exactly_its_keys_in_order() -> None:
    """A wanted agent id is sent only when there is one."""
    least = RegistrationRequest("+14155550123", "hermes-" + "0" * 32)
    whole = RegistrationRequest("+14155550123", "hermes-1", "Ops", "Does ops", "agent_7Qx")

    assert list(least.body().items()) == [
        ("name", "Hermes"),
        ("description", "Hermes gateway agent"),
        ("ownerPhone", "+14155550123"),
        ("developerInfo", "Hermes gateway platform adapter"),
        ("clientType", "hermes"),
        ("localRegistrationId", "hermes-" + "0" * 32),
    ]
    assert list(whole.body().items())[-1] == ("requestedAgentId", "agent_7Qx")
    assert (whole.body()["name"], whole.body()["description"]) == ("Ops", "Does ops")


def test_a_receipt_needs_both_its_parts() -> None:
    """Without the id or the token nothing can be followed, and the error says which is missing."""
    assert RegistrationReceipt.parse({"requestId": "reg_1", "pollToken": "pt"}) == RegistrationReceipt(
        "reg_1", Secret("pt")
    )
    with pytest.raises(MalformedRegistration, match="no request id"):
        RegistrationReceipt.parse({"requestId": "", "pollToken": "pt"})
    with pytest.raises(MalformedRegistration, match="reg_1 but gave no poll token"):
        RegistrationReceipt.parse({"requestId": "reg_1"})


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        ("pending", Verdict.WAITING),
        ("approved", Verdict.APPROVED),
        ("rejected", Verdict.REJECTED),
        ("timeout", Verdict.WAITING),
        (None, Verdict.WAITING),
        (["approved"], Verdict.WAITING),
    ],
    ids=str,
)
def test_an_unknown_status_means_that_nobody_has_decided(status: object, verdict: Verdict) -> None:
    """Only the three words of the wire decide anything."""
    assert RegistrationStatus.parse({"status": status}).verdict is verdict


def test_a_whole_approval_gives_the_credentials() -> None:
    """Key, id and name come out together."""
    status = RegistrationStatus.parse({"status": "approved", "apiKey": KEY, "agentId": "a", "agentName": "Ops"})

    assert status.credentials() == (Secret(KEY), "a", "Ops")


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        ({"apiKeyExpired": True, "agentId": "a", "agentName": "Ops"}, KeyExpired, "expired"),
        ({"apiKeyExpired": True, "apiKey": KEY, "agentId": "a", "agentName": "Ops"}, KeyExpired, "expired"),
        ({"apiKeyDelivered": True, "agentId": "a", "agentName": "Ops"}, KeyAlreadyDelivered, "already delivered"),
        ({"agentId": "a", "agentName": "Ops"}, MalformedApproval, "without an API key"),
        ({"apiKey": KEY, "agentName": "Ops"}, MalformedApproval, "without an agent id;"),
        ({"apiKey": KEY, "agentId": "a", "agentName": ""}, MalformedApproval, "without an agent name"),
        ({}, MalformedApproval, "an API key and an agent id and an agent name"),
    ],
    ids=str,
)
def test_sc_14_an_approval_without_a_usable_key(answer: dict[str, Any], error: type[CanonOpsError], words: str) -> None:
    """SC.14: expired, delivered before, and incomplete are distinct errors."""
    with pytest.raises(error, match=words):
        RegistrationStatus.parse({"status": "approved", **answer}).credentials()


def test_sc_14_a_key_that_is_handed_out_again_is_good() -> None:
    """SC.14: the mark of a delivery is no error as long as the key is there."""
    answer = {"status": "approved", "apiKey": KEY, "apiKeyDelivered": True, "agentId": "a", "agentName": "Ops"}

    assert RegistrationStatus.parse(answer).credentials()[0] == Secret(KEY)


def test_neither_the_key_nor_the_token_shows() -> None:
    """Both answers can be logged."""
    token = "pt_" + "y" * 30

    receipt = RegistrationReceipt.parse({"requestId": "r", "pollToken": token})
    status = RegistrationStatus.parse({"status": "approved", "apiKey": KEY})

    assert token not in repr(receipt)
    assert KEY not in repr(status)
