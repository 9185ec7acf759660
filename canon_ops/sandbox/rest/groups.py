"""The verbs about groups: create one, add and remove members. Pure. Source: Canon wire 5.2, 5.3, 11.6."""

from __future__ import annotations

from canon_ops.sandbox.records import Contact, Conversation, Human, Json
from canon_ops.sandbox.rest.reaching import admission, id_of, principal_of
from canon_ops.sandbox.state import Call, Reply, World, refusal

__all__ = ["add_member", "create_group", "remove_member"]

GROUP_MEMBERS = 50


def create_group(world: World, call: Call, envelope: Json, value: Json) -> Json | Reply:
    wanted = envelope["memberIds"]
    if not isinstance(wanted, list) or not all(isinstance(item, str) and item for item in wanted):
        return refusal(400, "memberIds must be a list of ids", "INVALID_VERB_FRAME")
    if len(set(wanted)) + 1 > GROUP_MEMBERS:
        return refusal(400, f"a group has at most {GROUP_MEMBERS} members", "GROUP_TOO_LARGE")
    agent_id = call.caller.agent_id
    added: list[str] = []
    invited: list[str] = []
    skipped: list[Json] = []
    for member in dict.fromkeys(wanted):
        target = principal_of(world, member)
        policy = target.group_join_policy if target else "not_found"
        blocked = isinstance(target, Human) and agent_id in target.blocked
        if target is None or blocked or policy == "closed":
            skipped.append({"userId": member, "reason": "blocked" if blocked else policy})
        elif policy == "open" or member == call.caller.owner_id:
            added.append(member)
        else:
            invited.append(member)
    if not added and not invited:
        return refusal(400, "Nobody can be added or invited", "CREATE_GROUP_NO_ADDABLE_MEMBERS")
    name = value.get("name")
    room = world.add_conversation(
        [agent_id, *added], kind="group", name=name if isinstance(name, str) else None, now_ms=call.now_ms
    )
    room.admin_ids.append(agent_id)
    pending = [{"userId": member, "requestId": _invite(world, agent_id, member, room)} for member in invited]
    for member in added:
        if member in world.agents:
            world.publish(member, "conversation.updated", _changes(room))
    return {
        "status": "created",
        "conversationId": room.conversation_id,
        "added": added,
        "pending": pending,
        "skipped": skipped,
    }


def _invite(world: World, agent_id: str, member: str, room: Conversation) -> str:
    request_id = world.mint("req")
    world.contacts[request_id] = Contact(request_id, agent_id, member, room.conversation_id)
    return request_id


def _changes(room: Conversation) -> Json:
    return {"conversationId": room.conversation_id, "changes": room.summary()}


def add_member(world: World, call: Call, envelope: Json, value: Json) -> Json | Reply:
    room = _group_for(world, call, envelope["conversationId"])
    if isinstance(room, Reply):
        return room
    target = principal_of(world, envelope["targetUserId"])
    if target is None:
        return refusal(404, "No such user")
    if id_of(target) in room.member_ids:
        return {"status": "added"}
    if len(room.member_ids) >= GROUP_MEMBERS:
        return refusal(400, f"a group has at most {GROUP_MEMBERS} members", "GROUP_TOO_LARGE")
    answer = admission(world, call, target, room.conversation_id, target.group_join_policy)
    if answer is not None:
        if "requestId" in answer:
            return {"status": "pending", "requestId": answer["requestId"]}
        return refusal(403, f"This user cannot be added: {answer['reason']}", "MEMBER_NOT_ADDABLE")
    room.member_ids.append(id_of(target))
    world.publish_to_members(room, "conversation.updated", _changes(room))
    return {"status": "added"}


def remove_member(world: World, call: Call, envelope: Json, value: Json) -> Json | Reply:
    room = _group_for(world, call, envelope["conversationId"])
    if isinstance(room, Reply):
        return room
    if not {call.caller.agent_id, call.caller.owner_id} & set(room.admin_ids):
        return refusal(403, "Only the owner or an admin may remove members", "NOT_AN_ADMIN")
    if envelope["targetUserId"] not in room.member_ids:
        return refusal(404, "Not a member")
    world_members = list(room.member_ids)
    room.member_ids.remove(envelope["targetUserId"])
    for member in world_members:
        if member in world.agents:
            world.publish(member, "conversation.updated", _changes(room))
    return {"status": "removed"}


def _group_for(world: World, call: Call, conversation_id: str) -> Conversation | Reply:
    room = world.room_for(call, conversation_id)
    if isinstance(room, Conversation) and room.kind != "group":
        return refusal(400, "This is not a group", "NOT_A_GROUP")
    return room
