"""Secrets that stay secret."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from canon_ops.settings.secret import SECRET_MARK, Secret, numbered_mark, redact
from tests.support.environments import CHECKOUT

KEY = "agk_live_0123456789a1b2"


@pytest.mark.parametrize(
    ("value", "shown", "hint"),
    [(KEY, "[REDACTED]", "…a1b2"), ("x" * 15, "[REDACTED]", "[REDACTED]"), ("", "[empty]", "[empty]")],
)
def test_a_secret_shows_nothing_and_four_characters_when_asked(value: str, shown: str, hint: str) -> None:
    """Whatever prints a secret may print into a log or a document; a terminal asks for its hint."""
    secret = Secret(value)

    assert [str(secret), f"{secret}", f"{secret!s}"] == [shown] * 3
    assert repr(secret) == f"Secret({shown})"
    assert f"{secret:>12}" == f"{shown:>12}"
    assert "%s" % secret == shown  # noqa: UP031  # the old spelling prints as well
    assert (secret.hint(), secret.reveal()) == (hint, value)


def test_a_secret_compares_by_value() -> None:
    """Two secrets with the same text are one in sets; a secret never equals its text."""
    assert {Secret(KEY), Secret(KEY)} == {Secret(KEY)}
    assert Secret(KEY) != Secret("x")
    assert Secret(KEY) != KEY
    assert bool(Secret(KEY)) is True
    assert bool(Secret("")) is False


@pytest.mark.parametrize("leak", [pickle.dumps, json.dumps, copy.deepcopy])
def test_a_secret_refuses_to_be_serialised(leak: object) -> None:
    """Neither pickle nor JSON takes a secret along."""
    assert callable(leak)
    with pytest.raises(TypeError):
        leak(Secret(KEY))


def test_redaction_erases_what_it_knows_and_what_looks_like_a_key() -> None:
    """Known secrets, keys by their shape, and bearer tokens disappear; the sentence around them stays."""
    text = f"key {KEY} pw hunter2secret, agk_live_unknown99 Bearer abc.def-ghi/jkl bgr_k1_abcdef end"

    assert redact(text, [Secret(KEY), "hunter2secret", ""]) == (
        "key [REDACTED] pw [REDACTED], [REDACTED] Bearer [REDACTED] [REDACTED] end"
    )


def test_several_secrets_have_marks_of_their_own() -> None:
    """The first one has the plain word, so a diff with one hidden value reads like every other text."""
    assert [numbered_mark(number) for number in (1, 2, 3)] == [SECRET_MARK, "[REDACTED 2]", "[REDACTED 3]"]


@pytest.mark.checkout
def test_the_word_stands_once() -> None:
    """Borgee 2.4, docs/decisions/0071: whatever hides a secret takes the word from here."""
    files = [file for folder in ("canon_ops", "adapter") for file in CHECKOUT.joinpath(folder).rglob("*.py")]
    literals = [f'"{SECRET_MARK[:-1]}', '"[secret']

    found = [file.name for file in files if any(one in file.read_text(encoding="utf-8") for one in literals)]
    assert found == ["secret.py"]


def test_a_secret_inside_a_longer_one_leaves_nothing_behind() -> None:
    """The longest secret goes first."""
    assert redact("x-abcdef-y", ["abcdef", "x-abcdef-y"]) == "[REDACTED]"
