"""Every number of the protocol and of this client, in one place.

Where the published client differs the reason stands beside the number. Source: Borgee 1.2, 1.6-1.14.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["MAX_INCOMING_BYTES", "MAX_OUTGOING_BYTES", "Limits"]

MAX_INCOMING_BYTES: Final = 5 * 1024 * 1024
MAX_OUTGOING_BYTES: Final = 32 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a client may be told to do otherwise, in tests above all.

    Attributes:
        opening_s: dial, TLS, upgrade and ``get_me`` together.
        action_s: from the call to the answer, the wait for a connection included.
        room_s: how long a caller waits for a place in the outgoing queue while the connection is up.
        heartbeat_s: the published client says 30, which is the very age at which old servers call an agent unreachable.
        quiet_s: nothing came for so long: ask with a protocol ping.
        dead_s: and nothing came for so long after the ping either: the connection is dead.
        write_s: a write that stalls longer ends the connection; the published 0.1 s also hits slow networks.
        stable_s: a connection that lived so long starts the back-off anew.
        backoff_first_s, backoff_max_s: pauses before a reconnect, each cut by up to a half at random.
        malformed: so many broken messages in ``malformed_window_s`` are answered by a reconnect, one more is the end.
        settle_s: a connection that we close is read until nothing came for so long, and only then told so.
        close_s: the wait for the server's goodbye; it begins anew with everything that the server still says.
        farewell_s: and the end of both: Hermes gives a platform five seconds in all.
        takeover_s: a connection whose events find no room is not read on until their receiver takes some; one that
            takes none for so long is too far behind, and the client ends.
        burst_events: so many waiting events are handed over at once; a host's loop is held for a few milliseconds then.
    """

    opening_s: float = 8.0
    action_s: float = 30.0
    room_s: float = 0.1
    heartbeat_s: float = 20.0
    quiet_s: float = 30.0
    dead_s: float = 15.0
    write_s: float = 10.0
    stable_s: float = 60.0
    backoff_first_s: float = 0.5
    backoff_max_s: float = 30.0
    malformed: int = 3
    malformed_window_s: float = 600.0
    settle_s: float = 0.1
    close_s: float = 1.0
    farewell_s: float = 3.0
    takeover_s: float = 5.0
    pending_actions: int = 256
    burst_events: int = 64
    waiting_events: int = 512
    waiting_event_bytes: int = 5 * 1024 * 1024
    regular_frames: int = 64
    regular_bytes: int = 2 * 1024 * 1024
    reserved_frames: int = 32
    reserved_bytes: int = 1024 * 1024
    config_updates: int = 32
    config_bytes: int = 1024 * 1024
    config_s: float = 5.0
    remembered_configs: int = 256
    request_workers: int = 8
    request_queue: int = 32
    request_s: float = 8.0
    request_wait_s: float = 2.0
    request_handler_s: float = 5.0
    request_reserve_s: float = 1.0
    request_tasks: int = 64
