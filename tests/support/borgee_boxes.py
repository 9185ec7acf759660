"""Loopback Borgee servers for tests, and clients that are connected to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from borgee_hermes.loopback.options import BorgeeOptions
from borgee_hermes.loopback.server import BorgeeSandbox
from tests.support.borgee_peers import Maker, Peer, running_peer

__all__ = ["DM", "LOBBY", "SEED", "borgee_box", "connected", "open_peer"]

SEED = "a seed for tests"
DM = "dm_owner"
LOBBY = "channel_lobby"


@contextmanager
def borgee_box(*, limit_per_occasion: int | None = None, **options: Any) -> Iterator[BorgeeSandbox]:
    """A running server with reproducible ids."""
    with BorgeeSandbox(BorgeeOptions(**{"seed": SEED, **options}), limit_per_occasion=limit_per_occasion) as box:
        yield box


def open_peer(peer: Peer, box: BorgeeSandbox, **order: Any) -> None:
    """Make the client of a peer for a server, without connecting it."""
    peer.call("open", **{"base_url": box.endpoints.base_url, "key": box.endpoints.agent_key, **order})


@contextmanager
def connected(maker: Maker, box: BorgeeSandbox, **order: Any) -> Iterator[Peer]:
    """A client that is online, as the server sees it too."""
    with running_peer(maker) as peer:
        open_peer(peer, box, **order)
        peer.call("connect")
        box.wait("connected")
        yield peer
