"""Commands that go on until they are stopped: each answer is one line of JSON under the schema of an event."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from canon_ops.cli.commands.schema import documents_of, loaded_commands
from tests.support.terminal import CTRL_C, Screen
from tests.support.waiting import wait_until

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
        [SCRIPT, *request.param, "--json"],
        env=environ,
        cwd=environ["HOME"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
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


def registry(environ: dict[str, str], **changes: object) -> None:
    """A registry with one approval, replaced whole as its writers do."""
    folder = Path(environ["HOME"], ".canon")
    folder.mkdir(mode=0o700, exist_ok=True)
    entry = {"approvalId": "hermes-1", "conversationId": "c1", "status": "pending", "summary": "Pay?"} | changes
    new = folder / "new"
    new.write_text(json.dumps({"hermes-1": entry}))
    new.chmod(0o600)
    new.replace(folder / "detached-approvals.json")


@pytest.fixture
def near(environ: dict[str, str]) -> dict[str, str]:
    registry(environ, expiresAt=int(time.time() * 1_000) + 60_000)
    return environ


@pytest.mark.parametrize(
    "started", [("approvals", "watch", "--every", "0.1", "--exec", "tee -a item.json")], indirect=True
)
def test_approvals_are_watched(near: dict[str, str], started: subprocess.Popen[str]) -> None:
    """L3, L9: what is open, what nears its end and the command that was told, what changes; Ctrl-C ends it."""
    first, second = answer(started), answer(started)
    registry(near, expiresAt=int(time.time() * 1_000) + 60_000, status="expired", resolvedAt=1)
    third = answer(started)

    told = [(one["data"]["event"], one["data"]["state"], one["data"]["command_exit"]) for one in (first, second, third)]
    item = json.loads(Path(near["HOME"], "item.json").read_text())
    assert first["schema"] == "canon-ops.approvals.watch.event/1"
    assert told == [("open", "pending", None), ("expiring", "pending", 0), ("changed", "expired", None)]
    assert item == second["data"]["approval"]
    assert stopped(started, signal.SIGINT) == 130


@pytest.mark.parametrize("started", [("approvals", "watch", "--every", "0.1")], indirect=True)
def test_an_approval_that_is_damaged_is_not_called_gone(near: dict[str, str], started: subprocess.Popen[str]) -> None:
    """L9: a status that is no word; the reason is said beside the event, once."""
    answer(started), answer(started)
    registry(near, expiresAt=int(time.time() * 1_000) + 60_000, status=7)
    damaged = answer(started)
    registry(near, expiresAt=int(time.time() * 1_000) + 60_000, status="expired", resolvedAt=1)
    mended = answer(started)
    started.send_signal(signal.SIGINT)
    _, errors = started.communicate(timeout=20)

    told = [(one["data"]["event"], one["data"]["before"], one["data"]["state"]) for one in (damaged, mended)]
    assert told == [("damaged", "pending", "pending"), ("changed", "pending", "expired")]
    assert errors.count("canon-ops approvals verify") == 1
    assert "hermes-1 " in errors


@pytest.fixture(params=["half a pair \ud83d", "\udc00", "nul \0 and \x9b2J", "\u202etxt.exe\n{}"], ids=ascii)
def odd(environ: dict[str, str], request: pytest.FixtureRequest) -> str:
    """What was asked, by a model that writes what it likes."""
    registry(environ, expiresAt=int(time.time() * 1_000) + 60_000, summary=request.param)
    said: str = request.param
    return said


@pytest.mark.parametrize(
    "started", [("approvals", "watch", "--every", "0.1", "--exec", "tee item.json")], indirect=True
)
def test_a_reminder_gets_whatever_was_asked(odd: str, started: subprocess.Popen[str], environ: dict[str, str]) -> None:
    """A text that has no UTF-8 must not end the watch, and with it the reminders of everything else."""
    first, second = answer(started), answer(started)

    assert [one["data"]["command_exit"] for one in (first, second)] == [None, 0]
    assert json.loads(Path(environ["HOME"], "item.json").read_text())["summary"] == odd
    assert stopped(started, signal.SIGINT) == 130


@pytest.mark.parametrize("words", ["no-such-program --now", "'half", ""])
def test_a_reminder_that_is_not_there_is_refused(near: dict[str, str], words: str) -> None:
    """A command that could not be run at all is told at once, not an hour before an approval is lost."""
    done = subprocess.run(
        [SCRIPT, "approvals", "watch", "--exec", words],
        env=near,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, "--exec" in done.stderr) == (2, True)


WATCH = ("approvals", "watch", "--every", "0.1")
FOLLOWING = [("logs", "-f"), ("status", "--watch", "0.2"), WATCH]


@pytest.mark.parametrize("form", ["terminal", "--json", "--plain", "--no-input", "closed stdin"])
def test_a_watch_tells_on_every_kind_of_stream(form: str, near: dict[str, str]) -> None:
    """The first look arrives in the form that was asked for, nothing is asked, and Ctrl-C ends it with 130."""
    if form == "terminal":
        with Screen([SCRIPT, *WATCH], {**near, "TERM": "xterm"}) as screen:
            screen.wait_for("open: pending")
            screen.type(CTRL_C)
            assert screen.finish() == 130
            assert "Traceback" not in screen.text
        return
    options = [form] if form.startswith("--") else []
    with subprocess.Popen(
        [SCRIPT, *WATCH, *options], env=near, stdin=None, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: os.close(0),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        first = process.stdout.readline()
        code = stopped(process, signal.SIGINT)

    assert code == 130
    if form == "--json":
        jsonschema.validate(json.loads(first), SCHEMAS["canon-ops.approvals.watch.event/1"])
    else:
        assert first.startswith("ok\thermes-1\topen: pending; ")


def test_a_wrong_call_of_a_watch_is_a_document(environ: dict[str, str]) -> None:
    """A usage error has the schema of its events, exit 2, and nothing on stderr."""
    done = subprocess.run(
        [SCRIPT, *WATCH, "--json", "--no-such-option"], env=environ, capture_output=True, text=True, timeout=30,
        check=False,
    )  # fmt: skip

    document = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMAS["canon-ops.approvals.watch.event/1"])
    assert (done.returncode, document["errors"][0]["code"], done.stderr) == (2, "usage", "")


@pytest.mark.parametrize("words", FOLLOWING, ids=lambda words: words[0])
def test_what_only_tells_ends_when_its_stdout_is_lost(words: tuple[str, ...], near: dict[str, str]) -> None:
    """A closed stdout: exit 3 with a sentence."""
    done = subprocess.run(
        [SCRIPT, *words], env=near, stderr=subprocess.PIPE, text=True, timeout=30, check=False,
        preexec_fn=lambda: os.close(1),
    )  # fmt: skip

    assert done.returncode == 3
    assert "The answer could not be written to stdout: Bad file descriptor." in done.stderr


@pytest.mark.parametrize("words", FOLLOWING, ids=lambda words: words[0])
@pytest.mark.parametrize("has_news", [True, False], ids=["something to tell", "nothing to tell"])
def test_what_only_tells_ends_with_its_reader(words: tuple[str, ...], has_news: bool, near: dict[str, str]) -> None:
    """``| head -1``: nobody hears what comes, so it ends, quietly and without a failure."""
    if not has_news:
        Path(near["HOME"], ".canon", "detached-approvals.json").unlink()
        Path(near["HOME"], ".hermes", "logs", "gateway.log").write_text("")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [SCRIPT, *words], env=near, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=30, check=False
        )
    finally:
        os.close(writing)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "started", [("approvals", "watch", "--every", "0.1", "--exec", "tee -a item.json")], indirect=True
)
def test_a_reminder_comes_although_nobody_reads(environ: dict[str, str], started: subprocess.Popen[str]) -> None:
    """With ``--exec`` the telling is not all that it does."""
    assert started.stdout is not None
    started.stdout.close()
    registry(environ, expiresAt=int(time.time() * 1_000) + 60_000)

    wait_until(lambda: Path(environ["HOME"], "item.json").exists())

    assert started.poll() is None
