"""What is secret by its name or its place."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.settings.telling import hide_in_urls, hide_secrets, is_telling, secret_parts


@pytest.mark.parametrize(
    ("name", "telling"),
    [
        ("api_key", True),
        ("apiKey", True),
        ("X-API-Key", True),
        ("OPENAI_API_KEY_2", True),
        ("Authorization", True),
        ("Proxy-Authorization", True),
        ("accessToken", True),
        ("privateKey", True),
        ("GH_PAT", True),
        ("password", True),
        ("DATABASE_DSN", True),
        ("firebase_api_key", False),
        ("access_token_env", False),
        ("key_file", False),
        ("record_key", False),
        ("max_tokens", False),
        ("token_limit", False),
        ("path", False),
    ],
)
def test_a_name_tells(name: str, telling: bool) -> None:
    """In any spelling; what a name points to is another thing."""
    assert is_telling(name) is telling


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ({"api_key": "x"}, ["x"]),
        ({"password": 1234}, ["1234"]),
        ({"token": ["a", {"b": "c"}]}, ["a"]),
        ({"headers": {"Authorization": "Bearer abc", "Accept": "*/*"}}, ["Bearer abc"]),
        ({"url": "https://user:hunter2@example.com/x"}, ["hunter2"]),
        ({"url": "postgres://u:p@ss@db/x"}, ["p@ss"]),
        ({"url": "https://ghp_1@github.com/x"}, ["ghp_1"]),
        ({"url": "ssh://git@github.com/x"}, []),
        ({"url": "https://example.com/?key=abc&q=1"}, ["abc"]),
        ({"args": ["--token", "abc", "--verbose"]}, ["abc"]),
        ({"args": ["--token", "--verbose", "abc"]}, []),
        ({"args": ["--password=foo", "--n=1"]}, ["foo"]),
        ({"args": ["-e", "GH_TOKEN=abc"]}, ["abc"]),
        ({"args": ["--header", "Authorization: Bearer abc"]}, ["Bearer abc"]),
        ({"command": "tool --api-key abc --x 1"}, ["abc"]),
        ({"api_key": "${KEY}", "url": "https://u:${PW}@h"}, []),
        ({"api_key": "", "token": None, "secret": True}, []),
        ({"access_token_env": "BWS_ACCESS_TOKEN", "record_key": "ctrl+b"}, []),
        ({"command": "curl -H 'X-Auth-Token: abc' http://h"}, ["abc"]),
        ({"prompt": "Never print the token: it is secret."}, []),
        ({"base_url": "http://127.0.0.1:8080/v1"}, []),
    ],
)
def test_a_place_tells(value: Any, parts: list[str]) -> None:
    """Names, URLs, arguments and headers; nothing else."""
    assert secret_parts((), value) == parts


def test_hiding_keeps_everything_else() -> None:
    """The shape, the keys, and the rest of a text."""
    value = {"u": "https://a:b@h/x", "n": 1, "l": ["--token", "t"]}

    assert hide_secrets((), value, lambda _text: "[secret]") == {
        "u": "https://a:[secret]@h/x",
        "n": 1,
        "l": ["--token", "[secret]"],
    }


def test_the_path_to_a_value_counts() -> None:
    """Also through the index of a list."""
    assert secret_parts(("a", "tokens", "api_key", 0), "x") == ["x"]
    assert secret_parts(("a", "b"), "x") == []


def test_a_sentence_loses_the_passwords_of_urls_only() -> None:
    """The words of a cure are no secret."""
    text = "fetch https://u:p@h failed; use --api-key-stdin or --token FILE"

    assert hide_in_urls(text, lambda _text: "[secret]") == text.replace(":p@", ":[secret]@")
