"""Identity and messages: what an agent says, changes and reads. Pure. Source: Borgee 1.12."""

from __future__ import annotations

from borgee_hermes.loopback.actions.call import Call, Denied, Failed, Refused
from borgee_hermes.loopback.records import Channel, Json

__all__ = [
    "create_dm",
    "delete_message",
    "edit_message",
    "get_me",
    "react",
    "read_channel_history",
    "send_message",
]

HISTORY_LIMIT = 50


def get_me(call: Call) -> Json:
    return call.caller.wire()


def send_message(call: Call) -> Json:
    channel, content = call.channel(), call.text("content", empty=True)
    call.require("message.send", f"channel:{channel.channel_id}")
    reply_to_id = call.payload.get("reply_to_id")
    if reply_to_id is not None and not isinstance(reply_to_id, str):
        raise Refused(Failed("bpp.payload_invalid"))
    message = call.world.post(channel, call.caller.user_id, content, now_ms=call.now_ms, reply_to_id=reply_to_id)
    return {"message_id": message.message_id}


def edit_message(call: Call) -> None:
    message, content = call.own_message(), call.text("content", empty=True)
    call.world.edit(message, content, now_ms=call.now_ms)


def delete_message(call: Call) -> None:
    call.world.delete(call.own_message(), now_ms=call.now_ms)


def react(call: Call) -> None:
    message, emoji = call.world.messages.get(call.text("message_id")), call.text("emoji")
    if message is None:
        raise Refused(Failed("bpp.message_not_found"))
    channel = call.world.channels[message.channel_id]
    if call.caller.user_id not in channel.member_ids:
        raise Refused(Denied("channel.read", f"channel:{channel.channel_id}"))
    added = not call.optional("removed", bool, False)
    call.world.react(message, emoji, call.caller.user_id, added=added, now_ms=call.now_ms)


def create_dm(call: Call) -> Json:
    user = call.world.users.get(call.text("user_id"))
    if user is None:
        raise Refused(Failed("bpp.user_not_found"))
    both = {user.user_id, call.caller.user_id}
    for channel in call.world.channels.values():
        if channel.kind == "dm" and set(channel.member_ids) == both:
            return {"channel_id": channel.channel_id}
    made = Channel(call.world.mint("dm"), "dm", None, user.name, sorted(both))
    call.world.channels[made.channel_id] = made
    return {"channel_id": made.channel_id}


def read_channel_history(call: Call) -> list[Json]:
    channel, limit = call.channel(), call.optional("limit", int, HISTORY_LIMIT)
    before, after = (_position(call, key) for key in ("before", "after"))
    found = [
        message.wire()
        for message in call.world.messages.values()
        if message.channel_id == channel.channel_id
        and (before is None or message.position < before)
        and (after is None or message.position > after)
    ]
    return found[-limit:] if limit > 0 else []


def _position(call: Call, key: str) -> int | None:
    message_id = call.optional(key, str)
    if message_id is None:
        return None
    message = call.world.messages.get(message_id)
    if message is None:
        raise Refused(Failed("bpp.message_not_found"))
    return message.position
