"""Marks on messages, queued and read, while Canon misbehaves: our plugin's writer, our client and a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from canon_hermes_plugin.inbound.acknowledging import Acknowledgements
from canon_hermes_plugin.ports import Arrival
from canon_ops.client.api import CanonApi
from canon_ops.sandbox.server import CanonSandbox
from tests.support.busy_host import a_request
from tests.support.canon_wire import InstantClock

ROOM = "conv_direct"


async def test_a_release_is_tried_again_and_a_read_mark_is_let_go(box: CanonSandbox, api: CanonApi) -> None:
    """S5.20, T7: a message does not stay on the queued shelf; a missing read mark hinders nobody."""
    asked = box.human.say(ROOM, "hello", metadata={"inboundDisposition": "queued"})
    release, read = box.fault("disposition-500"), box.fault("read-500")
    tasks: list[asyncio.Task[None]] = []

    def own(body: Coroutine[Any, Any, None]) -> None:
        tasks.append(asyncio.ensure_future(body))

    arrival = replace(Arrival.of(a_request("hello", message_id=asked)), conversation_id=ROOM)
    Acknowledgements(api, own, InstantClock()).accepted(arrival)
    await asyncio.gather(*tasks)

    (message,) = box.transcript(ROOM)
    assert message["metadata"]["inboundDisposition"] == "accepted_now"
    assert (release.fired, read.fired) == (1, 1)
