"""What a start decides: whether it is the right agent's, and whether another start may succeed. Pure.

Source: Borgee 8.1, W12.
"""

from __future__ import annotations

from borgee_hermes.bpp.errors import IdentityInvalid, ProtocolCapacity, ProtocolError
from borgee_hermes.bpp.values import User
from canon_ops.durable import DurableError
from canon_ops.errors import CanonOpsError, ConflictError, RefusedError
from canon_ops.files.lock import LockTimeout
from canon_ops.settings.borgee import BorgeeOptions

__all__ = ["NotReady", "another_may_succeed", "stranger"]


class NotReady(RefusedError):
    """The host is not ready for a platform, or the adapter is not connected."""

    code = "borgee_not_ready"


def stranger(user: User, options: BorgeeOptions) -> IdentityInvalid | None:
    """What is wrong with whom the key belongs to; None for the agent that is meant."""
    if user.role != "agent":
        return IdentityInvalid(f"The Borgee key belongs to a {user.role}, not to an agent.")
    if options.agent_id and user.user_id != options.agent_id:
        return IdentityInvalid(
            f"The Borgee key belongs to {user.user_id}, and borgee.agent_id asks for {options.agent_id}.",
            fix="canon-ops config unset borgee.agent_id, or set the key of that agent",
        )
    return None


def another_may_succeed(error: Exception) -> bool:
    """Whether a start that failed over this may be tried again without anybody doing something."""
    if isinstance(error, LockTimeout):
        return True  # Hermes' locks were free, so a command has the inbox for the length of one decision
    if isinstance(error, ConflictError):
        return isinstance(error, DurableError)  # who holds the home or the key will do so for long
    if isinstance(error, ProtocolError | ProtocolCapacity):
        return True  # one bad frame, or a burst, amid an opening; later on such a thing is survived (B1)
    return isinstance(error, TimeoutError) or (isinstance(error, CanonOpsError) and error.retryable)
