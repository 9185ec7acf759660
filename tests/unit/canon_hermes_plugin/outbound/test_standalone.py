"""Messages from a process without a gateway."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.host import multiplex_refusal
from canon_hermes_plugin.outbound.standalone import send_standalone
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.wire.splitting import split
from tests.support.hosted_adapter import platform_config

pytestmark = pytest.mark.host

ROOM = "conv_direct"


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


def verbs(box: CanonSandbox) -> list[dict[str, Any]]:
    return [entry["body"] for entry in box.journal() if entry["path"] == "/agent/verbs/send_to"]


def posted(box: CanonSandbox) -> list[dict[str, Any]]:
    return [entry for entry in box.transcript(ROOM) if entry["origin"] == "agent"]


async def test_a_message_passes_the_policy_boundary(box: CanonSandbox) -> None:
    """S7.45, R7.44: the verb carries conversation, key, text and metadata; the result names the stored message."""
    result = await send_standalone(platform_config(box), ROOM, "the report is ready")

    (frame,) = verbs(box)
    (message,) = posted(box)
    assert result == {"success": True, "message_id": message["id"]}
    assert frame["envelope"]["conversationId"] == ROOM
    assert frame["envelope"]["idempotencyKey"].startswith("hermes-final-")
    assert frame["body"]["value"] == {
        "text": "the report is ready",
        "messageOptions": {"metadata": {"turnSemantics": "turn_complete", "turnComplete": True}},
    }


async def test_a_long_message_is_cut_like_an_answer(box: CanonSandbox) -> None:
    """S7.38: the parts share a group; one whose response was lost is repeated under its own id, and stored once."""
    box.fault("lost-response", method="POST", path="/agent/verbs/send_to", skip=1)

    result = await send_standalone(platform_config(box), ROOM, "ש" * 3_900)

    keys = [frame["envelope"]["idempotencyKey"] for frame in verbs(box)]
    assert result["success"] and tuple(part["text"] for part in posted(box)) == split("ש" * 3_900)
    assert sorted(set(keys)) == sorted(keys[0].removesuffix("1") + str(part) for part in (1, 2, 3))
    assert len(keys) == 4


async def test_two_calls_never_collide(box: CanonSandbox) -> None:
    """R7.43: each call has a token of its own, so equal texts are two messages."""
    for _ in range(2):
        await send_standalone(platform_config(box), ROOM, "again")

    assert [message["text"] for message in posted(box)] == ["again", "again"]


async def test_a_closed_policy_is_an_error(box: CanonSandbox) -> None:
    """S7.39: what Canon does not admit is told with its reason, and nothing is stored."""
    blocked = {"encoding": "json", "value": {"status": "blocked", "reason": "outbound-closed"}}
    answer = {"wire": "canon.verb-wire.v1", "verb": "send_to", "result": blocked}
    box.fault("answer", path="/agent/verbs/send_to", status=200, body=answer)

    result = await send_standalone(platform_config(box), ROOM, "hello")

    assert result == {"error": "Canon standalone send failed: Canon proactive send was not admitted: outbound-closed"}
    assert posted(box) == []


async def test_a_multiplexing_host_is_refused_before_anything_is_read() -> None:
    """S1.9: the guard stands before the settings; a configuration that cannot be read is never touched."""

    class Untouchable:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    result = await send_standalone(
        Untouchable(), ROOM, "hello", refusal=lambda: multiplex_refusal(lambda name: __import__(name + ".missing"))
    )

    assert "could not verify whether the Hermes gateway is multiplexing" in result["error"]


async def test_without_a_conversation_the_home_channel_is_meant(
    box: CanonSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R7.42: CANON_HOME_CHANNEL receives what names no conversation; without it there is an error."""
    nowhere = await send_standalone(platform_config(box), None, "hello")
    monkeypatch.setenv("CANON_HOME_CHANNEL", ROOM)
    home = await send_standalone(platform_config(box), None, "hello")

    assert "CANON_HOME_CHANNEL is not set" in nowhere["error"]
    assert home["success"]


@pytest.mark.parametrize(
    ("fault", "where", "words"),
    [
        pytest.param("health-wrong-environment", {}, "does not match environment", id="environment"),
        pytest.param("answer", {"path": "/agent/verbs/send_to"}, "status 500", id="server"),
    ],
)
async def test_trouble_is_a_result(box: CanonSandbox, fault: str, where: dict[str, str], words: str) -> None:
    """R7.41: whatever goes wrong comes back as one sentence."""
    box.fault(fault, times=None, burst=None, **where)

    result = await send_standalone(platform_config(box), ROOM, "hello")

    assert result["error"].startswith("Canon standalone send failed: ") and words in result["error"]


async def test_a_thread_is_no_message_to_reply_to(box: CanonSandbox) -> None:
    """D44: what the host knows as a thread names nothing on Canon, and the text is sent all the same."""
    result = await send_standalone(platform_config(box), ROOM, "hello", thread_id="thread-7", force_document=True)

    (message,) = posted(box)
    (request,) = [entry["body"] for entry in box.journal() if entry["path"] == "/agent/verbs/send_to"]
    assert (result["message_id"], message["text"]) == (message["id"], "hello")
    assert "thread-7" not in str(request)


async def test_files_ride_on_the_last_part(box: CanonSandbox, tmp_path: Path) -> None:
    """R7.43: uploaded first, all of them on the last part, which is of the kind of the first one."""
    for name in ("chart.png", "note.ogg"):
        tmp_path.joinpath(name).write_bytes(b"bytes of " + name.encode())
    files = [str(tmp_path / "chart.png"), (str(tmp_path / "note.ogg"), True)]

    result = await send_standalone(platform_config(box), ROOM, "ש" * 3_900, media_files=files)

    *leading, last = posted(box)
    assert result == {"success": True, "message_id": last["id"]}
    assert (len(leading), any(part["attachments"] for part in leading)) == (2, False)
    assert [(one["fileName"], one["kind"]) for one in last["attachments"]] == [
        ("chart.png", "image"), ("note.ogg", "audio"),
    ]  # fmt: skip
    assert (last["contentType"], last["metadata"]["turnSemantics"]) == ("image", "turn_complete")


async def test_files_alone_are_a_message(box: CanonSandbox, tmp_path: Path) -> None:
    """R7.43, D44: without a text too; a picture goes as a plain file when the host wants that."""
    tmp_path.joinpath("chart.png").write_bytes(b"x")

    result = await send_standalone(
        platform_config(box), ROOM, "", media_files=[str(tmp_path / "chart.png")], force_document=True
    )

    (message,) = posted(box)
    assert (result["success"], message["text"], len(message["attachments"])) == (True, "", 1)
    assert (message["contentType"], message["attachments"][0]["kind"]) == ("file", "file")


async def test_more_files_than_canon_takes_are_refused_before_the_first(box: CanonSandbox, tmp_path: Path) -> None:
    """R7.41: ten go with one message; with one more nothing is uploaded, let alone posted."""
    file = tmp_path / "x.txt"
    file.write_bytes(b"x")

    eleven, ten = [
        await send_standalone(platform_config(box), ROOM, "see attached", media_files=[str(file)] * count)
        for count in (11, 10)
    ]

    uploads = [entry for entry in box.journal() if entry["path"] == "/media/upload"]
    assert "takes 10 files" in eleven["error"] and ten["success"]
    assert (len(uploads), len(posted(box))) == (10, 1)


@pytest.mark.parametrize("files", [["gone.png"], [("gone.ogg", True)]], ids=["picture", "voice"])
async def test_a_file_that_cannot_be_sent_sends_nothing(box: CanonSandbox, files: list[Any]) -> None:
    """R7.41: a missing file is an error; nothing is posted."""
    result = await send_standalone(platform_config(box), ROOM, "see attached", media_files=files)

    assert result["error"].startswith("Canon standalone send failed: ")
    assert posted(box) == []


async def test_without_credentials_there_is_an_error() -> None:
    """R7.41: nothing is configured."""
    result = await send_standalone(platform_config(), ROOM, "hello")

    assert "No Canon credential" in result["error"]
