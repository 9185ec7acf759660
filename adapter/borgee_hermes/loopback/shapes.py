"""How a frame is written when a fault wants it written differently. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from borgee_hermes.loopback.orders import Put
from borgee_hermes.loopback.records import Json

__all__ = ["SHAPES", "dumped", "shaped"]

TOO_BIG_BYTES: Final = 5 * 1024 * 1024 + 1


def dumped(frame: Json) -> bytes:
    """The frame as a server writes it."""
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def changed(source: Json, members: Mapping[str, Any]) -> Json:
    """The frame with some members replaced; None removes one."""
    kept = {key: value for key, value in source.items() if key not in members}
    return {**kept, **{key: value for key, value in members.items() if value is not None}}


def _payload(frame: Json, members: Mapping[str, Any]) -> Json:
    """The frame with members of its payload replaced, if it has one that is an object, or a list of objects."""
    try:
        payload = json.loads(frame["payload"])
    except (KeyError, TypeError, ValueError):
        return frame
    if isinstance(payload, dict):
        payload = changed(payload, members)
    elif isinstance(payload, list):
        payload = [changed(item, members) if isinstance(item, dict) else item for item in payload]
    return {**frame, "payload": json.dumps(payload)}


def _too_big(frame: Json) -> bytes:
    return dumped({**frame, "filling": "x" * TOO_BIG_BYTES})


Shape = Callable[[Json, Mapping[str, Any]], list[Put]]

SHAPES: Final[Mapping[str, Shape]] = {
    "members": lambda frame, members: [Put(dumped(changed(frame, members)))],
    "payload": lambda frame, members: [Put(dumped(_payload(frame, members)))],
    "twice": lambda frame, members: [Put(dumped(frame))] * 2,
    "not-json": lambda frame, members: [Put(dumped(frame)[:-1])],
    "not-utf8": lambda frame, members: [Put(dumped(frame).replace(b'"', b'"\xff', 1))],
    "list": lambda frame, members: [Put(b"[" + dumped(frame) + b"]")],
    "binary": lambda frame, members: [Put(dumped(frame), "binary")],
    "fragments": lambda frame, members: [Put(dumped(frame), "fragments")],
    "bytewise": lambda frame, members: [Put(dumped(frame), "bytewise")],
    "too-big": lambda frame, members: [Put(_too_big(frame))],
    "bad-opcode": lambda frame, members: [Put(dumped(frame), "bad-opcode")],
}


def shaped(frame: Json, how: str, members: Mapping[str, Any]) -> list[Put]:
    """What is written in place of a frame."""
    return SHAPES[how](frame, members)
