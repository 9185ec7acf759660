"""Asking Canon's two services who they are, without a key, and what stood in the way where one does not say.

Source: Canon wire 1.5.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from canon_ops.client.deadline import within
from canon_ops.client.errors import RequestFailed
from canon_ops.client.transport import HttpClient
from canon_ops.runtime.clock import Clock
from canon_ops.settings.environments import Connection
from canon_ops.wire.health import Identity, IdentityMismatch, check_identity, probe_urls

__all__ = ["Probed", "probe"]


@dataclass(frozen=True, slots=True)
class Probed:
    """What one of Canon's two services answered to a probe without a key.

    Attributes:
        status: HTTP status; None when no whole answer came.
        identity: who it says it is; None when it could not be asked, or is merely down.
        trouble: why there is no identity.
        tls_trouble: why no encrypted connection came about, in the library's words; None when it is not that.
        ahead_s: how far this machine's clock is ahead of the service's; None when the service did not say.
    """

    url: str
    status: int | None
    identity: Identity | IdentityMismatch | None
    trouble: str | None = None
    tls_trouble: str | None = None
    ahead_s: float | None = None


async def probe(connection: Connection, *, clock: Clock, timeout_s: float) -> Mapping[str, Probed]:
    """Ask API and stream, both at once; by the name of the service.

    Args:
        timeout_s: for each of them.
    """
    http = HttpClient(timeout_s=timeout_s)
    try:
        addresses = dict(probe_urls(connection))
        found = await asyncio.gather(
            *(_probe_one(http, connection, url, clock=clock, timeout_s=timeout_s) for url in addresses.values())
        )
        return dict(zip(addresses, found, strict=True))
    finally:
        await http.aclose()


async def _probe_one(http: HttpClient, connection: Connection, url: str, *, clock: Clock, timeout_s: float) -> Probed:
    name = f"GET {url}"
    try:
        answer = await within(
            clock, timeout_s, http.request("GET", url, name=name, headers={"Accept": "application/json"})
        )
    except TimeoutError:
        return Probed(url, None, None, f"No answer to {name} within {timeout_s:g} s.")
    except RequestFailed as exc:
        return Probed(url, None, None, exc.what, tls_trouble=_tls_trouble(exc))
    ahead_s = _ahead_s(answer.headers.get("date"), clock)
    identity = check_identity(connection, answer.headers, answer.content)
    if isinstance(identity, IdentityMismatch) and identity.claims_nothing and answer.status >= 500:
        return Probed(url, answer.status, None, f"{url} is down: status {answer.status}.", ahead_s=ahead_s)
    return Probed(url, answer.status, identity, ahead_s=ahead_s)


def _tls_trouble(error: BaseException) -> str | None:
    """What the TLS library said, where that is why there was no connection."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message
        if isinstance(cause, ssl.SSLError):
            return cause.reason or str(cause)
        cause = cause.__cause__ or cause.__context__
    return None


def _ahead_s(date: str | None, clock: Clock) -> float | None:
    try:
        told = parsedate_to_datetime(date or "")
    except ValueError:
        return None
    return clock.now_ms() / 1000 - told.timestamp()
