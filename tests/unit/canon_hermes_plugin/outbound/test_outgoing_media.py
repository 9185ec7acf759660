"""The host's picture, voice, film and document methods, through the whole adapter to a Canon sandbox."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.media.captures import FILE_BYTES
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.conversing import states_of, wait_closed
from tests.support.files import OGG, PDF, PNG, on_disk
from tests.support.hosted_adapter import hosted, until
from tests.support.loopback import answer, loopback

pytestmark = pytest.mark.host

ROOM = "conv_direct"


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """A folder from which the host sends files."""
    with on_disk(tmp_path) as folder:
        yield folder


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, data in (("chart one.png", PNG), ("clip.mp4", b"film"), ("note.ogg", OGG), ("out.pdf", PDF)):
        tmp_path.joinpath(name).write_bytes(data)
    return tmp_path


def posted(box: CanonSandbox) -> list[dict[str, Any]]:
    return [entry for entry in box.transcript(ROOM) if entry["origin"] == "agent"]


def asked(box: CanonSandbox, path: str) -> list[dict[str, Any]]:
    return [row["body"] for row in box.journal() if row["path"] == path]


METHODS: list[tuple[str, dict[str, Any], str, str]] = [
    ("send_image", {"image_url": "file://{folder}/chart%20one.png"}, "image", "image/png"),
    ("send_image_file", {"image_path": "{folder}/chart one.png"}, "image", "image/png"),
    ("send_voice", {"audio_path": "{folder}/note.ogg", "duration_ms": 1_500}, "audio", "audio/ogg"),
    ("play_tts", {"audio_path": "{folder}/note.ogg"}, "audio", "audio/ogg"),
    ("send_video", {"video_path": "{folder}/clip.mp4"}, "video", "video/mp4"),
    ("send_document", {"file_path": "{folder}/out.pdf", "file_name": "../Report.pdf"}, "file", "application/pdf"),
    ("send_document", {"file_path": "{folder}/clip.mp4"}, "video", "video/mp4"),
    ("send_document", {"file_path": "{folder}/out.pdf", "mime_type": "text/plain"}, "file", "text/plain"),
]


@pytest.mark.parametrize(("method", "arguments", "kind", "mime"), METHODS)
async def test_each_method_of_the_host_sends_its_file(
    box: CanonSandbox, files: Path, method: str, arguments: dict[str, Any], kind: str, mime: str
) -> None:
    """S7.44, R7.30: bytes and type are uploaded, and the message carries the attachment as Canon named it, with an id
    that a repetition would repeat (D14); the host gets the id of the message."""
    given = {key: value.format(folder=files) if isinstance(value, str) else value for key, value in arguments.items()}
    async with hosted(box) as stage:
        result = await getattr(stage.adapter, method)(chat_id=ROOM, caption="look", metadata={"notify": True}, **given)

    (upload,), (message,), (sent,) = asked(box, "/media/upload"), posted(box), asked(box, "/messages/send")
    (attachment,) = sent["attachments"]
    assert (result.success, result.message_id) == (True, message["id"])
    assert (upload["mimeType"], sent["contentType"], attachment["kind"], sent["text"]) == (mime, kind, kind, "look")
    assert base64.b64decode(upload["data"]) in (PNG, OGG, b"film", PDF)
    assert attachment["uploadId"].startswith("upload_") and "/" not in upload["fileName"]
    assert attachment.get("durationMs") == arguments.get("duration_ms")
    assert sent["messageId"].startswith("hermes-final-")
    assert sent["metadata"]["turnSemantics"] == "turn_complete"


@pytest.mark.usefixtures("private_urls")
async def test_a_picture_of_the_web_is_fetched_first(box: CanonSandbox) -> None:
    """R7.30: by the rules for a person's file; the server's type counts; what cannot be fetched is a failed result."""
    async with (
        loopback(answer(raw=PNG, headers={"Content-Type": "image/png"}), answer(404)) as web,
        hosted(box) as stage,
    ):
        fetched = await stage.adapter.send_image(ROOM, f"{web.url}/chart?x=1")
        gone = await stage.adapter.send_image(ROOM, f"{web.url}/chart?token=secret")
        unsafe = await stage.adapter.send_image(ROOM, "http://169.254.169.254/latest/meta-data")

    (sent,) = asked(box, "/messages/send")
    assert (fetched.success, gone.success, unsafe.success) == (True, False, False)
    assert (sent["contentType"], sent["attachments"][0]["mimeType"]) == ("image", "image/png")
    assert "secret" not in gone.error and "Blocked unsafe URL" in unsafe.error


async def test_what_cannot_be_read_is_a_failed_result(box: CanonSandbox, tmp_path: Path) -> None:
    """R7.30: a missing, an empty and a too large file, and a folder: named, without its path, and nothing is sent."""
    empty, huge = tmp_path / "empty.txt", tmp_path / "huge.bin"
    empty.touch()
    with huge.open("wb") as stream:
        stream.truncate(FILE_BYTES + 1)
    async with hosted(box) as stage:
        results = [
            await stage.adapter.send_document(ROOM, str(path))
            for path in (tmp_path / "gone.txt", empty, huge, tmp_path, "~nobody-of-this-name/x.txt")
        ]

    assert [result.success for result in results] == [False] * 5
    assert all(
        name in result.error for name, result in zip(("gone.txt", "empty.txt", "huge.bin"), results, strict=False)
    )
    assert not any(str(tmp_path) in result.error for result in results)
    assert posted(box) == []


async def test_an_answer_with_files_notifies_once(box: CanonSandbox, files: Path) -> None:
    """S7.47 through the host: a text and two pictures are three messages and one notification."""

    async def agent(event: Any, adapter: Any) -> str:
        return f"Here.\nMEDIA:{files / 'chart one.png'}\nMEDIA:{files / 'out.pdf'}"

    async with hosted(box, agent):
        message_id = box.human.say(ROOM, "show me")
        (final,) = await box.until("answer", to=message_id)
        await asyncio.to_thread(wait_closed, box, final["metadata"]["turnId"])

    messages = posted(box)
    assert [one["metadata"]["turnSemantics"] for one in messages] == ["progress"] * (len(messages) - 1) + [
        "turn_complete"
    ]
    assert {one["attachments"][0]["fileName"] for one in messages if one["attachments"]} >= {"out.pdf"}
    assert (messages[-1]["id"], messages[-1]["text"]) == (final["id"], "Here.")
    assert {one["metadata"]["turnId"] for one in messages} == {final["metadata"]["turnId"]}
    assert box.breaches() == []


async def test_a_file_alone_is_the_answer(box: CanonSandbox, files: Path) -> None:
    """X5: nothing follows the file, so it completes the turn."""

    async def agent(event: Any, adapter: Any) -> str:
        return f"MEDIA:{files / 'out.pdf'}"

    async with hosted(box, agent):
        message_id = box.human.say(ROOM, "show me")
        (final,) = await box.until("answer", to=message_id)
        await asyncio.to_thread(wait_closed, box, final["metadata"]["turnId"])

    assert [one["attachments"][0]["fileName"] for one in posted(box)] == ["out.pdf"]
    assert states_of(box, final["metadata"]["turnId"])[-1] == "completed"


@pytest.mark.parametrize("fault", ["send-lost-response", "send-500-after-commit", "send-503"])
async def test_lost_responses_double_no_file(box: CanonSandbox, files: Path, fault: str) -> None:
    """D14: an answer with a file through trouble: every message once, the repetition under the same ids."""
    armed = box.fault(fault, times=3, burst=1)

    async def agent(event: Any, adapter: Any) -> str:
        return f"Here.\nMEDIA:{files / 'out.pdf'}"

    async with hosted(box, agent):
        message_id = box.human.say(ROOM, "show me")
        await box.until("answer", to=message_id)

    assert armed.fired >= 1
    assert [(one["text"], len(one["attachments"])) for one in posted(box)] == [("", 1), ("Here.", 0)]


async def test_an_upload_through_trouble_is_one_message(box: CanonSandbox, files: Path) -> None:
    """D14: a lost upload is repeated; whatever it leaves behind, one message refers to one file."""
    box.fault("upload-413", times=1)
    async with hosted(box) as stage:
        refused = await stage.adapter.send_document(ROOM, str(files / "out.pdf"))
        sent = await stage.adapter.send_document(ROOM, str(files / "out.pdf"))

    assert (refused.success, sent.success, len(posted(box))) == (False, True, 1)


async def test_the_file_of_a_run_that_was_stopped_is_not_sent(box: CanonSandbox, files: Path) -> None:
    """R7.31: the stale rule holds for files: once the run is over, what it sends late is acknowledged and dropped."""
    late: list[Any] = []
    go_on, done = asyncio.Event(), asyncio.Event()

    async def agent(event: Any, adapter: Any) -> str:
        async def send_late() -> None:
            await go_on.wait()
            late.append(await adapter.send_document(ROOM, str(files / "out.pdf")))
            done.set()

        tasks.append(asyncio.get_running_loop().create_task(send_late()))
        return "Done."

    tasks: list[asyncio.Task[None]] = []
    async with hosted(box, agent) as stage:
        message_id = box.human.say(ROOM, "go")
        await box.until("answer", to=message_id)
        await until(lambda: not stage.runtime.has_open_turn(ROOM))
        go_on.set()
        await done.wait()

    assert (late[0].success, late[0].raw_response) == (True, {"suppressedStaleOutput": True})
    assert asked(box, "/media/upload") == []
