"""What is advised for a wrong value or a wrong variable is pasted into a shell here, and puts it right."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from canon_ops.files.values import parse_value
from canon_ops.hermes.keys import KNOWN_KEYS, KeyFile, KeyType, KnownKey, find_key
from canon_ops.operate.advice import example, set_words, way_to_mend
from tests.unit.cli.conftest import Ran, Runner

# For each type, values that are none of it.
WRONG: dict[KeyType, tuple[Any, ...]] = {
    KeyType.BOOL: ("maybe", "false", 3, None, ["a"], "it's; rm -rf $HOME"),
    KeyType.INT: ("many", "7", 1.5, True, {"a": 1}),
    KeyType.FLOAT: ("fast", "1e3", True, []),
    KeyType.LIST: ("a, b", "", 5, True, {"a": "b"}, "x $(id) `id`"),
    KeyType.MAP: ("text", 1, False, ["a"]),
    KeyType.STR: (5, True, False, 1.5, ["a"], {"a": 1}),
}


def shell_words(command: str) -> list[str]:
    """What a shell hands to a program whose command line this is: no pipe, no substitution, nothing but words."""
    ran = subprocess.run(
        ["/bin/sh", "-c", f"printf '%s\\0' {command}"], capture_output=True, text=True, check=True, timeout=10,
        env={"HOME": "/nowhere", "PATH": os.environ["PATH"]}, cwd="/",
    )  # fmt: skip
    return ran.stdout.split("\0")[:-1]


def value_in(words: list[str]) -> tuple[str, Any]:
    """Key and value of ``config set``."""
    kind = "auto"
    if words[2] == "--type":
        kind, words = words[3], [*words[:2], *words[4:]]
    words = [word for word in words if word != "--"]
    assert words[:2] == ["config", "set"]
    return words[2], parse_value(words[3], kind)


@pytest.mark.parametrize("known", KNOWN_KEYS, ids=lambda known: known.name)
def test_each_known_key_has_an_example_that_it_takes(known: KnownKey) -> None:
    """So advice never ends in the refusal that it came from."""
    if known.refused is None:
        assert known.problem(example(known)) is None


def test_what_is_advised_for_a_wrong_value_is_right() -> None:
    """Every key with every value that is none of its type; the shell sees the same words."""
    commands, wanted = [], []
    for known in KNOWN_KEYS:
        if known.file is not KeyFile.CONFIG or known.refused or known.secret:
            continue
        for wrong in WRONG[known.type]:
            if known.problem(wrong) is not None:
                command = way_to_mend(known, wrong)
                if command.startswith("config set"):
                    key, value = value_in(shlex.split(command))
                    assert (key, known.problem(value)) == (known.name, None), command
                    assert value not in ([], {}), command  # nothing that is there is emptied
                else:
                    assert command in (f"config add {known.name} ITEM", f"config get {known.name}")
                commands.append(command)
                wanted += shlex.split(command)
    assert len(commands) > 300

    assert shell_words(" ".join(commands)) == wanted


@pytest.mark.parametrize(
    ("name", "wrong", "meant"),
    [
        ("streaming.enabled", "false", False),
        ("streaming.enabled", "off", False),
        ("streaming.edit_interval", "0.5", 0.5),
        ("plugins.enabled", "borgee, canon-hermes", ["borgee", "canon-hermes"]),
        ("platforms.canon.reply_to_mode", 5, "5"),
        ("approvals.mode", False, "off"),
        ("borgee.max_concurrent_dispatches", 99, 4),
        ("platforms.canon.free_response_channels", "-x", ["-x"]),
    ],
)
def test_what_was_meant_is_kept_where_it_can_be_told(name: str, wrong: Any, meant: Any) -> None:
    """A number in quotes, words with commas, a bare off; else it is the value that is recommended or usual."""
    known = find_key(name, KeyFile.CONFIG)
    assert known is not None

    assert value_in(shlex.split(way_to_mend(known, wrong))) == (name, meant)


@pytest.mark.parametrize(
    "value", ["-1", -1, "007", "true", True, "a'b\"c $x `y` \\", "", "#", "~", [1, "off"], {"a": "é"}]
)
def test_any_value_survives_the_way_through_a_shell(value: Any) -> None:
    """Also one that begins with a dash, or that would be read as something else without its type."""
    words = shell_words(set_words('a."b c"[0]', value))

    assert value_in(words) == ('a."b c"[0]', value)


def pasted(program: Runner, ran: Ran) -> Ran:
    """Carry out what a failure advises, as a shell would; of two commands both."""
    fix = next(line.removeprefix("  fix: ") for line in ran.err.splitlines() if line.startswith("  fix: "))
    for command in fix.split(" && "):
        name, *words = shell_words(command.partition("   #")[0])
        assert name == "canon-ops"
        ran = program(*words)
    return ran


@pytest.mark.parametrize(
    ("call", "file", "says"),
    [
        (("config", "set", "streaming.enabled", "BOOL"), "config.yaml", {"streaming": {"enabled": True}}),
        (("config", "set", "plugins.enabled", "a, b"), "config.yaml", {"plugins": {"enabled": ["a", "b"]}}),
        (("config", "set", "approvals.mode", "loud"), "config.yaml", {"approvals": {"mode": "manual"}}),
        (("env", "set", "CANON_TURN_VERBOSITY", "loud"), ".env", "CANON_TURN_VERBOSITY=auto\n"),
        (("env", "set", "CANON_ALLOW_ALL_USERS", "maybe"), ".env", "CANON_ALLOW_ALL_USERS=true\n"),
        (("env", "set", "HERMES_CLARIFY_TIMEOUT", "1"), ".env", "HERMES_CLARIFY_TIMEOUT=300\n"),
        (("env", "set", "streaming.enabled", "true"), "config.yaml", {"streaming": {"enabled": True}}),
        (("config", "get", "CANON_AGENT"), None, None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)  # fmt: skip
def test_advice_is_carried_out(
    program: Runner, home: Path, call: tuple[str, ...], file: str | None, says: object
) -> None:
    """The call is refused, what it says is pasted, and the right file of the right profile has a right value."""
    folder = home / ".hermes" / "profiles" / "work"
    folder.mkdir(parents=True)

    refused = program(*call, "--profile", "work")

    assert refused.code in (1, 2)
    if file is None:
        return
    assert pasted(program, refused).code == 0
    text = (folder / file).read_text()
    assert (yaml.safe_load(text) if file == "config.yaml" else text) == says
    assert not (home / ".hermes" / file).exists()


def test_a_key_that_must_not_be_set_leads_to_where_it_belongs(program: Runner, home: Path) -> None:
    """Not to its own refusal again, whichever way its value came."""
    (home / ".hermes").mkdir()

    for call in (("config", "set", "borgee.api_key", "x"), ("config", "set", "borgee.api_key", "--stdin")):
        ran = program(*call, stdin="agent-key\n")

        assert ran.code == 2
        assert "fix: canon-ops env set BORGEE_API_KEY\n" in ran.err


def test_a_variable_that_is_set_in_the_wrong_file_is_told(program: Runner, home: Path) -> None:
    """Hermes takes any key; the hint has the command for the file where the variable is read."""
    (home / ".hermes").mkdir()

    ran = program("config", "set", "CANON_AGENT", "desk")

    assert ran.code == 0
    assert "Hint: CANON_AGENT is a variable of .env: canon-ops env set CANON_AGENT" in ran.err


def test_advice_quotes_keys_for_the_shell(program: Runner, home: Path) -> None:
    """A key with blanks, quotes and brackets is one word."""
    (home / ".hermes").mkdir()
    key = 'mcp."a b".env.API_TOKEN'

    refused = program("config", "set", key, "s3cret")

    assert refused.code == 2
    fix = refused.err.partition("fix: ")[2].partition("   #")[0]
    assert shell_words(fix) == ["canon-ops", "config", "set", key]


def test_validate_moves_what_nobody_reads(program: Runner, home: Path) -> None:
    """A dropped key and a misspelt one: what is advised keeps the value, and the finding is gone."""
    (home / ".hermes").mkdir()
    file = home / ".hermes" / "config.yaml"
    file.write_text("platforms:\n  canon:\n    enabled: true\n    turn_verbosity: quiet\nstreaming:\n  enabeld: true\n")

    for _ in range(2):
        found = program("config", "validate", "--json").json["data"]["faults"]
        for command in found[0]["fix"].split(" && "):
            assert program(*shell_words(command)[1:]).code == 0

    assert program("config", "validate", "--json").json["data"]["faults"] == []
    assert yaml.safe_load(file.read_text()) == {
        "platforms": {"canon": {"enabled": True, "extra": {"turn_verbosity": "quiet"}}},
        "streaming": {"enabled": True},
    }
