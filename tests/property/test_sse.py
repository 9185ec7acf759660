"""Any cut of the bytes yields the same frames."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from canon_ops.wire.sse import Frame, FrameTooLarge, SseDecoder

# Pieces that matter to the decoder, so that random streams meet its edges often.
PIECES = [
    *(b"\n", b"\r", b"\r\n", b"\n\n", b"\r\n\r\n"),
    *(b"event: a", b"event:b ", b"data: x", b"data:  y", b"data:", b"id: 1", b"id:", b":", b": hb", b"retry: 3", b"x"),
    *("data: ש".encode(), b"\xef\xbb\xbf", b"\xff", b"\xe2\x82", b"data: " + b"z" * 30),
]
streams = st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)


def run(chunks: list[bytes], limit: int) -> tuple[list[Frame], int | None, bool]:
    """Everything a decoder says about a stream: its frames, the pause asked for, and whether a frame was too large."""
    decoder = SseDecoder(limit)
    frames: list[Frame] = []
    for chunk in chunks:
        try:
            frames += decoder.feed(chunk)
        except FrameTooLarge as error:
            return [*frames, *error.frames], None, True
    return frames, decoder.retry_ms, False


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


limits = st.integers(min_value=8, max_value=40)  # around the sizes of the frames that the pieces make


@given(streams, st.lists(st.integers(min_value=0, max_value=10_000), max_size=12), limits)
def test_any_cut_yields_the_same_frames(stream: bytes, places: list[int], limit: int) -> None:
    """Frames, pause and refusal do not depend on how the bytes came, empty chunks included."""
    assert run(cut(stream, places), limit) == run([stream], limit)


@given(streams, limits)
def test_one_byte_at_a_time_yields_the_same_frames(stream: bytes, limit: int) -> None:
    """The finest cut of all."""
    assert run([bytes([byte]) for byte in stream], limit) == run([stream], limit)


field_values = (
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).map(str.strip).filter(bool)
)
data_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=80)


@given(
    st.lists(st.tuples(field_values, st.none() | field_values, data_texts), max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(min_value=0, max_value=10_000), max_size=12),
)
def test_what_a_server_writes_is_what_is_read(
    events: list[tuple[str, str | None, str]], line_end: str, places: list[int]
) -> None:
    """A frame written by the book comes back unchanged, whatever the line ends and the cuts."""
    written = "".join(
        f"event: {event}\n" + (f"id: {frame_id}\n" if frame_id else "")
        + "".join(f"data: {line}\n" for line in data.split("\n")) + "\n"
        for event, frame_id, data in events
    ).replace("\n", line_end)  # fmt: skip

    decoder = SseDecoder()
    read = [frame for chunk in cut(written.encode(), places) for frame in decoder.feed(chunk)]

    assert read == [Frame(event, frame_id, data) for event, frame_id, data in events]
