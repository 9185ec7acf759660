"""``canon-ops setup canon`` as a command: options, answers files, keys and exit codes, against the loopback Canon.

The dialogue itself has its own tests; what a person sees at a terminal is in tests/acceptance/test_cli_setup.py.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.unit.cli.conftest import Ran, Runner

OWNER = "+15550100"  # lives in the sandbox


@pytest.fixture
def canon() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions(auto_approve=True, approve_after_polls=0)) as box:
        yield box


def endpoints(box: CanonSandbox) -> tuple[str, ...]:
    """The options that lead to the sandbox."""
    ends = box.endpoints
    return ("--environment", ends.environment_id, "--base-url", ends.api, "--stream-url", ends.stream)


def registering(box: CanonSandbox) -> tuple[str, ...]:
    """Every answer of a registration as an option."""
    return (
        *endpoints(box), "--owner-phone", "+1 (555) 0100", "--agent-name", "Ops", "--description", "Keeps watch.",
        "--canon-profile", "ops", "--way", "register", "--agent-id", "",
    )  # fmt: skip


def env_file(home: Path) -> Path:
    return home / ".hermes" / ".env"


def agents_file(home: Path) -> Path:
    return home / ".canon" / "agents.json"


def test_options_answer_every_question(program: Runner, home: Path, canon: CanonSandbox) -> None:
    """Nothing is asked; the report names profile and files first, then the agent."""
    ran = program("setup", "canon", *registering(canon), "--diff")

    assert ran.code == 0
    (request,) = canon.human.registrations()
    assert ran.out.splitlines()[:2] == [
        f"Hermes profile default: {home / '.canon' / 'pending-registrations.json'}, {agents_file(home)}, "
        f"{env_file(home)}",
        f"Ops ({request['agent_id']}) answers for this profile on canon-dev-v1, kept as Canon profile ops.",
    ]
    assert "+CANON_AGENT=ops" in ran.out
    assert "The owner is asked at +15550100." in ran.err
    assert agents_file(home).stat().st_mode & 0o777 == 0o600
    assert "agk_live_sandbox" in agents_file(home).read_text()
    assert "agk_live" not in ran.out + ran.err


def test_the_older_name_means_canon(program: Runner, canon: CanonSandbox) -> None:
    """``canon-hermes setup OPTIONS`` and ``canon-ops setup OPTIONS`` are the same command."""
    older = program("setup", *registering(canon), "--dry-run", "--json", name="canon-hermes").json
    newer = program("setup", "canon", *registering(canon), "--dry-run", "--json").json

    assert older == newer
    assert older["schema"] == "canon-ops.setup.canon/1"


def test_scripts_get_the_agent_and_the_profile(program: Runner, home: Path, canon: CanonSandbox) -> None:
    """The JSON document holds what was set up, and no key."""
    ran = program("setup", "canon", *registering(canon), "--json")

    data = ran.json["data"]
    (request,) = canon.human.registrations()
    assert (ran.code, ran.json["canon_profile"]) == (0, "ops")
    assert (data["way"], data["environment"], data["agent_id"]) == ("register", "canon-dev-v1", request["agent_id"])
    assert (data["request_id"], data["resumed"], data["dry_run"]) == (request["request_id"], False, False)
    assert "agk_live" not in ran.out


def test_a_dry_run_asks_nobody_and_writes_nothing(program: Runner, home: Path, canon: CanonSandbox) -> None:
    """Everything is checked; no request is sent, no file is made."""
    ran = program("setup", "canon", *registering(canon), "--dry-run")

    assert ran.code == 0
    assert canon.human.registrations() == []
    assert list(home.iterdir()) == []


def test_answers_are_saved_without_keys_and_used_again(
    program: Runner, home: Path, canon: CanonSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of the first machine answers every question of the second; it is private and holds no key."""
    file = tmp_path / "answers.toml"

    first = program("setup", "canon", *registering(canon), "--save-answers", str(file))
    second_home = tmp_path / "second"
    second_home.mkdir()
    monkeypatch.setenv("HOME", str(second_home))
    second = program("setup", "canon", "--answers", str(file), "--agent-name", "Other", "--json")

    assert (first.code, second.code) == (0, 0)
    assert file.stat().st_mode & 0o777 == 0o600
    saved = tomllib.loads(file.read_text())
    assert (saved["way"], saved["agent-name"], saved["owner-phone"]) == ("register", "Ops", OWNER)
    assert "agk_live" not in file.read_text()
    assert second.json["data"]["agent_name"] == "Other"  # an option beats the file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = [", "is not TOML"),
        ('owner-fone = "1"', "answers 'owner-fone', which is never asked."),
        ('api-key = "agk_live_123456789"', "answers 'api-key', which is never asked."),
        ("agent-name = 3", "has no usable answer for 'agent-name': 3."),
        ('way = "walk"', "has no usable answer for 'way': 'walk'."),
        ("wait = true", "has no usable answer for 'wait': True."),
    ],
)
def test_a_wrong_answers_file_is_refused(program: Runner, tmp_path: Path, text: str, message: str) -> None:
    """Exit 2 with the file's name; a key does not belong there."""
    file = tmp_path / "answers.toml"
    file.write_text(text)

    ran = program("setup", "canon", "--answers", str(file))

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"Error: {file} {message}")


class TestKeys:
    """A key comes from stdin, a file or a variable; it is never an argument and never printed."""

    def given(self, program: Runner, source: str, key: str, box: CanonSandbox, patch: pytest.MonkeyPatch) -> Ran:
        words = ["setup", "canon", *endpoints(box)]
        match source:
            case "stdin":
                return program(*words, "--api-key-stdin", stdin=f"{key}\n")
            case "file":
                (Path.home() / "key").write_text(f"{key}\n")
                return program(*words, "--api-key-file", str(Path.home() / "key"))
            case _:
                patch.setenv("SOME_NAME", key)
                return program(*words, "--api-key-env", "SOME_NAME")

    @pytest.mark.parametrize("source", ["stdin", "file", "variable"])
    def test_a_key_is_checked_and_kept(
        self, program: Runner, home: Path, canon: CanonSandbox, monkeypatch: pytest.MonkeyPatch, source: str
    ) -> None:
        """Canon is asked whose it is; .env holds it, privately; no stream does."""
        key = canon.endpoints.agent_key

        ran = self.given(program, source, key, canon, monkeypatch)

        assert ran.code == 0, ran.err
        assert f"CANON_API_KEY={key}" in env_file(home).read_text()
        assert env_file(home).stat().st_mode & 0o777 == 0o600
        assert key not in ran.out + ran.err

    def test_a_script_sees_that_there_was_nothing_to_do(
        self, program: Runner, home: Path, canon: CanonSandbox, tmp_path: Path
    ) -> None:
        """The first run would change something, changes it, and the next one says that it changed nothing."""
        file = tmp_path / "key"
        file.write_text(canon.endpoints.agent_key)
        words = ("setup", "canon", *endpoints(canon), "--api-key-file", str(file), "--json")

        planned, first, second = program(*words, "--dry-run"), program(*words), program(*words)
        stamp = env_file(home).stat().st_mtime_ns
        program(*words)

        told = [one.json["data"] for one in (planned, first, second)]
        assert [one["changed"] for one in told] == [True, True, False]
        assert [bool(one["files"]) for one in told] == [True, True, False]
        assert env_file(home).stat().st_mtime_ns == stamp

    @pytest.mark.parametrize("source", ["stdin", "file", "variable"])
    def test_a_key_that_canon_refuses_is_exit_4(
        self, program: Runner, home: Path, canon: CanonSandbox, monkeypatch: pytest.MonkeyPatch, source: str
    ) -> None:
        """Nothing is written, and the key is in no message."""
        ran = self.given(program, source, "agk_live_0123456789abcdef", canon, monkeypatch)

        assert (ran.code, ran.out) == (4, "")
        assert not env_file(home).exists()
        assert "0123456789" not in ran.err

    @pytest.mark.parametrize("form", ["--json", "--plain", "--diff"])
    def test_no_part_of_a_key_leaves(self, program: Runner, home: Path, canon: CanonSandbox, form: str) -> None:
        """Neither a document nor records nor a diff hold the last characters; the sandbox's keys are no exception."""
        key = canon.endpoints.agent_key
        (home / ".hermes").mkdir()
        env_file(home).write_text("CANON_API_KEY=agk_live_0123456789abcdef\n")
        (home / "key").write_text(key)

        ran = program("setup", "canon", *endpoints(canon), "--api-key-file", str(home / "key"), "--diff", form)

        assert ran.code == 0, ran.err
        assert "CANON_API_KEY=[REDACTED]" in ran.out and "CANON_API_KEY=[REDACTED 2]" in ran.out
        assert key[-4:] not in ran.out + ran.err and "cdef" not in ran.out + ran.err

    def test_one_source_at_a_time(self, program: Runner) -> None:
        """Two are a contradiction."""
        ran = program("setup", "canon", "--api-key-stdin", "--api-key-env", "X")

        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("Error: Give one of --api-key-stdin, --api-key-file and --api-key-env.\n  fix: ")

    @pytest.mark.parametrize("words", [("--api-key-env", "NOT_SET"), ("--api-key-stdin",)])
    def test_an_empty_source_is_a_missing_answer(self, program: Runner, words: tuple[str, ...]) -> None:
        """Exit 2, and the place is named."""
        ran = program("setup", "canon", *words)

        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("Error: There is no key in ")

    @pytest.mark.parametrize(
        ("make", "code"),
        [
            (lambda file: file.write_bytes(b"\xff\xfe\x00key"), 2),
            (lambda file: file.symlink_to("/dev/zero"), 2),
            (lambda file: file.write_text("k" * 5_000), 2),
            (lambda file: file.mkdir(), 3),
            (lambda file: None, 3),
        ],
        ids=["binary", "endless", "large", "folder", "absent"],
    )
    def test_a_file_without_a_key_is_refused(
        self, program: Runner, home: Path, make: Callable[[Path], object], code: int
    ) -> None:
        """Nothing is read without bound, and what was found there is in a sentence with a cure."""
        make(home / "key")

        ran = program("setup", "canon", "--api-key-file", str(home / "key"))

        assert (ran.code, ran.out) == (code, "")
        assert str(home / "key") in ran.err and "  fix: " in ran.err and "fault" not in ran.err

    def test_a_key_may_come_through_a_pipe(self, program: Runner, home: Path, canon: CanonSandbox) -> None:
        """A pipe in the place of the file: ``--api-key-file <(pass show canon)``."""
        key = canon.endpoints.agent_key
        reading, writing = os.pipe()
        os.write(writing, f"{key}\n".encode())
        os.close(writing)

        ran = program("setup", "canon", *endpoints(canon), "--api-key-file", f"/dev/fd/{reading}")
        os.close(reading)

        assert ran.code == 0, ran.err
        assert f"CANON_API_KEY={key}" in env_file(home).read_text()

    def test_there_is_no_argument_for_a_key(self, program: Runner) -> None:
        """History and process list never see one."""
        assert program("setup", "canon", "--api-key", "agk_live_0123456789").code == 2


def test_a_missing_answer_names_its_option(program: Runner, home: Path, canon: CanonSandbox) -> None:
    """Nobody can be asked: exit 2, and no half of it is written."""
    ran = program("setup", "canon", *endpoints(canon), "--canon-profile", "ops", "--agent-id", "")

    assert (ran.code, ran.out) == (2, "")
    assert "--owner-phone" in ran.err
    assert list(home.iterdir()) == []


def test_if_unchanged_is_held_before_anybody_is_asked(program: Runner, home: Path, canon: CanonSandbox) -> None:
    """Another digest of .env is exit 5; no request went out. Another file cannot be held here."""
    (home / ".hermes").mkdir()
    env_file(home).write_text("A=1\n")

    ran = program("setup", "canon", *registering(canon), "--if-unchanged", "0" * 64)
    other = program("setup", "canon", *registering(canon), "--if-unchanged", f"config.yaml={'0' * 64}")

    assert (ran.code, ran.out) == (5, "")
    assert (other.code, other.out) == (2, "")
    assert canon.human.registrations() == []
    assert env_file(home).read_text() == "A=1\n"


@pytest.mark.parametrize("where", [{}, {"listener": "stream"}], ids=["both", "stream"])
@pytest.mark.parametrize("fault", ["health-wrong-environment", "health-wrong-project", "health-not-json"])
def test_an_environment_that_is_not_itself_gets_no_registration(
    program: Runner, home: Path, canon: CanonSandbox, fault: str, where: dict[str, str]
) -> None:
    """One sentence, no request, nothing saved; it is enough that the stream alone answers for another."""
    canon.fault(fault, **where)

    ran = program("setup", "canon", *registering(canon))

    url, option = f"{canon.endpoints.api}/healthz/", "--base-url"
    if where:
        url, option = f"{canon.endpoints.stream}/health", "--stream-url"
    assert (ran.code, ran.out) == (1, "")
    *_, error, fix = ran.err.splitlines()
    assert error.startswith("Error: ") and url in error
    assert fix == f"  fix: see from this machine what answers there: curl -sS {url}; another address: {option} URL"
    assert canon.human.registrations() == []
    assert list(home.iterdir()) == []


def test_the_other_environment_that_answers_is_named_in_the_fix(
    program: Runner, home: Path, canon: CanonSandbox
) -> None:
    """Somebody who gave a development server's address with the production environment reads which one it is."""
    ran = program("setup", "canon", *registering(canon), "--environment", "canon-prod-v1")

    assert ran.code == 1
    assert ran.err.splitlines()[-1] == (
        "  fix: --environment canon-dev-v1, which is what answers there; another address: --base-url URL"
    )
    assert list(home.iterdir()) == []


NOBODY = "http://127.0.0.1:9"


@pytest.mark.parametrize("option", ["--base-url", "--stream-url"])
def test_an_unreachable_canon_is_exit_3(program: Runner, home: Path, canon: CanonSandbox, option: str) -> None:
    """Nobody listens there: one sentence, nothing written; the fix is about that address and its option."""
    ran = program("setup", "canon", *registering(canon), option, NOBODY, "--timeout", "2")

    url = f"{NOBODY}/{'healthz/' if option == '--base-url' else 'health'}"
    assert (ran.code, ran.out) == (3, "")
    *_, error, fix = ran.err.splitlines()
    assert error.startswith(f"Error: No answer to GET {url}: no connection (")
    assert fix == f"  fix: see from this machine what answers there: curl -sS {url}; another address: {option} URL"
    assert canon.human.registrations() == []
    assert list(home.iterdir()) == []


def test_answers_are_saved_where_there_is_a_folder(program: Runner, home: Path, canon: CanonSandbox) -> None:
    """A mistyped path is refused before anybody is asked, and no folder is made for it."""
    ran = program("setup", "canon", *registering(canon), "--save-answers", str(home / "nope" / "answers.toml"))

    assert (ran.code, ran.out) == (3, "")
    assert f"{home / 'nope'} does not exist" in ran.err
    assert list(home.iterdir()) == []
    assert canon.human.registrations() == []


def test_answers_that_are_no_toml_name_their_line(program: Runner, home: Path) -> None:
    """The place and the cure."""
    (home / "answers.toml").write_text('way = "register"\nagent name = 3\n')

    ran = program("setup", "canon", "--answers", str(home / "answers.toml"), "--json")

    (error,) = ran.json["errors"]
    assert (ran.code, error["line"], error["column"]) == (2, 2, 7)
    assert error["fix"] == f"repair {home / 'answers.toml'}:2"
