"""A call without click is the call that click makes of the same words."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import click
import pytest

from canon_ops.cli.command import OperatorCommand
from canon_ops.cli.commands import config
from canon_ops.cli.output import Result
from canon_ops.cli.parsing import parse_and_invoke
from canon_ops.cli.session import Program, Session, WriteOptions
from canon_ops.cli.short_call import PLAIN_CALLS, ShortCall, short_call
from canon_ops.cli.streams import Streams
from tests.unit.cli.conftest import Paper, Runner

SWITCHES = ("--json", "--plain", "--no-input", "-y", "--yes", "-q", "--quiet", "-v", "--verbose", "--dry-run", "--diff")
WORDS = {1: ("a.b",), 2: ("a.b", "x y: z")}


def by_click(
    arguments: list[str], command: OperatorCommand, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, Any], Session] | None:
    """What click hands to the command, which is not carried out; None when it refuses the call."""
    seen: list[dict[str, Any]] = []

    def catch(_context: Any, **values: Any) -> Result:
        seen.append(values)
        return Result({})

    session = Session(Program("canon-ops"), arguments, {}, Streams(Paper(), Paper(), Paper(), {}))
    with monkeypatch.context() as patched:
        patched.setattr(command, "callback", catch)
        try:
            parse_and_invoke(session)
        except click.UsageError:
            return None
    return seen[0], session


@pytest.mark.parametrize("words", PLAIN_CALLS, ids=" ".join)
def test_a_plain_call_means_what_click_makes_of_it(words: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command, with every pair of switches, before and behind the words: the same values and options."""
    told, command = WORDS[PLAIN_CALLS[words]], getattr(config, f"{words[1]}_command")
    compared = 0
    for switches in (each for count in (0, 1, 2) for each in itertools.combinations(SWITCHES, count)):
        for arguments in ([*words, *told, *switches], [*words, *switches, *told]):
            call, clicked = short_call(arguments, {}), by_click(arguments, command, monkeypatch)
            if call is None:
                assert clicked is None, arguments  # config get writes nothing, and has no --dry-run
                continue
            assert clicked is not None
            values, session = clicked
            write = values.pop("write", WriteOptions())
            given = {name: value for name, value in values.items() if value not in (None, False, "auto")}
            assert tuple(given.values()) == call.values
            assert (session.options, write) == (call.options, call.write or WriteOptions())
            assert (session.words, session.schema_version, session.is_event_stream) == (words, 1, False)
            compared += 1

    assert compared > 50


@pytest.mark.parametrize(
    "arguments",
    [
        ["config", "set", "a"],
        ["config", "set", "a", "b", "c"],
        ["config", "set", "a", "--", "-1"],
        ["config", "set", "a", "-1"],
        ["config", "set", "a", "1", "--type", "str"],
        ["config", "set", "a", "1", "--if-unchanged=0"],
        ["config", "set", "a", "b\udc80"],
        ["config", "set", "a", "b\nc"],
        ["config", "set", "--help"],
        ["config", "get", "a", "--diff"],
        ["config", "sett", "a", "b"],
        ["config"],
        ["set", "a", "b"],
        [],
    ],
    ids=" ".join,
)
def test_anything_else_goes_to_click(arguments: list[str]) -> None:
    """A word too many or too few, an option with a value, bytes that are no text."""
    assert short_call(arguments, {}) is None


def test_a_variable_that_may_answer_for_an_option_goes_to_click() -> None:
    """``CANON_OPS_JSON`` and its like are click's to read."""
    arguments = ["config", "get", "a"]

    assert short_call(arguments, {"CANON_OPS_JSON": "1"}) is None
    assert short_call(arguments, {"HERMES_HOME": "/x"}) == ShortCall(("config", "get"), ("a",))


@pytest.mark.parametrize("json", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize(
    "words",
    [
        ("config", "set", "streaming.enabled", "true"),
        ("config", "set", "streaming.enabled", "perhaps"),
        ("config", "set", "a..b", "true"),
        ("config", "set", "platforms.canon.api_key", "secretsecret"),
        ("config", "unset", "display.skin"),
        ("config", "unset", "nothing.there"),
        ("config", "add", "plugins.enabled", "canon-hermes"),
        ("config", "remove", "plugins.enabled", "borgee"),
        ("config", "get", "display.skin"),
        ("config", "get", "nothing.there"),
        ("config", "add", "display.skin", "x"),
    ],
    ids=" ".join,
)
def test_both_ways_give_the_same_answer(
    program: Runner, home: Path, words: tuple[str, ...], json: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Output, exit code and file of a run, whichever way the words were read."""
    file = home / ".hermes" / "config.yaml"
    file.parent.mkdir()
    text = "plugins:\n  enabled: [borgee]  # mine\ndisplay:\n  skin: default\n"
    results = []
    for way in ("short", "click"):
        file.write_text(text)
        with monkeypatch.context() as patched:
            if way == "click":
                patched.setattr("canon_ops.cli.run.short_call", lambda _arguments, _environ: None)
            ran = program(*words, *json)
        identity = ran.json["data"].get("history_id") if json else None
        out = ran.out.replace(identity, "ID") if identity else ran.out
        results.append((ran.code, out, ran.err, file.read_text()))

    assert results[0] == results[1]
