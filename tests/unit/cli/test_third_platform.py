"""A platform that is added to the table: every command that takes one knows it, and none answers with another's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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
