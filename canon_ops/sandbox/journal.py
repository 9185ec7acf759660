"""Every request as it came in, in one order for both listeners: what tests read. Pure.

Keys and poll tokens are never kept: a header that carries one shows its last four characters. Source: Canon wire 11.2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Entry", "Journal", "redacted"]

_SECRET_HEADERS = frozenset({"authorization", "x-canon-poll-token", "x-sandbox-token", "cookie"})
_LONG_TEXT = 16_384


def redacted(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with every secret cut down to its scheme and its last four characters."""
    return {name: _hint(value) if name in _SECRET_HEADERS else value for name, value in headers.items()}


def _hint(value: str) -> str:
    scheme, space, secret = value.rpartition(" ")
    return f"{scheme}{space}…{secret[-4:]}" if len(secret) >= 12 else f"{scheme}{space}…"


@dataclass(slots=True)
class Entry:
    """One request.

    Attributes:
        number: running number over both listeners, by time of arrival.
        listener: ``api`` or ``stream``.
        body: the parsed JSON, the raw text when it was not JSON, None when there was none.
        agent_id: whose key came with it.
        status: what was answered; None while it is being worked on, 0 when the socket was reset instead.
        fault: the name of the fault that struck.
        spoiled: the names of those that struck the events of a stream's answer, in order.
        unexpected: nothing is served under this method and path.
    """

    number: int
    at_ms: int
    listener: str
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    agent_id: str | None = None
    status: int | None = None
    fault: str | None = None
    spoiled: list[str] = field(default_factory=list)
    unexpected: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "at": self.at_ms,
            "listener": self.listener,
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "headers": self.headers,
            "body": self.body,
            "agentId": self.agent_id,
            "status": self.status,
            "fault": self.fault,
            "spoiled": [*self.spoiled],
            "unexpected": self.unexpected,
        }


class Journal:
    """The newest ``limit`` requests; ``count`` goes on counting."""

    def __init__(self, limit: int) -> None:
        self.count = 0
        self._entries: deque[Entry] = deque(maxlen=limit)

    def add(
        self,
        *,
        at_ms: int,
        listener: str,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: Any,
    ) -> Entry:
        """Note a request; the entry's status is filled in when the answer is known."""
        self.count += 1
        entry = Entry(self.count, at_ms, listener, method, path, dict(query), redacted(headers), _shortened(body))
        self._entries.append(entry)
        return entry

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def after(self, number: int) -> list[Entry]:
        """Entries with a higher number, oldest first."""
        newer: list[Entry] = []
        for entry in reversed(self._entries):
            if entry.number <= number:
                break
            newer.append(entry)
        return newer[::-1]


def _shortened(body: Any) -> Any:
    """Uploads are not kept twice: a very long text becomes its length."""
    if not isinstance(body, dict):
        return body
    return {
        key: f"[{len(value)} characters]" if isinstance(value, str) and len(value) > _LONG_TEXT else value
        for key, value in body.items()
    }
