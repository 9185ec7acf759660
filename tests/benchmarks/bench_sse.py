"""How fast the event stream's decoder is, beside ``json.loads`` on the same bytes.

Run ``python tests/benchmarks/bench_sse.py``. The first table has a line for each kind of event and each cut that a
socket makes: the speed of both in millions of bytes of data a second, and their ratio, the median of interleaved pairs
with its range. ``json.loads`` gets each event's data alone and whole; the decoder gets the stream as it was written.
The second table shows that the time for a byte does not grow with the stream or with a frame, whatever the cut.

Two promises: a ratio of at least 0.5 in every line of the first table, and no growth in the second, where a cost that
is quadratic would show as x8. The exit status is 1 when one is broken.
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from canon_ops.wire.sse import SseDecoder

PAIRS = 15
READ_BYTES = 64 * 1024  # what httpx hands over at most
LEAST_RATIO = 0.5
MOST_GROWTH = 4.0  # for eight times the bytes; a busy machine alone reaches 3

MESSAGE = {
    "conversationId": "conv_grp1",
    "conversation": {"id": "conv_grp1", "type": "group", "name": "Team", "memberIds": ["user_own1", "user_b", "ag_7"]},
    "message": {
        "id": "msg_in_17",
        "senderId": "user_b",
        "senderName": "Dana",
        "senderType": "human",
        "isOwner": False,
        "contentType": "text",
        "text": "@Ops please file invoice 42 and tell me when it is done, thanks",
        "attachments": [],
        "mentions": ["agent_7Qx"],
        "replyTo": None,
        "status": "sent",
        "createdAt": "2026-09-11T15:51:09.000Z",
        "metadata": {"deliveryIntent": "queue"},
    },
    "turnDispatch": {"kind": "run_turn"},
    "provenance": {"mentionedAgent": True, "conversation": {"id": "conv_grp1", "type": "group"}},
    "behavior": {"participation": {"maxConsecutiveAgentTurns": 4}},
}
TYPING = {"conversationId": "conv_dm1", "userId": "user_own1", "typing": True}
LONG = {"conversationId": "conv_dm1", "message": {"id": "m", "text": "שלום עולם, a longer text. " * 400}}

KINDS: dict[str, tuple[str, Mapping[str, object], int]] = {
    "message": ("message.created", MESSAGE, 600),
    "typing": ("typing", TYPING, 4_000),
    "long text": ("message.created", LONG, 60),
}


def stream_of(event: str, payload: Mapping[str, object], count: int) -> tuple[bytes, list[str]]:
    """The stream that a server writes for ``count`` events, and their data."""
    data = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    frame = f"id: evt_{{:010d}}\nevent: {event}\ndata: "
    return "".join(f"{frame.format(number)}{data}\n\n" for number in range(count)).encode(), [data] * count


def cut(stream: bytes, size: int) -> list[bytes]:
    return [stream[start : start + size] for start in range(0, len(stream), size)]


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def decode(chunks: Sequence[bytes]) -> int:
    decoder = SseDecoder()
    return sum(len(decoder.feed(chunk)) for chunk in chunks)


def load(texts: Sequence[bytes]) -> None:
    for text in texts:
        json.loads(text)


def compare(name: str, cut_name: str, stream: bytes, texts: list[bytes], size: int) -> float:
    """Print one line of the first table and return its ratio."""
    chunks = cut(stream, size)
    assert decode(chunks) == len(texts)
    load(texts)  # warm
    pairs = [(seconds(lambda: decode(chunks)), seconds(lambda: load(texts))) for _ in range(PAIRS)]
    payload_bytes = sum(map(len, texts))
    decoder_speed, json_speed = (
        statistics.median(payload_bytes / pair[which] for pair in pairs) / 1e6 for which in (0, 1)
    )
    ratios = sorted(pair[1] / pair[0] for pair in pairs)
    ratio = statistics.median(ratios)
    print(
        f"{name:<10} {cut_name:<14} {len(texts[0]):>7,} B  decoder {decoder_speed:7.1f}  json {json_speed:7.1f} MB/s"
        f"  ratio {ratio:5.2f}  ({ratios[0]:.2f}…{ratios[-1]:.2f})"
    )
    return ratio


def growth(name: str, streams: Sequence[bytes], size: int) -> float:
    """Print one line of the second table, nanoseconds a byte for a stream and a longer one; return the factor."""
    costs = []
    for stream in streams:
        work = functools.partial(decode, cut(stream, size))
        costs.append(min(seconds(work) for _ in range(5)) / len(stream) * 1e9)
    small, large = costs
    print(f"{name:<45} {small:7.1f} ns/B {large:7.1f} ns/B   x{large / small:.2f}")
    return large / small


def main() -> int:
    """Print both tables and the verdict."""
    print(f"Python {platform.python_version()}, {PAIRS} interleaved pairs after one warm-up, median (range)")
    ratios, factors = [], []
    for name, (event, payload, count) in KINDS.items():
        stream, data = stream_of(event, payload, count)
        texts = [text.encode() for text in data]
        print(f"\n# {name}: {count:,} events, sha256 {hashlib.sha256(stream).hexdigest()[:16]}")
        for cut_name, size in (("64 KiB reads", READ_BYTES), ("1,400 B reads", 1_400), ("a frame a read", 0)):
            ratios.append(compare(name, cut_name, stream, texts, size or len(stream) // count))
    print("\n# cost of a byte: a stream, and one eight times as long")
    for label, size in (("64 KiB reads", READ_BYTES), ("100 B reads", 100), ("one byte at a time", 1)):
        many = [stream_of("message.created", MESSAGE, count)[0] for count in (60, 480)]
        one = [b"event: a\ndata: " + b"x" * count + b"\n\n" for count in (60_000, 480_000)]
        lines = [b"event: a\n" + b"data: xxxxxx\n" * count + b"\n" for count in (5_000, 40_000)]
        factors.append(growth(f"many frames, {label}", many, size))
        factors.append(growth(f"one frame, {label}", one, size))
        factors.append(growth(f"one frame of many lines, {label}", lines, size))
    kept = min(ratios) >= LEAST_RATIO and max(factors) <= MOST_GROWTH
    print(f"\nleast ratio {min(ratios):.2f} (promised {LEAST_RATIO}), most growth x{max(factors):.2f} (x{MOST_GROWTH})")
    print("kept" if kept else "BROKEN")
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
