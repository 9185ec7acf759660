"""The states of a client as others see them. Pure data. Source: Borgee 1.3, 1.9."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["FINAL", "ConnectionState", "FaultReason", "Status"]


class Status(StrEnum):
    """Where a client is in its life; ``error`` and ``closed`` are final."""

    IDLE = "idle"  # made, connect() not yet called
    CONNECTING = "connecting"  # the first connection; its failure is final
    ONLINE = "online"
    RECONNECTING = "reconnecting"  # actions wait for the next connection
    ERROR = "error"  # gave up; client.failure says why
    CLOSED = "closed"  # we closed it


FINAL: Final = frozenset({Status.ERROR, Status.CLOSED})


class FaultReason(StrEnum):
    """The six words that Borgee has for what is wrong with an agent."""

    API_KEY_INVALID = "api_key_invalid"
    QUOTA_EXCEEDED = "quota_exceeded"
    NETWORK_UNREACHABLE = "network_unreachable"
    RUNTIME_CRASHED = "runtime_crashed"
    RUNTIME_TIMEOUT = "runtime_timeout"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ConnectionState:
    """A state with its circumstances.

    Attributes:
        attempt: number of the connection attempt that is under way or waited for; 0 while online.
        reason: why there is no connection; None while there is one.
        code: the code of the error that ended the last connection, empty when none did.
    """

    status: Status
    attempt: int = 0
    reason: FaultReason | None = None
    code: str = ""

    @property
    def is_final(self) -> bool:
        return self.status in FINAL
