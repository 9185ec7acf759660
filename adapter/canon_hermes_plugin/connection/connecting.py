"""From settings to a verified, authenticated connection, or to the reason why there is none.

The order is fixed: resolve the credential, prove that both services belong to its environment, and only then show them
the key. A wrong identity, a refused key and unusable settings wait for a person; everything else passes by itself, and
the host tries again.

Source: Canon adapter R2.2-R2.5, D20; decisions X8.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from canon_ops.client.api import CanonApi
from canon_ops.client.errors import Forbidden, RequestFailed, Unauthorized
from canon_ops.client.health import EnvironmentMismatch
from canon_ops.errors import CanonOpsError
from canon_ops.settings.credentials import Resolution
from canon_ops.settings.environments import Connection
from canon_ops.settings.problems import NotConfigured
from canon_ops.settings.secret import Secret
from canon_ops.wire.agents import AgentIdentity, Conversation

__all__ = ["Credential", "Refusal", "Session", "open_session", "refusal_of"]

AUTH_FAILED: Final = "auth_failed"
CONNECT_FAILED: Final = "connect_failed"
ENVIRONMENT_MISMATCH: Final = "environment_mismatch"
MISSING_API_KEY: Final = "missing_api_key"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no connection; ``retryable`` means that it may pass without anybody doing anything."""

    code: str
    sentence: str
    retryable: bool


@dataclass(frozen=True, slots=True)
class Credential:
    """A resolution whose key is at hand."""

    resolution: Resolution
    api_key: Secret

    @property
    def connection(self) -> Connection:
        return self.resolution.connection


@dataclass(frozen=True, slots=True)
class Session:
    """A connection that Canon has accepted. Whoever holds it closes ``api``."""

    credential: Credential
    api: CanonApi
    agent: AgentIdentity
    conversations: tuple[Conversation, ...]


async def open_session(
    find_credential: Callable[[], Awaitable[Credential]],
    verify: Callable[[Connection], Awaitable[object]],
    open_api: Callable[[Credential], CanonApi],
) -> Session | Refusal:
    """Connect, leaving nothing open when it fails.

    Args:
        find_credential: resolves the settings, off the loop.
        verify: proves the environment of both services.
        open_api: makes the client for a credential.
    """
    try:
        credential = await find_credential()
        await verify(credential.connection)
    except CanonOpsError as error:
        return refusal_of(error)
    api = open_api(credential)
    try:
        return Session(credential, api, await api.me(), await api.conversations())
    except CanonOpsError as error:
        await api.aclose()
        return refusal_of(error)
    except BaseException:
        await api.aclose()
        raise


def refusal_of(error: CanonOpsError) -> Refusal:
    """What a failure means for the platform. Source: Canon adapter R2.5, Appendix B class "connect"; D20."""
    sentence = f"{error.what} Fix: {error.fix}" if error.fix else error.what
    match error:
        case NotConfigured():
            return Refusal(MISSING_API_KEY, sentence, retryable=False)
        case EnvironmentMismatch():
            return Refusal(ENVIRONMENT_MISMATCH, sentence, retryable=False)
        case Unauthorized() | Forbidden():
            return Refusal(AUTH_FAILED, sentence, retryable=False)
        case RequestFailed():
            return Refusal(CONNECT_FAILED, sentence, retryable=error.retryable)
        case _ if error.retryable:
            return Refusal(CONNECT_FAILED, sentence, retryable=True)
    # Settings that do not resolve: an ambiguous profile, a damaged file. The code says which.
    return Refusal(error.code, sentence, retryable=False)
