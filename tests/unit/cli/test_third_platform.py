"""A platform that is added to the table: every command that takes one knows it, and none answers with another's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from canon_ops.cli.commands import creds, install
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.operate import list_credentials, platform_setup

PROGRAM = """
import sys
from types import MappingProxyType
from canon_ops.hermes import platforms
third = platforms.PlatformNames(name="third", label="Third", plugin="third-hermes", package="third_hermes")
platforms.PLATFORMS = MappingProxyType({**platforms.PLATFORMS, "third": third})
from canon_ops.cli.main import run_as
sys.exit(run_as("canon-ops", "", sys.argv[1:]))
"""
KEY = "agk_live_aaaaaaaaaaaaaaaaaaaaaaaaaaaa"
Ran = subprocess.CompletedProcess[str]
Program = Callable[..., Ran]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Run ``canon-ops`` with a third row in the table, on a home where Canon and Borgee have their keys."""
    hermes = tmp_path / ".hermes"
    hermes.mkdir()
    (hermes / "config.yaml").write_text("plugins:\n  enabled: [third-hermes]\nborgee:\n  base_url: https://b.example\n")
    (hermes / ".env").write_text(
        f"CANON_API_KEY={KEY}\nCANON_ENVIRONMENT_ID=canon-dev-v1\nBORGEE_API_KEY=bgr_0123456789abcdef0123456789abcdef\n"
    )
    (hermes / ".env").chmod(0o600)
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "COLUMNS": "100"}

    def run(*words: str) -> Ran:
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, *words], env=environ, capture_output=True, text=True, check=False
        )

    return run


@pytest.mark.parametrize("command", ["install", "uninstall", "config list", "config recommend", "creds list"])
def test_a_command_that_takes_platforms_takes_it(program: Program, command: str) -> None:
    """The argument's name in the help has a word for each row of the table."""
    assert "[canon|borgee|third]…" in program(*command.split(), "--help").stdout


@pytest.mark.parametrize("command", ["creds test", "creds move", "creds remove"])
def test_an_option_that_takes_a_platform_takes_it(program: Program, command: str) -> None:
    """The option has the same words."""
    assert "--platform [canon|borgee|third]" in program(*command.split(), "--help").stdout


def test_its_keys_are_listed_and_nobody_elses(program: Program) -> None:
    """What Hermes reads of any platform is known of this one; asked for all, it is left out where nobody uses it."""
    named, every = program("config", "list", "third", "--all", "--json"), program("config", "list", "--all", "--json")

    listed = {row["key"]: row["platform"] for row in json.loads(named.stdout)["data"]["keys"]}
    assert listed["platforms.third.enabled"] == "third"
    assert listed["plugins.entries.third-hermes.settings"] == "third"
    assert set(listed.values()) == {"third", "hermes"}
    assert {row["platform"] for row in json.loads(every.stdout)["data"]["keys"]} == {"canon", "borgee", "hermes"}


def test_nothing_of_another_platform_is_recommended_for_it(program: Program) -> None:
    """Only what Hermes itself should say."""
    ran = program("config", "recommend", "third", "--dry-run", "--json")

    proposed = [row["path"] for row in json.loads(ran.stdout)["data"]["proposed"]]
    assert proposed
    assert not [path for path in proposed if "canon" in path or "borgee" in path]


def test_a_key_that_hermes_drops_is_named_with_its_own_path(program: Program) -> None:
    """No key of Canon or Borgee is offered instead."""
    ran = program("config", "set", "platforms.third.base_url", "https://t.example", "--dry-run")

    assert "platforms.third" in ran.stderr
    assert "borgee" not in ran.stderr
    assert "canon." not in ran.stderr


@pytest.mark.parametrize(
    "table",
    [
        creds._TESTS,
        creds._MOVES,
        creds._REMOVALS,
        install._SETUPS,
        list_credentials._LOOKS,
        platform_setup._LACKS,
    ],
    ids=["test", "move", "remove", "setup", "list", "status"],
)
def test_every_platform_has_its_row(table: Mapping[str, object]) -> None:
    """Each table by platforms has a row for each that this distribution brings."""
    assert list(table) == list(PLATFORMS)


@pytest.mark.parametrize(
    ("words", "deed"),
    [
        ("creds list third", "list a credential"),
        ("creds test --platform third", "test a key"),
        ("creds move --to file --platform third --yes", "move a key"),
        ("creds remove --platform third --yes", "remove a key"),
        ("install third --setup --skip-package --yes", "set up an agent"),
        ("install canon third --setup --skip-package --yes", "set up an agent"),
    ],
)
def test_without_a_row_it_is_refused_by_name(program: Program, tmp_path: Path, words: str, deed: str) -> None:
    """Nothing is done, nothing of another platform is shown, and the platform is named."""
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}

    ran = program(*words.split())

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.splitlines()[0].endswith(f"There is no way to {deed} for the platform third.")
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_a_canon_profile_goes_with_no_other_platform(program: Program) -> None:
    """The refusal names the one that was given."""
    ran = program("creds", "test", "--platform", "third", "--canon-profile", "ops")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert "--canon-profile and --platform third exclude each other." in ran.stderr


def test_a_list_of_all_says_whose_is_missing(program: Program) -> None:
    """What the others have is listed as ever, and the platform without a row is a problem by its name."""
    ran = program("creds", "list", "--json")

    document = json.loads(ran.stdout)
    assert {row["platform"] for row in document["data"]["credentials"]} == {"canon", "borgee"}
    assert [(one["code"], "third" in one["message"]) for one in document["errors"]] == [("refused", True)]
    assert ran.returncode == 1


def test_the_status_has_a_row_of_its_own(program: Program) -> None:
    """Canon's and Borgee's credentials do not count for it."""
    one, table = program("status", "--json"), program("status", "--all-profiles")

    (profile,) = json.loads(one.stdout)["data"]["profiles"]
    assert [(row["name"], row["plugin_enabled"]) for row in profile["platforms"]] == [
        ("canon", False),
        ("borgee", False),
        ("third", True),
    ]
    told = [row["message"] for row in profile["in_the_way"] if row["about"] == "credential"]
    assert told == ["There is no way to say whether an agent is set up for the platform third."]
    assert table.stdout.splitlines()[0].split("\t")[-1] == "enabled"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("setup third", "No such command: third. The commands of setup are canon and borgee."),
        ("host show --platform third", "'third' is not one of 'canon', 'borgee'."),
    ],
)
def test_what_has_no_place_for_it_says_what_it_has(program: Program, words: str, message: str) -> None:
    """A call that is wrong, and Canon is not meant instead."""
    ran = program(*words.split())

    assert (ran.returncode, ran.stdout) == (2, "")
    assert message in ran.stderr


def test_a_purge_takes_what_is_its_own(program: Program, tmp_path: Path) -> None:
    """The plugin leaves its list; no key, profile or block of Canon or Borgee goes with it."""
    ran = program("uninstall", "third", "--purge", "--skip-package", "--yes", "--json")

    data = json.loads(ran.stdout)["data"]
    assert (data["platform"], data["purged_profile"]) == ("third", None)
    assert [Path(file["path"]).name for file in data["files"]] == ["config.yaml"]
    assert "third" not in (tmp_path / ".hermes" / "config.yaml").read_text()
    assert "borgee:" in (tmp_path / ".hermes" / "config.yaml").read_text()
    assert "CANON_API_KEY" in (tmp_path / ".hermes" / ".env").read_text()
    assert "BORGEE_API_KEY" in (tmp_path / ".hermes" / ".env").read_text()


def test_the_log_is_asked_for_it(program: Program, tmp_path: Path) -> None:
    """Lines of another platform are left out."""
    folder = tmp_path / ".hermes" / "logs"
    folder.mkdir()
    (folder / "gateway.log").write_text(
        "2026-01-01 12:00:00,000 INFO canon_hermes_plugin: one\n2026-01-01 12:00:01,000 INFO third_hermes: two\n"
    )

    ran = program("logs", "--platform", "third")

    assert "two" in ran.stdout
    assert "one" not in ran.stdout
