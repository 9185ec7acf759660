"""Registration decided: who may ask, what is told when, and what stays secret."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.sandbox.rest.registration import approve, reject
from canon_ops.sandbox.state import World
from tests.support.canon_calls import NOW_MS, a_world, call


def form(**changes: Any) -> dict[str, Any]:
    return {
        "name": "Ops",
        "description": "Hermes gateway agent",
        "ownerPhone": "+15550100",
        "developerInfo": "Hermes gateway platform adapter",
        "clientType": "hermes",
        "localRegistrationId": "hermes-1",
        **changes,
    }


def registered(world: World, **changes: Any) -> tuple[str, dict[str, str]]:
    """A request's id and the header that polls it."""
    answer = call(world, "POST", "/agents/register", form(**changes)).body
    return answer["requestId"], {"x-canon-poll-token": answer["pollToken"]}


def test_the_same_form_is_the_same_request() -> None:
    """A repetition changes nothing; the same local id with another form is a conflict."""
    world = a_world()

    first = call(world, "POST", "/agents/register", form())
    again = call(world, "POST", "/agents/register", form())
    other = call(world, "POST", "/agents/register", form(name="Other"))

    assert first == again
    assert (other.status, len(world.registrations)) == (409, 1)


@pytest.mark.parametrize(
    "key", ["name", "description", "ownerPhone", "developerInfo", "clientType", "localRegistrationId"]
)
def test_every_field_of_the_form_is_needed(key: str) -> None:
    """An empty or missing field is 400 and names it; nothing is stored."""
    world = a_world()

    answer = call(world, "POST", "/agents/register", form(**{key: ""}))

    assert answer.status == 400
    assert key in answer.body["error"]
    assert world.registrations == {}


def test_an_unknown_phone_has_no_owner() -> None:
    """Nobody can be asked, so it is 404."""
    assert call(a_world(), "POST", "/agents/register", form(ownerPhone="+49301")).status == 404


def test_a_request_waits_until_somebody_decides() -> None:
    """Pending, then rejected for good, and never a key."""
    world = a_world()
    request_id, token = registered(world)

    before = call(world, "GET", f"/agents/status/{request_id}", headers=token).body
    reject(world.registrations[request_id])
    after = call(world, "GET", f"/agents/status/{request_id}", headers=token).body

    assert (before, after) == ({"status": "pending"}, {"status": "rejected"})


def test_auto_approval_comes_after_the_polls_it_was_told() -> None:
    """Two pending answers, then the key."""
    world = a_world(auto_approve=True, approve_after_polls=2)
    request_id, token = registered(world)

    statuses = [call(world, "GET", f"/agents/status/{request_id}", headers=token).body["status"] for _ in range(3)]

    assert statuses == ["pending", "pending", "approved"]


def test_an_acknowledged_key_is_not_told_again() -> None:
    """Until the acknowledgement the key is told every time, afterwards only that it was."""
    world = a_world()
    request_id, token = registered(world)
    approve(world, world.registrations[request_id], now_ms=NOW_MS)

    told = [call(world, "GET", f"/agents/status/{request_id}", headers=token).body.get("apiKey") for _ in range(2)]
    acknowledged = [call(world, "POST", f"/agents/status/{request_id}/ack", headers=token).status for _ in range(2)]
    after = call(world, "GET", f"/agents/status/{request_id}", headers=token).body

    assert told[0] == told[1] is not None
    assert acknowledged == [200, 200]
    assert (after.get("apiKey"), after["apiKeyDelivered"]) == (None, True)


def test_an_unclaimed_key_can_expire() -> None:
    """Then the answer says so instead of telling it."""
    world = a_world()
    request_id, token = registered(world)
    approve(world, world.registrations[request_id], now_ms=NOW_MS)
    world.registrations[request_id].key_expired = True

    body = call(world, "GET", f"/agents/status/{request_id}", headers=token).body

    assert (body.get("apiKey"), body["apiKeyExpired"]) == (None, True)


@pytest.mark.parametrize(
    ("acknowledged", "after_s", "told"),
    [(False, 899, "apiKey"), (False, 900, "apiKeyExpired"), (True, 900, "apiKeyDelivered")],
)
def test_an_unclaimed_key_is_dropped_after_its_time(acknowledged: bool, after_s: int, told: str) -> None:
    """SC.14, Canon wire 11.3: counted from the approval; a key that was acknowledged is nobody's to drop."""
    world = a_world(key_life_s=900)
    request_id, token = registered(world)
    approve(world, world.registrations[request_id], now_ms=NOW_MS)
    if acknowledged:
        call(world, "POST", f"/agents/status/{request_id}/ack", headers=token)

    later = [NOW_MS + after_s * 1000, NOW_MS + after_s * 1000]
    answers = [call(world, "GET", f"/agents/status/{request_id}", headers=token, now_ms=now).body for now in later]

    keys = {"apiKey", "apiKeyExpired", "apiKeyDelivered"}
    assert [keys & set(answer) for answer in answers] == [{told}, {told}]


def test_nothing_can_be_acknowledged_before_approval() -> None:
    """409, and the request stays as it is."""
    world = a_world()
    request_id, token = registered(world)

    assert call(world, "POST", f"/agents/status/{request_id}/ack", headers=token).status == 409
    assert not world.registrations[request_id].acknowledged


def test_the_token_belongs_to_its_request() -> None:
    """Missing 401, another request's 403, unknown request 404."""
    world = a_world()
    request_id, _ = registered(world)
    _, other = registered(world, localRegistrationId="hermes-2")

    statuses = [
        call(world, "GET", f"/agents/status/{request_id}").status,
        call(world, "GET", f"/agents/status/{request_id}", headers=other).status,
        call(world, "GET", "/agents/status/reg_9", headers=other).status,
    ]

    assert statuses == [401, 403, 404]


def test_a_known_agent_of_the_owner_comes_back() -> None:
    """The requested identity keeps its id, its key and its room."""
    world = a_world()
    request_id, _ = registered(world, requestedAgentId="agent_sandbox", name="Back again")

    agent = approve(world, world.registrations[request_id], now_ms=NOW_MS)

    assert (agent.agent_id, agent.name) == ("agent_sandbox", "Back again")
    assert len([room for room in world.conversations.values() if room.kind == "direct"]) == 1


def test_somebody_elses_agent_does_not() -> None:
    """A request for another owner's agent gets a new identity."""
    world = a_world()
    request_id, _ = registered(world, requestedAgentId="agent_sandbox", ownerPhone="+15550101")

    agent = approve(world, world.registrations[request_id], now_ms=NOW_MS)

    assert agent.agent_id != "agent_sandbox"
    assert agent.owner_id == "user_dana"
    assert world.direct_conversation(agent.agent_id, "user_dana") is not None
