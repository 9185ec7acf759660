"""The sandbox's decisions without a server: a world, and calls to it by method and path."""

from __future__ import annotations

import re
from typing import Any

from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.posting import post
from canon_ops.sandbox.records import Message
from canon_ops.sandbox.rest.routes import API_ROUTES
from canon_ops.sandbox.state import Call, Reply, World

__all__ = ["NOW_MS", "OWNER", "a_world", "call", "events_of", "say"]

NOW_MS = 1_790_000_000_000
OWNER = "user_owner"


def a_world(**options: Any) -> World:
    """A world with reproducible ids and a base URL for media."""
    world = World(CanonOptions(**options), seed="a seed", now_ms=NOW_MS)
    world.base_url = "http://127.0.0.1:8701"
    return world


def call(
    world: World,
    method: str,
    target: str,
    body: dict[str, Any] | None = None,
    *,
    agent: str = "agent_sandbox",
    now_ms: int = NOW_MS,
    headers: dict[str, str] | None = None,
    bent: str | None = None,
) -> Reply:
    """What the endpoint at ``target`` (path and query) decides for ``agent``."""
    path, _, query = target.partition("?")
    for endpoint in API_ROUTES:
        found = re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", endpoint.path), path)
        if found and endpoint.method == method:
            return endpoint.handle(
                world,
                Call(
                    method,
                    path,
                    found.groupdict(),
                    dict(pair.split("=", 1) for pair in query.split("&") if pair),
                    headers or {},
                    body or {},
                    now_ms,
                    world.agents[agent] if endpoint.keyed else None,
                    bent,
                ),
            )
    raise AssertionError(f"nothing is routed at {method} {path}")


def say(world: World, text: str = "hello", *, room: str = "conv_direct", sender: str = OWNER, **fields: Any) -> Message:
    """Somebody says something."""
    fields = {"sender_type": "human", "origin": "human", "now_ms": NOW_MS, **fields}
    return post(world, world.conversations[room], sender_id=sender, text=text, **fields)


def events_of(world: World, agent: str = "agent_sandbox") -> list[tuple[str, Any]]:
    """Every event on an agent's stream, as (name, payload)."""
    found = world.logs[agent].after(0)
    assert isinstance(found, list)
    return [(event.name, event.payload()) for event in found]
