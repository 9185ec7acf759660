"""A secret in every store, and every command over them: nothing of it appears in anything that a command says.

The table of commands is walked, so a new command is tested the day it is entered there: its required arguments are
filled in by name. None of the secrets has a shape by which it could be told from an ordinary word; what protects them
is knowing where they stand.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

import click
import pytest

from canon_ops.cli.command import OperatorCommand
from canon_ops.cli.tree import Entry, leaves
from canon_ops.files.history import History
from tests.support.canon_files import DEV_BINDING, profile_entry
from tests.support.canon_homes import User
from tests.support.keyring_backend import keyring_variables
from tests.unit.cli.conftest import Runner

# Where each secret stands, and the text that must never be seen.
SECRETS = {
    place: f"canary-{place}-0123456789{''.join('GHJKQVWXYZ'[int(digit)] for digit in f'{1237 * number % 10000:04}')}"
    for number, place in enumerate((
        "process-canon", "process-borgee", "process-other", "bootstrap", "env-canon", "env-first", "env-borgee",
        "env-other", "env-comment", "env-lines",
        "env-work", "config-key", "config-token", "config-extra", "config-borgee", "config-model",
        "config-deep", "config-comment", "config-lines", "history-env", "history-config", "answers",
        "agents-ops", "agents-old", "agents-foreign", "pending-token", "keyring", "offered", "stdin",
    ), start=1)
}  # fmt: skip

# What a log may quote and a command can know: the keys of the files as they are.
KNOWN_TO_FILES = [SECRETS[place] for place in ("env-canon", "env-other", "config-key", "config-deep", "agents-ops")]

CONFIG = f"""\
# kept by hand
model:
  default: m
  # api_key: {SECRETS["config-comment"]}
  private_token: |
    first line
    {SECRETS["config-lines"]}
  api_key: {SECRETS["config-model"]}
plugins:
  enabled: [borgee]
mcp_servers:
  git: {{env: {{GIT_TOKEN: "{SECRETS["config-deep"]}"}}}}
platforms:
  canon:
    enabled: true
    api_key: {SECRETS["config-key"]}
    token: '{SECRETS["config-token"]}'
    extra: {{api_key: "{SECRETS["config-extra"]}", turn_verbosity: quiet}}
borgee:
  api_key: {SECRETS["config-borgee"]}
"""
ENV = f"""\
CANON_API_KEY={SECRETS["env-first"]}
export OPENAI_API_KEY='{SECRETS["env-other"]}'
CANON_API_KEY="{SECRETS["env-canon"]}"
CANON_ENVIRONMENT_ID=canon-dev-v1
# CANON_AGENT=ops, OLD_TOKEN={SECRETS["env-comment"]}
BORGEE_API_KEY={SECRETS["env-borgee"]}
MY_CERTIFICATE="-----BEGIN
{SECRETS["env-lines"]}
-----END"
"""

# What a required argument gets by its name; anything else gets a word.
SAMPLES = {
    "key": "platforms.canon",
    "value": "quiet",
    "name": "ops",
    "file": "offered.json",
    "check_id": "creds.present",
}
# Where the usual call would not reach what matters, or would not end.
AWAY = ("--base-url", "http://127.0.0.1:9", "--stream-url", "http://127.0.0.1:9")
CALLS: Mapping[tuple[str, ...], tuple[tuple[str, ...], ...]] = {
    ("approvals", "watch"): (("--exec", "/nonexistent"),),
    ("config", "get"): (("platforms",), ("platforms.canon.token",), ("model",), ("mcp_servers",), ("nothing.there",)),
    ("config", "set"): (("platforms.canon.enabled", "false", "--diff"), ("platforms.canon.token", "x")),
    ("config", "add"): (("plugins.enabled", "canon-hermes", "--diff"), ("platforms.canon", "x")),
    ("config", "diff"): ((), ("{change}",)),
    ("config", "heal"): ((), ("--yes", "--diff")),
    ("config", "recommend"): (("canon", "--dry-run", "--diff"), ("canon", "--yes", "--diff")),
    ("config", "unset"): (("platforms.canon.token", "--diff"), ("mcp_servers", "--dry-run", "--diff")),
    ("creds", "move"): (
        ("--to", "keyring", "--canon-profile", "ops", "--diff"),
        ("--to", "file", "--canon-profile", "ring"),
        ("--to", "keyring", "--platform", "borgee", "--diff"),
    ),
    ("creds", "remove"): (
        ("--yes", "--diff"),
        ("--canon-profile", "ops", "--yes", "--diff"),
        ("--platform", "borgee", "--yes"),
    ),
    ("creds", "test"): ((), ("--canon-profile", "ring"), ("--canon-profile", "old")),
    ("demo",): (("--python", "/nonexistent"),),
    ("doctor",): (("--offline",), ("--offline", "--fix", "--yes", "--diff")),
    ("env", "get"): (("CANON_API_KEY",), ("OPENAI_API_KEY",), ("CANON_AGENTS_JSON_BOOTSTRAP",), ("NOT_THERE",)),
    ("env", "lint"): ((), ("--fix", "--diff")),
    ("env", "list"): ((), ("--all",)),
    ("env", "set"): (
        ("CANON_AGENT", "ops", "--diff"),
        ("CANON_API_KEY", "--stdin", "--diff"),
        ("BORGEE_API_KEY", "--from-env", "GITHUB_TOKEN", "--diff"),
    ),
    ("env", "unset"): (("CANON_API_KEY", "--diff"), ("OPENAI_API_KEY", "--dry-run", "--diff")),
    ("history", "show"): (("{change}",), ("nothing",)),
    ("install",): (("--skip-package", "--dry-run", "--diff"),),
    ("profile", "bind"): (("ops", "--yes", "--diff"), ("ops", "--dry-run", "--diff"), ("old",)),
    ("profile", "export"): (
        (),
        ("--include-secrets", "-o", "out.json", "--diff"),
        ("ring", "-o", "plain.json", "--diff"),
    ),
    ("profile", "import"): (("offered.json", "--diff"), ("offered.json", "--replace", "--diff")),
    ("profile", "migrate"): (("old", "--environment", "canon-dev-v1", *AWAY),),
    ("preferences", "set"): (("history.days", "5", "--diff"),),
    ("preferences", "unset"): (("history.days",),),
    ("sandbox", "borgee"): (("--fault", "no-such-fault"),),
    ("sandbox", "canon"): (("--fault", "no-such-fault"),),
    ("sandbox", "model"): (("--port", "70000"),),
    ("schema", "show"): (("creds.list",),),
    ("setup", "canon"): (
        ("--use-profile", "ring"),
        ("--api-key-stdin", "--environment", "canon-dev-v1", *AWAY),
        ("--answers", "answers.toml", *AWAY),
    ),
    ("undo",): ((), ("--dry-run", "--diff"), ("{change}", "--diff")),
}
FORMS = (("--json",), ("--plain", "--verbose"), ("terminal",))
SHORT, SLOW = (("--json",),), frozenset({"doctor", "host"})  # what they say is data; they start the host each time
STORES = (
    ".env", "config.yaml", "agents.json", "pending-registrations.json", "offered.json", "out.json", "answers.toml",
    "gateway.log",
)  # fmt: skip


@pytest.fixture
def world(home: Path, tmp_path: Path, program: Runner, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user whose every store holds a secret of its own, in the folder where commands run."""
    user, ring = User(home), {"service": "canon-ops", "account": "ring"}
    user.write_env(f"OLDER_API_KEY={SECRETS['history-env']}\nTZ=UTC")
    user.write_config(f"# first\nmodel: {{api_key: {SECRETS['history-config']}}}   # beside\n")
    for words in (("env", "unset", "OLDER_API_KEY"), ("config", "snapshot"), ("config", "unset", "model")):
        assert program(*words).code == 0
    user.write_env(ENV)
    user.write_env(f"CANON_API_KEY={SECRETS['env-work']}\n", profile="work")
    user.write_config(CONFIG)
    user.write_agents(
        ops=profile_entry(
            apiKey=SECRETS["agents-ops"], **dict.fromkeys(("baseUrl", "streamUrl"), "http://127.0.0.1:9")
        ),
        old={"apiKey": SECRETS["agents-old"]},
        ring=profile_entry(apiKey=None, apiKeyRef=ring, agentId="agent_ring", baseUrl="http://127.0.0.1:9"),
        foreign=profile_entry(apiKey=SECRETS["agents-foreign"], clientType="codex"),
    )
    pending = {
        "profile": "new",
        "clientType": "hermes",
        "requestId": "r1",
        "pollToken": SECRETS["pending-token"],
        **DEV_BINDING,
    }
    (home / ".canon" / "pending-registrations.json").write_text(json.dumps({"new": pending}))
    (home / ".canon" / "pending-registrations.json").chmod(0o600)
    assert program("config", "set", "platforms.canon.extra.turn_verbosity", "auto").code == 0  # one that can be undone
    entries = tmp_path / "entries.json"
    entries.write_text(json.dumps({"canon-ops/ring": SECRETS["keyring"]}))
    folder = tmp_path / "work"
    folder.mkdir()
    offered = {"ops": profile_entry(apiKey=SECRETS["offered"]), "more": profile_entry(apiKey=SECRETS["offered"])}
    (folder / "offered.json").write_text(json.dumps(offered))
    (folder / "answers.toml").write_text(f'way = "key"\napi_key = "{SECRETS["answers"]}"\n')
    (home / ".hermes" / "logs").mkdir()
    lines = [f"2026-01-02 03:04:05,678 INFO gateway: sent {secret} away\n" for secret in KNOWN_TO_FILES]
    (home / ".hermes" / "logs" / "gateway.log").write_text("".join(lines))
    for file in (folder / "offered.json", folder / "answers.toml", home / ".hermes" / "logs" / "gateway.log"):
        file.chmod(0o600)
    for name, value in keyring_variables(entries).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CANON_AGENTS_JSON_BOOTSTRAP", json.dumps({"cloud": profile_entry(apiKey=SECRETS["bootstrap"])}))
    monkeypatch.setenv("BORGEE_API_KEY", SECRETS["process-borgee"])
    monkeypatch.setenv("GITHUB_TOKEN", SECRETS["process-other"])
    monkeypatch.setenv("CANON_API_KEY", SECRETS["process-canon"])
    monkeypatch.chdir(folder)
    return home


@pytest.mark.parametrize("words", [words for words, _ in leaves()], ids=" ".join)
def test_no_command_shows_a_secret(
    program: Runner, world: Path, words: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    """Not on stdout, stderr or in a log, in any form, failing or working; nor in a file that had none before."""
    caplog.set_level(logging.DEBUG)

    for call in expanded(CALLS.get(words) or (usual_call(words),), world / ".hermes"):
        for form in SHORT if words[0] in SLOW else FORMS:
            is_terminal = form == ("terminal",)
            options = () if is_terminal else form
            ran = program(*words, *call, *options, terminal=is_terminal, stdin=SECRETS["stdin"])

            assert shown(ran.out + ran.err + caplog.text, hints=is_terminal) == [], (call, form)

    for file in [each for folder in (world, Path.cwd()) for each in folder.rglob("*") if each.is_file()]:
        if shown(file.read_text(errors="replace")):
            is_history = ".canon-ops" in file.parts
            assert file.name in STORES or is_history, file
            assert file.stat().st_mode & 0o077 == 0, file


def test_a_traceback_shows_none_either(program: Runner, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of ours, told at length: whatever the exception quotes."""
    target = import_module("canon_ops.cli.commands.creds").list_command
    everything = " ".join(SECRETS.values())

    def fail(*_arguments: object, **_values: object) -> None:
        raise RuntimeError(everything)

    monkeypatch.setattr(target, "callback", fail)

    for form in ("--json", "--plain"):
        ran = program("creds", "list", form, "--verbose")
        # This command has not asked for some of them; others stand where no name tells that they are secret.
        not_met = {"keyring", "offered", "stdin", "answers", "history-env", "history-config"}
        untold = {"env-comment", "env-lines", "config-comment"}

        assert ran.code == 3
        assert set(shown(ran.out + ran.err)) == not_met | untold


def test_each_secret_is_really_there(world: Path, tmp_path: Path) -> None:
    """The canary sings: every secret is in a file below the test's folder, in the environment, or typed."""
    texts = [file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file()]
    everything = "\n".join([*texts, *os.environ.values(), SECRETS["stdin"]])

    assert sorted(shown(everything)) == sorted(SECRETS)


def test_no_option_and_no_argument_takes_a_key() -> None:
    """BR-56: an argument would stand in the shell's history and in the process list; that form does not exist."""
    telling = re.compile(r"(api.?key|token|secret|password)$")
    public = {"firebase_api_key"}  # a web key: public by design

    found = {
        (words, param.name)
        for words, entry in leaves()
        for param in command_of(entry).params
        if telling.search(str(param.name)) and not getattr(param, "is_flag", False) and param.name not in public
    }

    assert found == set()


def usual_call(words: tuple[str, ...]) -> tuple[str, ...]:
    """A call with everything that is required, from the names of the parameters."""
    return tuple(word for param in command_of(dict(leaves())[words]).params if param.required for word in _words(param))


def expanded(calls: Sequence[tuple[str, ...]], home: Path) -> Iterator[tuple[str, ...]]:
    """The calls, those about one change once for each change in the history."""
    changes = [record.id for record in History(home).records()]
    for call in calls:
        for change in changes if "{change}" in call else [""]:
            yield tuple(word.replace("{change}", change) for word in call)


def command_of(entry: Entry) -> OperatorCommand:
    """The command behind a leaf of the table."""
    module, _, attribute = entry.target.partition(":")
    command: OperatorCommand = getattr(import_module(f"canon_ops.cli.commands.{module}"), attribute)
    return command


def _words(param: click.Parameter) -> Iterator[str]:
    if isinstance(param, click.Option):
        yield param.opts[0]
    yield str(param.type.choices[0]) if isinstance(param.type, click.Choice) else SAMPLES.get(str(param.name), "word")


def shown(text: str, *, hints: bool = False) -> list[str]:
    """The places whose secrets are in ``text``, whole, but for their ends, or by their last four characters.

    Args:
        hints: the last four alone may be told, which is for a person's terminal (command-line contract, 4).
    """
    return [place for place, key in SECRETS.items() if key[:-4] in text or (not hints and key[-4:] in text)]
