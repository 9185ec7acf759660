"""Files of people through the real host's half of a turn: kept, read by tools of the turn, and let go at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin import CanonInboundMedia, current_canon_inbound_media
from canon_hermes_plugin.active import ACTIVE
from canon_hermes_plugin.tools.session import HostSession
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.conversing import wait_closed
from tests.support.files import JPEG, PDF
from tests.support.hosted_adapter import hosted, until
from tests.support.tool_calls import bind_session

pytestmark = pytest.mark.host

ROOM = "conv_direct"


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


def upload(box: CanonSandbox, data: bytes, mime_type: str, name: str) -> dict[str, Any]:
    return box.human.upload(data, mime_type=mime_type, file_name=name, conversation_id=ROOM)


async def read_as(event: Any, *, room: str | None = None) -> tuple[CanonInboundMedia, ...]:
    """What a tool of this turn reads, on a thread as the host's tools are."""
    session = HostSession(room or event.source.chat_id, event.source.user_id, message_id=event.message_id)

    def read() -> tuple[CanonInboundMedia, ...]:
        bind_session(session)
        return current_canon_inbound_media()

    return await asyncio.to_thread(copy_context().run, read)


@pytest.mark.usefixtures("private_urls")
async def test_a_turn_reads_its_files_and_nobody_after_it(box: CanonSandbox) -> None:
    """S4.1: the model's path and the tools' bytes while the turn runs; another room and a later moment read nothing."""
    seen: list[Any] = []

    async def agent(event: Any, adapter: Any) -> str:
        files = await read_as(event)
        seen.append((event, files, await read_as(event, room="conv_home")))
        return "filed"

    files = [upload(box, PDF, "application/pdf", "invoice.pdf"), {"kind": "file", "url": "http://127.0.0.1:9/x"}]
    async with hosted(box, agent, active=ACTIVE):
        message_id = box.human.say(ROOM, "look", attachments=files)
        (answer,) = await box.until("answer", to=message_id)
        await asyncio.to_thread(wait_closed, box, answer["metadata"]["turnId"])
        ((event, files_seen, elsewhere),) = seen
        await until(lambda: not ACTIVE.owner(ROOM).inbound_media(ROOM, message_id))  # type: ignore[union-attr]

    assert [(one.file_name, one.attachment_index, one.mime_type, one.data) for one in files_seen] == [
        ("invoice.pdf", 0, "application/pdf", PDF)
    ]
    assert elsewhere == ()
    (path,) = event.media_urls
    kept = await asyncio.to_thread(Path(path).read_bytes)
    assert (kept, event.media_types, event.message_type.value) == (PDF, ["application/pdf"], "document")
    assert "[1 attachment of this message could not be fetched" in event.text


async def test_a_link_into_the_inside_is_refused_until_it_is_allowed(
    box: CanonSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S4.27: the same file on loopback, without the operator's leave: no request, and the message says so."""
    from tools import url_safety

    monkeypatch.delenv("HERMES_ALLOW_PRIVATE_URLS", raising=False)
    url_safety._reset_allow_private_cache()

    async def agent(event: Any, adapter: Any) -> str:
        return f"{len(event.media_urls)} {event.text}"

    async with hosted(box, agent):
        message_id = box.human.say(ROOM, "look", attachments=[upload(box, PDF, "application/pdf", "invoice.pdf")])
        (answer,) = await box.until("answer", to=message_id)

    assert answer["text"].startswith("0 look\n\n[1 attachment")
    assert not [row for row in box.journal() if row["path"].startswith("/files/")]


@pytest.mark.usefixtures("private_urls")
async def test_a_follow_up_reads_its_own_files_and_lets_them_go(box: CanonSandbox) -> None:
    """C8, R6.7: a message that the host takes from its queue has its bytes while it runs, and not afterwards.

    Those of the turn before it go with that turn, though the session is not idle.
    """
    began, go_on = asyncio.Event(), asyncio.Event()
    seen: dict[str, list[bytes]] = {}
    left: list[int] = []

    async def agent(event: Any, adapter: Any) -> str:
        if not began.is_set():
            began.set()
            await go_on.wait()
        elif (owner := ACTIVE.owner(ROOM)) is not None:
            await until(lambda: not owner.inbound_media(ROOM, first))
            left.append(len(owner.inbound_media(ROOM, second)))
        seen[event.message_id] = [one.data for one in await read_as(event)]
        return "filed"

    async with hosted(box, agent, active=ACTIVE, inbound_visual_media_delivery="trusted-only") as stage:
        first = box.human.say(ROOM, "one", attachments=[upload(box, JPEG, "image/jpeg", "a.jpg")])
        await began.wait()
        second = box.human.say(ROOM, "two", attachments=[upload(box, PDF, "application/pdf", "b.pdf")])
        await until(lambda: stage.adapter._pending_messages)
        go_on.set()
        await box.until("answer", to=second)
        owner = ACTIVE.owner(ROOM)
        assert owner is not None
        await until(lambda: not owner.inbound_media(ROOM, first) and not owner.inbound_media(ROOM, second))

    assert (seen, left) == ({first: [JPEG], second: [PDF]}, [1])


def test_without_a_message_nothing_is_read() -> None:
    """S13.13, R13.2: no message provenance, or no Canon turn, is an error; a turn without files has none."""

    def read(session: HostSession) -> tuple[CanonInboundMedia, ...]:
        bind_session(session)
        return current_canon_inbound_media()

    with pytest.raises(RuntimeError, match="message provenance"):
        copy_context().run(read, HostSession("c1", "u1"))
    with pytest.raises(RuntimeError, match="active Canon"):
        copy_context().run(read, HostSession())
    assert copy_context().run(read, HostSession("c1", "u1", message_id="m1")) == ()
