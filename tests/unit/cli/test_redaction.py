"""Nothing secret leaves, whoever printed it."""

from __future__ import annotations

import pytest

from canon_ops.cli.redaction import Redactor


@pytest.mark.parametrize(
    "name", ["CANON_API_KEY", "BORGEE_API_KEY", "OPENAI_API_KEY", "SLACK_BOT_TOKEN", "DB_PASSWORD"]
)
def test_values_of_telling_variables_are_hidden(name: str) -> None:
    """The name of a variable decides, whatever its value looks like."""
    redact = Redactor({name: "correct horse battery"})

    assert redact("it said: correct horse battery!") == "it said: [REDACTED]!"


@pytest.mark.parametrize("dots", ["\u2026", "..."])
@pytest.mark.parametrize("kept", range(8, 21))
def test_the_beginning_of_a_secret_is_hidden_where_a_text_was_cut(kept: int, dots: str) -> None:
    """A message is made shorter before anybody knows what is in it."""
    redact = Redactor({"MY_TOKEN": "correct horse battery", "OTHER_TOKEN": "unlike all the others"})

    cut = f"{'correct horse battery'[:kept]}{dots}"

    assert redact(f"one {cut}, two {cut}") == f"one [REDACTED]{dots}, two [REDACTED]{dots}"
    assert redact(f"{cut} " * 2_000) == f"[REDACTED]{dots} " * 2_000
    assert redact(f"wait{dots} correct") == f"wait{dots} correct"
    assert redact(f"correct{dots}") == f"correct{dots}"  # as likely a word


@pytest.mark.parametrize(
    "text",
    ["agk_live_4fT9xyz0", "Authorization: Bearer abcdef0123456789", "key=bgr_0123456789ab,"],
)
def test_key_shapes_are_hidden_though_nobody_named_them(text: str) -> None:
    """A key in an exception's text is found by its shape."""
    assert "[REDACTED]" in Redactor({})(text)
    assert not any(part in Redactor({})(text) for part in ("4fT9", "abcdef", "0123456789"))


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({"CANON_FIREBASE_API_KEY": "AIzaSyPublicWebKey"}, "AIzaSyPublicWebKey"),
        ({}, "agk_live_sandbox_0001"),
        ({"MY_TOKEN": "on"}, "turned on"),
        ({"EDITOR": "/usr/bin/vim"}, "/usr/bin/vim"),
        ({"PWD": "/home/ada/agents", "OLDPWD": "/home/ada/agents"}, "/home/ada/agents/.env has mode 0600."),
    ],
    ids=["public web key", "sandbox key", "too short to tell", "ordinary variable", "working folder"],
)
def test_what_is_no_secret_stays_readable(environ: dict[str, str], text: str) -> None:
    """Public keys, sandbox keys, short words and ordinary variables are shown."""
    assert Redactor(environ)(text) == text


def test_the_longest_secret_goes_first() -> None:
    """A secret that contains another leaves nothing of itself."""
    redact = Redactor({"A_TOKEN": "abcdefgh", "B_TOKEN": "abcdefgh-ijklmnop"})

    assert redact("x abcdefgh-ijklmnop y") == "x [REDACTED] y"


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ("  api_key: abcdefgh1234\n", "  api_key: [REDACTED]\n"),
        ("- \"token\": 'x'\n", '- "token": [REDACTED]\n'),
        ("export SLACK_TOKEN=abc # note\n", "export SLACK_TOKEN=[REDACTED]\n"),
        ("CANON_FIREBASE_API_KEY=AIzaPublic\n", "CANON_FIREBASE_API_KEY=AIzaPublic\n"),
        ("# api_key is set elsewhere\n", "# api_key is set elsewhere\n"),
        ("api_key:\n", "api_key:\n"),
        ("enabled: true\n", "enabled: true\n"),
    ],
)
def test_a_line_of_a_diff_is_masked_behind_a_telling_name(line: str, masked: str) -> None:
    """YAML and dotenv alike, whatever the value looks like; names, comments and layout stay."""
    assert Redactor({}).line(line) == masked


@pytest.mark.parametrize("old, new", [("abc1", "zzzz9"), ("abcdefgh1", "abcdefgh2")])
def test_the_change_of_a_secret_is_seen_where_only_its_place_tells(old: str, new: str) -> None:
    """Short and long: what the files hold is known before a line is shown."""
    redact = Redactor({})
    for value in (old, new):
        redact.learn_tree((), {"args": ["--token", value], "url": f"https://u:{value}@h"})

    assert [redact.line(f"- {value}\n") for value in (old, new)] == ["- [REDACTED]\n", "- [REDACTED 2]\n"]
    assert [redact.line(f"url: https://u:{value}@h\n") for value in (old, new)] == [
        "url: https://u:[REDACTED]@h\n",
        "url: https://u:[REDACTED 2]@h\n",
    ]


def test_the_change_of_a_secret_is_seen_without_showing_it() -> None:
    """Different values get different marks, the same value the same."""
    redact = Redactor({})

    marks = [redact.line(f"token: {value}\n") for value in ("first", "second", "first")]

    assert marks == ["token: [REDACTED]\n", "token: [REDACTED 2]\n", "token: [REDACTED]\n"]
