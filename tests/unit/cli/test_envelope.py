"""The JSON document."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pytest

from canon_ops.cli.envelope import document, schema_name, to_json
from canon_ops.cli.output import Problem
from canon_ops.errors import ExitCode


class Shade(Enum):
    DARK = "dark"


@dataclass(frozen=True)
class Lamp:
    shade: Shade
    place: Path
    watts: tuple[int, ...]


def test_an_answer_and_a_refusal_have_the_same_outline() -> None:
    """Every field is there in both, in the same order."""
    answer = document(
        schema=schema_name(("config", "get")),
        exit_code=ExitCode.DONE,
        hermes_profile="default",
        hermes_home="/home/a/.hermes",
        data=Lamp(Shade.DARK, Path("/x"), (1, 2)),
    )
    refusal = document(
        schema=schema_name(("config", "get")),
        exit_code=ExitCode.FAILED,
        hermes_profile=None,
        hermes_home=None,
        problems=[Problem("config_duplicate_key", "Twice.", "Remove one.", "/c.yaml", 3, 1)],
    )

    assert json.loads(answer) == {
        "schema": "canon-ops.config.get/1",
        "ok": True,
        "exit_code": 0,
        "hermes_profile": "default",
        "hermes_home": "/home/a/.hermes",
        "canon_profile": None,
        "data": {"shade": "dark", "place": "/x", "watts": [1, 2]},
        "errors": [],
    }
    assert json.loads(refusal)["errors"] == [
        {
            "code": "config_duplicate_key",
            "message": "Twice.",
            "fix": "Remove one.",
            "file": "/c.yaml",
            "line": 3,
            "column": 1,
        }
    ]
    assert list(json.loads(answer)) == list(json.loads(refusal))


def test_every_text_passes_the_redactor() -> None:
    """Values, keys of mappings and paths, at any depth."""
    value = {"key hush": ["hush", Path("/hush"), {"a": "hush"}]}

    assert to_json(value, lambda text: text.replace("hush", "…")) == {"key …": ["…", "/…", {"a": "…"}]}


def test_what_has_no_json_form_is_our_bug() -> None:
    """An object that nobody prepared raises instead of leaking its repr."""
    with pytest.raises(TypeError, match="object has no JSON form"):
        to_json(object())


def test_a_document_holds_nothing_that_a_terminal_obeys() -> None:
    """Everything of the kind is escaped, and reads back the same; so does half a surrogate pair, which has no UTF-8."""
    hostile = "a\x1b[2Jb\x9bc\x7fd\u202ee\u2066f\u2028\u061cg\ud800h\N{ROCKET}é"

    text = document(
        schema="canon-ops.x/1",
        exit_code=ExitCode.DONE,
        hermes_profile=None,
        hermes_home=None,
        data={hostile: [hostile]},
    )

    assert text.replace("\n", "").isprintable() and "é" in text
    assert json.loads(text)["data"] == {hostile: [hostile]}
