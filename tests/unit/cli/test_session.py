"""The options of every command, the variables that answer for them, and what a failure may show."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from canon_ops.cli.command import OperatorCommand
from canon_ops.cli.commands.schema import loaded_commands
from canon_ops.cli.delivery import deliver_failure
from canon_ops.cli.errors import failure_of
from canon_ops.cli.session import CommonOptions, Program, Session
from canon_ops.cli.streams import Streams
from tests.unit.cli.conftest import Paper, Runner

COMMON = {
    "-p", "--profile", "--hermes-home", "--json", "--plain", "--no-input", "-y", "--yes", "-q", "--quiet", "-v",
    "--verbose", "--color",
}  # fmt: skip


def names_of(command: OperatorCommand) -> set[str]:
    return {name for param in command.params for name in param.opts}


@pytest.mark.parametrize("command", loaded_commands(), ids=lambda command: " ".join(command.words))
def test_every_command_takes_the_common_options(command: OperatorCommand) -> None:
    """The common ones always, the writer's where it writes, and a variable for each that lives longer than a call."""
    names = names_of(command)
    variables = {param.name: param.envvar for param in command.params}

    assert names >= COMMON
    assert ({"--dry-run", "--diff", "--if-unchanged"} <= names) is command.writes
    assert (variables["hermes_profile"], variables["hermes_home"]) == ("CANON_OPS_PROFILE", "CANON_OPS_HERMES_HOME")
    assert variables["yes"] is None  # consent is given to one command at a time


@pytest.mark.parametrize(
    ("name", "value"),
    [("CANON_OPS_JSON", "1"), ("CANON_OPS_JSON", "true"), ("CANON_OPS_JSON", "yes")],
)
def test_a_variable_answers_for_its_option(
    program: Runner, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """A switch is on for the words that people use."""
    monkeypatch.setenv(name, value)

    assert program("version").json["schema"] == "canon-ops.version/1"


def test_an_option_beats_its_variable(program: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is typed counts."""
    monkeypatch.setenv("CANON_OPS_HERMES_HOME", "/from/the/variable")

    by_variable = program("version", "--json").json["hermes_home"]
    by_option = program("version", "--json", "--hermes-home", str(tmp_path)).json["hermes_home"]

    assert (by_variable, by_option) == ("/from/the/variable", str(tmp_path))


def test_a_variable_that_cannot_be_read_is_a_wrong_call(program: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 2, and the variable is named."""
    monkeypatch.setenv("CANON_OPS_COLOR", "pink")

    ran = program("version")

    assert (ran.code, ran.out) == (2, "")
    assert "CANON_OPS_COLOR" in ran.err


def test_plain_on_a_terminal_is_what_a_pipe_gets(program: Runner) -> None:
    """--plain asks for records where people would see a drawing."""
    drawn, plain, piped = (
        program("version", terminal=True),
        program("version", "--plain", terminal=True),
        program("version"),
    )

    assert plain.out == piped.out
    assert drawn.out != plain.out


def test_a_terminal_without_the_signs_gets_letters(program: Runner) -> None:
    """ASCII marks, and no character that the stream would have to escape."""
    ran = program("doctor", "--only", "config.parse,env.parse", terminal=True, encoding="ascii")

    assert ran.out.isascii()
    assert ran.out.splitlines()[-1].count("ok") == 1


def failed(exc: BaseException, *, options: CommonOptions, environ: dict[str, str]) -> tuple[str, str]:
    """What a failure leaves on the two streams."""
    out, err = Paper(), Paper()
    session = Session(Program("canon-ops"), [], environ, Streams(Paper(), out, err, environ))
    session.options, session.is_parsed = options, True
    try:
        raise exc
    except BaseException as caught:
        deliver_failure(session, failure_of(caught), caught)
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize("options", [CommonOptions(verbose=True), CommonOptions(), CommonOptions(json=True)], ids=str)
def test_a_fault_of_ours_quotes_no_secret(home: Path, options: CommonOptions) -> None:
    """Not the environment's, not the home's .env, not anything of a key's shape; also not in the traceback."""
    (home / ".hermes").mkdir()
    (home / ".hermes" / ".env").write_text("OPENAI_API_KEY=from-the-dotenv-file\n")
    environ = {"HOME": str(home), "CANON_API_KEY": "from-the-environment"}
    exc = ZeroDivisionError("from-the-environment, from-the-dotenv-file, agk_live_4fT90123")

    out, err = failed(exc, options=options, environ=environ)

    assert "from-the" not in out + err
    assert "4fT9" not in out + err
    assert (out + err).count("[REDACTED]") >= 3
    assert ("Traceback" in err) is options.verbose


def test_json_of_a_fault_is_a_document_like_any_other(home: Path) -> None:
    """Exit 3, code internal, and stderr silent without --verbose."""
    out, err = failed(ZeroDivisionError("by zero"), options=CommonOptions(json=True), environ={"HOME": str(home)})

    assert '"code": "internal"' in out
    assert '"exit_code": 3' in out
    assert err == ""


def test_nothing_asks_unless_a_person_sits_at_all_three_streams() -> None:
    """Every one of them counts, and so do --no-input, --json and CI."""

    def may_ask(stdin: bool, stdout: bool, stderr: bool, environ: dict[str, str], options: CommonOptions) -> bool:
        streams = Streams(Paper(terminal=stdin), Paper(terminal=stdout), Paper(terminal=stderr), environ)
        session = Session(Program("canon-ops"), [], environ, streams)
        session.options = options
        return session.may_ask

    plain = CommonOptions()
    assert may_ask(True, True, True, {}, plain)
    assert not may_ask(False, True, True, {}, plain)
    assert not may_ask(True, False, True, {}, plain)
    assert not may_ask(True, True, False, {}, plain)
    assert not may_ask(True, True, True, {"CI": "true"}, plain)
    assert not may_ask(True, True, True, {}, CommonOptions(no_input=True))
    assert not may_ask(True, True, True, {}, CommonOptions(json=True))
    assert may_ask(True, True, True, {"CI": ""}, plain)


@pytest.mark.host
def test_quiet_silences_the_conversation_and_not_the_answer(program: Runner, home: Path) -> None:
    """stderr is empty, stdout the same."""
    loud = program("install", "--skip-package", "--dry-run")
    quiet = program("install", "--skip-package", "--dry-run", "--quiet")

    assert loud.err != ""
    assert (quiet.out, quiet.err) == (loud.out, "")


def test_the_environment_of_the_machine_is_not_seen(program: Runner) -> None:
    """The runner of these tests hands on nothing but what it sets."""
    assert {name for name in os.environ if name.startswith(("CANON_", "HERMES_"))} == set()
