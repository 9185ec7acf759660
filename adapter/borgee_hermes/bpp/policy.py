"""What an end of a connection means: another one, or none ever again. Pure tables.

Source: Borgee 1.14, W3b, W19; decisions B1.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Final

from borgee_hermes.bpp.errors import (
    AuthFailed,
    BppError,
    ConnectFailed,
    ConnectionLost,
    PeerProtocolClose,
    ProtocolCapacity,
)
from borgee_hermes.bpp.limits import Limits
from borgee_hermes.bpp.state import FaultReason

__all__ = ["Backoff", "MalformedBudget", "fault_reason", "final_close", "refused_upgrade"]

AUTH_CLOSE: Final = 4004
CAPACITY_CLOSE: Final = 1009
PROTOCOL_CLOSES: Final = frozenset({1002, 1003, 1007, 1008})
AUTH_STATUSES: Final = frozenset({401, 403})
_KEY_ADVICE: Final = "look at the agent in Borgee, and at BORGEE_API_KEY in the .env of this profile"


def final_close(code: int | None) -> BppError | None:
    """The error that a close code of the server stands for, when it ends the client; None means: connect again."""
    if code == AUTH_CLOSE:
        return AuthFailed("Borgee closed the connection: it does not accept this key any more.", fix=_KEY_ADVICE)
    if code == CAPACITY_CLOSE:
        return ProtocolCapacity("Borgee closed the connection: a frame of ours was too big for it.")
    if code in PROTOCOL_CLOSES:
        return PeerProtocolClose(f"Borgee closed the connection with {code}: it says that we broke the protocol.")
    return None


def refused_upgrade(status: int) -> BppError:
    """The error for a plain HTTP answer in place of a connection; only a refused key is one that ends a client."""
    if status in AUTH_STATUSES:
        return AuthFailed(f"Borgee does not accept the key (HTTP {status}).", fix=_KEY_ADVICE)
    if 300 <= status < 400:
        return ConnectFailed(
            f"Borgee's address answers with a redirect (HTTP {status}), which would send the key elsewhere.",
            fix="set borgee.base_url in config.yaml to the final address",
        )
    return ConnectFailed(f"Borgee's address did not open a connection (HTTP {status}).")


def fault_reason(error: BppError) -> FaultReason:
    """The word of Borgee's six that fits best."""
    if isinstance(error, AuthFailed):
        return FaultReason.API_KEY_INVALID
    unreachable = error.retryable or isinstance(error, ConnectionLost)
    return FaultReason.NETWORK_UNREACHABLE if unreachable else FaultReason.UNKNOWN


class Backoff:
    """The pauses before reconnects: they double up to a limit, and start anew after a connection that lasted."""

    def __init__(self, limits: Limits, rng: random.Random) -> None:
        self._limits = limits
        self._rng = rng
        self.attempt = 0

    def after(self, lived_s: float) -> float:
        """The pause after a connection that was up for ``lived_s`` seconds; 0 for one that never came up."""
        if lived_s >= self._limits.stable_s:
            self.attempt = 0
        doublings = min(self.attempt, 32)  # far beyond the longest pause: the power never grows without end (W19)
        self.attempt += 1
        longest_s = min(self._limits.backoff_max_s, self._limits.backoff_first_s * 2.0**doublings)
        return longest_s * (0.5 + 0.5 * self._rng.random())


class MalformedBudget:
    """How many broken messages a server may send before we stop believing that a reconnect helps."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._seen: deque[float] = deque()

    def allows(self, now_s: float) -> bool:
        """Count one, and say whether a reconnect is still the answer."""
        self._seen.append(now_s)
        while now_s - self._seen[0] > self._limits.malformed_window_s:
            self._seen.popleft()
        return len(self._seen) <= self._limits.malformed
