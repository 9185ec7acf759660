"""Fetches a file by its link: no key goes along, and the connection goes to an address that was checked.

Source: Canon adapter R4.3; Canon wire 10.3, 10.4; defect D30. The rules stand in addresses.py.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from canon_hermes_plugin.media.addresses import Link, Refused, allowed_addresses, follow, read_link
from canon_hermes_plugin.media.captures import FILE_BYTES
from canon_ops.client.deadline import within
from canon_ops.client.errors import TransportFailure, api_error
from canon_ops.client.pinned import Pinned, get_pinned
from canon_ops.client.transport import Answer
from canon_ops.errors import OutsideError, RefusedError
from canon_ops.runtime.clock import Clock
from canon_ops.wire.retry import TransportKind

__all__ = ["Downloads", "Fetched", "Getter", "TookTooLong", "UnsafeUrl", "resolve"]

REDIRECTS: Final = 5
ADDRESSES_TRIED: Final = 3
STEP_S: Final = 30.0  # Canon wire 10.3
WHOLE_S: Final = 90.0  # ours: a body that trickles would never meet the limit of a single read
NAME: Final = "the download of an attachment"
HEADERS: Final = {"User-Agent": "HermesAgent/CanonPlatform"}

_NOT_REACHED: Final = frozenset({TransportKind.REFUSED, TransportKind.CONNECT_TIMEOUT})


class UnsafeUrl(RefusedError, ValueError):
    """The link leads where nothing is fetched from; the sentence does not quote it."""

    code = "media_url_refused"

    def __init__(self, refused: Refused) -> None:
        super().__init__(f"Blocked unsafe URL of an attachment: {refused.reason}")


class TookTooLong(OutsideError):
    """The file was still on its way when the time was over."""

    code = "media_too_slow"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file; ``content_type`` is what the server said of it."""

    data: bytes = field(repr=False)
    content_type: str | None


class Getter(Protocol):
    """:func:`~canon_ops.client.pinned.get_pinned`."""

    def __call__(
        self, where: Pinned, *, name: str, headers: dict[str, str], max_bytes: int, timeout_s: float
    ) -> Awaitable[Answer]: ...


class Downloads:
    """Fetches files.

    Args:
        addresses_of: everything that a host's name and port resolve to, without holding the loop up.
        allows_private: whether the operator lets files come from the inside; it may read a file, so it is awaited.
    """

    def __init__(
        self,
        *,
        addresses_of: Callable[[str, int], Awaitable[Sequence[str]]],
        allows_private: Callable[[], Awaitable[bool]],
        clock: Clock,
        get: Getter = get_pinned,
    ) -> None:
        self._addresses_of = addresses_of
        self._allows_private = allows_private
        self._clock = clock
        self._get = get

    async def fetch(self, url: str) -> Fetched:
        """The file behind a link.

        Raises:
            UnsafeUrl: the link, or a redirect of it, leads where nothing is fetched from.
            AnswerTooLarge: it has more than 10 MiB.
            TookTooLong: it did not come in time.
            RequestFailed: the server refused, or no whole answer came.
        """
        try:
            return await within(self._clock, WHOLE_S, self._follow(url))
        except TimeoutError as error:
            raise TookTooLong(f"{NAME} took more than {WHOLE_S:g} seconds") from error

    async def _follow(self, url: str) -> Fetched:
        link: Link | Refused = read_link(url)
        for _ in range(REDIRECTS + 1):
            if isinstance(link, Refused):
                raise UnsafeUrl(link)
            answer = await self._at(link)
            location = answer.headers.get("location")
            if not 300 <= answer.status < 400 or location is None:
                break
            link = follow(link, location)
        else:
            raise UnsafeUrl(Refused("it is redirected too often"))
        if not 200 <= answer.status < 300:
            raise api_error(answer.status, None, "", request=NAME)
        return Fetched(answer.content, answer.headers.get("content-type"))

    async def _at(self, link: Link) -> Answer:
        """One hop: from the addresses that are checked here, one after the other while none can be reached."""
        resolved = await self._addresses_of(link.host, link.port)
        addresses = allowed_addresses(resolved, allow_private=await self._allows_private())
        if isinstance(addresses, Refused):
            raise UnsafeUrl(addresses)
        tried = addresses[:ADDRESSES_TRIED]
        for address in tried:
            where = Pinned(link.at(address), link.authority, link.host if link.is_named else None)
            try:
                return await self._get(where, name=NAME, headers=dict(HEADERS), max_bytes=FILE_BYTES, timeout_s=STEP_S)
            except TransportFailure as error:
                if error.kind not in _NOT_REACHED or address == tried[-1]:
                    raise
        raise AssertionError("an allowed link has an address")


def resolve(host: str, port: int) -> list[str]:
    """Every address of a host, in the system's order, empty when there is none; blocks."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError):  # no such name, or none that could be one
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
