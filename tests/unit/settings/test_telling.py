"""What is secret by its name or its place."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.settings.telling import hide_logins, hide_secrets, is_telling, secret_parts


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
        ({"command": "curl -u user:pw http://h"}, ["pw"]),
        ({"command": "curl -s --user 'user:p:w' http://h"}, ["p:w"]),
        ({"command": "/usr/bin/curl -suname:pw --proxy-user=a:b http://h"}, ["pw", "b"]),
        ({"command": "curl -u :pw -u user http://h:80/x"}, ["pw"]),
        ({"command": "sh -c \"curl -u 'user:pw' http://h\""}, ["pw"]),
        ({"command": "curl -u http://h:80/"}, []),
        ({"command": "curl -u user:${PW} http://h"}, []),
        ({"command": "curl", "args": ["-u", "user:pw", "http://h"]}, ["pw"]),
        ({"args": ["--user", "user:pw", "-U", "a:b"]}, ["pw", "b"]),
        ({"args": ["run", "-u", "1000:1000", "--user", "user"]}, []),
        ({"args": ["-u", "http://u:pw@h"]}, ["pw"]),
        ({"command": "docker run -u node:node image"}, []),
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

    assert hide_secrets((), value, lambda _text: "[REDACTED]") == {
        "u": "https://a:[REDACTED]@h/x",
        "n": 1,
        "l": ["--token", "[REDACTED]"],
    }


def test_the_path_to_a_value_counts() -> None:
    """Also through the index of a list."""
    assert secret_parts(("a", "tokens", "api_key", 0), "x") == ["x"]
    assert secret_parts(("a", "b"), "x") == []


def test_a_sentence_loses_its_logins_only() -> None:
    """The password of a URL and of a curl call go; the words of a cure are no secret."""
    text = "curl -su name:word h failed, then https://u:p@h; use --api-key-stdin or --token FILE"

    hidden = hide_logins(text, lambda _text: "[REDACTED]")

    assert hidden == text.replace(":p@", ":[REDACTED]@").replace("name:word", "name:[REDACTED]")
