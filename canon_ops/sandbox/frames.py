"""How an event looks in bytes, as it should be and in each unusual way that a fault can ask for. Pure.

:func:`chunks` gives the pieces in which a frame goes out; each piece becomes one HTTP chunk, so a cut between two
pieces is a cut that the reader meets. Source: Canon wire 6.2, 11.8.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from canon_ops.sandbox.events import Event, compact

__all__ = ["HEARTBEAT", "RESHAPINGS", "bare_frame", "chunks"]

HEARTBEAT: Final = b": heartbeat\n\n"


def bare_frame(name: str, payload: Any) -> bytes:
    """A frame without id: it does not move the reader's cursor."""
    return f"event: {name}\ndata: {compact(payload)}\n\n".encode()


def chunks(event: Event, how: str | None = None) -> list[bytes]:
    """The pieces to write for ``event``; ``how`` is one of :data:`RESHAPINGS`, None for the proper frame."""
    return [event.frame().encode()] if how is None else RESHAPINGS[how](event)


def _proper(event: Event) -> bytes:
    return event.frame().encode()


def _duplicate_new_id(event: Event) -> list[bytes]:
    return [_proper(event), _proper(replace(event, event_id=event.alias("again")))]


def _no_id(event: Event) -> list[bytes]:
    return [f"event: {event.name}\ndata: {event.data}\n\n".encode()]


def _no_name(event: Event) -> list[bytes]:
    return [f"id: {event.alias('unnamed', before=True)}\ndata: {event.data}\n\n".encode(), _proper(event)]


def _crlf_split(event: Event) -> list[bytes]:
    lines = event.frame().encode().split(b"\n")
    pieces = [lines[0] + b"\r"]
    pieces += [b"\n" + line + b"\r" for line in lines[1:-1]]
    return [*pieces, b"\n"]


def _bytewise(event: Event) -> list[bytes]:
    return [bytes([byte]) for byte in _proper(event)]


def _multi_line(event: Event) -> list[bytes]:
    lines = json.dumps(event.payload(), ensure_ascii=False, indent=1).split("\n")
    data = "\n".join(f"data: {line}" for line in lines)
    return [f"id: {event.event_id}\nevent: {event.name}\n{data}\n\n".encode()]


def _not_json(event: Event) -> list[bytes]:
    broken = f"id: {event.alias('broken', before=True)}\nevent: {event.name}\ndata: {{not json\n\n".encode()
    return [broken, _proper(event)]


def _unknown_name(event: Event) -> list[bytes]:
    unknown = f'id: {event.alias("unknown", before=True)}\nevent: message.teleported\ndata: {{"a":1}}\n\n'
    return [unknown.encode(), _proper(event)]


def _verdict(kind: str | None) -> Callable[[Event], list[bytes]]:
    def reshape(event: Event) -> list[bytes]:
        payload = {key: value for key, value in event.payload().items() if key != "turnDispatch"}
        if kind is not None:
            payload["turnDispatch"] = {"kind": kind}
        if kind not in {None, "run_turn"}:
            payload.pop("replyAuthority", None)
        return [_proper(replace(event, data=compact(payload)))]

    return reshape


RESHAPINGS: Final[Mapping[str, Callable[[Event], list[bytes]]]] = {
    "duplicate": lambda event: [_proper(event), _proper(event)],
    "duplicate-new-id": _duplicate_new_id,
    "no-id": _no_id,
    "no-name": _no_name,
    "crlf-split": _crlf_split,
    "bytewise": _bytewise,
    "multi-line": _multi_line,
    "not-json": _not_json,
    "unknown-name": _unknown_name,
    "no-verdict": _verdict(None),
    "record-only": _verdict("record_only"),
    "other-verdict": _verdict("dream_about_it"),
    "run-turn": _verdict("run_turn"),
}
