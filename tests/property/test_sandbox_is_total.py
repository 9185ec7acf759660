"""Whatever a client sends, the sandbox decides: no body makes a handler fail, and a refusal changes nothing.

Each request is a proper one with a few of its fields, or fields within them, replaced by anything JSON can say.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canon_ops.sandbox.rest.media import attach
from canon_ops.sandbox.rest.routes import API_ROUTES, Endpoint
from canon_ops.sandbox.state import Reply, World
from tests.support.canon_calls import NOW_MS, a_world, call, say

CARD = {
    "schema": "canon.card.v1",
    "title": "t",
    "fallbackText": "f",
    "blocks": [
        {"kind": "actions", "actions": [{"id": "a", "label": "A"}]},
        {"kind": "mediaPreview", "media": {"url": "u"}},
    ],
}
COMMAND = {
    "id": "c",
    "label": "C",
    "aliases": ["c"],
    "category": "turn",
    "placements": ["composer_slash"],
    "availability": ["idle"],
    "ownerOnly": True,
    "args": [{"id": "x", "label": "X", "kind": "string"}],
    "dispatch": {"kind": "signal", "signal": "s"},
}
ROOM = {"conversationId": "conv_direct"}


def ask(shape: str, **body: Any) -> dict[str, Any]:
    return {**ROOM, "interactionKind": shape, "expiresAt": NOW_MS + 60_000, "responseUserId": "user_owner", **body}


def verb(which: str, envelope: dict[str, Any], **value: Any) -> dict[str, Any]:
    body = {"encoding": "json", "value": value}
    return {"wire": "canon.verb-wire.v1", "verb": which, "envelope": envelope, "body": body}


def an_upload(world: World) -> dict[str, Any]:
    """A file that the server keeps; its link is the same in every world of this module."""
    return attach(world, "conv_direct", b"hi", mime_type="text/plain", file_name="x")


ISSUED = an_upload(a_world())

PROPER: dict[str, list[dict[str, Any]]] = {
    "/messages/send": [
        {
            **ROOM,
            "text": "hi",
            "messageId": "m1",
            "replyTo": "msg_000001",
            "mentions": ["user_owner"],
            "metadata": {"turnSemantics": "turn_complete", "turnId": "t"},
            "contentType": "file",
            "attachments": [ISSUED],
            "contactCard": {"displayName": "x"},
            "replyAuthority": {"schema": "s", "sourceMessageId": "msg_000001", "token": "t", "expiresAt": "e"},
        }
    ],
    "/streaming": [
        {**ROOM, "status": "streaming", "text": "x", "turnId": "t", "blocks": [{"id": "b"}]},
        {**ROOM, "streaming": False},
    ],
    "/runtime/turn": [{**ROOM, "state": "thinking", "turnId": "t", "activeMessageIds": ["msg_000001"]}],
    "/typing": [{**ROOM, "typing": True, "status": "thinking"}],
    "/runtime/signal/consume": [ROOM],
    "/conversations/{conversation_id}/messages/{message_id}/disposition": [{"inboundDisposition": "accepted_now"}],
    "/runtime/status": [{"runtime": "hermes", "hostMode": True, "runtimeDescriptor": {"commands": [COMMAND]}}],
    "/agents/register": [
        {
            "name": "n",
            "description": "d",
            "ownerPhone": "+15550100",
            "developerInfo": "i",
            "clientType": "hermes",
            "localRegistrationId": "l",
            "requestedAgentId": "agent_sandbox",
        }
    ],
    "/runtime-interaction/request": [
        ask(
            "approval",
            approvalId="a1",
            toolName="t",
            toolSummary="s",
            details=[{"label": "l", "value": "v"}],
            native={"runtime": "r"},
        ),
        ask(
            "input",
            inputId="i1",
            kind="clarify",
            prompt="p",
            choices=[{"label": "l"}],
            questions=[{"id": "q", "isSecret": True}],
        ),
        ask("card", cardId="c1", card=CARD),
    ],
    "/runtime-interaction/consume": [{**ROOM, "interactionKind": "approval", "approvalId": "asked", "cancel": True}],
    "/media/upload": [{**ROOM, "data": "aGk=", "mimeType": "text/plain", "fileName": "x"}],
    "/agent/verbs/{verb}": [
        verb(
            "send_to",
            {**ROOM, "idempotencyKey": "k", "turn": {"turnSemantics": "progress"}},
            text="x",
            messageOptions={"metadata": {}},
        ),
        verb("send_to", {"targetUserId": "user_dana", "sessionSelection": {"mode": "new"}}, text="x"),
        verb("create_group", {"memberIds": ["user_dana", "user_x"]}, name="n"),
        verb(
            "forward",
            {"sourceConversationId": "conv_direct", "conversationId": "conv_team", "messageId": "msg_000001"},
            text="x",
        ),
        verb("share_contact", {**ROOM, "contactUserId": "user_dana"}, text="x"),
        verb("add_member", {"conversationId": "conv_team", "targetUserId": "agent_000001"}),
        verb("remove_member", {"conversationId": "conv_team", "targetUserId": "user_dana"}),
        verb("no_reply", {**ROOM, "messageId": "m"}, reason="given"),
    ],
}

scraps = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just("") | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["id", "url", "mode"]), inner, max_size=2)
    ),
    max_leaves=3,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a body that could hold something else."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in inner for place in ((*path, key), *places(item, (*path, key)))]


def spoiled(body: dict[str, Any], changes: list[tuple[tuple[Any, ...], Any]]) -> dict[str, Any]:
    """The body with other things in those places; a place that is gone is left alone."""
    body = copy.deepcopy(body)
    for place, scrap in changes:
        spot: Any = body
        for key in place[:-1]:
            known = (isinstance(spot, dict) and key in spot) or (isinstance(spot, list) and key in range(len(spot)))
            spot = spot[key] if known else None
        if (isinstance(spot, dict) and place[-1] in spot) or (isinstance(spot, list) and place[-1] in range(len(spot))):
            spot[place[-1]] = scrap
    return body


def bodies(path: str) -> st.SearchStrategy[dict[str, Any]]:
    def spoil(body: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
        changes = st.lists(st.tuples(st.sampled_from(places(body)), scraps), max_size=3)
        return changes.map(lambda chosen: spoiled(body, chosen))

    return st.sampled_from(PROPER[path]).flatmap(spoil)


def peopled() -> World:
    """A world in which the proper requests succeed."""
    world = a_world()
    assert an_upload(world) == ISSUED
    say(world, "hello")
    world.add_agent("Other", "user_dana")
    world.conversations["conv_team"].admin_ids.append("user_owner")
    asked = ask("approval", approvalId="asked", toolName="t", toolSummary="s")
    call(world, "POST", "/runtime-interaction/request", asked)
    return world


def decide(world: World, endpoint: Endpoint, body: dict[str, Any]) -> Reply:
    names = {"conversation_id": "conv_direct", "message_id": "msg_000001", "verb": str(body.get("verb") or "send_to")}
    if "/" in names["verb"] or "?" in names["verb"] or "\n" in names["verb"]:
        names["verb"] = "x"
    return call(world, endpoint.method, endpoint.path.format(**names), body)


ENDPOINTS = [endpoint for endpoint in API_ROUTES if endpoint.path in PROPER]


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.path)
@settings(deadline=None)  # a busy machine is no fault
@given(data=st.data())
def test_every_request_is_decided(endpoint: Endpoint, data: st.DataObject) -> None:
    """Answered below 500; a refused request, and nothing else, leaves the world as it was."""
    world = peopled()
    body = data.draw(bodies(endpoint.path))
    before = pickle.dumps(vars(world))

    answer = decide(world, endpoint, body)

    assert 200 <= answer.status < 500
    if answer.status >= 400:
        assert pickle.dumps(vars(world)) == before


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.path)
def test_proper_requests_reach_the_end(endpoint: Endpoint) -> None:
    """The starting points are proper: but for tokens that nobody issued, they are taken."""
    for body in PROPER[endpoint.path]:
        issued = {key: value for key, value in body.items() if key != "replyAuthority"}
        if "card" in issued:
            issued["card"] = {**CARD, "blocks": CARD["blocks"][:1]}

        assert decide(peopled(), endpoint, issued).status < 300, body
