"""Asking Canon whose key one is, after making sure that the service is the environment's own."""

from __future__ import annotations

from canon_ops.client.api import CanonApi
from canon_ops.client.errors import ApiError
from canon_ops.client.health import verify_environment
from canon_ops.errors import CredentialError
from canon_ops.runtime.clock import Clock
from canon_ops.runtime.wakeful import run_wakeful
from canon_ops.settings.environments import Connection
from canon_ops.settings.secret import Secret
from canon_ops.wire.agents import AgentIdentity

__all__ = ["identify"]


def identify(
    connection: Connection, key: Secret, *, fix: str, clock: Clock, timeout_s: float, verify: bool = True
) -> AgentIdentity:
    """Whose key it is; it runs the network in an event loop of its own, so never call it from inside one.

    Args:
        fix: what helps when Canon does not take the key.
        verify: prove first that API and stream belong to the environment; the key is shown to nobody else.

    Raises:
        EnvironmentMismatch: a service belongs to another environment; the key was not sent.
        Unauthorized, Forbidden: Canon does not take the key.
        RequestFailed, ServiceUnavailable: Canon was not reached, or is in trouble.
    """

    async def ask() -> AgentIdentity:
        if verify:
            await verify_environment(connection, clock=clock, timeout_s=timeout_s)
        async with CanonApi(connection, key, clock=clock, timeout_s=timeout_s) as api:
            return await api.me()

    try:
        return run_wakeful(ask())
    except ApiError as exc:
        if isinstance(exc, CredentialError):
            exc.fix = fix
        raise
