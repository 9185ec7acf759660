"""The server's rate limits, off unless the fault ``rate-limits`` is armed. Pure.

Source: Canon wire 12.3, decisions L7.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Final

from canon_ops.sandbox.records import Conversation
from canon_ops.sandbox.state import Call, Reply, World, refusal

__all__ = ["LIMITS", "RULE", "exceeded"]

RULE: Final = "rate-limits"
LIMITS: Final = {"sender": (300, 300_000), "conversation": (120, 300_000), "peers": (30, 3_600_000)}
"""Name -> how many messages in how many milliseconds; ``peers`` counts between agents."""


def exceeded(world: World, call: Call, room: Conversation) -> Reply | None:
    """Count one more message; the refusal when a limit is passed and the rule is in force, else None."""
    agent_id = call.caller.agent_id
    counted = {"sender": agent_id, "conversation": room.conversation_id}
    if sum(member in world.agents for member in room.member_ids) > 1:
        counted["peers"] = agent_id
    windows = [(name, world.sends_by.setdefault((name, whom), deque())) for name, whom in counted.items()]
    for name, times in windows:
        allowed, span_ms = LIMITS[name]
        while times and times[0] <= call.now_ms - span_ms:
            times.popleft()
        while len(times) > allowed:
            times.popleft()
        if call.bent == RULE and len(times) >= allowed:
            after_s = (times[0] + span_ms - call.now_ms + 999) // 1000
            return _refused(name, after_s)
    for _, times in windows:
        times.append(call.now_ms)
    return None


def _refused(name: str, after_s: int) -> Reply:
    answer = refusal(429, f"Too many messages: the limit of this {name}", "RATE_LIMITED")
    body = {**answer.body, "retryAfter": after_s}
    return replace(answer, body=body, headers={"retry-after": str(after_s)}, was_bent=True)
