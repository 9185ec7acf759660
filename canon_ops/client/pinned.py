"""One GET to an address that was chosen before: for links that strangers wrote.

The connection goes to the address in the URL; the name of the host is only said (``Host``, and to the certificate).
Nothing is resolved here and no redirect is followed. Each request has a connection of its own: a pool would give a
connection that was made, and certified, for one name to another name at the same address. Proxies are not used, since
one would resolve and connect by itself.

The body is read as it comes, never unpacked, and no further than the cap.

Source: Canon wire 10.3, 10.4; Canon adapter R4.3; defect D30.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from canon_ops.client.errors import MalformedAnswer
from canon_ops.client.transport import Answer, translated, trusted_certificates
from canon_ops.errors import RefusedError

__all__ = ["AnswerTooLarge", "Pinned", "get_pinned"]


class AnswerTooLarge(RefusedError, ValueError):
    """The peer has more than we take; no more than the cap and one chunk of it was held."""

    code = "file_too_large"


@dataclass(frozen=True, slots=True)
class Pinned:
    """Where to go, and what to say there.

    Attributes:
        url: with the address in the place of the host.
        authority: the ``Host`` header.
        server_name: what the certificate must be for; None where the host is a bare address.
    """

    url: str = field(repr=False)
    authority: str
    server_name: str | None


async def get_pinned(
    where: Pinned, *, name: str, headers: Mapping[str, str], max_bytes: int, timeout_s: float
) -> Answer:
    """Fetch; whatever the status is, a redirect comes back without its body.

    Args:
        name: what the request is called in errors, which quote no address.
        timeout_s: for connecting, and for each read.

    Raises:
        TransportFailure: no whole answer came.
        AnswerTooLarge: the body is larger than ``max_bytes``.
        MalformedAnswer: it is compressed, though that was not asked for.
    """
    import httpx

    trusted = await asyncio.to_thread(trusted_certificates)
    sent = {"Host": where.authority, "Accept": "*/*", "Accept-Encoding": "identity", **headers}
    extensions = {} if where.server_name is None else {"sni_hostname": where.server_name}
    transport = httpx.AsyncHTTPTransport(verify=trusted, trust_env=False)
    with translated(name):
        async with httpx.AsyncClient(transport=transport, timeout=timeout_s, trust_env=False) as client:
            request = client.build_request("GET", where.url, headers=sent, extensions=extensions)
            response = await client.send(request, stream=True)
            try:
                return await _read(response, name=name, max_bytes=max_bytes)
            finally:
                await response.aclose()


async def _read(response: object, *, name: str, max_bytes: int) -> Answer:
    import httpx

    assert isinstance(response, httpx.Response)  # noqa: S101  # the type has no name without the library
    headers = {key.lower(): value for key, value in response.headers.items()}
    if 300 <= response.status_code < 400:
        return Answer(response.status_code, headers, b"")
    if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise MalformedAnswer(name, "is compressed, though that was not asked for")
    too_large = AnswerTooLarge(f"{name} is larger than {max_bytes:,} bytes")
    said = headers.get("content-length", "")
    if said.isdecimal() and int(said) > max_bytes:
        raise too_large
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > max_bytes:
            raise too_large
    return Answer(response.status_code, headers, bytes(body))
