"""The event stream's decoder: Canon's grammar, cuts, and the limit on one frame."""

from __future__ import annotations

import pytest

from canon_ops.wire.sse import Frame, FrameTooLarge, SseDecoder


def decode(*chunks: bytes, max_frame_bytes: int = 1_000) -> list[Frame]:
    decoder = SseDecoder(max_frame_bytes)
    return [frame for chunk in chunks for frame in decoder.feed(chunk)]


def test_s2_5_a_frame_after_a_keep_alive_is_read() -> None:
    """S2.5: a comment is nothing, name and id are read, the data is JSON."""
    text = b': hb\nid: evt-1\nevent: message.created\ndata: {"ok": true}\n\n'

    [frame] = decode(text)

    assert (frame.event, frame.id, frame.payload()) == ("message.created", "evt-1", {"ok": True})


@pytest.mark.parametrize(
    ("text", "frames"),
    [
        pytest.param("event: a\ndata: 1\n\n", [Frame("a", None, "1")], id="no id"),
        pytest.param("event:a\ndata:1\nid:7\n\n", [Frame("a", "7", "1")], id="no spaces"),
        pytest.param("event:  a \t\nid:\t 7 \ndata: 1\n\n", [Frame("a", "7", "1")], id="name and id are trimmed"),
        pytest.param("event: a\ndata:  two \n\n", [Frame("a", None, " two ")], id="data loses one leading space"),
        pytest.param("event: a\ndata: 1\ndata: 2\ndata:\n\n", [Frame("a", None, "1\n2\n")], id="data lines join"),
        pytest.param("event: a\ndata:\n\n", [Frame("a", None, "")], id="empty data is data"),
        pytest.param("event: a\nevent: b\nid: 1\nid: 2\ndata: x\n\n", [Frame("b", "2", "x")], id="the last one wins"),
        pytest.param("id: 1\ndata: x\n\n", [], id="no name: dropped with its id"),
        pytest.param("id: 1\nevent:\ndata: x\n\n", [], id="an empty name is no name"),
        pytest.param("id: 1\nevent: a\n\n", [], id="no data: dropped with its id"),
        pytest.param("event: a\ndata\n\n", [], id="a field needs its colon"),
        pytest.param("event: a\ndata: x\nfoo: y\nbar\n\n", [Frame("a", None, "x")], id="other lines are ignored"),
        pytest.param("event: a\ndata: x:y\n\n", [Frame("a", None, "x:y")], id="only the first colon counts"),
        pytest.param("event: a\nid:\ndata: x\n\n", [Frame("a", None, "x")], id="an empty id is none"),
        pytest.param("event: a\ndata: x\n", [], id="an unfinished frame is nothing"),
        pytest.param("\n\n\n: hb\n\n\nevent: a\ndata: x\n\n\n", [Frame("a", None, "x")], id="empty lines are nothing"),
        pytest.param("\ufeffevent: a\ndata: \ufeff\n\n", [Frame("a", None, "\ufeff")], id="one mark at the start goes"),
        pytest.param("event: a\r\ndata: x\r\n\r\n", [Frame("a", None, "x")], id="CR LF"),
        pytest.param("event: a\rdata: x\r\r", [Frame("a", None, "x")], id="CR"),
        pytest.param("event: a\r\ndata: x\n\r\n", [Frame("a", None, "x")], id="mixed line ends"),
        pytest.param("event: a\ndata: שלום\u2028\n\n", [Frame("a", None, "שלום\u2028")], id="only CR and LF end lines"),
    ],
)
def test_grammar(text: str, frames: list[Frame]) -> None:
    """Each row of Canon's frame grammar reads as the specification says."""
    assert decode(text.encode()) == frames


def test_a_cr_at_the_end_of_a_chunk_and_its_lf_are_one_line_end() -> None:
    """A CR LF that is cut in two does not look like an empty line."""
    assert decode(b"event: a\r", b"\ndata: x\r", b"\n\r", b"\n") == [Frame("a", None, "x")]


def test_a_lone_cr_at_the_end_of_a_chunk_ends_its_line() -> None:
    """What follows a CR is a new line, also when it comes later."""
    assert decode(b"event: a\r", b"data: x\r", b"\r") == [Frame("a", None, "x")]


def test_an_empty_chunk_between_cr_and_lf_changes_nothing() -> None:
    """The decoder remembers the CR over an empty chunk."""
    assert decode(b"event: a\r", b"", b"\ndata: x\n\n") == [Frame("a", None, "x")]


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    """A broken byte damages its own frame only."""
    assert decode(b"event: a\ndata: \xff\n\nevent: b\ndata: 1\n\n") == [
        Frame("a", None, "\ufffd"),
        Frame("b", None, "1"),
    ]


@pytest.mark.parametrize(
    ("data", "payload"),
    [('{"a": [1]}', {"a": [1]}), ("null", None), ("plain", "plain"), ("", ""), ("[" * 200_000, "[" * 200_000)],
    ids=["object", "null", "text", "empty", "too deep"],
)
def test_a_payload_that_is_not_json_stays_text(data: str, payload: object) -> None:
    """The payload never raises."""
    assert Frame("a", None, data).payload() == payload


def test_the_pause_that_the_peer_asks_for_is_kept() -> None:
    """``retry:`` is remembered in milliseconds; nonsense is not."""
    decoder = SseDecoder()

    decoder.feed(b"retry: 2500\n\nretry: soon\n\n")

    assert decoder.retry_ms == 2_500


def test_a_frame_over_the_limit_is_refused_and_the_ones_before_it_are_kept() -> None:
    """The error hands over what was whole, and the decoder is of no use any more."""
    decoder = SseDecoder(max_frame_bytes=20)

    with pytest.raises(FrameTooLarge) as raised:
        decoder.feed(b"event: a\ndata: x\n\nevent: b\ndata: " + b"x" * 30 + b"\n\nevent: c\ndata: x\n\n")

    assert raised.value.frames == (Frame("a", None, "x"),)
    with pytest.raises(FrameTooLarge):
        decoder.feed(b"event: c\ndata: x\n\n")


def test_an_endless_frame_is_refused_before_it_ends() -> None:
    """Memory is bounded even when no empty line ever comes."""
    decoder = SseDecoder(max_frame_bytes=1_000)

    with pytest.raises(FrameTooLarge, match="1,000 bytes"):
        for _ in range(200):
            decoder.feed(b"data: x\n")


FRAME = b"event: a\ndata: xyz"


@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n"], ids=["LF", "CR", "CR LF"])
@pytest.mark.parametrize("lead", [b"", b"\n", b"\n" * 40], ids=["first", "after a line", "after many lines"])
@pytest.mark.parametrize("size", [1, 7, 1_000], ids=["byte by byte", "in pieces", "at once"])
def test_a_frame_of_exactly_the_limit_passes(size: int, lead: bytes, line_end: bytes) -> None:
    """The limit counts the frame alone: not its closing line ends, not the empty lines around it, however it comes."""
    stream = (lead + FRAME + b"\n\n\n" + FRAME + b"\n\n").replace(b"\n", line_end)
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]

    assert decode(*chunks, max_frame_bytes=len(FRAME)) == [Frame("a", None, "xyz")] * 2
    with pytest.raises(FrameTooLarge):
        decode(*chunks, max_frame_bytes=len(FRAME) - 1)


def test_a_byte_order_mark_belongs_to_the_start_of_the_stream_only() -> None:
    """Later it is a character like any other: the line it opens is no known field."""
    frames = decode(b"event: a\ndata: x\n\n", "\ufeffevent: b\ndata: y\n\n".encode(), b"event: c\ndata: z\n\n")

    assert frames == [Frame("a", None, "x"), Frame("c", None, "z")]
