"""Uploads behind secret links, and the public directory of agents."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest

from canon_ops.sandbox.state import Reply, World
from tests.support.canon_calls import OWNER, a_world, call

PNG = b"\x89PNG\r\n\x1a\n"


def upload(world: World, data: bytes | str = PNG, **body: object) -> Reply:
    text = data if isinstance(data, str) else base64.b64encode(data).decode()
    return call(
        world, "POST", "/media/upload", {"conversationId": "conv_direct", "data": text, "mimeType": "image/png", **body}
    )


def path_of(url: str) -> str:
    return url.removeprefix("http://127.0.0.1:8701")


def test_an_upload_can_be_downloaded_with_its_link() -> None:
    """The attachment has everything a message needs; the bytes come back with their type."""
    world = a_world()

    answer = upload(world, fileName="chart 1.png").body
    attachment = answer["attachment"]
    got = call(world, "GET", path_of(attachment["url"]))

    assert answer["url"] == attachment["url"]
    assert {key: attachment[key] for key in ("kind", "mimeType", "fileName", "sizeBytes")} == {
        "kind": "image",
        "mimeType": "image/png",
        "fileName": "chart 1.png",
        "sizeBytes": 8,
    }
    assert (got.body, got.headers) == (PNG, {"content-type": "image/png"})


def test_a_link_needs_its_token_and_its_room() -> None:
    """A wrong token is 403; the same file under another room does not exist."""
    world = a_world()
    path = path_of(upload(world, fileName="a.png").body["url"])

    assert call(world, "GET", path[:-1] + "x").status == 403
    assert call(world, "GET", path.replace("conv_direct", "conv_team")).status == 404


@pytest.mark.parametrize(
    ("change", "status"),
    [
        pytest.param(lambda url: url, 200, id="as it was issued"),
        pytest.param(lambda url: url[:-1] + "~", 400, id="another token"),
        pytest.param(lambda url: url.partition("?")[0], 400, id="no token"),
        pytest.param(lambda url: url.replace("a.png", "b.png"), 400, id="another name"),
        pytest.param(lambda url: url.replace("conv_direct", "conv_team"), 400, id="another room"),
        pytest.param(lambda url: url.replace("/files/", "/files/x/"), 400, id="another path"),
        pytest.param(lambda url: "http://127.0.0.1:8701/files/", 400, id="the prefix alone"),
        pytest.param(lambda url: url + "&x=1", 400, id="more after it"),
        pytest.param(lambda url: url.replace("127.0.0.1", "localhost"), 400, id="another name of the server"),
        pytest.param(lambda url: None, 400, id="no link"),
    ],
)
def test_a_message_carries_only_links_that_were_issued(change: Callable[[str], object], status: int) -> None:
    """Canon wire 11.4: to begin like one of ours is not enough; nothing is stored with another link."""
    world = a_world()
    url = change(upload(world, fileName="a.png").body["url"])

    body = {"conversationId": "conv_direct", "text": "look", "attachments": [{"url": url}]}
    answer = call(world, "POST", "/messages/send", body)

    assert answer.status == status
    assert len(world.conversations["conv_direct"].messages) == (1 if status == 200 else 0)


@pytest.mark.parametrize(
    ("mime_type", "kind"),
    [("audio/ogg", "audio"), ("video/mp4", "video"), ("application/pdf", "file"), ("image/png; x=1", "image")],
)
def test_the_kind_follows_the_type(mime_type: str, kind: str) -> None:
    """Anything that is no picture, sound or film is a file."""
    assert upload(a_world(), mimeType=mime_type).body["attachment"]["kind"] == kind


@pytest.mark.parametrize(
    ("data", "body", "status"),
    [
        (b"", {}, 400),
        ("not base64!", {}, 400),
        (PNG, {"mimeType": "picture"}, 400),
        (PNG, {"mimeType": None}, 400),
        (PNG, {"conversationId": "conv_x"}, 403),
        (bytes(10_485_761), {}, 413),
    ],
    ids=["empty", "not base64", "no type", "null type", "not a member", "too large"],
)
def test_what_is_not_taken(data: bytes | str, body: dict[str, object], status: int) -> None:
    """Each refusal has its status, and nothing is kept."""
    world = a_world()

    assert upload(world, data, **body).status == status
    assert world.media == {}


def test_the_largest_file_is_taken() -> None:
    """10,485,760 bytes."""
    assert upload(a_world(), bytes(10_485_760)).status == 200


def directory() -> World:
    world = a_world()
    for name, description in (
        ("Translator", "Translates short texts"),
        ("Émile", "Ledger expert"),
        ("Lex", "Law texts"),
    ):
        world.add_agent(name, OWNER).description = description
    return world


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["Translator", "Émile", "Lex"]),
        ("text", ["Translator", "Lex"]),
        ("TEXT+sho", ["Translator"]),
        ("emile", ["Émile"]),
        ("ledger+law", []),
        ("exts", []),
    ],
)
def test_every_word_starts_a_word(query: str, names: list[str]) -> None:
    """Case and accents do not matter, the beginning does."""
    answer = call(directory(), "GET", f"/agents/discover?query={query}").body

    assert [agent["displayName"] for agent in answer["agents"]] == names
    assert answer["nextCursor"] is None
    assert "success" not in answer


def test_pages_follow_each_other_for_one_query() -> None:
    """The cursor goes on where the page ended, and is worthless for another query."""
    world = directory()

    first = call(world, "GET", "/agents/discover?limit=2").body
    second = call(world, "GET", f"/agents/discover?limit=2&cursor={first['nextCursor']}").body
    foreign = call(world, "GET", f"/agents/discover?query=lex&cursor={first['nextCursor']}")

    names = [agent["displayName"] for agent in first["agents"] + second["agents"]]
    assert names == ["Translator", "Émile", "Lex"]
    assert (second["nextCursor"], foreign.status) == (None, 400)


def test_an_entry_names_its_owner() -> None:
    """What a client needs to share or to write to it."""
    world = directory()
    world.agents["agent_000002"].listed = False

    entries = call(world, "GET", "/agents/discover").body["agents"]

    assert [entry["principalId"] for entry in entries] == ["agent_000001", "agent_000003"]
    assert entries[0]["owner"] == {"principalId": OWNER, "displayName": "Olivia"}
    assert entries[0]["shareable"] is True


@pytest.mark.parametrize("target", ["limit=0", "limit=26", "limit=ten", "cursor=x", f"query={'x' * 65}"])
def test_what_the_directory_does_not_take(target: str) -> None:
    """400."""
    assert call(directory(), "GET", f"/agents/discover?{target}").status == 400
