"""Documents with something in them: what an empty home cannot answer, held to the schema of its command.

Each document that any test of the command line reads is validated (``tests/support/documents.py``); here are the
commands that are asked for one nowhere else.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.canon_files import as_file, profile_entry
from tests.support.fake_host import make_environment, put_hermes, script
from tests.unit.cli.conftest import Runner
from tests.unit.cli.test_outbox import outbox  # noqa: F401  # a fixture

CONFIG = "# mine\nplugins:\n  enabled: [canon-hermes]\nstreaming:\n  enabled: true\n"


@pytest.fixture
def furnished(home: Path, outbox: Path) -> Path:  # noqa: F811
    """A home with settings, messages to send, a Canon profile, and a gateway that says of itself that it runs."""
    hermes = home / ".hermes"
    (hermes / "config.yaml").write_text(CONFIG)
    (hermes / ".env").write_text("CANON_AGENT=ops\nCANON_AGENT=ops\nOTHER=x\n")
    state = {
        "pid": os.getppid(), "gateway_state": "running",
        "platforms": {"canon": {"state": "connected"}, "borgee": {"state": "fatal", "error_message": "no key"}},
    }  # fmt: skip
    (hermes / "gateway_state.json").write_text(json.dumps(state))
    (home / ".canon").mkdir(mode=0o700)
    (home / ".canon" / "agents.json").write_bytes(as_file(ops=profile_entry()))
    (home / ".canon" / "agents.json").chmod(0o600)
    return hermes


@pytest.mark.parametrize(
    ("words", "filled"),
    [
        (("outbox", "list"), "messages"),
        (("outbox", "retry", "1", "--yes"), "decided"),
        (("outbox", "discard", "1", "--yes"), "decided"),
        (("config", "validate"), "file"),
        (("env", "lint", "--fix", "--yes"), "files"),
        (("gateway", "status"), "platforms"),
        (("status",), "profiles"),
        (("profile", "show", "ops"), "name"),
        (("profile", "export", "ops", "--output", "{home}/out.json"), "profiles"),
        (("history", "show", "{id}"), "files"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else None,
)
def test_what_a_furnished_home_answers(words: tuple[str, ...], filled: str, program: Runner, furnished: Path) -> None:
    """The document agrees with its schema, and the part that people ask for is not empty."""
    identity = program("config", "set", "streaming.enabled", "false", "--json").json["data"]["history_id"]
    words = tuple(word.format(home=furnished.parent, id=identity) for word in words)

    document = program(*words, "--json").json

    assert document["ok"] is True, document["errors"]
    assert filled in document["data"], sorted(document["data"])
    assert document["data"][filled]


def test_an_edit_in_an_editor(program: Runner, furnished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file, what changed, and what ``undo`` takes."""
    script = furnished.parent / "editor"
    script.write_text('#!/bin/sh\necho "a: 1" >> "$1"\n')
    script.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(script))

    document = program("config", "edit", "--yes", "--json").json

    assert (document["ok"], document["errors"]) == (True, [])
    assert document["data"]["changed"] is True and "+a: 1" in document["data"]["diff"]


def test_a_gateway_that_was_restarted(program: Runner, furnished: Path, tmp_path: Path) -> None:
    """Who ran before, who runs now, after how long, and what the new one says of each platform."""
    unit = furnished.parent / ".config/systemd/user/hermes-gateway.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/x/bin/python -m hermes_cli.main gateway run\n")
    put_hermes(python := make_environment(tmp_path / "env"))
    state = {"pid": os.getpid(), "gateway_state": "running", "platforms": {"canon": {"state": "connecting"}}}
    written = f"cat > '{furnished}/gateway_state.json' <<'END'\n{json.dumps(state)}\nEND\n"
    script(python.parent / "hermes", f"#!/bin/sh\n{written}")

    data = program("gateway", "restart", "--yes", "--python", str(python), "--json").json["data"]

    assert (data["pid_before"], data["pid"], data["platforms"]) == (os.getppid(), os.getpid(), {"canon": "connecting"})
