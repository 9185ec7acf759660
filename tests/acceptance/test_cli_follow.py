"""Commands that go on until they are stopped: each answer is one line of JSON under the schema of an event."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from canon_ops.cli.commands.schema import documents_of, loaded_commands

SCRIPT = str(Path(sys.executable).with_name("canon-ops"))
SCHEMAS = {name: schema for command in loaded_commands() for name, schema in documents_of(command)}
LINE = "2026-11-30 22:33:08,120 INFO gateway.run: {}\n"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / ".hermes" / "logs").mkdir(parents=True)
    (tmp_path / ".hermes" / "logs" / "gateway.log").write_text(LINE.format("one"))
    return {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONWARNINGS": "error"}


@pytest.fixture
def started(environ: dict[str, str], request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """The command, with its answers in a pipe."""
    with subprocess.Popen(
        [SCRIPT, *request.param, "--json"], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The next line, held to its schema."""
    assert process.stdout is not None
    document: dict[str, Any] = json.loads(process.stdout.readline())
    jsonschema.validate(document, SCHEMAS[document["schema"]])
    return document


def stopped(process: subprocess.Popen[str], number: signal.Signals) -> int:
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert "Traceback" not in errors
    return process.returncode


@pytest.mark.parametrize("started", [("logs", "-f")], indirect=True)
def test_a_log_is_followed(started: subprocess.Popen[str], environ: dict[str, str]) -> None:
    """What is there, then what comes; Ctrl-C ends it with 130."""
    first = answer(started)
    with Path(environ["HOME"], ".hermes", "logs", "gateway.log").open("a") as log:
        log.write(LINE.format("two"))

    second = answer(started)

    assert (first["schema"], first["data"]["message"], second["data"]["message"]) == (
        "canon-ops.logs.event/1", "one", "two",
    )  # fmt: skip
    assert stopped(started, signal.SIGINT) == 130


@pytest.mark.parametrize("started", [("status", "--watch", "0.2")], indirect=True)
def test_a_status_is_watched(started: subprocess.Popen[str]) -> None:
    """One look after the other; SIGTERM ends it with 143."""
    looks = [answer(started), answer(started)]

    assert [look["schema"] for look in looks] == ["canon-ops.status.event/1"] * 2
    assert stopped(started, signal.SIGTERM) == 143
