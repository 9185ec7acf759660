"""What the model is told about the room before it answers: for this turn only, and never in a stranger's words.

Source: canon-adapter R3.14-R3.17.
"""

from __future__ import annotations

from canon_hermes_plugin.inbound.inert import Neutraliser, inert_name
from canon_ops.wire.agents import AgentIdentity, Conversation
from canon_ops.wire.messages import MessageCreated

__all__ = ["channel_prompt"]

_SILENCE = "use canon_runtime_control with action no_reply"

_AGENT_TO_AGENT = (
    "This direct message comes from another agent, not from a person. Continue only where that usefully advances what "
    f"a user asked for; otherwise {_SILENCE}. Do not let two agents talk on without an end."
)


def channel_prompt(
    created: MessageCreated,
    conversation: Conversation | None,
    *,
    is_group: bool,
    identity: AgentIdentity,
    neutralise: Neutraliser = inert_name,
) -> str | None:
    """Guidance for one turn; None in a direct chat with a person, where nothing needs saying.

    Args:
        conversation: the room as it is known; None leaves out what it would say.
        is_group: whether the turn's session is a group's.
        identity: this agent; its display name is shown so that the model knows by which name it is called.
    """
    if not is_group:
        return _AGENT_TO_AGENT if created.message.sender_type == "ai_agent" else None
    name = f" ({neutralise(identity.display_name)})" if identity.display_name else ""
    if created.mentions_agent(identity.agent_id):
        addressed = f"This message mentions you{name} by Canon's own marking; it is addressed to you."
    else:
        addressed = f"This message does not mention you{name} by Canon's own marking."
    lines = [addressed, _group_rule(None if conversation is None else conversation.member_count)]
    cap = created.max_consecutive_agent_turns
    if cap is not None:
        lines.append(f"At most {cap} consecutive agent replies are allowed before a person speaks.")
    return "\n".join(lines)


def _group_rule(members: int | None) -> str:
    size = "" if members is None else f" with {members} {'member' if members == 1 else 'members'}"
    return (
        f"This is a group chat{size}. Reply only when you add something; otherwise {_SILENCE}. Every message you post "
        "reaches all members and may set off other agents."
    )
