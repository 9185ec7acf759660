"""Asking both services who they are, before a key is shown to either.

Source: Canon wire 1.5; canon-adapter R2.3, SC.5, D20.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from canon_ops.client.deadline import within
from canon_ops.client.errors import LOOK_AT_THE_NETWORK, NothingCanBeSent, RequestFailed, TransportFailure
from canon_ops.client.transport import HttpClient
from canon_ops.errors import RefusedError, UnreachableError
from canon_ops.runtime.clock import Clock
from canon_ops.settings.environments import Connection
from canon_ops.wire.health import IdentityMismatch, check_identity, probe_urls
from canon_ops.wire.retry import TransportKind

if TYPE_CHECKING:
    import httpx

__all__ = ["EnvironmentMismatch", "Probe", "ServiceUnavailable", "verify_environment"]

TIMEOUT_S = 10.0  # Canon wire 2.1


@dataclass(frozen=True, slots=True)
class Probe:
    """One service that is the right one; ``status`` may still say that it is degraded."""

    service: str
    url: str
    status: int
    took_s: float


class EnvironmentMismatch(RefusedError):
    """A service belongs to another environment, or does not say to which: no key may go there.

    Attributes:
        answers_for: the known environment that it belongs to; None when it says none, or contradicts itself.
    """

    code = "environment_mismatch"
    answers_for: str | None = None


class ServiceUnavailable(UnreachableError):
    """Something answers for the service, says that it is down, and does not claim to be anybody."""


async def verify_environment(
    connection: Connection,
    *,
    clock: Clock,
    timeout_s: float = TIMEOUT_S,
    cure: Callable[[str, str, str | None], str] | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> tuple[Probe, Probe]:
    """Probe the API, then the stream; no key is sent.

    Args:
        timeout_s: for each probe as a whole.
        cure: what helps when a service, ``API`` or ``stream``, does not answer at its URL or is another one; asked with
            the environment that it belongs to instead, where it says one. Their own advice is the doctor, which looks
            at the endpoints that are configured.

    Raises:
        EnvironmentMismatch: not the environment of ``connection``; trying again makes no sense.
        TransportFailure: no whole answer came; it may come later.
        ServiceUnavailable: a server error without any identity; likewise.
    """
    http = HttpClient(timeout_s=timeout_s, transport=transport)
    try:
        probes = []
        for service, url in probe_urls(connection):
            try:
                probes.append(await _probe(http, connection, service, url, clock, timeout_s))
            except (RequestFailed, ServiceUnavailable, EnvironmentMismatch) as trouble:
                if cure is not None and not isinstance(trouble, NothingCanBeSent):
                    trouble.fix = cure(service, url, getattr(trouble, "answers_for", None))
                raise
        api, stream = probes
        return api, stream
    finally:
        await http.aclose()


async def _probe(
    http: HttpClient, connection: Connection, service: str, url: str, clock: Clock, timeout_s: float
) -> Probe:
    name = f"GET {url}"
    started_s = clock.monotonic_s()
    try:
        answer = await within(
            clock, timeout_s, http.request("GET", url, name=name, headers={"Accept": "application/json"})
        )
    except TimeoutError:
        raise TransportFailure(TransportKind.READ_TIMEOUT, request=name) from None
    identity = check_identity(connection, answer.headers, answer.content)
    if isinstance(identity, IdentityMismatch):
        if answer.status >= 500 and identity.claims_nothing:
            raise ServiceUnavailable(
                f"Canon's {service} at {url} is down: status {answer.status}, no identity.", fix=LOOK_AT_THE_NETWORK
            )
        mismatch = EnvironmentMismatch(
            f"Canon's {service} at {url} does not match environment {connection.environment_id}: {identity.what}.",
            fix="check the configured Canon environment and endpoints: canon-ops doctor",
        )
        mismatch.answers_for = identity.answers_for
        raise mismatch
    return Probe(service, url, answer.status, clock.monotonic_s() - started_s)
