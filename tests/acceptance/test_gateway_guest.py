"""Another maker's platform in the gateway that has Canon: it is served as in a gateway that has not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from canon_ops.sandbox.model.server import ModelSandbox
from canon_ops.sandbox.server import CanonSandbox
from tests.support.bare_platform import NAME, add_bare_distribution, converse, port_of
from tests.support.conversing import answer_to
from tests.support.gateways import direct_key, start_gateway
from tests.support.homes import build_home

pytestmark = pytest.mark.host

TEXTS = ("[say Hello.]", '[tool terminal {"command": "true"}][say Done.]', "[long 300]", "[say Goodbye.]")
ON_CANON = "On Canon."
OUR_TOOLS = {"canon_communicate", "canon_runtime_control"}  # R11.30: for every session that may act on Canon
OF_THE_MOMENT = {"session_id", "created_at", "updated_at", "last_prompt_tokens", "prompt_pin"}
"""``prompt_pin`` is the head of what the model is asked, which is compared there."""


@dataclass
class Served:
    """What a guest got.

    Attributes:
        said: the host's messages to each of its texts.
        requests: what the model was asked for it.
        sessions: what the host keeps of its sessions.
    """

    said: list[list[str]]
    requests: list[Mapping[str, Any]]
    sessions: dict[str, Mapping[str, Any]]


@contextmanager
def gateway(folder: Path, model: ModelSandbox, dotenv: Mapping[str, str], *plugins: str) -> Iterator[tuple[Path, int]]:
    """A gateway with the guest and perhaps Canon: its Hermes home, and where the guest listens."""
    folder.mkdir()
    guest = add_bare_distribution(folder / "site")
    canon = {"enabled": True} if plugins else None
    home = build_home(
        folder,
        model_url=model.endpoints.base_url,
        dotenv={"GATEWAY_ALLOW_ALL_USERS": "true", **dotenv},
        config={
            "plugins": {"enabled": [NAME, *plugins]},
            "platforms": {NAME: {"enabled": True, "token": "none"}, "canon": canon},
            "platform_toolsets": None,  # the host's own choice for a platform that it does not know
        },
    )
    with start_gateway(home, folder / "gateway.out", extra={"PYTHONPATH": str(folder / "site")}) as running:
        for platform in [NAME, *(["canon"] if plugins else [])]:
            running.wait_ready(platform=platform)
        yield home.path, port_of(guest)


def served(folder: Path, home: Path, model: ModelSandbox, said: list[list[str]]) -> Served:
    """What is left of a guest's conversation, without folders, times and ids of this run."""
    requests = [
        json.loads(json.dumps(request.body).replace(str(folder), "FOLDER"))
        for request in model.requests
        if ON_CANON not in request.user_text and request.body.get("tools")  # without tools the host asks for a title
    ]
    sessions = json.loads((home / "sessions" / "sessions.json").read_text())
    return Served(
        said,
        requests,
        {
            key: {name: value for name, value in session.items() if name not in OF_THE_MOMENT}
            for key, session in sessions.items()
            if f":{NAME}:" in key
        },
    )


@pytest.mark.long
@pytest.mark.everywhere
def test_a_guest_is_served_as_if_canon_were_not_there(tmp_path: Path) -> None:
    """What another platform's people are answered, what the model is asked for them, and their sessions are the
    same with and without Canon, but that the host names Canon as connected and offers the two tools that act there."""
    alone, beside = tmp_path / "alone", tmp_path / "beside"
    with ModelSandbox() as model, gateway(alone, model, {}) as (home, port):
        said = converse(port, TEXTS)
    without = served(alone, home, model, said)

    with CanonSandbox() as box, ModelSandbox() as model:
        # its home channel would stand in the host's own words to every platform
        dotenv = {name: value for name, value in direct_key(box).items() if name != "CANON_HOME_CHANNEL"}
        with gateway(beside, model, dotenv, "canon-hermes") as (home, port):
            said = converse(port, TEXTS[:2])
            kept = len(model.requests)
            on_canon = answer_to(box, box.human.say(None, "[say On Canon.]"))
            del model.requests[kept:]
            said += converse(port, TEXTS[2:])
        with_canon = served(beside, home, model, said)

    assert on_canon["text"] == ON_CANON
    assert with_canon.said == without.said
    assert with_canon.sessions == without.sessions != {}
    assert len(with_canon.requests) == len(without.requests) == 5
    for ours, alone_request in zip(with_canon.requests, without.requests, strict=True):
        assert names(ours) - names(alone_request) == OUR_TOOLS
        assert like_without_canon(ours) == alone_request


def names(request: Mapping[str, Any]) -> set[str]:
    return {tool["function"]["name"] for tool in request["tools"]}


def like_without_canon(request: Mapping[str, Any]) -> dict[str, Any]:
    """A request without what has to differ."""
    tools = [tool for tool in request["tools"] if tool["function"]["name"] not in OUR_TOOLS]
    messages = json.loads(json.dumps(request["messages"]).replace(", canon: Connected \\u2713", ""))
    return {**request, "tools": tools, "messages": messages}
