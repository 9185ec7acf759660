"""``canon-ops env`` as a command: one line changes, nothing secret is shown, and the three readers agree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import dotenv
import pytest

from canon_ops.files.dotenv_readers import hermes_values
from canon_ops.files.history import History
from tests.support.canon_homes import OTHER_KEY, User, user_at
from tests.unit.cli.conftest import Runner

KEY = "canary-0123456789-abcdefghij"  # no shape by which anybody could tell that it is a key


@pytest.fixture
def user(home: Path) -> User:
    return user_at(home)


def pretend_gateway(user: User) -> int:
    """The state file of a gateway that runs: this very process stands in for it."""
    state = {"pid": os.getpid(), "gateway_state": "running", "kind": "hermes-gateway", "argv": ["hermes", "gateway"]}
    (user.hermes / "gateway_state.json").write_text(json.dumps(state))
    return os.getpid()


class TestSet:
    """One line changes."""

    def test_every_other_byte_stays(self, program: Runner, user: User) -> None:
        """BR-21, BR-22: the last copy is edited, its prefix stays, the earlier one is reported and left alone."""
        user.write_env("# mine\nCANON_AGENT=a\nTZ=x # note\nexport CANON_AGENT='b'\n\n")

        ran = program("env", "set", "CANON_AGENT", "desk", "--json")

        assert user.env_file.read_text() == "# mine\nCANON_AGENT=a\nTZ=x # note\nexport CANON_AGENT='desk'\n\n"
        assert (ran.code, ran.json["data"]["duplicates"]) == (0, [2])
        assert (ran.json["data"]["before"], ran.json["data"]["after"]) == ("b", "desk")

    def test_a_new_file_is_private(self, program: Runner, user: User) -> None:
        """And the report names profile and file first."""
        ran = program("env", "set", "CANON_AGENT", "desk")

        assert user.env_file.read_text() == "CANON_AGENT=desk\n"
        assert user.env_file.stat().st_mode & 0o777 == 0o600
        assert ran.out == f"Hermes profile default: {user.env_file}\nSet CANON_AGENT=desk.\n"

    def test_no_change_leaves_the_file_alone(self, program: Runner, user: User) -> None:
        """Bytes and time stay, and the report says so."""
        user.write_env("CANON_AGENT=desk\n")
        before = user.env_file.stat().st_mtime_ns

        ran = program("env", "set", "CANON_AGENT", "desk")

        assert ran.out == "Hermes profile default: no file changes\nCANON_AGENT has that value already.\n"
        assert user.env_file.stat().st_mtime_ns == before

    @pytest.mark.parametrize("way", ["--stdin", "--from-file", "--from-env", "prompt"])
    def test_a_secret_comes_from_elsewhere(
        self, program: Runner, user: User, monkeypatch: pytest.MonkeyPatch, way: str
    ) -> None:
        """BR-56: stdin, a file or a variable; without a terminal the missing answer names them."""
        (user.home / "key").write_text(f"{KEY}\n")
        monkeypatch.setenv("SPARE", KEY)
        argument = {"--from-file": [str(user.home / "key")], "--from-env": ["SPARE"]}.get(way, [])

        ran = program("env", "set", "BORGEE_API_KEY", *([] if way == "prompt" else [way]), *argument, stdin=f"{KEY}\n")

        assert KEY not in ran.out + ran.err
        if way == "prompt":
            assert ran.code == 2
            assert "fix: add --stdin, --from-file FILE or --from-env NAME" in ran.err
        else:
            assert user.env_file.read_text() == f"BORGEE_API_KEY={KEY}\n"

    def test_a_password_in_a_url_is_a_secret(self, program: Runner, user: User) -> None:
        """For every command of the group, whatever the variable is called."""
        url = "postgres://u:hunter2@db/x"
        refused = program("env", "set", "DATABASE_URL", url)
        done = program("env", "set", "DATABASE_URL", "--stdin", "--diff", stdin=f"{url}\n")
        base = program("env", "set", "CANON_BASE_URL", "--stdin", stdin="https://u:hunter2@h\n")
        ran = [
            program("env", "get", "DATABASE_URL"),
            program("env", "get", "DATABASE_URL", "--json"),
            program("env", "list"),
            program("env", "list", "--json"),
            program("env", "unset", "CANON_BASE_URL", "--dry-run", "--diff", "--json"),
        ]

        assert (refused.code, done.code, base.code, ran[0].code) == (2, 0, 0, 1)
        assert not any("hunter2" in each.out + each.err for each in (refused, done, base, *ran))
        assert program("env", "get", "DATABASE_URL", "--reveal", "--yes").out == f"{url}\n"

    def test_a_file_that_is_not_utf8_is_told(self, program: Runner, user: User) -> None:
        """With the command that converts it in its place."""
        user.env_file.parent.mkdir(exist_ok=True)
        user.env_file.write_bytes("NAME=caf\xe9\n".encode("latin-1"))
        user.env_file.chmod(0o600)

        ran = program("env", "set", "CANON_AGENT", "desk")

        assert ran.code == 0
        assert "The file is not UTF-8: the gateway reads it as Latin-1" in ran.out
        told = next(line for line in ran.out.splitlines() if "not UTF-8" in line)
        cure = told.partition("replaces such characters: ")[2]
        subprocess.run(["sh", "-c", cure], check=True)
        assert user.env_file.read_text("utf-8") == "NAME=caf\xe9\nCANON_AGENT=desk\n"
        assert user.env_file.stat().st_mode & 0o077 == 0

    @pytest.mark.parametrize("name", ["CANON_API_KEY", "GITHUB_TOKEN", "SSH_PRIVATE_KEY", "GITHUB_PAT", "DB_PASS"])
    def test_a_secret_is_never_an_argument(self, program: Runner, user: User, name: str) -> None:
        """BR-56: it is refused, and nothing is written."""
        ran = program("env", "set", name, KEY)

        assert ran.code == 2
        assert f"fix: canon-ops env set {name}   # or --stdin" in ran.err
        assert not user.env_file.exists()

    @pytest.mark.parametrize(
        ("arguments", "code", "sentence"),
        [
            (("PATH", "/x"), 1, "Hermes refuses PATH in .env"),
            (("HERMES_HOME", "/x"), 1, "Hermes refuses HERMES_HOME in .env"),
            (("1A", "x"), 2, "'1A' is not a name for a variable"),
            (("CANON_ALLOW_ALL_USERS", "maybe"), 2, "CANON_ALLOW_ALL_USERS must be true or false; 'maybe' is not"),
            (("CANON_TURN_VERBOSITY", "loud"), 2, "CANON_TURN_VERBOSITY cannot be 'loud'; allowed are auto"),
            (("A", "\udcff"), 2, "VALUE holds bytes that are no UTF-8"),
            (("A\udcff", "x"), 2, "NAME holds bytes that are no UTF-8"),
            (("A", "two\nlines"), 1, "The value for A holds a line break"),
            (("A", "x", "--stdin"), 2, "The value is given twice"),
            (("A", "--stdin", "--from-env", "B"), 2, "Give one of --stdin, --from-file and --from-env"),
            (("A", "--from-env", "NOT_SET"), 2, "There is no value in NOT_SET"),
            (("A", "x", "--readers", "fish"), 2, "There is no reader 'fish'"),
            (("A", "x", "--readers", "shell"), 2, "The gateway itself reads with dotenv"),
            (("A", 'it\'s $HOME "now"'), 1, "a shell would read something else"),
        ],
    )
    def test_what_is_refused(
        self, program: Runner, user: User, arguments: tuple[str, ...], code: int, sentence: str
    ) -> None:
        """With its exit code, a cure, and an untouched home."""
        ran = program("env", "set", *arguments, stdin="from stdin")

        assert (ran.code, ran.out) == (code, "")
        assert sentence in ran.err
        assert "fix: " in ran.err
        assert not user.env_file.exists()

    def test_the_shell_may_be_waived(self, program: Runner, user: User) -> None:
        """C5: what no quoting carries to all three may be written for the two that matter."""
        ran = program("env", "set", "A", 'it\'s $HOME "now"', "--readers", "hermes,dotenv")

        assert ran.code == 0
        assert dotenv.dotenv_values(user.env_file)["A"] == 'it\'s $HOME "now"'

    @pytest.mark.parametrize(
        "value", ["bgr_a#b", "bgr a # b", r"C:\keys\x", "it's", 'say "hi"', "", "trailing ", "é 😀", "$HOME", "a=b"]
    )
    def test_three_readers_agree(self, program: Runner, user: User, value: str) -> None:
        """BR-23: python-dotenv, Hermes' own parser and a shell read what was set."""
        assert program("env", "set", "V", "--", value).code == 0

        text = user.env_file.read_text()
        shell = subprocess.run(
            ["sh", "-c", f'set -a; . "{user.env_file}"; printf %s "$V"'], capture_output=True, check=True
        )
        assert dotenv.dotenv_values(user.env_file, interpolate=True)["V"] == value
        assert hermes_values(text)["V"] == value
        assert shell.stdout.decode() == value

    def test_a_plan_writes_nothing(self, program: Runner, user: User) -> None:
        """--dry-run --diff: the change is shown, the home is untouched."""
        user.write_env(f"OPENAI_API_KEY={OTHER_KEY}\nCANON_AGENT=a")

        ran = program("env", "set", "CANON_AGENT", "desk", "--dry-run", "--diff")

        assert user.env_file.read_text() == f"OPENAI_API_KEY={OTHER_KEY}\nCANON_AGENT=a"
        assert ran.out.splitlines()[1:] == [
            "Would set CANON_AGENT=desk.",
            f"--- {user.env_file}",
            f"+++ {user.env_file}",
            "@@ -2 +2 @@",
            "-CANON_AGENT=a",
            "+CANON_AGENT=desk",
        ]
        assert not (user.hermes / ".canon-ops").exists()

    def test_another_digest_is_exit_5(self, program: Runner, user: User) -> None:
        """--if-unchanged."""
        user.write_env("A=1\n")

        ran = program("env", "set", "A", "2", "--if-unchanged", "0" * 64)

        assert (ran.code, user.env_file.read_text()) == (5, "A=1\n")

    def test_a_managed_home_and_a_pinned_variable_are_refused(
        self, program: Runner, user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each names who decides."""
        folder = tmp_path / "policy"
        folder.mkdir()
        (folder / ".env").write_text("CANON_AGENT=pinned\n")
        monkeypatch.setenv("HERMES_MANAGED_DIR", str(folder))

        pinned = program("env", "set", "CANON_AGENT", "desk")
        removed = program("env", "unset", "CANON_AGENT")
        monkeypatch.setenv("HERMES_MANAGED", "nixos")
        managed = program("env", "set", "TZ", "UTC")

        assert [ran.code for ran in (pinned, removed, managed)] == [1, 1, 1]
        assert f"decides about CANON_AGENT, in {folder / '.env'}" in pinned.err
        assert "is managed by NixOS" in managed.err
        assert not user.env_file.exists()

    def test_a_gateway_that_runs_is_told(self, program: Runner, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
        """BR-31: with pid and the command to paste; a shell that exports another value is told, too."""
        pid = pretend_gateway(user)
        monkeypatch.setenv("CANON_AGENT", "older")

        ran = program("env", "set", "CANON_AGENT", "desk")
        again = program("env", "set", "CANON_AGENT", "desk")

        assert "This shell exports another CANON_AGENT: the gateway takes the one in .env" in ran.out
        assert f"A gateway runs (pid {pid}" in ran.out
        assert "on what was before: stop it where it runs (Ctrl-C), then start it there: hermes gateway run" in ran.out
        assert "A gateway runs" not in again.out

    def test_undo_has_what_it_needs_and_the_label_no_value(self, program: Runner, user: User) -> None:
        """The history names the command, never the secret."""
        program("env", "set", "CANON_API_KEY", "--stdin", stdin=KEY)

        (record,) = History(user.hermes).records()
        assert record.label == "env set CANON_API_KEY"

    def test_a_near_miss_is_hinted_at(self, program: Runner, user: User) -> None:
        """And taken all the same."""
        ran = program("env", "set", "CANON_AGENTS", "desk")

        assert (ran.code, ran.err) == (0, "Hint: CANON_AGENTS is not a known variable; CANON_AGENT is.\n")


class TestUnset:
    """Every line of a name goes."""

    def test_no_earlier_line_comes_back(self, program: Runner, user: User) -> None:
        """All assignments go, comments stay."""
        user.write_env("A=1\n# A=0\nB=2\nexport A=3\n")

        ran = program("env", "unset", "A")

        assert user.env_file.read_text() == "# A=0\nB=2\n"
        assert ran.out.endswith("Removed A.\n")

    def test_what_is_not_there_is_no_failure(
        self, program: Runner, user: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Unless the shell still exports it, nothing is left to say."""
        monkeypatch.setenv("CANON_AGENT", "ops")

        ran = program("env", "unset", "CANON_AGENT")

        assert ran.code == 0
        assert ran.out.splitlines()[1:] == [
            "CANON_AGENT is not set there.",
            "This shell exports CANON_AGENT: a gateway that is started from it still has that value.",
        ]


class TestLooking:
    """``env list`` and ``env get``."""

    ENV = f"CANON_AGENT=ops\nexport OPENAI_API_KEY='{OTHER_KEY}'\nTZ=UTC\nCANON_AGENT=desk\nEMPTY=\nBARE\n"

    def test_the_list_masks_and_says_where_from(
        self, program: Runner, user: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Known public values only; the file beats the process, and both places are named."""
        user.write_env(self.ENV)
        monkeypatch.setenv("CANON_AGENT", "shell")
        monkeypatch.setenv("CANON_HOME_CHANNEL", "c1")

        ran = program("env", "list")

        file = user.env_file
        assert [line.split("\t") for line in ran.out.splitlines()] == [
            ["CANON_AGENT", "desk", f"{file}, line 4", f"{file}, line 1, the process environment"],
            ["OPENAI_API_KEY", "[REDACTED]", f"{file}, line 2", ""],
            ["TZ", "[REDACTED]", f"{file}, line 3", ""],
            ["EMPTY", "", f"{file}, line 5", ""],
            ["CANON_HOME_CHANNEL", "c1", "the process environment", ""],
        ]

    def test_a_terminal_sees_last_characters_and_json_none(self, program: Runner, user: User) -> None:
        """The rule for every secret."""
        user.write_env(self.ENV)

        ran, document = program("env", "list", terminal=True), program("env", "list", "--json")

        assert f"…{OTHER_KEY[-4:]}" in ran.out
        assert OTHER_KEY[-5:] not in ran.out + document.out
        (key,) = [each for each in document.json["data"]["variables"] if each["name"] == "OPENAI_API_KEY"]
        assert (key["value"], key["masked"], key["place"]["line"]) == (None, True, 2)

    def test_all_adds_what_has_a_default(self, program: Runner, user: User) -> None:
        """With "default" as its place."""
        ran = program("env", "list", "--all")

        assert "CANON_TURN_VERBOSITY\tauto\tdefault\t\n" in ran.out
        assert program("env", "list").out == ""

    def test_the_administrators_value_wins(
        self, program: Runner, user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Over the home's own, which is named as hidden."""
        user.write_env("CANON_AGENT=desk\n")
        (tmp_path / "policy").mkdir()
        (tmp_path / "policy" / ".env").write_text("CANON_AGENT='pinned'\n")
        monkeypatch.setenv("HERMES_MANAGED_DIR", str(tmp_path / "policy"))

        data = program("env", "get", "CANON_AGENT", "--json").json["data"]

        assert (data["value"], data["place"]["source"], data["hides"][0]["line"]) == ("pinned", "managed", 1)

    def test_a_value_is_printed_as_the_gateway_reads_it(self, program: Runner, user: User) -> None:
        """References filled in, escapes resolved, the last line."""
        user.write_env('A=x\nB="${A}\\ty" # note\n')

        assert program("env", "get", "B", "--reveal", "--yes").out == "x\ty\n"

    def test_absence_is_exit_1(self, program: Runner, user: User) -> None:
        """With a document under --json; a name without = sets nothing."""
        user.write_env("BARE\n")

        ran = program("env", "get", "BARE", "--json")

        assert (ran.code, ran.json["data"]["found"], ran.json["errors"][0]["code"]) == (1, False, "env_absent")

    def test_what_cannot_be_set_is_not_advised(self, program: Runner, user: User) -> None:
        """The fix of an absent name that no variable may have is the rule for names."""
        fix = program("env", "get", "A-B", "--json").json["errors"][0]["fix"]

        assert fix == "letters, digits and _, not beginning with a digit"

    def test_a_secret_does_not_leave_by_itself(self, program: Runner, user: User) -> None:
        """A pipe gets a refusal and no mark that a script would take for the key; a terminal the last characters."""
        user.write_env(f"CANON_API_KEY={KEY}\n")

        piped, terminal = program("env", "get", "CANON_API_KEY"), program("env", "get", "CANON_API_KEY", terminal=True)

        assert (piped.code, piped.out) == (1, "")
        assert "fix: canon-ops env get CANON_API_KEY --reveal --yes" in piped.err
        assert terminal.out == f"…{KEY[-4:]}\n"

    def test_revealing_is_asked_for(self, program: Runner, user: User) -> None:
        """At a terminal by --reveal, into a pipe by --yes besides, into JSON never."""
        user.write_env(f"CANON_API_KEY={KEY}\n")
        call = ("env", "get", "CANON_API_KEY", "--reveal")

        assert program(*call, terminal=True).out == f"{KEY}\n"
        assert program(*call, "--yes").out == f"{KEY}\n"
        assert (program(*call).code, program(*call).out) == (1, "")
        assert program(*call, "--json", "--yes").code == 2
        assert KEY not in program(*call, "--json", "--yes").out


# A name, a value that it may have, and whether that is shown.
NAMES = [
    pytest.param("CANON_AGENT", "desk-0123456789", True, id="known"),
    pytest.param("CANON_BASE_URL", "https://u:hunter2-0123@h", False, id="known, with a password in it"),
    pytest.param("CANON_API_KEY", KEY, False, id="known secret"),
    pytest.param("GITHUB_TOKEN", KEY, False, id="secret by its name"),
    pytest.param("DATABASE_URL", "postgres://u:hunter2-0123@db", False, id="unknown, with a password in it"),
    pytest.param("MY_VALUE", KEY, False, id="unknown"),
    pytest.param("TZ", "Europe/Paris-0123", False, id="unknown here, though no secret"),
    pytest.param("CANON_AGENTS", KEY, False, id="misspelt"),
]


@pytest.mark.parametrize(("name", "value", "is_shown"), NAMES)
def test_one_rule_says_whose_value_is_shown(name: str, value: str, is_shown: bool, program: Runner, user: User) -> None:
    """In a list, alone, as the old and the new value of an edit, in its difference, and in the history."""
    user.write_env(f"{name}={value}\n")
    looks = [("list",), ("get", name), ("unset", name, "--dry-run", "--diff")]
    told = [program("env", *look, *form) for look in looks for form in ((), ("--json",))]
    told += [program("env", "set", name, "--stdin", "--diff", *form, stdin="else") for form in (("--json",), ())]
    told.append(program("history", "show", told[-2].json["data"]["history_id"]))

    saying = [value in ran.out + ran.err for ran in told]
    assert saying == [is_shown] * 6 + [is_shown, False, is_shown], told  # the second edit changes nothing any more
    edited = told[-3].json["data"]
    assert [edited["masked"], edited["before"] is None, edited["after"] is None] == [not is_shown] * 3
    if not is_shown:
        assert program("env", "get", name, "--reveal", "--yes").out == "else\n"
        assert told[1].json["data"]["variables"][0]["value"] is None


def test_an_unknown_variable_is_not_called_a_secret(program: Runner, user: User) -> None:
    """Why it is not shown, and what shows it, in a pipe and at a terminal."""
    user.write_env("TZ=Europe/Paris\n")

    piped, shown = program("env", "get", "TZ"), program("env", "get", "TZ", terminal=True)

    assert (piped.code, piped.out) == (1, "")
    assert "The variable TZ is not known here: its value may be secret, and this is no terminal." in (
        piped.err.replace("\n       ", " ")
    )
    assert "fix: canon-ops env get TZ --reveal --yes" in piped.err
    assert shown.code == 0 and "Paris" not in shown.out
    assert "canon-ops env get TZ --reveal" in shown.err


class TestLint:
    """What is odd, and what may be put right without asking."""

    ENV = "CANON_AGENT: desk\nA=1\nKEY\nB=x # note\nA=2\nC=\"open\nit''s\n"

    def test_a_plan_says_that_it_is_one(self, program: Runner, user: User) -> None:
        """A dry run has changed nothing, up to its last line."""
        user.write_env("A=1\nA=2\n")

        planned, done = program("env", "lint", "--fix", "--dry-run"), program("env", "lint", "--fix")

        assert "Every line of .env would be read alike" in planned.out
        assert "Every line of .env is read alike" in done.out

    def test_each_oddity_is_a_line(self, program: Runner, user: User) -> None:
        """BR-28: with its number and its cure, exit 1, and nothing written."""
        user.write_env(self.ENV)

        ran = program("env", "lint", "--json")

        found = [(each["line"], each["code"]) for each in ran.json["data"]["problems"]]
        assert (1, "env_not_assignment") in found
        assert (2, "env_duplicate") in found
        assert (3, "env_not_assignment") in found
        assert (4, "env_readers") in found
        assert ran.code == 1
        assert user.env_file.read_text() == self.ENV

    def test_fixing_keeps_every_value(self, program: Runner, user: User) -> None:
        """BR-21: copies go after they were shown, every value stays, the rest is left to people."""
        user.write_env(self.ENV)
        before = dict(dotenv.dotenv_values(user.env_file))

        plan = program("env", "lint", "--fix", "--dry-run", "--diff", "--json")
        assert user.env_file.read_text() == self.ENV
        ran = program("env", "lint", "--fix", "--json")

        assert [each["code"] for each in ran.json["data"]["fixed"]] == ["env_duplicate", "env_readers"]
        assert plan.json["data"]["fixed"] == ran.json["data"]["fixed"]
        assert ran.code == 1
        assert dict(dotenv.dotenv_values(user.env_file)) == before
        assert "A=1\n" not in user.env_file.read_text()

    def test_a_clean_file_is_exit_0(self, program: Runner, user: User) -> None:
        """Said in a sentence; so is a missing one."""
        ran = program("env", "lint")

        assert (ran.code, ran.err) == (0, "")

    def test_an_encoding_without_lines_is_refused(self, program: Runner, user: User) -> None:
        """With the command that converts it."""
        user.env_file.write_bytes("A=1\n".encode("utf-16"))

        for call in (("lint",), ("list",), ("get", "A"), ("set", "A", "1"), ("unset", "A")):
            ran = program("env", *call)
            assert ran.code == 1
            assert "fix: (umask 077; iconv -f UTF-16 " in ran.err


def test_another_hermes_profile_is_meant_by_its_name(program: Runner, user: User) -> None:
    """BR-37: its file changes, the default one's does not."""
    (user.hermes / "profiles" / "work").mkdir(parents=True)

    ran = program("env", "set", "TZ", "UTC", "--profile", "work")

    assert (user.hermes / "profiles" / "work" / ".env").read_text() == "TZ=UTC\n"
    assert ran.out.startswith(f"Hermes profile work: {user.hermes / 'profiles' / 'work' / '.env'}\n")
    assert not user.env_file.exists()


@pytest.mark.host
def test_the_host_reads_what_was_set(program: Runner, user: User) -> None:
    """The gateway's own loader and Hermes' own parser give the value back."""
    value = 'C:\\keys\\x # "it is"'
    program("env", "set", "MY_VALUE", value)
    script = (
        "import os; from hermes_cli.config import load_env; from hermes_cli.env_loader import load_hermes_dotenv; "
        "load_hermes_dotenv(); print(repr([os.environ['MY_VALUE'], load_env()['MY_VALUE']]))"
    )

    ran = subprocess.run(
        [sys.executable, "-c", script],
        env={"HOME": str(user.home), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )

    assert ran.stdout.strip() == repr([value, value])


@pytest.mark.parametrize(
    "words",
    [
        ("config", "set", "streaming.enabled", "true"),
        ("config", "unset", "streaming.transport"),
        ("config", "add", "plugins.enabled", "other"),
        ("config", "recommend", "canon", "--yes"),
        ("env", "unset", "TZ"),
        ("undo", "--yes"),
    ],
    ids=" ".join,
)
def test_every_editor_tells_a_running_gateway(words: tuple[str, ...], program: Runner, user: User) -> None:
    """BR-31: whoever changes what a gateway has read says so, with what restarts it; a rehearsal does not."""
    user.write_env("TZ=UTC\n")
    (user.hermes / "config.yaml").write_text("streaming:\n  transport: edit\nplugins:\n  enabled: []\n")
    program("env", "set", "CANON_AGENT", "desk")
    pid = pretend_gateway(user)

    planned, done = program(*words, "--dry-run"), program(*words)

    assert (planned.code, done.code) == (0, 0), done.err
    assert f"A gateway runs (pid {pid}" in done.out
    assert "A gateway runs" not in planned.out
