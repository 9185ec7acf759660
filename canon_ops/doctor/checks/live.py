"""A real round trip: open the stream, say something in the home channel, and look for it on the stream.

It is seen by people, so it is asked only under ``--live`` and after consent. Not every Canon streams an agent's own
messages back to it; one that is taken and not seen again is worth knowing and no fault. Source: decisions L9.
"""

from __future__ import annotations

import asyncio
import secrets

from canon_ops.client.deadline import within
from canon_ops.doctor.check import About, Check, Finding, Fix, Status, from_error
from canon_ops.doctor.examination import Examination
from canon_ops.errors import CanonOpsError
from canon_ops.operate.profile_key import key_in_force
from canon_ops.settings.options import home_channel
from canon_ops.settings.secret import Secret

__all__ = ["CHECKS"]

_TEXT = "This is a test of the connection by canon-ops doctor --live. Nothing has to be done about it."
_ECHO_S = 5.0  # a message is on the stream within a second; who waits longer waits for something else


async def _round_trip(examination: Examination) -> Finding:
    found = await asyncio.to_thread(examination.resolution)
    surroundings = await asyncio.to_thread(examination.surroundings)
    channel = home_channel(surroundings)
    if channel is None:
        return Finding(
            Status.UNKNOWN,
            "There is no home channel, so there is nowhere to say anything.",
            Fix(examination.command("env set CANON_HOME_CHANNEL CONVERSATION_ID")),
        )
    try:
        key = await asyncio.to_thread(key_in_force, found, examination.keyring)
        return await _say_and_listen(examination, key, channel.chat_id, channel.name)
    except CanonOpsError as exc:
        return from_error(Status.ERROR, exc)


async def _say_and_listen(examination: Examination, key: Secret, conversation_id: str, name: str) -> Finding:
    from canon_ops.client.api import CanonApi
    from canon_ops.client.stream import open_stream
    from canon_ops.wire.requests import SendMessage

    connection, clock = examination.resolution().connection, examination.clock
    message = SendMessage(conversation_id, _TEXT, message_id=f"canon-ops-{secrets.token_hex(16)}")
    began_s = clock.monotonic_s()
    async with open_stream(connection, key, clock=clock, idle_timeout_s=examination.timeout_s) as stream:
        async with CanonApi(connection, key, clock=clock, timeout_s=examination.timeout_s) as api:
            stored = await api.send_message(message)
        took_ms = round((clock.monotonic_s() - began_s) * 1000)
        ids = {stored, message.message_id}

        async def echo() -> bool:
            async for frame in stream:
                if any(identity and identity in frame.data for identity in ids):
                    return True
            return False

        try:
            seen = await within(clock, _ECHO_S, echo())
        except TimeoutError:
            seen = False
    data = {"conversation_id": conversation_id, "message_id": stored, "took_ms": took_ms, "echo": seen}
    if seen:
        return Finding(Status.OK, f"A message to {name} was taken and came back over the stream.", data=data)
    return Finding(
        Status.INFO,
        f"A message to {name} was taken after {took_ms} ms; the stream stayed open and did not bring it back, as Canon "
        "may do with an agent's own messages.",
        data=data,
    )


CHECKS = (
    Check(
        "live.round_trip",
        "Round trip",
        "Does a message reach Canon while the stream is open?",
        _round_trip,
        network=True,
        live=True,
        about=About(
            "Something between here and Canon lets single requests through and no stream, or the agent may not write "
            "to its home channel.",
            "The gateway does the same with every answer; what fails here fails there.",
            "Look at the error, and at who the members of the conversation in CANON_HOME_CHANNEL are.",
            ("CANON_HOME_CHANNEL", "platforms.canon.home_channel"),
        ),
    ),
)
