"""Uploaded bytes and the URLs behind which they lie. Pure. Source: Canon wire 10, 11.3."""

from __future__ import annotations

import base64
import binascii
import re
from urllib.parse import quote

from canon_ops.sandbox.records import Json, Media
from canon_ops.sandbox.state import Call, Reply, World, refusal

__all__ = ["attach", "download", "is_issued", "upload"]

MEDIA_BYTES = 10_485_760
_MIME = re.compile(r"[a-z0-9.+-]+/[a-z0-9.+-]+(\s*;.*)?")


def upload(world: World, call: Call) -> Reply:
    """``POST /media/upload``: base64 in, an attachment with a URL of this server out."""
    room = world.room_for(call, call.body.get("conversationId"))
    if isinstance(room, Reply):
        return room
    mime_type = call.body.get("mimeType")
    if not isinstance(mime_type, str) or not _MIME.fullmatch(mime_type):
        return refusal(400, f"not a MIME type: {mime_type!r}")
    try:
        data = base64.b64decode(call.body.get("data", ""), validate=True)
    except (binascii.Error, TypeError, ValueError):
        return refusal(400, "data must be base64")
    if not data:
        return refusal(400, "data is empty")
    if len(data) > MEDIA_BYTES:
        return refusal(413, f"media is larger than {MEDIA_BYTES} bytes", "MEDIA_TOO_LARGE")
    name = call.body.get("fileName")
    attachment = attach(
        world, room.conversation_id, data, mime_type=mime_type, file_name=name if isinstance(name, str) else None
    )
    return Reply(200, {"url": attachment["url"], "attachment": attachment})


def attach(world: World, conversation_id: str, data: bytes, *, mime_type: str, file_name: str | None) -> Json:
    """Keep the bytes and give the attachment object that names them."""
    upload_id = world.mint("upload")
    name = file_name or f"{upload_id}.bin"
    media = Media(world.secret("media", upload_id)[:32], data, mime_type, name, conversation_id)
    world.media[upload_id] = media
    kind = mime_type.partition("/")[0]
    return {
        "kind": kind if kind in {"image", "audio", "video"} else "file",
        "url": _link(world, upload_id, media),
        "mimeType": mime_type,
        "fileName": name,
        "sizeBytes": len(data),
        "uploadId": upload_id,
    }


def is_issued(world: World, url: object) -> bool:
    """Whether this very link was given out here: another path, name or token makes it a foreign one.

    Source: Canon wire 11.4.
    """
    if not isinstance(url, str):
        return False
    _, _, place = url.removeprefix(f"{world.base_url}/files/").partition("/")
    upload_id, _, _ = place.partition("/")
    media = world.media.get(upload_id)
    return media is not None and url == _link(world, upload_id, media)


def _link(world: World, upload_id: str, media: Media) -> str:
    path = f"{media.conversation_id}/{upload_id}/{quote(media.file_name)}"
    return f"{world.base_url}/files/{path}?token={media.token}"


def download(world: World, call: Call) -> Reply:
    """``GET /files/…``: the token in the URL is the key."""
    media = world.media.get(call.params["upload_id"])
    if media is None or media.conversation_id != call.params["conversation_id"]:
        return refusal(404, "No such file")
    if call.query.get("token") != media.token:
        return refusal(403, "The link is not valid")
    return Reply(200, media.data, {"content-type": media.mime_type})
