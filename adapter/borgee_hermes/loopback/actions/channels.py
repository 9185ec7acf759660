"""Channels and zones: what an agent finds, makes and changes in a Server. Pure. Source: Borgee 1.12."""

from __future__ import annotations

from typing import Final

from borgee_hermes.loopback.actions.call import Call, Failed, Refused
from borgee_hermes.loopback.records import Channel, Json

__all__ = ["create_channel", "delete_channel", "list_channels", "list_zones", "set_topic", "update_channel"]

ZONES_A_PAGE: Final = 20
MOST_ZONES_A_PAGE: Final = 50
VISIBILITIES: Final = frozenset({"public", "private"})


def list_channels(call: Call) -> list[Json]:
    channels = call.world.channels.values()
    return [channel.wire() for channel in channels if call.caller.user_id in channel.member_ids]


def list_zones(call: Call) -> Json:
    guild_id = call.require_guild_member()
    limit, after = call.optional("limit", int, ZONES_A_PAGE), call.optional("after", str)
    if not 1 <= limit <= MOST_ZONES_A_PAGE:
        raise Refused(Failed("bpp.payload_invalid"))
    zones = sorted(
        (zone for zone in call.world.zones.values() if zone.guild_id == guild_id), key=lambda zone: zone.zone_id
    )
    rest = [zone for zone in zones if after is None or zone.zone_id > after]
    page = rest[:limit]
    return {
        "zones": [zone.wire() for zone in page],
        "next_after": page[-1].zone_id if len(rest) > limit else None,
    }


def create_channel(call: Call) -> Json:
    guild_id, name = call.require_guild_member(), call.text("name")
    call.require("channel.create", f"guild:{guild_id}")
    if "parent_id" not in call.payload:
        raise Refused(Failed("bpp.payload_invalid"))
    parent_id = call.payload["parent_id"]
    if parent_id is not None:
        zone = call.world.zones.get(parent_id) if isinstance(parent_id, str) else None
        if zone is None or zone.guild_id != guild_id:
            raise Refused(Failed("bpp.zone_not_found"))
    topic, visibility = call.optional("topic", str, ""), call.optional("visibility", str, "public")
    members = call.optional("member_ids", list, [])
    known = all(isinstance(member, str) and member in call.world.users for member in members)
    if visibility not in VISIBILITIES or not known:
        raise Refused(Failed("bpp.payload_invalid"))
    everybody = list(dict.fromkeys([call.caller.user_id, *members]))
    channel = Channel(
        call.world.mint("channel"), "channel", guild_id, name, everybody, parent_id, topic, visibility
    )  # fmt: skip
    call.world.channels[channel.channel_id] = channel
    return channel.wire()


def update_channel(call: Call) -> Json:
    channel = call.channel()
    call.require("channel.manage", f"channel:{channel.channel_id}")
    name = call.optional("name", str, channel.name)
    visibility = call.optional("visibility", str, channel.visibility)
    archived = call.optional("archived", bool, channel.archived)
    if visibility not in VISIBILITIES or not name:
        raise Refused(Failed("bpp.payload_invalid"))
    channel.name, channel.visibility, channel.archived = name, visibility, archived
    return channel.wire()


def set_topic(call: Call) -> None:
    channel, topic = call.channel(), call.text("topic", empty=True)
    call.require("channel.manage", f"channel:{channel.channel_id}")
    channel.topic = topic


def delete_channel(call: Call) -> None:
    channel = call.channel()
    call.require("channel.manage", f"channel:{channel.channel_id}")
    del call.world.channels[channel.channel_id]
    for message_id in [key for key, one in call.world.messages.items() if one.channel_id == channel.channel_id]:
        del call.world.messages[message_id]
    for task_id in [key for key, task in call.world.tasks.items() if task.channel_id == channel.channel_id]:
        del call.world.tasks[task_id]
