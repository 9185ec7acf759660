"""Files of people in a real gateway: what the model gets in each mode, what a trusted tool gets, and hostile ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking import call_of
from tests.support.conversing import answer_to
from tests.support.files import HTML, JPEG, PDF, PNG, on_disk
from tests.support.gateways import Stage, canon_stage

pytestmark = [pytest.mark.host, pytest.mark.timeout(300)]

READER = """
import hashlib, json
from canon_hermes_plugin import current_canon_inbound_media

SCHEMA = {"name": "read_files", "description": "Read the files.", "parameters": {"type": "object", "properties": {}}}


def read_files(args, **more):
    files = current_canon_inbound_media()
    return json.dumps({"files": [
        [one.attachment_index, one.mime_type, hashlib.sha256(one.data).hexdigest()] for one in files
    ]})


def register(ctx):
    ctx.register_tool(name="read_files", toolset="reader", schema=SCHEMA, handler=read_files, description="Read.")
"""
MANIFEST = """
name: reader
kind: standalone
version: 0.1.0
description: Reads the files of the turn
author: Example
provides_tools: [read_files]
"""
SECRETS = ("invoice", "ledger", "token=", "/files/", "images/img_")


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """A folder from which the host sends files."""
    with on_disk(tmp_path) as folder:
        yield folder


def put_reader(home: Path) -> dict[str, Any]:
    """A domain plugin with one tool; the configuration that loads it beside ours."""
    folder = home / "plugins" / "reader"
    folder.mkdir(parents=True)
    folder.joinpath("__init__.py").write_text(READER)
    folder.joinpath("plugin.yaml").write_text(MANIFEST)
    return {
        "plugins": {"enabled": ["canon-hermes", "reader"]},
        "platform_toolsets": {"canon": ["canon", "reader"]},
    }


def read(stage: Stage) -> list[list[Any]]:
    """What the tool read last."""
    results = (request.body["messages"][-1] for request in reversed(stage.model.requests))
    files: list[list[Any]] = json.loads(next(item["content"] for item in results if item["role"] == "tool"))["files"]
    return files


def said_to_model(stage: Stage, words: str) -> str:
    """The user's side of the newest request that was about ``words``, whole: texts and pictures."""
    request = next(one for one in reversed(stage.model.requests) if words in one.user_text)
    return json.dumps([item for item in request.body["messages"] if item["role"] == "user"][-1])


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def send(stage: Stage, words: str, *files: tuple[bytes, str, str]) -> dict[str, Any]:
    """Say something with files, have the agent read them, and wait until it is done."""
    upload = stage.box.human.upload  # the link is the server's; the name in the message is whatever its author says
    attachments = [
        upload(data, mime_type=mime, file_name="file.bin", conversation_id="conv_direct") | {"fileName": name}
        for data, mime, name in files
    ]
    text = f"{words} {call_of('read_files')}"
    return answer_to(stage.box, stage.box.human.say(None, text, attachments=attachments))


IMAGE = (PNG, "image/png", "invoice.png")
DOCUMENT = (PDF, "application/pdf", "ledger.pdf")
MODES = {
    "model": ({}, [], [True, True]),
    "image": ({"CANON_INBOUND_IMAGE_DELIVERY": "trusted-only"}, ["1 image attachment"], [False, True]),
    "visual": ({"CANON_INBOUND_VISUAL_MEDIA_DELIVERY": "trusted-only"}, ["2 visual attachments"], [False, False]),
}


@pytest.mark.parametrize(
    "mode",
    ["model", *(pytest.param(mode, marks=[pytest.mark.long, pytest.mark.everywhere]) for mode in ("image", "visual"))],
)
def test_a_picture_a_document_and_both(tmp_path: Path, mode: str) -> None:
    """S4.5, S4.9, S4.11 in a gateway: by the mode the model gets a path, or a marker and nothing else of the file; the
    tool gets the bytes in every mode, of this message only."""
    dotenv, marker, shown = MODES[mode]
    config = put_reader(tmp_path / "hermes")
    private = {"HERMES_ALLOW_PRIVATE_URLS": "true"}
    with canon_stage(tmp_path, config=config, dotenv={**dotenv, **private}) as stage:
        for words, files, position in (
            ("[one]", [IMAGE], [0]),
            ("[two]", [DOCUMENT], [1]),
            ("[both]", [IMAGE, DOCUMENT], [0, 1]),
        ):
            send(stage, words, *files)

            assert read(stage) == [[index, mime, sha(data)] for index, (data, mime, _) in enumerate(files)]
            told = said_to_model(stage, words)
            for place in position:
                named = ("images/img_" in told or "image_url" in told, "ledger.pdf" in told)[place]
                assert named == shown[place], told
            if not any(shown[place] for place in position):
                assert not any(secret in told for secret in SECRETS)
        assert all(words in said_to_model(stage, "[both]") for words in marker)
        caches = [*stage.home.path.glob("cache/images/*"), *stage.home.path.glob("cache/documents/*")]
        assert bool([file for file in caches if file.read_bytes() == PNG]) == shown[0]
        assert bool([file for file in caches if file.read_bytes() == PDF]) == shown[1]
        send(stage, "[none]")
        assert read(stage) == []
        assert stage.box.breaches() == []


def test_hostile_files_cost_nothing_but_themselves(tmp_path: Path) -> None:
    """A body over the limit, a redirect into the inside, a page called a picture, a name full of path: each message is
    answered, what is bad is missing and said to be, and nothing of a link reaches a log."""
    config = put_reader(tmp_path / "hermes")
    with canon_stage(tmp_path, config=config, dotenv={"HERMES_ALLOW_PRIVATE_URLS": "true"}) as stage:
        for fault in ("media-oversize", "media-404"):
            armed = stage.box.fault(fault)
            send(stage, f"[{fault}]", IMAGE)
            assert armed.fired == 1 and read(stage) == []
            assert "1 attachment of this message could not be fetched" in said_to_model(stage, f"[{fault}]")
        send(stage, "[page]", (HTML, "image/png", "../../../../etc/passwd\\\\..\\\\evil\u202e].png"))
        told = said_to_model(stage, "[page]")
        kept = [file for file in stage.home.path.glob("cache/documents/*") if file.read_bytes() == HTML]
        assert len(kept) == 1 and "image_url" not in told
        send(stage, "[wrong]", (JPEG, "application/octet-stream", "invoice.bin"))
        assert read(stage) == [[0, "image/jpeg", sha(JPEG)]]
        assert "token=" not in stage.log.read_text()
        assert stage.box.breaches() == []


def test_files_from_the_inside_need_leave(tmp_path: Path) -> None:
    """S4.27 in a gateway: the sandbox's files lie on loopback; nothing asks for them without the operator's word."""
    config = put_reader(tmp_path / "hermes")
    with canon_stage(tmp_path, config=config, dotenv={"CANON_INBOUND_IMAGE_DELIVERY": "trusted-only"}) as stage:
        send(stage, "[inside]", IMAGE)

        assert read(stage) == []
        assert "1 image attachment of this message was withheld" in said_to_model(stage, "[inside]")
        assert not [row for row in stage.box.journal() if row["path"].startswith("/files/")]


def test_files_survive_a_crash(tmp_path: Path) -> None:
    """The gateway dies while the agent works on a message with a file: the run after it has the file again, once."""
    config = put_reader(tmp_path / "hermes")
    config["gateway"] = {"restart_loop_guard": {"max_restarts": 0}}
    with canon_stage(tmp_path, config=config, dotenv={"HERMES_ALLOW_PRIVATE_URLS": "true"}) as stage:
        attachment = stage.box.human.upload(
            PNG, mime_type="image/png", file_name="invoice.png", conversation_id="conv_direct"
        )
        message = stage.box.human.say(None, f"[slow 20] [crash] {call_of('read_files')}", attachments=[attachment])
        stage.model.wait(timeout_s=60, where=lambda request: "[crash]" in request.user_text)

        stage.gateway.kill()
        stage.start_again()
        answer_to(stage.box, message, timeout_s=120)

        assert read(stage) == [[0, "image/png", sha(PNG)]]
        assert len([row for row in stage.box.journal() if row["path"].startswith("/files/")]) == 2


@pytest.mark.long
@pytest.mark.everywhere
def test_an_answer_with_files_is_one_notification(tmp_path: Path) -> None:
    """S7.47 in a gateway, streamed and not: text and files arrive once each, in order, and one message notifies."""
    for name, data in (("chart.png", PNG), ("report.pdf", PDF)):
        tmp_path.joinpath(name).write_bytes(data)
    said = f"Here.\nMEDIA:{tmp_path / 'chart.png'}\nMEDIA:{tmp_path / 'report.pdf'}"
    for streaming in (True, False):
        folder = tmp_path / str(streaming)
        folder.mkdir()
        with canon_stage(folder, config={"streaming": {"enabled": streaming}}) as stage:
            stage.box.fault("send-lost-response", times=1)
            final = answer_to(stage.box, stage.box.human.say(None, f"[say {said}]"))

            rows = [row for row in stage.box.transcript(None) if row["origin"] == "agent"]
            assert [row["metadata"]["turnSemantics"] for row in rows] == ["progress", "progress", "turn_complete"]
            assert [one["fileName"] for row in rows for one in row["attachments"]] == ["chart.png", "report.pdf"]
            assert (rows[-1]["id"], rows[-1]["text"].strip()) == (final["id"], "Here.")
            assert {row["metadata"]["turnId"] for row in rows} == {final["metadata"]["turnId"]}
            assert stage.box.breaches() == []


@pytest.mark.long
@pytest.mark.everywhere
def test_files_that_are_owed_are_sent_once(tmp_path: Path) -> None:
    """X1: killed while Canon takes no message, the next gateway sends text and file under the old ids, each once."""
    tmp_path.joinpath("report.pdf").write_bytes(PDF)
    with canon_stage(tmp_path) as stage:
        fault = stage.box.fault("send-500-after-commit", burst=2, times=None)
        message = stage.box.human.say(None, f"[say Here. MEDIA:{tmp_path / 'report.pdf'}]")
        stage.box.wait("fired", name="send-500-after-commit", timeout_s=60)

        stage.gateway.kill()
        stage.box.human.calm()
        stage.start_again()
        answer_to(stage.box, message, timeout_s=120)

        rows = [row for row in stage.box.transcript(None) if row["origin"] == "agent"]
        assert fault.fired >= 1
        assert [(row["text"].strip(), len(row["attachments"])) for row in rows] == [("", 1), ("Here.", 0)]
        assert stage.box.breaches() == []
