"""What actions give back: checked once at the border, with what we do not know kept as it came.

A wrong shape raises :class:`ProtocolError` at the caller of the one action; the connection is not concerned, except for
the identity, without which there is none. Source: Borgee 1.12.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from borgee_hermes.bpp.errors import ProtocolError

__all__ = ["User", "Zone", "ZonePage", "conversation", "conversations", "is_zone_id", "task", "tasks", "zone_page"]

_ZONE_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_ROLES: Final = frozenset({"member", "agent"})
_CONTROL: Final = frozenset([*range(0x20), 0x7F, *range(0x80, 0xA0)])
ZONE_NAME_CHARS: Final = 100
DEFAULT_ZONE_LIMIT: Final = 20

Json = Mapping[str, Any]


def is_zone_id(value: object) -> bool:
    """Whether this names a zone; the text ``null`` does not, so that a slip never becomes a placement."""
    return isinstance(value, str) and value != "null" and _ZONE_ID.fullmatch(value) is not None


def _object(value: object, what: str) -> Json:
    if not isinstance(value, Mapping):
        raise ProtocolError(f"Borgee sent {what} that is not an object.")
    return value


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ProtocolError(f"Borgee sent {what} that are not a list.")
    return value


def _text(source: Json, key: str, what: str, *, empty: bool = True) -> str:
    value = source.get(key)
    if not isinstance(value, str) or not (value or empty):
        raise ProtocolError(f"Borgee sent {what} without a usable {key}.")
    return value


@dataclass(frozen=True, slots=True)
class User:
    """Who a key belongs to.

    Attributes:
        raw: the whole answer, nullable extras included.
    """

    user_id: str
    display_name: str
    role: str
    permissions: tuple[str, ...]
    raw: Json = field(compare=False, repr=False)

    @classmethod
    def read(cls, value: object) -> User:
        """Check an answer to ``get_me``."""
        source = _object(value, "an identity")
        permissions = source.get("permissions")
        if not isinstance(permissions, list) or not all(isinstance(item, str) and item for item in permissions):
            raise ProtocolError("Borgee sent an identity without usable permissions.")
        role = _text(source, "role", "an identity")
        if role not in _ROLES:
            raise ProtocolError(f"Borgee sent an identity with the role {role!r}.")
        for key, kind in _OPTIONAL_OF_USER.items():
            extra = source.get(key)
            if extra is not None and (not isinstance(extra, kind) or (kind is int and isinstance(extra, bool))):
                raise ProtocolError(f"Borgee sent an identity with a {key} of the wrong type.")
        return cls(
            _text(source, "id", "an identity", empty=False),
            _text(source, "display_name", "an identity"),
            role,
            tuple(permissions),
            source,
        )


_OPTIONAL_OF_USER: Final[Mapping[str, type]] = {
    "avatar_url": str,
    "email": str,
    "created_at": int,
    "last_seen_at": int,
    "require_mention": bool,
    "owner_id": str,
    "deleted_at": int,
    "disabled": bool,
}


def task(value: object) -> Json:
    """Check a task: it has an id; of its properties only texts are kept."""
    source = _object(value, "a task")
    _text(source, "id", "a task", empty=False)
    properties = source.get("properties")
    if not isinstance(properties, Mapping):
        return source
    kept = {key: text for key, text in properties.items() if isinstance(text, str)}
    return {**source, "properties": kept}


def tasks(value: object) -> list[Json]:
    """Check a list of tasks."""
    return [task(item) for item in _list(value, "tasks")]


def conversation(value: object) -> Json:
    """Check a channel: it says where it is placed, in a zone or, with null, outside of every zone."""
    source = _object(value, "a channel")
    if "parent_id" not in source:
        raise ProtocolError("Borgee sent a channel: missing parent_id.")
    if source["parent_id"] is not None and not is_zone_id(source["parent_id"]):
        raise ProtocolError("Borgee sent a channel with a malformed parent_id.")
    return source


def conversations(value: object) -> list[Json]:
    """Check a list of channels."""
    return [conversation(item) for item in _list(value, "channels")]


@dataclass(frozen=True, slots=True)
class Zone:
    """A named group of channels."""

    zone_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ZonePage:
    """Some zones in ascending order of their ids; ``next_after`` goes into the next request, None ends."""

    zones: tuple[Zone, ...]
    next_after: str | None

    def as_dict(self) -> dict[str, Any]:
        """The page as the wire has it."""
        return {
            "zones": [{"id": zone.zone_id, "name": zone.name} for zone in self.zones],
            "next_after": self.next_after,
        }


def zone_page(value: object, *, limit: int | None, after: str | None) -> ZonePage:
    """Check a page against the request that it answers."""
    source = _object(value, "a page of zones")
    if "next_after" not in source:
        raise ProtocolError("Borgee sent a page of zones: missing next_after.")
    rows = _list(source.get("zones"), "zones")
    most = DEFAULT_ZONE_LIMIT if limit is None else limit
    if len(rows) > most:
        raise ProtocolError(f"Borgee sent {len(rows)} zones where {most} were asked for.")
    zones = tuple(_zone(row) for row in rows)
    ids = [*([after] if after is not None else []), *(zone.zone_id for zone in zones)]
    if any(one >= other for one, other in itertools.pairwise(ids)):
        raise ProtocolError("Borgee sent zones out of order.")
    following = source["next_after"]
    if following is not None and (len(zones) != most or following != zones[-1].zone_id):
        raise ProtocolError("Borgee sent a page of zones with a next_after that does not fit.")
    return ZonePage(zones, following)


def _zone(value: object) -> Zone:
    source = _object(value, "a zone")
    zone_id, name = source.get("id"), source.get("name")
    if not isinstance(zone_id, str) or not is_zone_id(zone_id):
        raise ProtocolError("Borgee sent a zone with a malformed id.")
    if not isinstance(name, str) or not _is_zone_name(name):
        raise ProtocolError(f"Borgee sent the zone {zone_id} with a malformed name.")
    return Zone(zone_id, name)


def _is_zone_name(name: str) -> bool:
    points = [ord(char) for char in name]
    return (
        1 <= len(points) <= ZONE_NAME_CHARS
        and name == name.strip()
        and not any(point in _CONTROL or 0xD800 <= point <= 0xDFFF for point in points)
    )
