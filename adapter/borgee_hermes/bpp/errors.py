"""What can go wrong between us and a Borgee server, by the codes that operators and logs know.

The tree is split by what the caller may conclude::

    BppError                     had_no_effect says whether the server certainly did nothing
    ├── ActionFailed             one action; the connection lives on
    │   ├── NotOnline            bpp.not_online          never left this process
    │   ├── PermissionDenied     bpp.permission_denied   refused by the server
    │   ├── ActionRefused        the server's own code is in .server_code
    │   ├── ActionTimeout        bpp.action_timeout      outcome unknown once it was written
    │   └── ConnectionLost       bpp.connection_lost     outcome unknown
    ├── ClientClosed             bpp.client_closed       we closed
    ├── DeliveryError            bpp.stale_delivery, bpp.delivery_resolved: settled too late, or twice
    ├── ProtocolCapacity         bpp.protocol_capacity   a bound of ours or of theirs
    ├── ProtocolError            bpp.protocol_error, bpp.frame_*: what came is not BPP
    └── ConnectionFailed         no connection, or not any more
        ├── AuthFailed           bpp.auth_failed         the key is refused: only a person can help
        ├── ConnectFailed, HandshakeFailed, HandshakeTimeout, HandshakeClosed, IdentityInvalid
        ├── PeerProtocolClose    bpp.peer_protocol_close the server says that we broke the protocol
        └── DeliveryFailed       bpp.delivery_failed     our own receiver gave up

Source: Borgee 1.15.
"""

from __future__ import annotations

from canon_ops.errors import ExitCode, OutsideError

__all__ = [
    "ActionFailed",
    "ActionRefused",
    "ActionTimeout",
    "AuthFailed",
    "BppError",
    "ClientClosed",
    "ConnectFailed",
    "ConnectionFailed",
    "ConnectionLost",
    "DeliveryError",
    "DeliveryFailed",
    "DeliveryResolved",
    "FrameEncoding",
    "FrameNotJson",
    "FrameShape",
    "HandshakeClosed",
    "HandshakeFailed",
    "HandshakeTimeout",
    "IdentityInvalid",
    "InternalFailure",
    "NotOnline",
    "PeerProtocolClose",
    "PermissionDenied",
    "ProtocolCapacity",
    "ProtocolError",
    "StaleDelivery",
]


class BppError(OutsideError):
    """The root. A terminal one is also kept as ``client.failure``.

    Args:
        had_no_effect: the server has certainly not carried out what was asked; False means that nobody knows.
    """

    code = "bpp.internal"

    def __init__(self, what: str, *, fix: str | None = None, had_no_effect: bool = False) -> None:
        super().__init__(what, fix=fix)
        self.had_no_effect = had_no_effect


class InternalFailure(BppError):
    """A fault of ours."""


class ActionFailed(BppError):
    """One action did not succeed."""


class NotOnline(ActionFailed):
    """There is no connection that it could go over."""

    code = "bpp.not_online"

    def __init__(self, what: str = "There is no connection to Borgee.", *, fix: str | None = None) -> None:
        super().__init__(what, fix=fix, had_no_effect=True)


class PermissionDenied(ActionFailed):
    """The server does not let this agent do that."""

    code = "bpp.permission_denied"

    def __init__(self, action: str, capability: str, scope: str) -> None:
        super().__init__(f"Borgee does not let this agent {action}: it needs {capability!r}.", had_no_effect=True)
        self.action = action
        self.capability = capability
        self.scope = scope


class ActionRefused(ActionFailed):
    """The server answered with an error; ``server_code`` is its word, from an open set."""

    code = "bpp.action_refused"

    def __init__(self, action: str, server_code: str) -> None:
        super().__init__(f"Borgee refused {action}: {server_code}", had_no_effect=True)
        self.action = action
        self.server_code = server_code


class ActionTimeout(ActionFailed):
    """No answer within the time of an action."""

    code = "bpp.action_timeout"
    retryable = True


class ConnectionLost(ActionFailed):
    """The connection ended after the action was written and before it was answered."""

    code = "bpp.connection_lost"


class ClientClosed(BppError):
    """Our side closed the client."""

    code = "bpp.client_closed"


class DeliveryError(BppError):
    """A delivery was settled when it could not be any more; the connection is not concerned."""


class StaleDelivery(DeliveryError):
    """The connection that it came over has ended. What was committed stays committed: go on with the next one."""

    code = "bpp.stale_delivery"


class DeliveryResolved(DeliveryError):
    """It was already settled the other way."""

    code = "bpp.delivery_resolved"


class ProtocolCapacity(BppError):
    """More than a bound allows."""

    code = "bpp.protocol_capacity"


class ProtocolError(BppError):
    """What came, or what was to go out, does not follow the protocol."""

    code = "bpp.protocol_error"


class FrameEncoding(ProtocolError):
    """A message that is not UTF-8."""

    code = "bpp.frame_encoding"


class FrameNotJson(ProtocolError):
    """A message that is not JSON."""

    code = "bpp.frame_json"


class FrameShape(ProtocolError):
    """JSON, but not an object with a type."""

    code = "bpp.frame_shape"


class ConnectionFailed(BppError):
    """There is no connection, or none any more, and the client will not make another one."""


class AuthFailed(ConnectionFailed):
    """The server refuses the key, or the agent is switched off."""

    code = "bpp.auth_failed"
    exit_code = ExitCode.CREDENTIAL


class ConnectFailed(ConnectionFailed):
    """The server could not be reached, or does not speak this protocol at that address."""

    code = "bpp.connect_failed"
    retryable = True


class HandshakeFailed(ConnectionFailed):
    """The server refuses to say who we are."""

    code = "bpp.handshake_failed"


class HandshakeTimeout(ConnectionFailed):
    """The opening did not end in time."""

    code = "bpp.handshake_timeout"
    retryable = True


class HandshakeClosed(ConnectionFailed):
    """The server closed before the opening ended."""

    code = "bpp.handshake_closed"
    retryable = True


class IdentityInvalid(ConnectionFailed):
    """Who the server says we are is of no use."""

    code = "bpp.identity_invalid"


class PeerProtocolClose(ConnectionFailed):
    """The server closed with a code that says we broke the protocol."""

    code = "bpp.peer_protocol_close"


class DeliveryFailed(ConnectionFailed):
    """Our receiver could not take an event over; going on would lose it."""

    code = "bpp.delivery_failed"
