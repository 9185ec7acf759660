"""Fetching a file: what is connected to, what is held of it, and when it is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.media.captures import FILE_BYTES
from canon_hermes_plugin.media.download import REDIRECTS, WHOLE_S, Downloads, Fetched, TookTooLong, UnsafeUrl, resolve
from canon_ops.client.errors import ApiError, MalformedAnswer, RequestFailed, TransportFailure
from canon_ops.client.pinned import AnswerTooLarge, Pinned
from canon_ops.client.transport import Answer
from canon_ops.runtime.clock import Clock, ManualClock, SystemClock
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.wire.retry import TransportKind
from tests.support.files import PNG
from tests.support.loopback import Exchange, answer, loopback, until
from tests.support.untrusted import untrusted_server

PUBLIC = "93.184.216.34"
LOOPBACK = "127.0.0.1"


class Names:
    """A name server that answers each question with the next of its answers, the last one for ever."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers) or [[LOOPBACK]]
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def downloads(names: Names, *, private: bool = True, clock: Clock | None = None, **more: Any) -> Downloads:
    async def allows() -> bool:
        return private

    return Downloads(addresses_of=names, allows_private=allows, clock=clock or SystemClock(), **more)


def by_name(url: str, host: str = "files.example") -> str:
    """The same port under another name."""
    return url.replace(LOOPBACK, host)


class Peer:
    """The other end, without a network: answers by address, and remembers where it was asked."""

    def __init__(self, *answers: Answer | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[Pinned] = []

    async def __call__(self, where: Pinned, **more: Any) -> Answer:
        self.asked.append(where)
        given = self.answers.pop(0)
        if isinstance(given, Exception):
            raise given
        return given


async def test_a_file_is_fetched_without_any_key() -> None:
    """R4.3: the agreed User-Agent, no credential, the bytes as they are, and the server's word for their type."""
    async with loopback(answer(raw=PNG, headers={"Content-Type": "image/png"})) as server:
        fetched = await downloads(Names()).fetch(by_name(server.url) + "/f/a.png?token=t")

    (request,) = server.requests
    assert fetched == Fetched(PNG, "image/png")
    assert (request.target, request.headers["host"].split(":")[0]) == ("/f/a.png?token=t", "files.example")
    assert request.headers["user-agent"] == "HermesAgent/CanonPlatform"
    assert request.headers["accept-encoding"] == "identity"
    assert not {"authorization", "cookie"} & request.headers.keys()


async def test_the_connection_goes_where_the_check_was() -> None:
    """D30: the name is resolved once; a name server that answers differently the next time is not asked again."""
    names = Names([LOOPBACK], ["10.0.0.1"])
    async with loopback(answer(raw=b"here")) as server:
        fetched = await downloads(names).fetch(by_name(server.url))

    assert (fetched.data, names.asked) == (b"here", ["files.example"])


async def test_a_certificate_is_held_against_the_name(tmp_path: Path) -> None:
    """D30: the address is connected to, the name is asked for, and a certificate that nobody signed is refused."""
    asked_for: list[str | None] = []
    with untrusted_server(tmp_path, asked_for) as url, pytest.raises(TransportFailure) as failed:
        await downloads(Names()).fetch(by_name(url) + "/a?token=secret-token")

    assert asked_for == ["files.example"]
    assert "secret-token" not in str(failed.value)


@pytest.mark.parametrize("resolved", [[LOOPBACK], [PUBLIC, "10.0.0.1"], ["::ffff:127.0.0.1"], []])
async def test_an_unsafe_link_is_not_asked(resolved: list[str]) -> None:
    """S4.27: an address from the inside, or one among many, or none: no request is made, and it is a ValueError."""
    peer = Peer()

    with pytest.raises(UnsafeUrl, match="Blocked unsafe URL") as refused:
        await downloads(Names(resolved), private=False, get=peer).fetch("http://files.example/private.png?token=secret")

    assert isinstance(refused.value, ValueError)
    assert peer.asked == [] and "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("location", "resolved", "private"),
    [
        ("http://inner.example/x", ["10.0.0.1"], False),
        ("http://rebound.example/x", [PUBLIC, "127.0.0.1"], False),
        ("http://metadata.example/latest/meta-data", ["169.254.169.254"], True),
        ("http://metadata.google.internal/", [PUBLIC], True),
        ("http://[fd00:ec2::254]/latest", ["fd00:ec2::254"], True),
        ("file:///etc/passwd", [PUBLIC], True),
    ],
)
async def test_a_redirect_is_checked_like_a_link(location: str, resolved: list[str], private: bool) -> None:
    """S4.28, D30: a redirect to a private or a metadata address is refused before anything is sent there."""
    peer = Peer(Answer(302, {"location": location}, b""))

    with pytest.raises(UnsafeUrl):
        await downloads(Names([PUBLIC], resolved), private=private, get=peer).fetch("http://files.example/a")

    assert [where.url for where in peer.asked] == [f"http://{PUBLIC}:80/a"]


async def test_a_redirect_is_followed_to_its_own_address() -> None:
    """Each hop is resolved and pinned anew, and says its own name."""
    peer = Peer(Answer(307, {"location": "https://cdn.example/b"}, b""), Answer(200, {"content-type": "x/y"}, b"ok"))

    fetched = await downloads(Names([PUBLIC], ["1.1.1.1"]), private=False, get=peer).fetch("https://files.example/a")

    assert fetched == Fetched(b"ok", "x/y")
    assert [(where.url, where.authority, where.server_name) for where in peer.asked] == [
        (f"https://{PUBLIC}:443/a", "files.example", "files.example"),
        ("https://1.1.1.1:443/b", "cdn.example", "cdn.example"),
    ]


async def test_a_server_that_points_into_the_inside_is_not_followed() -> None:
    """S4.28 with Canon's own server: its link is fetched, the private address that it names instead is not."""
    leave = iter([True, False])  # the sandbox itself lies on loopback

    async def allows() -> bool:
        return next(leave)

    with CanonSandbox(CanonOptions()) as box:
        fault = box.fault("media-redirect")
        url = box.human.upload(PNG, mime_type="image/png", file_name="a.png")["url"]
        with pytest.raises(UnsafeUrl):
            await Downloads(
                addresses_of=Names([LOOPBACK], ["10.0.0.1"]), allows_private=allows, clock=SystemClock()
            ).fetch(url)

    assert fault.fired == 1


async def test_a_circle_of_redirects_ends() -> None:
    """After five of them it is refused."""
    peer = Peer(*[Answer(302, {"location": "/again"}, b"")] * (REDIRECTS + 1))

    with pytest.raises(UnsafeUrl):
        await downloads(Names([PUBLIC]), private=False, get=peer).fetch("http://files.example/a")

    assert len(peer.asked) == REDIRECTS + 1


async def test_the_next_address_is_tried_when_one_cannot_be_reached() -> None:
    """A broken way over IPv6 costs no file; an answer, whichever it is, ends the search."""
    refused = TransportFailure(TransportKind.REFUSED, request="x")
    peer = Peer(refused, Answer(404, {}, b""))

    with pytest.raises(ApiError):
        await downloads(Names(["2606:4700::1111", PUBLIC, "1.1.1.1"]), private=False, get=peer).fetch(
            "http://h.example/"
        )

    assert [where.url for where in peer.asked] == ["http://[2606:4700::1111]:80/", f"http://{PUBLIC}:80/"]


@pytest.mark.parametrize("status", [404, 403, 500, 304])
async def test_a_refusal_is_an_error(status: int) -> None:
    """R4.3: status 400 and more; so is whatever brings no file."""
    async with loopback(answer(status, {"error": "no token=abc"})) as server:
        with pytest.raises(RequestFailed) as failed:
            await downloads(Names()).fetch(by_name(server.url) + "/?token=abc")

    assert "abc" not in str(failed.value)


async def test_a_body_that_never_ends_is_cut() -> None:
    """S4.29, D30: no more than the limit and what is on its way is read, however much there would be."""
    sent = 0

    async def endless(exchange: Exchange) -> None:
        nonlocal sent
        await exchange.open_stream()
        block = bytes(256 * 1024)
        while sent < 128 * 1024**2:  # by far more than is read; a client that reads it all is soon done
            await exchange.send_chunk(block)
            sent += len(block)

    async with loopback(endless) as server:
        with pytest.raises(AnswerTooLarge) as refused:
            await downloads(Names()).fetch(by_name(server.url))

    assert isinstance(refused.value, ValueError)
    assert FILE_BYTES <= sent < FILE_BYTES + 16 * 1024 * 1024


async def test_a_body_that_says_that_it_is_too_large_is_not_read() -> None:
    """S4.29: ten mebibytes and a byte, or two gigabytes, are refused by their length."""
    hung_up = asyncio.Event()

    async def huge(exchange: Exchange) -> None:
        await exchange.send(f"HTTP/1.1 200 OK\r\nContent-Length: {2 * 1024**3}\r\n\r\n".encode())
        await exchange.closed_by_client()
        hung_up.set()

    async with loopback(huge) as server:
        with pytest.raises(AnswerTooLarge):
            await downloads(Names()).fetch(by_name(server.url))
        await until(hung_up.is_set)


async def test_ten_mebibytes_are_a_file() -> None:
    """The limit itself is allowed."""
    async with loopback(answer(raw=bytes(FILE_BYTES))) as server:
        fetched = await downloads(Names()).fetch(by_name(server.url))

    assert len(fetched.data) == FILE_BYTES


async def test_a_compressed_body_is_not_unpacked() -> None:
    """A few kilobytes could become gigabytes; nobody asked for it."""
    async with loopback(answer(raw=b"\x1f\x8b bomb", headers={"Content-Encoding": "gzip"})) as server:
        with pytest.raises(MalformedAnswer):
            await downloads(Names()).fetch(by_name(server.url))


async def test_a_body_that_trickles_is_given_up() -> None:
    """D30: each read is in time, the whole is not: the connection is closed when the time is over."""
    clock, hung_up, begun = ManualClock(), asyncio.Event(), asyncio.Event()

    async def slow(exchange: Exchange) -> None:
        await exchange.open_stream()
        await exchange.send_chunk(b"drop")
        begun.set()
        await exchange.closed_by_client()
        hung_up.set()

    async with loopback(slow) as server:
        fetching = asyncio.get_running_loop().create_task(downloads(Names(), clock=clock).fetch(by_name(server.url)))
        await until(begun.is_set)
        await clock.advance(WHOLE_S)
        with pytest.raises(TookTooLong):
            await fetching
        await until(hung_up.is_set)


def test_the_systems_word_for_a_name() -> None:
    """An address stands for itself, in odd notations too; a name that is none has no address."""
    assert resolve("127.0.0.1", 80) == ["127.0.0.1"]
    assert resolve("2130706433", 80) in ([], ["127.0.0.1"])
    assert resolve("a" * 300, 80) == []


@pytest.mark.parametrize("host", ["x\x00y", "a" * 300, "", "\ud800"])
def test_a_name_that_can_be_none(host: str) -> None:
    """D30: what no name server can be asked for has no address, and raises nothing."""
    assert resolve(host, 443) == [] or host == ""
