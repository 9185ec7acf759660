"""Events in bytes: every unusual form still tells a careful reader the same."""

from __future__ import annotations

import json

import pytest

from canon_ops.sandbox.events import Event, EventLog
from canon_ops.sandbox.frames import RESHAPINGS, bare_frame, chunks

PAYLOAD = {"conversationId": "c", "message": {"id": "m", "text": 'a, "b"},\nü'}, "turnDispatch": {"kind": "run_turn"}}


def event() -> Event:
    return EventLog("evt_x_", 10).append("message.created", PAYLOAD, occasion="m")


def read(pieces: list[bytes]) -> list[tuple[str | None, str, str]]:
    """(id, name, data) of each frame, by the rules of the event-stream standard, apart from our decoder."""
    text = b"".join(pieces).decode().replace("\r\n", "\n").replace("\r", "\n")
    frames: list[tuple[str | None, str, str]] = []
    for block in text.split("\n\n"):
        fields: dict[str, list[str]] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            fields.setdefault(name, []).append(value.strip())
        if "event" in fields and "data" in fields:
            frames.append((fields.get("id", [None])[-1], fields["event"][-1], "\n".join(fields["data"])))
    return frames


@pytest.mark.parametrize("how", ["duplicate", "duplicate-new-id", "no-id", "crlf-split", "bytewise", "multi-line"])
def test_the_payload_survives_its_form(how: str) -> None:
    """However it is cut or repeated, the message is the same."""
    for _, name, data in read(chunks(event(), how)):
        assert (name, json.loads(data)) == ("message.created", PAYLOAD)


@pytest.mark.parametrize(("how", "count"), [("duplicate", 2), ("duplicate-new-id", 2), ("no-id", 1), ("no-name", 1)])
def test_how_many_frames_a_reader_sees(how: str, count: int) -> None:
    """A frame without name is none."""
    assert len(read(chunks(event(), how))) == count


def test_the_ids_of_each_form() -> None:
    """The same id twice, two ids, or none."""
    ids = {
        how: [frame[0] for frame in read(chunks(event(), how))] for how in ("duplicate", "duplicate-new-id", "no-id")
    }

    assert ids["duplicate"] == ["evt_x_0000000001"] * 2
    assert ids["duplicate-new-id"] == ["evt_x_0000000001", "evt_x_0000000001-again"]
    assert ids["no-id"] == [None]


def test_crlf_is_cut_between_cr_and_lf() -> None:
    """Every piece but the last ends in CR, every piece but the first begins with LF."""
    pieces = chunks(event(), "crlf-split")

    assert all(piece.endswith(b"\r") for piece in pieces[:-1])
    assert all(piece.startswith(b"\n") for piece in pieces[1:])


@pytest.mark.parametrize(
    ("how", "verdict"),
    [
        ("no-verdict", None),
        ("record-only", "record_only"),
        ("other-verdict", "dream_about_it"),
        ("run-turn", "run_turn"),
    ],
)
def test_the_verdict_can_be_another(how: str, verdict: str | None) -> None:
    """Only turnDispatch changes; the message stays."""
    [(_, _, data)] = read(chunks(event(), how))

    payload = json.loads(data)
    assert payload["message"] == PAYLOAD["message"]
    assert payload.get("turnDispatch") == (None if verdict is None else {"kind": verdict})


@pytest.mark.parametrize("how", ["not-json", "unknown-name"])
def test_noise_comes_before_the_event(how: str) -> None:
    """The reader gets something useless first and the real event after it."""
    first, second = read(chunks(event(), how))

    assert second == (
        "evt_x_0000000001",
        "message.created",
        json.dumps(PAYLOAD, ensure_ascii=False, separators=(",", ":")),
    )
    assert first[0] is not None
    assert first[0].startswith("evt_x_0000000000-")


def test_every_form_is_used_here() -> None:
    """A new form needs a test."""
    tested = {"duplicate", "duplicate-new-id", "no-id", "no-name", "crlf-split", "bytewise", "multi-line", "not-json"}
    tested |= {"unknown-name", "no-verdict", "record-only", "other-verdict", "run-turn"}

    assert set(RESHAPINGS) == tested


def test_a_bare_frame_moves_no_cursor() -> None:
    """It has a name and data and no id."""
    assert bare_frame("connected", {"a": "ü"}) == 'event: connected\ndata: {"a":"ü"}\n\n'.encode()
