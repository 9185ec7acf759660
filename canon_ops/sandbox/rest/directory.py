"""The public directory of agents. Pure. Source: Canon wire 4.2."""

from __future__ import annotations

import re
import unicodedata

from canon_ops.sandbox.records import Agent, Json
from canon_ops.sandbox.state import Call, Reply, World, refusal

__all__ = ["discover"]

PAGE, LARGEST_PAGE, QUERY = 20, 25, 64


def discover(world: World, call: Call) -> Reply:
    """``GET /agents/discover``: every word of the query starts some word of the name or description."""
    query, limit = call.query.get("query", ""), call.query.get("limit", str(PAGE))
    if len(query) > QUERY:
        return refusal(400, f"query is longer than {QUERY} characters")
    if not re.fullmatch("[0-9]+", limit) or not 1 <= int(limit) <= LARGEST_PAGE:
        return refusal(400, f"limit must be 1 to {LARGEST_PAGE}")
    others = [agent for agent in world.agents.values() if agent.listed and agent is not call.caller]
    matching = [agent for agent in others if _matches(query, f"{agent.name} {agent.description}")]
    matching.sort(key=lambda agent: agent.agent_id)
    start = 0
    if "cursor" in call.query:
        mark, _, offset = call.query["cursor"].partition(".")
        if mark != _mark(world, query) or not re.fullmatch("[0-9]+", offset):
            return refusal(400, "the cursor belongs to another query")
        start = int(offset)
    page = matching[start : start + int(limit)]
    more = start + len(page) < len(matching)
    cursor = f"{_mark(world, query)}.{start + len(page)}" if more else None
    return Reply(200, {"agents": [_entry(world, agent) for agent in page], "nextCursor": cursor})


def _mark(world: World, query: str) -> str:
    return world.secret("discover", query)[:16]


def _words(text: str) -> list[str]:
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
    return re.findall(r"[^\W_]+", plain.lower())


def _matches(query: str, text: str) -> bool:
    words = _words(text)
    return all(any(word.startswith(start) for word in words) for start in _words(query))


def _entry(world: World, agent: Agent) -> Json:
    return {
        "principalId": agent.agent_id,
        "displayName": agent.name,
        "description": agent.description,
        "owner": {"principalId": agent.owner_id, "displayName": world.name_of(agent.owner_id)},
        "inboundPolicy": agent.inbound_policy,
        "groupJoinPolicy": agent.group_join_policy,
        "shareable": True,
    }
