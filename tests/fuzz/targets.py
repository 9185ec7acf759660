"""What is fuzzed, and what no input may ever do there.

Every check takes one input and returns, or raises AssertionError (a promise broken) or whatever escaped. What else it
needs, a path or a value or where to cut, it draws from a random source that the input itself seeds: an input is a whole
case, and a find is one file.
"""

from __future__ import annotations

import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

import yaml
from dotenv import dotenv_values

from borgee_hermes.bpp.errors import ProtocolError
from borgee_hermes.bpp.incoming import read_frame
from canon_hermes_plugin.approvals.book import BookDamaged, Renderer
from canon_hermes_plugin.approvals.book import parse as parse_book
from canon_ops.errors import CanonOpsError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.files.yaml_difference import at_path
from canon_ops.files.yaml_path import format_path, parse_path
from canon_ops.files.yaml_reader import same
from canon_ops.settings.dotenv import decode_dotenv, read_dotenv
from canon_ops.settings.environments import connection_for
from canon_ops.settings.problems import DamagedFile
from canon_ops.settings.profiles import AgentsFile
from canon_ops.settings.secret import Secret
from canon_ops.wire.cards import validate_card
from canon_ops.wire.events import parse_event
from canon_ops.wire.sse import FrameTooLarge, SseDecoder
from tests.support.card_maker import CardMaker
from tests.support.config_corpus import READABLE
from tests.support.config_texts import write_text

__all__ = ["TARGETS", "Target"]

PRODUCTION = connection_for("canon-prod-v1")


@dataclass(frozen=True)
class Target:
    """One thing that reads what others wrote.

    Attributes:
        never: the promise, in words.
        seeds: good inputs.
        words: of the grammar.
    """

    never: str
    check: Callable[[bytes], None]
    seeds: Sequence[bytes]
    words: Sequence[bytes]


def drawn(data: bytes) -> Random:
    return Random(zlib.crc32(data))


# -- config.yaml ----------------------------------------------------------------------------------------------------

VALUES: Sequence[Any] = (
    "ocean",
    "off",
    "12:30",
    "a: b # c",
    "",
    True,
    None,
    7,
    1.5,
    ["x", "y"],
    {"k": "v"},
    "é\N{ROCKET}",
)


def edit_config(data: bytes) -> None:
    """The editor refuses in a sentence, or sets this one value and leaves every other value and every comment line."""
    random = drawn(data)
    with suppress(CanonOpsError):
        document = ConfigDocument.parse(data, "config.yaml")
        before = document.value
        known = [(key,) for key in before if isinstance(key, str) and key]
        path = random.choice(
            [*known, ("display", "skin"), ("platforms", "canon", "enabled"), ("plugins", "enabled", 0)]
        )
        value = random.choice(VALUES)
        edited = document.set(path, value)
        text = edited.data.decode("utf-8-sig")
        after = yaml.safe_load(text)
        assert same(at_path(after, path), value)
        if b"*" not in data:  # an alias repeats what was set
            assert same(others(before, path[0]), others(after, path[0]))
        lost = Counter(whole_comments(data)) - Counter(whole_comments(edited.data))
        if not isinstance(at_path(before, path), list | dict):
            assert not lost or b"|" in data or b">" in data or b'"' in data or b"'" in data, lost


def others(tree: Any, name: Any) -> Any:
    return {key: value for key, value in tree.items() if key != name}


def whole_comments(data: bytes) -> list[bytes]:
    return [line.strip() for line in re.split(rb"\n|\r|\xc2\x85|\xe2\x80[\xa8\xa9]", data) if line.startswith(b"#")]


# -- .env ------------------------------------------------------------------------------------------------------------


def edit_dotenv(data: bytes) -> None:
    """The editor refuses in a sentence, or all readers find the value, no other value changes, and no line is lost."""
    random = drawn(data)
    name = random.choice(("CANON_AGENT", "BORGEE_API_KEY", "OTHER", "NEW_ONE"))
    value = random.choice(
        ("desk", "bgr_a#b", "a # b", "it's", 'say "hi"', "", " x ", "C:\\k", data[:20].decode("latin-1"))
    )
    with suppress(CanonOpsError):
        edited = DotenvDocument.parse(data).set(name, value)
        written = edited.data
        assert DotenvDocument.parse(written).get(name) == value
        text = decode_dotenv(written).replace("\r\n", "\n").replace("\r", "\n")
        assert dotenv_values(stream=io.StringIO(text))[name] == value
        assert effective(data, name) == effective(written, name)
        lost = Counter(data.split(b"\n")) - Counter(written.split(b"\n"))
        assert sum(lost.values()) <= 1 + b"\n".join(lost).count(b"\n") or any(name.encode() in line for line in lost), (
            lost
        )


def effective(data: bytes, but: str) -> dict[str, str | None]:
    return {entry.name: entry.value for entry in read_dotenv(data) if entry.name != but}


# -- the wires -------------------------------------------------------------------------------------------------------


def decode_stream(data: bytes) -> None:
    """Any cut gives the same frames, an oversized one is told, and what a frame holds is an event or nothing."""
    random = drawn(data)
    most = random.choice((64, 1_024, 1 << 20))
    pieces, rest = [], data
    while rest:
        size = random.choice((1, 2, 3, 7, 64, 4_096))
        pieces.append(rest[:size])
        rest = rest[size:]
    whole, cut = frames([data], most), frames(pieces, most)
    assert whole == cut
    for frame in whole[0]:
        parse_event(frame)


def frames(pieces: Sequence[bytes], most: int) -> tuple[list[Any], bool]:
    decoder, found = SseDecoder(most), []
    for piece in pieces:
        try:
            found += decoder.feed(piece)
        except FrameTooLarge as error:
            return [*found, *error.frames], True
    return found, False


def read_bpp(data: bytes) -> None:
    """A frame is a value or a ProtocolError; as bytes and as text alike."""
    for message in (data, data.decode("utf-8", "surrogateescape")):
        with suppress(ProtocolError):
            read_frame(message)


def check_card(data: bytes) -> None:
    """Whatever the model hands over has a verdict, and only what has no error is good."""
    try:
        value: Any = json.loads(data)
    except (ValueError, RecursionError):
        value = data.decode("utf-8", "surrogateescape")
    verdict = validate_card(value)
    assert verdict["ok"] == (not verdict["errors"])


# -- Canon's files ---------------------------------------------------------------------------------------------------


def read_agents(data: bytes) -> None:
    """A file is damaged, or survives being written; a new credential leaves every other entry as it was."""
    try:
        agents = AgentsFile.parse(data, file="agents.json")
    except DamagedFile:
        return
    again = AgentsFile.parse(agents.data, file="agents.json")
    assert json.dumps(again.entries, sort_keys=True) == json.dumps(agents.entries, sort_keys=True)
    assert b"Infinity" not in agents.data or b"Infinity" in data
    for profile in agents.for_hermes():
        with suppress(CanonOpsError):
            profile.connection("agents.json")
    with suppress(CanonOpsError):
        more = agents.with_credential(
            "new", PRODUCTION, api_key=Secret("agk_live_x"), agent_id="a", agent_name="n", now_ms=0
        )
        assert json.dumps(others(more.entries, "new")) == json.dumps(others(agents.entries, "new"))


def read_registry(data: bytes) -> None:
    """A registry is damaged as a whole, or every entry of it survives being written, also one that is damaged."""
    try:
        book = parse_book(data)
    except BookDamaged:
        return
    written = Renderer().data(book)
    assert json.loads(written) == json.loads(data or b"{}")
    assert Renderer().data(parse_book(written)) == written


def read_path(data: bytes) -> None:
    """A path is refused in a sentence, or reads back from how it is shown."""
    with suppress(CanonOpsError):
        path = parse_path(data.decode("utf-8", "surrogateescape"))
        assert parse_path(format_path(path)) == path


# -- the table -------------------------------------------------------------------------------------------------------

ENV = b"""# ours
CANON_AGENT=desk
export BORGEE_API_KEY='bgr_live_abc'   # note
OTHER="two
lines"
EMPTY=
BORGEE_API_KEY=bgr_live_other
A=${OTHER:-x} # y
"""
STREAM = (
    b"retry: 3000\n\nid: 1-a\nevent: message.created\ndata: "
    + json.dumps({
        "conversationId": "c1",
        "message": {"id": "m1", "senderId": "u1", "senderType": "human", "text": "hello", "metadata": {"x": 1}},
        "conversation": {"id": "c1", "kind": "group", "members": ["u1", "a1"]},
    }).encode()
    + b"\n\n: keep-alive\n\nid: 2\nevent: replay.expired\ndata: {\"lastAvailableId\": \"3\"}\n\n"
    + b"event: error\ndata: {\"code\": \"X\", \"message\": \"no\"}\n\nevent: message.updated\ndata: {\"messageId\": \"m1\",\ndata: \"text\": \"b\"}\n\n"
)  # fmt: skip
FRAMES = [
    {"type": "inbound_message", "channel_id": "c", "channel_type": "channel", "kind": "message", "message_id": "m",
     "author_id": "u", "author_name": "Ada", "body": "hi", "created_at": 1, "conversation_context": {"guild_id": "g", "top_level_channel_id": "t"}},
    {"type": "inbound_message", "channel_id": "c", "channel_type": "dm", "kind": "reaction", "message_id": "m", "author_id": "u",
     "author_name": "", "body": "", "created_at": 2, "emoji": "+", "reactor_id": "u", "reaction_added": True},
    {"type": "semantic_action_result", "nonce": "n", "status": "ok", "payload": "{\"id\": \"x\"}"},
    {"type": "agent_config_update", "cursor": 1, "agent_id": "a", "schema_version": 1, "blob": "{}", "idempotency_key": "k", "created_at": 1},
    {"type": "permission_denied", "agent_id": "a", "denied_at": 1, "request_id": "r", "attempted_action": "x",
     "required_capability": "y", "current_scope": "z"},
    {"type": "request", "id": "r", "data": {"a": [1]}},
    {"type": "agent_toggle", "agent_id": "a", "action": "disable", "reason": "x"},
]  # fmt: skip
AGENTS = json.dumps({
    "desk": {
        "apiKey": "agk_live_x", "agentId": "a1", "agentName": "Desk", "clientType": "hermes", "registeredAt": "2026-01-01T00:00:00Z",
        **PRODUCTION.binding(),
    },
    "other": {"clientType": "else", "secret": [1, {"a": None}]},
    "ring": {"apiKeyRef": {"service": "s", "account": "b"}, "agentId": "a2"},
}).encode()  # fmt: skip
ENTRY = {
    "approvalId": "apr-1", "conversationId": "c1", "status": "pending", "expiresAt": 4_000_000_000_000, "summary": "send it",
    "environmentId": "canon-dev-v1", "agentId": "a1", "requestingSessionKey": "k", "unknown": {"kept": [1, 1.5, "é"]},
}  # fmt: skip

TARGETS: dict[str, Target] = {
    "config": Target(
        edit_config.__doc__ or "",
        edit_config,
        [*(text.encode() for text in READABLE.values()), *(write_text(Random(seed)).encode() for seed in range(60))],
        [b"- ", b": ", b"? ", b"&a ", b"*a", b"<<: ", b"|\n", b">-\n", b"---\n", b"...\n", b"!!str ", b"[", b"]", b"{", b"}",
         b"%YAML 1.1\n", b"# c\n", b"display:\n", b"  skin: x\n", b"platforms: ", b"!", b"@", b"`", b"'", b'"', b"\n  "],
    ),
    "dotenv": Target(
        edit_dotenv.__doc__ or "",
        edit_dotenv,
        [ENV, ENV.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + ENV, b"CANON_AGENT=x", b"", ENV.decode().encode("utf-16")],
        [b"export ", b"CANON_AGENT=", b"BORGEE_API_KEY=", b"OTHER=", b"NEW_ONE", b"='", b'="', b"\\'", b"${", b"}", b" #", b":-"],
    ),
    "stream": Target(
        decode_stream.__doc__ or "", decode_stream, [STREAM, STREAM.replace(b"\n", b"\r\n"), STREAM.replace(b"\n", b"\r")],
        [b"data:", b"data: ", b"event: ", b"id:", b"retry:", b":", b"\n\n", b"\r\r", b"message.created", b"{}", b"[1]"],
    ),
    "bpp": Target(
        read_bpp.__doc__ or "", read_bpp, [json.dumps(frame).encode() for frame in FRAMES],
        [b'"type":', b'"kind":', b'"deleted"', b'"edited"', b"null", b"{}", b"[]", b'""', b",", b'"created_at": ', b"1e400"],
    ),
    "card": Target(
        check_card.__doc__ or "", check_card, [json.dumps(card).encode() for card in CardMaker(1).cards(60)],
        [b'"kind":', b'"actions"', b'"table"', b'"id":', b"null", b"{}", b"[]", b'""', b'"schema":', b"1e308", b"-0.0"],
    ),
    "agents": Target(
        read_agents.__doc__ or "", read_agents, [AGENTS, b"{}", json.dumps(json.loads(AGENTS), indent=2).encode()],
        [b'"desk":', b'"apiKey":', b'"apiKeyRef":', b'"clientType":', b"null", b"{}", b"[]", b'""', b'"baseUrl":', b"https://"],
    ),
    "registry": Target(
        read_registry.__doc__ or "", read_registry,
        [json.dumps({"apr-1": ENTRY, "apr-2": {**ENTRY, "approvalId": "apr-2", "status": "approved"}}).encode(), b"{}", b""],
        [b'"apr-1":', b'"status":', b'"expiresAt":', b"null", b"{}", b"[]", b'""', b'"expired"', b'"approvalId":', b"0.1"],
    ),
    "path": Target(
        read_path.__doc__ or "", read_path,
        [b"platforms.canon.enabled", b'a."b.c"[0]', b"list[1].field", b"'q'.x", b'a."\\u00e9\\n"'],
        [b".", b"[", b"]", b"[0]", b'"', b"'", b"\\", b"[-1]", b"[99999999999999999999]", b'".".', b"\\x"],
    ),
}  # fmt: skip
"""By name; argv.py adds the command line, which needs a home."""
