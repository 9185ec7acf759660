"""Every command on every kind of stream: what goes where, and with which exit code. Real descriptors throughout.

Each command is a fork of a process that has loaded the program (see tests/support/forking.py); the same cases with the
real script are marked long (``make test-surface``), and for some commands of every kind the two are compared here.

A new command joins COMMANDS with the arguments that make it answer in an empty home; one that is missing is a failing
test, because the table is compared with the command tree.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from copy import copy
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, Protocol

import pytest
from jsonschema import Draft202012Validator

from canon_ops.cli.commands.schema import loaded_commands
from canon_ops.cli.delivery import deliver_failure
from canon_ops.cli.errors import failure_of
from canon_ops.cli.output import Result
from canon_ops.cli.schemas import document_schema
from canon_ops.cli.session import Program, Session
from canon_ops.cli.streams import Streams
from canon_ops.cli.tree import leaves
from tests.support.forking import Forking
from tests.support.terminal import Screen

SCRIPT = str(Path(sys.executable).with_name("canon-ops"))

# Words of the command -> its arguments in an empty home, and its exit code there.
COMMANDS: dict[str, tuple[list[str], int]] = {
    "completion install": (["bash"], 0),
    "completion show": (["bash"], 0),
    "completion status": ([], 0),
    "completion uninstall": (["bash"], 0),
    "config add": (["plugins.enabled", "canon-hermes"], 0),
    "config get": (["plugins.enabled"], 1),
    "config diff": ([], 0),
    "config edit": ([], 2),
    "config heal": ([], 0),
    "config list": ([], 0),
    "config path": ([], 0),
    "config recommend": (["--dry-run"], 0),
    "config remove": (["plugins.enabled", "canon-hermes"], 0),
    "config set": (["streaming.enabled", "true"], 0),
    "config snapshot": ([], 1),
    "config unset": (["streaming.enabled"], 0),
    "config validate": ([], 0),
    "creds audit": ([], 0),
    "creds list": ([], 4),
    "creds move": (["--to", "file"], 4),
    "creds remove": (["--canon-profile", "nobody"], 4),
    "creds test": ([], 4),
    "demo": (["--python", "/nonexistent"], 3),
    "doctor": (["--offline", "--area", "creds"], 1),  # the whole takes seconds
    "explain": (["creds.present"], 0),
    "gateway restart": ([], 1),
    "gateway status": ([], 1),
    "env get": (["CANON_AGENT"], 1),
    "env lint": ([], 0),
    "env list": ([], 0),
    "env set": (["CANON_AGENT", "desk"], 0),
    "env unset": (["CANON_AGENT"], 0),
    "history finish": ([], 0),
    "history list": ([], 0),
    "history show": (["20260101T"], 1),
    "host list": ([], 0),
    "host show": (["--python", "/nonexistent"], 3),  # a real one takes seconds: tests/unit/cli/test_host.py
    "approvals abandon": (["hermes-1"], 1),
    "approvals audit": ([], 0),
    "approvals export": ([], 0),
    "approvals list": ([], 0),
    "approvals prune": ([], 0),
    "approvals reconcile": ([], 0),
    "approvals show": (["hermes-1"], 1),
    "approvals verify": ([], 0),
    "inbox discard": (["1"], 1),
    "inbox list": ([], 0),
    "inbox requeue": (["1", "--confirm-duplicate-side-effect-risk"], 1),
    "inbox show": (["1"], 1),
    "inbox stats": ([], 0),
    "install": (["--skip-package", "--dry-run", "--no-allow-all-users"], 0),
    "man path": ([], 0),
    "man show": (["version"], 0),
    "logs": ([], 1),
    "outbox discard": (["1"], 1),
    "outbox list": ([], 0),
    "outbox retry": (["1"], 1),
    "outbox show": (["1"], 1),
    "preferences list": ([], 0),
    "preferences set": (["keyring.use", "true"], 0),
    "preferences unset": (["keyring.use"], 0),
    "profile bind": (["nobody"], 4),
    "profile cancel": (["nobody"], 1),
    "profile export": (["nobody"], 4),
    "profile import": (["/nonexistent"], 1),
    "profile list": ([], 0),
    "profile migrate": (["nobody", "--environment", "canon-dev-v1"], 4),
    "profile show": (["nobody"], 4),
    "profile unbind": ([], 0),
    "rollback": ([], 1),
    "schema list": ([], 0),
    "schema show": (["version"], 0),
    "setup borgee": (["--answers", "/nonexistent"], 3),
    "setup canon": (["--use-profile", "nobody"], 4),
    "undo": ([], 1),
    "status": ([], 0),
    "uninstall": ([], 0),
    "upgrade": (["--dry-run"], 0),
    "version": ([], 0),
}
# They look for a Hermes, and would exit with 3 or 1 where there is none.
WITH_A_HOST = {"host list", "install", "upgrade"}
# They run until they are stopped; tested in test_cli_sandbox.py and test_cli_follow.py.
FOREGROUND = {"approvals watch", "sandbox borgee", "sandbox canon", "sandbox model"}
# No record is no failure.
NOTHING_THERE = {
    "approvals audit",
    "approvals list",
    "approvals reconcile",
    "env list",
    "history list",
    "inbox list",
    "outbox list",
    "profile list",
}
# Their failure in an empty home has nothing to say on stdout.
SILENT = {
    "approvals abandon",
    "approvals audit",  # there is none, which is no failure
    "approvals list",
    "approvals reconcile",
    "approvals show",
    "config edit",
    "config get",
    "config snapshot",
    "creds list",
    "creds move",
    "creds remove",
    "creds test",
    "env get",
    "env list",  # there is none, which is no failure
    "gateway restart",
    "host show",
    "logs",
    "history list",  # there is none, which is no failure
    "history show",
    "inbox discard",
    "inbox list",  # there is none, which is no failure
    "inbox requeue",
    "inbox show",
    "outbox discard",
    "outbox list",  # there is none, which is no failure
    "outbox retry",
    "outbox show",
    "profile bind",
    "profile cancel",
    "profile export",
    "profile import",
    "profile list",  # there is none, which is no failure
    "profile migrate",
    "profile show",
    "rollback",
    "setup borgee",
    "setup canon",
    "undo",
}
SCHEMAS = {
    " ".join(command.words): document_schema(command.document_words, command.data, command.schema_version)
    for command in loaded_commands()
}

has_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
every_command = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.host] if name in WITH_A_HOST else []) for name in sorted(COMMANDS)],
)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A clean process environment with an empty home."""
    home = tmp_path / "home"
    (home / ".hermes").mkdir(parents=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "TERM": "xterm-256color",
        "COLUMNS": "80",
        "PYTHONWARNINGS": "error",
        "MANPAGER": "cat",
    }


class Call(Protocol):
    """Runs a command of the table with further options; nobody is at its stdin, and no stream is a terminal."""

    def __call__(
        self, name: str, *options: str, closed: int | None = None, stdout: int | None = None
    ) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture(scope="module")
def forking() -> Iterator[Forking]:
    with Forking() as loaded:
        yield loaded


@pytest.fixture
def forked(forking: Forking, environ: dict[str, str]) -> Call:
    """The program loaded beforehand."""

    def call(
        name: str, *options: str, closed: int | None = None, stdout: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        words = [*name.split(), *COMMANDS[name][0], *options]
        return forking.run(words, environ, closed=() if closed is None else (closed,), stdout=stdout)

    return call


@pytest.fixture
def script(environ: dict[str, str]) -> Call:
    """The real script."""

    def call(
        name: str, *options: str, closed: int | None = None, stdout: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        if stdout is not None:
            streams["stdout"] = stdout
        if closed is not None:
            streams[("stdin", "stdout", "stderr")[closed]] = None
            streams["preexec_fn"] = lambda: os.close(closed)
        words = [SCRIPT, *name.split(), *COMMANDS[name][0], *options]
        done = subprocess.run(words, env=environ, text=True, check=False, timeout=60, **streams)
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout or "", done.stderr or "")

    return call


@pytest.fixture(params=["forked", pytest.param("script", marks=pytest.mark.long)])
def call(request: pytest.FixtureRequest) -> Call:
    """Either of the two."""
    chosen: Call = request.getfixturevalue(request.param)
    return chosen


class OnTerminal(Protocol):
    """Runs a command of the table on a terminal."""

    def __call__(self, name: str) -> Screen: ...


@pytest.fixture(params=["forked", pytest.param("script", marks=pytest.mark.long)])
def on_terminal(request: pytest.FixtureRequest, environ: dict[str, str]) -> OnTerminal:
    """The program loaded beforehand, or the real script."""

    def forked(name: str) -> Screen:
        loaded: Forking = request.getfixturevalue("forking")
        child = loaded.on_terminal([*name.split(), *COMMANDS[name][0]], environ, columns=80, rows=60)
        return Screen.of(child, columns=80, rows=60)

    def script(name: str) -> Screen:
        return Screen([SCRIPT, *name.split(), *COMMANDS[name][0]], environ, rows=60)

    return forked if request.param == "forked" else script


@cache
def validator_of(name: str) -> Draft202012Validator:
    """The command's own schema, which is one itself."""
    Draft202012Validator.check_schema(SCHEMAS[name])
    return Draft202012Validator(SCHEMAS[name])


def checked_document(name: str, text: str) -> dict[str, Any]:
    """The one document on stdout, validated against the command's own schema."""
    document: dict[str, Any] = json.loads(text)
    validator_of(name).validate(document)
    return document


def test_the_table_holds_every_command() -> None:
    """Nothing can be added to the tree without joining these tests."""
    assert {" ".join(words) for words, _ in leaves()} == set(COMMANDS) | FOREGROUND


@every_command
def test_a_terminal_gets_text_for_people(name: str, on_terminal: OnTerminal) -> None:
    """The promised exit code, some text, and no JSON."""
    with on_terminal(name) as screen:
        code = screen.finish()
        text = screen.text

    assert code == COMMANDS[name][1]
    assert text
    assert '"schema": "canon-ops' not in text


@every_command
def test_a_pipe_gets_records_without_colour(name: str, call: Call) -> None:
    """BR-46: No escape sequence reaches either stream, and a failure says so on stderr."""
    done = call(name)

    assert done.returncode == COMMANDS[name][1]
    assert "\x1b" not in done.stdout + done.stderr
    assert bool(done.stdout) is (name not in SILENT)
    assert bool(done.stdout) or bool(done.stderr) or name in NOTHING_THERE


@every_command
def test_json_is_one_valid_document_and_stdout_holds_nothing_else(name: str, call: Call) -> None:
    """BR-42: The document agrees with its schema and carries the exit code of the process."""
    done = call(name, "--json")

    document = checked_document(name, done.stdout)
    assert (document["exit_code"], done.returncode) == (COMMANDS[name][1], COMMANDS[name][1])
    assert document["ok"] is (done.returncode == 0)


@every_command
def test_json_answers_a_wrong_call_too(name: str, call: Call) -> None:
    """A usage error is the same document with exit 2, and stderr is silent."""
    done = call(name, "--json", "--no-such-option")

    document = checked_document(name, done.stdout)
    assert (done.returncode, document["exit_code"], done.stderr) == (2, 2, "")
    assert [error["code"] for error in document["errors"]] == ["usage"]


@every_command
def test_json_answers_a_fault_of_ours_too(name: str, environ: dict[str, str]) -> None:
    """Whatever breaks inside: the same document with exit 3, the fault's name and no traceback."""
    (command,) = [each for each in loaded_commands() if " ".join(each.words) == name]
    broken = copy(command)

    def break_down(*_arguments: object, **_options: object) -> Result:
        raise ZeroDivisionError("a fault in the command")

    broken.callback = break_down
    out, err = StringIO(), StringIO()
    arguments = [*COMMANDS[name][0], "--json"]
    session = Session(Program("canon-ops"), arguments, environ, Streams(None, out, err, environ))

    with pytest.raises(ZeroDivisionError) as caught:
        broken.invoke(broken.make_context(name.split()[-1], arguments, obj=session))
    failure = failure_of(caught.value)
    deliver_failure(session, failure, caught.value)

    document = checked_document(name, out.getvalue())
    assert (document["exit_code"], failure.exit_code, err.getvalue()) == (3, 3, "")
    assert [error["code"] for error in document["errors"]] == ["internal"]
    assert "ZeroDivisionError" in document["errors"][0]["message"]
    assert "Traceback" not in out.getvalue()


@every_command
@pytest.mark.parametrize("case", [pytest.param("--no-input", marks=pytest.mark.long), "closed stdin"])
def test_nothing_asks_without_a_terminal(name: str, case: str, call: Call) -> None:
    """With stdin closed, or under --no-input, the command ends by itself with the same code."""
    done = call(name, "--no-input") if case == "--no-input" else call(name, closed=0)

    assert done.returncode == COMMANDS[name][1]
    assert "Traceback" not in done.stderr


@every_command
def test_a_closed_stdout_is_said_on_stderr(name: str, call: Call) -> None:
    """The answer is lost: exit 3 with a sentence, never a traceback, unless there was nothing to say on stdout."""
    done = call(name, closed=1)

    assert "Traceback" not in done.stderr
    if name not in SILENT:
        assert done.returncode == 3
        assert "The answer could not be written to stdout: Bad file descriptor." in done.stderr
    else:
        assert done.returncode == COMMANDS[name][1]


@every_command
def test_a_reader_that_went_away_is_no_failure(name: str, call: Call) -> None:
    """``| head -0``: quiet, and the command's own exit code."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = call(name, stdout=writing)
    finally:
        os.close(writing)

    assert done.returncode == COMMANDS[name][1]
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@has_full
def test_a_full_disk_behind_stdout_is_a_failure(call: Call) -> None:
    """The answer did not arrive, so the exit code says so."""
    with Path("/dev/full").open("w") as full:
        done = call("version", stdout=full.fileno())

    first, fix = done.stderr.splitlines()
    assert (done.returncode, first) == (3, "Error: The answer could not be written to stdout: No space left on device.")
    assert fix.startswith("  fix: ")


@pytest.mark.parametrize(
    ("name", "options", "closed", "end"),
    [
        ("version", (), None, None),
        ("doctor", (), None, None),
        ("config get", ("--json",), None, None),
        ("explain", ("--json", "--no-such-option"), None, None),
        ("history list", ("--no-input",), 0, None),
        ("schema list", (), 1, None),
        ("profile show", (), 1, None),
        ("env list", (), 2, None),
        ("man show", (), None, "gone"),
        pytest.param("completion show", (), None, "full", marks=has_full),
    ],
)
def test_a_fork_says_what_the_script_says(
    name: str, options: tuple[str, ...], closed: int | None, end: str | None, forked: Call, script: Call
) -> None:
    """Exit code and both streams, for every kind of stream."""
    stdout = None if end is None else unwritable(end)
    try:
        one, other = (way(name, *options, closed=closed, stdout=stdout) for way in (forked, script))
    finally:
        if stdout is not None:
            os.close(stdout)

    assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)


def unwritable(end: str) -> int:
    """A descriptor behind which nobody reads, or the disk is full."""
    if end == "full":
        return os.open("/dev/full", os.O_WRONLY)
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def standing_still(written: bytes) -> bytes:
    """What was written with one picture of the spinner for each of its texts."""
    return re.sub(
        rb"\xe2\xa0.", b"*", re.sub(rb"(\x1b\[32m\xe2\xa0.[^\r]+\r\x1b\[2K)+(?=\x1b\[32m\xe2\xa0)", b"", written)
    )


@pytest.mark.parametrize("name", ["version", "config get", "doctor"])
def test_a_fork_shows_what_the_script_shows(name: str, forking: Forking, environ: dict[str, str]) -> None:
    """Every byte that reaches a terminal, however often the spinner turned, and the exit code."""
    words = [*name.split(), *COMMANDS[name][0]]
    screens = [
        Screen.of(forking.on_terminal(words, environ, columns=80, rows=40), columns=80, rows=40),
        Screen([SCRIPT, *words], environ),
    ]

    seen = []
    for screen in screens:
        with screen:
            seen.append((screen.finish(), standing_still(screen.raw)))

    assert seen[0] == seen[1]


def test_colour_is_decided_for_each_stream(environ: dict[str, str]) -> None:
    """stderr on a terminal is painted while stdout in a pipe is not, and the option beats the variable."""
    command = f"{SCRIPT} versio; {SCRIPT} version | cat; {SCRIPT} version --color always | cat -v"

    with Screen(["/bin/sh", "-c", command], environ) as screen:
        code = screen.finish()
        raw = screen.raw.decode()

    assert code == 0
    assert "\x1b[31mError:\x1b[0m No such command" in raw
    assert "\ncanon-ops\t" in raw.replace("\r", "")
    assert "^[[" not in raw  # records are never painted, whatever the option says
