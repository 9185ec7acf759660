"""The bytes of messages in memory: whole batches, within bounds, each message its own."""

from __future__ import annotations

import threading
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from canon_hermes_plugin.media.captures import FILE_BYTES, Bounds, CanonInboundMedia, Captured, Captures


class Time:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def a_file(index: int = 0, data: Any = b"bytes", mime: Any = "application/pdf", name: str = "a.pdf") -> Captured:
    return Captured(index, data, mime, name)


def test_a_file_has_bytes_and_no_path() -> None:
    """R4.23: immutable, with the message it belongs to; its bytes stand in no repr, and it has no path or URL."""
    registry = Captures(Time())
    registry.register("c1", " m1 ", [a_file(name="../../invoice.pdf", mime="Application/PDF; x=1")])

    (media,) = registry.of(" c1 ", "m1")

    assert media == CanonInboundMedia("m1", 0, "application/pdf", "invoice.pdf", b"bytes")
    assert (media.size_bytes, hasattr(media, "path"), hasattr(media, "url")) == (5, False, False)
    assert "bytes'" not in repr(media)
    with pytest.raises(FrozenInstanceError):
        media.data = b""  # type: ignore[misc]


def test_every_thread_reads_the_bytes_of_its_own_message() -> None:
    """S4.21: twelve threads with 64 messages each."""
    registry = Captures(Time(), Bounds(messages=12 * 64))
    wrong: list[str] = []

    def work(thread: int) -> None:
        for number in range(64):
            key, data = f"m{thread}-{number}", f"{thread}/{number}".encode()
            registry.register("c1", key, [a_file(data=data)])
            if [media.data for media in registry.of("c1", key)] != [data]:
                wrong.append(key)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert all(registry.of("c1", f"m{thread}-{number}") for thread in range(12) for number in range(64))


def test_the_oldest_message_goes_first() -> None:
    """S4.22: with a cap of two messages the first of three is gone; reading one makes it younger."""
    registry = Captures(Time(), Bounds(messages=2))
    for name in ("m1", "m2"):
        registry.register("c1", name, [a_file()])
    registry.of("c1", "m1")
    registry.register("c1", "m3", [a_file()])

    assert [bool(registry.of("c1", name)) for name in ("m1", "m2", "m3")] == [True, False, True]


@pytest.mark.parametrize(
    "files",
    [
        [],
        [a_file(), a_file(1), a_file(2)],
        [a_file(data=b"x" * 6), a_file(1, data=b"x" * 6)],
        [a_file(), a_file(1, data=b"")],
        [a_file(data=bytearray(b"x"))],
        [a_file(data="text")],
        [a_file(mime="nonsense")],
        [a_file(mime="a/" + "b" * 300)],
        [a_file(mime="a/b\x00c")],
        [a_file(-1)],
        [a_file(True)],
    ],
)
def test_one_bad_file_refuses_the_batch(files: list[Captured]) -> None:
    """S4.23, S4.24: too many, too large, empty, no bytes, no type, no place: nothing is kept, not even what was."""
    registry = Captures(Time(), Bounds(files=2, message_bytes=10))
    registry.register("c1", "m1", [a_file()])

    assert not registry.register("c1", "m1", files)
    assert registry.of("c1", "m1") == ()


def test_a_file_has_at_most_ten_mebibytes() -> None:
    """R4.20: one byte more refuses the batch."""
    registry = Captures(Time())

    assert registry.register("c1", "m1", [a_file(data=bytes(FILE_BYTES))])
    assert not registry.register("c1", "m2", [a_file(data=bytes(FILE_BYTES + 1))])


@pytest.mark.parametrize(
    "key", [("", "m1"), ("c1", ""), ("c1", None), ("c1", "  "), ("c1", "m" * 257), ("c" * 257, "m")]
)
def test_bytes_without_an_owner_are_not_kept(key: tuple[str, str | None]) -> None:
    """R4.20: conversation and message have a name of at most 256 characters."""
    registry = Captures(Time())

    assert not registry.register(*key, [a_file()])


def test_the_total_is_bounded() -> None:
    """S4.25: two messages of two bytes, three allowed: the first is gone."""
    registry = Captures(Time(), Bounds(total_bytes=3))
    for name in ("m1", "m2"):
        assert registry.register("c1", name, [a_file(data=b"xy")])

    assert [bool(registry.of("c1", name)) for name in ("m1", "m2")] == [False, True]


def test_what_nobody_touches_is_forgotten() -> None:
    """S4.26: eleven seconds with a limit of ten; what was read meanwhile stays."""
    time = Time()
    registry = Captures(time, Bounds(idle_s=10))
    registry.register("c1", "m1", [a_file()])
    registry.register("c1", "m2", [a_file()])
    time.now_s = 9
    registry.of("c1", "m2")
    time.now_s = 11

    assert [bool(registry.of("c1", name)) for name in ("m1", "m2")] == [False, True]


def test_a_message_id_means_one_conversation() -> None:
    """R4.24: the same id elsewhere has nothing; thrown away is thrown away."""
    registry = Captures(Time())
    registry.register("c1", "m1", [a_file()])

    assert registry.of("c2", "m1") == ()
    registry.discard("c2", "m1")
    assert registry.has("c1", "m1")
    registry.discard("c1", "m1")
    assert registry.of("c1", "m1") == ()
