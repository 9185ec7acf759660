"""One run from arguments to exit code: help, wrong calls, failures of every kind, in each form of output."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import NoReturn

import click
import pytest

from canon_ops.cli.errors import Terminated, failure_of
from canon_ops.cli.main import start
from canon_ops.cli.streams import Streams
from canon_ops.errors import CanonOpsError, ConflictError, CredentialError, ExitCode, OutsideError, RefusedError
from tests.unit.cli.conftest import Paper, Runner


def test_version_option_is_one_line(program: Runner) -> None:
    """The name under which the program was started, and its version."""
    ran = program("--version", name="canon-hermes")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.split() == ["canon-hermes", __import__("canon_ops").__version__]


def test_help_is_an_answer(program: Runner) -> None:
    """A bare call, -h and --help print the same page on stdout and are no failure."""
    pages = [program(*words) for words in ((), ("-h",), ("--help",))]

    assert {page.code for page in pages} == {0}
    assert {page.err for page in pages} == {""}
    assert len({page.out for page in pages}) == 1
    assert pages[0].out.startswith("Usage: canon-ops [OPTIONS] COMMAND [ARGS]...\n")


@pytest.mark.parametrize(
    ("words", "message", "fix"),
    [
        (("verson",), "No such command: verson. Did you mean version?", "canon-ops --help"),
        (("xyzzy",), "No such command: xyzzy.", "canon-ops --help"),
        (
            ("man", "install"),
            "No such command: install. The commands of man are show and path.",
            "canon-ops man --help",
        ),
        (("man", "shwo"), "No such command: shwo. Did you mean show?", "canon-ops man --help"),
        (
            ("history", "x"),
            "No such command: x. The commands of history are list, show and finish.",
            "canon-ops history --help",
        ),
        (("config", "xyzzy"), "No such command: xyzzy.", "canon-ops config --help"),
        (("version", "--jsn"), "No such option: --jsn. Did you mean --json?", "canon-ops version --help"),
        (("--plain", "version"), "--plain goes after the command's name.", "canon-ops --help"),
        (("outbox", "show", "x"), "Invalid value for 'N': 'x' is not a whole number.", "canon-ops outbox show --help"),
        (
            ("setup", "canon", "--wait", "soon"),
            "Invalid value for '--wait': 'soon' is not a number.",
            "canon-ops setup canon --help",
        ),
        (
            ("creds", "move", "ops"),
            "Missing option '--to'. Choose from: keyring, file",
            "canon-ops creds move --help",
        ),
        (
            ("creds", "move", "--to", "keyring", "my ops"),
            "creds move takes no argument, and got my ops; a Canon profile is named with --canon-profile.",
            "canon-ops creds move --to keyring --canon-profile 'my ops'",
        ),
        (
            ("creds", "test", "ops"),
            "creds test takes no argument, and got ops; a Canon profile is named with --canon-profile.",
            "canon-ops creds test --canon-profile ops",
        ),
        (("version", "x"), "Got unexpected extra argument (x)", "canon-ops version --help"),
    ],
)
def test_a_wrong_call_names_the_mistake_and_the_help(
    program: Runner, words: tuple[str, ...], message: str, fix: str
) -> None:
    """Exit 2, one sentence and the fix on stderr, nothing on stdout."""
    ran = program(*words)

    assert (ran.code, ran.out, ran.err) == (2, "", f"Error: {message}\n  fix: {fix}\n")


@pytest.mark.parametrize("asked", ["option", "variable"])
def test_a_wrong_call_is_answered_in_json_when_json_was_meant(
    program: Runner, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same document, though nothing could be parsed."""
    if asked == "variable":
        monkeypatch.setenv("CANON_OPS_JSON", "1")

    ran = program("version", "--nope", *(["--json"] if asked == "option" else []))

    assert (ran.code, ran.err) == (2, "")
    assert ran.json["schema"] == "canon-ops.version/1"
    assert (ran.json["ok"], ran.json["exit_code"], ran.json["data"]) == (False, 2, {})
    assert [problem["code"] for problem in ran.json["errors"]] == ["usage"]


def test_json_after_the_end_of_options_is_an_argument(program: Runner) -> None:
    """``--`` ends the options, also for the guess of what the caller wanted."""
    ran = program("version", "--nope", "--", "--json")

    assert (ran.code, ran.out) == (2, "")


def test_unknown_profile_leaves_the_envelope_without_home(program: Runner) -> None:
    """A profile that does not exist has neither name nor folder in the document."""
    document = program("version", "--profile", "nobody", "--json").json

    assert (document["hermes_profile"], document["hermes_home"]) == (None, None)


def test_home_option_reaches_the_envelope(program: Runner, tmp_path: Path) -> None:
    """--hermes-home is the home that the document names."""
    document = program("version", "--hermes-home", str(tmp_path), "--json").json

    assert document["hermes_home"] == str(tmp_path)


@pytest.mark.parametrize(
    ("exc", "code", "exit_code"),
    [
        (RefusedError("No."), "refused", ExitCode.FAILED),
        (CredentialError("No key."), "credential", ExitCode.CREDENTIAL),
        (ConflictError("Changed."), "conflict", ExitCode.CONFLICT),
        (OutsideError("Down."), "outside", ExitCode.OUTSIDE),
        (click.BadParameter("bad"), "usage", ExitCode.USAGE),
        (KeyboardInterrupt(), "interrupted", ExitCode.INTERRUPTED),
        (click.Abort(), "interrupted", ExitCode.INTERRUPTED),
        (EOFError(), "interrupted", ExitCode.INTERRUPTED),
        (Terminated(), "terminated", ExitCode.TERMINATED),
        (PermissionError(13, "Permission denied", "/etc/shadow"), "outside", ExitCode.OUTSIDE),
        (ZeroDivisionError("by zero"), "internal", ExitCode.OUTSIDE),
        (CanonOpsError("What?"), "failed", ExitCode.FAILED),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_every_exception_has_a_code_and_an_exit_code(exc: BaseException, code: str, exit_code: ExitCode) -> None:
    """Our tree, click's, the signals, the system's errors, and everything else as a fault of ours."""
    failure = failure_of(exc)

    assert (failure.problem.code, failure.exit_code) == (code, exit_code)


def raised(fault: Exception, signal: BaseException) -> BaseException:
    """``fault`` as a library raises it while it cleans up after ``signal``."""
    try:
        try:
            raise signal
        finally:
            raise fault
    except Exception as error:
        return error


@pytest.mark.parametrize(
    ("exc", "exit_code"),
    [
        (raised(RuntimeError("pool is not empty"), Terminated()), ExitCode.TERMINATED),
        (raised(ValueError("not in the list"), raised(KeyError("of its books"), KeyboardInterrupt())), 130),
        (raised(RuntimeError("pool is not empty"), ZeroDivisionError()), ExitCode.OUTSIDE),
        (raised(OSError(5, "Input/output error", "config.yaml"), Terminated()), ExitCode.OUTSIDE),
        (raised(RefusedError("Half of it is done."), Terminated()), ExitCode.FAILED),
    ],
)
def test_a_fault_that_a_signal_caused_is_the_signal(exc: BaseException, exit_code: int) -> None:
    """A signal is raised anywhere, also in a library's bookkeeping; what we or the disk have to say is still said."""
    assert failure_of(exc).exit_code == exit_code


class Closed(io.StringIO):
    """A stream whose disk is full."""

    def write(self, _text: str) -> NoReturn:
        raise OSError(28, "No space left on device")


def test_an_answer_that_cannot_be_written_is_a_failure(home: Path) -> None:
    """A full disk behind stdout gives exit 3 and a sentence on stderr."""
    err = Paper()

    code = start("canon-ops", "", ["version"], os.environ, Streams(None, Closed(), err, {}))

    assert (code, err.getvalue()) == (
        ExitCode.OUTSIDE,
        "Error: The answer could not be written to stdout: No space left on device.\n"
        "  fix: mend what stands behind the pipe or the redirection, and run it again\n",
    )


def test_a_stream_that_cannot_encode_gets_escapes(program: Runner) -> None:
    """JSON on an ASCII stream is ASCII."""
    ran = program("version", "--json", encoding="ascii")

    assert ran.out.isascii()


@pytest.mark.parametrize(
    ("variable", "words"), [("CANON_OPS_COLOR", ("version",)), ("CANON_OPS_JSON", ("config", "path"))]
)
def test_a_bad_variable_is_cured_by_its_name(
    program: Runner, monkeypatch: pytest.MonkeyPatch, variable: str, words: tuple[str, ...]
) -> None:
    """Nobody typed the value, so the help page would not help."""
    monkeypatch.setenv(variable, "zz")

    ran = program(*words)

    assert ran.code == 2
    assert f"fix: unset {variable}" in ran.err + ran.out


@pytest.mark.parametrize(
    "words", [("config", "get", "a\udcff"), ("config", "set", "a", "\udcff"), ("env", "get", "\udcff")]
)
def test_bytes_that_are_no_text_are_wrong_usage(program: Runner, words: tuple[str, ...]) -> None:
    """An argument that is not UTF-8 is refused before anything looks at it."""
    ran = program(*words)

    assert (ran.code, ran.out) == (2, "")
    assert "holds bytes that are no UTF-8." in ran.err
    assert "fix: give " in ran.err
