"""What a platform in a running gateway says of itself: ``plugins/<platform>/health.json`` in the Hermes home.

The host's own state file says ``running`` after a kill and knows nothing of a stream that has fallen silent. The plugin
therefore writes this file at every change and at least twice a minute; whoever reads it compares the process and the
age before believing it (:meth:`PlatformHealth.trust`).

The writer is the plugin, readers are ``doctor``, ``status`` and any probe; the shape is :data:`JSON_SCHEMA`. A reader
that meets an unknown field leaves it alone, and a damaged file reads as none.

Source: decisions X9; canon-adapter D22, D62; Borgee 8.6.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

__all__ = ["JSON_SCHEMA", "SCHEMA", "PlatformHealth", "StreamState", "Trust", "health_file"]

SCHEMA: Final = "canon-ops.platform-health/1"
STALE_AFTER_S: Final = 90.0  # ours: three times the longest pause between two writes


class StreamState(StrEnum):
    """How the event stream stands."""

    CONNECTING = "connecting"  # it has not been open yet
    OPEN = "open"  # what people say reaches us
    LOST = "lost"  # it is being opened again
    REFUSED = "refused"  # the key was refused; nobody tries any more
    CLOSED = "closed"  # closed on purpose


class Trust(StrEnum):
    """What the file is worth now."""

    CURRENT = "current"
    STALE = "stale"  # its process lives and has not written for too long: its loop hangs
    DEAD = "dead"  # its process is gone


@dataclass(frozen=True, slots=True)
class PlatformHealth:
    """One report.

    Attributes:
        version: of canon-ops; ``host_version`` of Hermes.
        environment_id: Canon's environment; for Borgee the server's origin.
        pid: the gateway's process.
        written_at_ms: when; all times are milliseconds since the epoch.
        stream_since_ms: since when the stream has been in its state.
        reconnects: how often it was opened again since the gateway started.
        last_trouble: why it was lost last, a sentence without secrets.
        last_event_at_ms: when anything came over the stream.
        cursor: the last event that is dealt with together with everything before it; for Borgee the terminal watermark.
        cursor_age_s: for how long the oldest event that is not dealt with has waited; 0 when none waits.
        in_work: events that have come and are not dealt with.
        turns_open: runs of the agent.
        outbox_depth: messages that the gateway has still to bring to Canon; ``outbox_oldest_ms`` is when the oldest of
            them was ready, None when there is none. What Canon refused is not among them: ``outbox list`` shows it.
            Borgee has no outbox.
    """

    platform: str
    version: str
    host_version: str
    pid: int
    written_at_ms: int
    environment_id: str
    agent_id: str | None
    stream: StreamState
    stream_since_ms: int
    reconnects: int = 0
    last_trouble: str | None = None
    last_event_at_ms: int | None = None
    cursor: str | None = None
    cursor_age_s: float = 0.0
    in_work: int = 0
    turns_open: int = 0
    outbox_depth: int = 0
    outbox_oldest_ms: int | None = None

    @property
    def data(self) -> bytes:
        """The file's bytes."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=2, ensure_ascii=False).encode() + b"\n"

    @classmethod
    def parse(cls, data: bytes) -> PlatformHealth | None:
        """Read the file; None when it is not one of ours."""
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            return None
        if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
            return None
        known = {field.name: document[field.name] for field in fields(cls) if field.name in document}
        if any(not _fits(name, value) for name, value in known.items()):
            return None
        try:
            return cls(**{**known, "stream": StreamState(str(known.get("stream")))})
        except (TypeError, ValueError):
            return None

    def trust(self, *, now_ms: int, is_alive: bool) -> Trust:
        """What the report is worth.

        Args:
            is_alive: whether the process ``pid`` is a gateway that runs now.
        """
        if not is_alive:
            return Trust.DEAD
        age_s = (now_ms - self.written_at_ms) / 1_000
        return Trust.STALE if age_s > STALE_AFTER_S else Trust.CURRENT


def health_file(home: Path, platform: str) -> Path:
    """Where a platform's report lies."""
    return home / "plugins" / platform / "health.json"


_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer", "minimum": 0}
_TIME: Final = {"type": "integer", "description": "milliseconds since the epoch"}

_PROPERTIES: Final[dict[str, dict[str, Any]]] = {
    "schema": {"const": SCHEMA},
    "platform": _TEXT,
    "version": _TEXT,
    "host_version": _TEXT,
    "pid": _COUNT,
    "written_at_ms": _TIME,
    "environment_id": _TEXT,
    "agent_id": {"type": ["string", "null"]},
    "stream": {"enum": [state.value for state in StreamState]},
    "stream_since_ms": _TIME,
    "reconnects": _COUNT,
    "last_trouble": {"type": ["string", "null"]},
    "last_event_at_ms": {**_TIME, "type": ["integer", "null"]},
    "cursor": {"type": ["string", "null"]},
    "cursor_age_s": {"type": "number", "minimum": 0},
    "in_work": _COUNT,
    "turns_open": _COUNT,
    "outbox_depth": _COUNT,
    "outbox_oldest_ms": {**_TIME, "type": ["integer", "null"]},
}

JSON_SCHEMA: Final[Mapping[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": SCHEMA,
    "type": "object",
    "required": list(_PROPERTIES),
    "properties": _PROPERTIES,
}
"""The shape of the file; further fields may come."""

_PYTHON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}


def _fits(name: str, value: object) -> bool:
    """Whether a value has the type that the schema gives its field."""
    declared = _PROPERTIES[name].get("type", "string")
    names = [declared] if isinstance(declared, str) else declared
    allowed = tuple(kind for one in names for kind in _PYTHON_TYPES[one])
    return isinstance(value, allowed) and not isinstance(value, bool)
