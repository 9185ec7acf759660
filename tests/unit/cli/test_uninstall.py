"""``canon-ops uninstall``, ``upgrade`` and ``rollback`` as commands, on the host that runs these tests."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Runner

pytestmark = pytest.mark.host

CONFIG = "# mine\nplugins: {enabled: [other]}\n"


@pytest.fixture
def files(home: Path) -> tuple[Path, Path]:
    """config.yaml of somebody's own, and the place of .env, which is not there."""
    folder = home / ".hermes"
    folder.mkdir()
    (folder / "config.yaml").write_text(CONFIG)
    return folder / "config.yaml", folder / ".env"


def test_what_install_wrote_is_gone(program: Runner, files: tuple[Path, Path]) -> None:
    """The first line names profile and files, the diff stands in the answer, the bytes are the old ones."""
    config, env = files
    program("install", "--skip-package")
    written = config.read_text()

    plan = program("uninstall", "--dry-run", "--diff")
    unchanged = config.read_text()
    done = program("uninstall", "--yes")

    assert (plan.code, unchanged) == (0, written)
    assert plan.out.splitlines()[:2] == [f"Hermes profile default: {config}, {env}", "Canon would be uninstalled."]
    assert "-CANON_ALLOW_ALL_USERS=true\n" in plan.out
    assert done.out.splitlines()[1] == "Canon is uninstalled."
    assert (config.read_text(), env.exists()) == (CONFIG, False)


@pytest.mark.parametrize("back", ["uninstall", "rollback"])
def test_a_history_that_forgets_takes_nothing_from_the_way_back(
    program: Runner, files: tuple[Path, Path], back: str
) -> None:
    """The entry of the installation is long gone; the bytes come back nevertheless."""
    config, env = files
    program("preferences", "set", "history.entries", "1")
    program("install", "--skip-package")
    for number in range(4):
        program("config", "set", "streaming.edit_interval", str(number))
    program("config", "unset", "streaming.edit_interval")
    program("config", "unset", "streaming")
    commands = [each["command"] for each in program("history", "list", "--json").json["data"]["changes"]]

    done = program(back, "--yes", "--skip-package")

    assert not any(command.startswith("install") for command in commands)
    assert (done.code, config.read_text(), env.exists()) == (0, CONFIG, False)


def test_a_second_uninstall_finds_nothing(program: Runner, files: tuple[Path, Path]) -> None:
    """Exit 0, nothing changed, also for scripts."""
    data = program("uninstall", "--json").json["data"]

    assert (data["changed"], data["files"], data["removed"], data["history_id"]) == (False, [], [], None)


def test_uninstall_holds_to_the_digest(program: Runner, files: tuple[Path, Path]) -> None:
    """--if-unchanged with another digest is exit 5, and nothing is written."""
    config, _ = files
    program("install", "--skip-package")
    written = config.read_bytes()
    right = hashlib.sha256(written).hexdigest()

    refused = program("uninstall", "--if-unchanged", f"config.yaml={'0' * 64}")
    kept = config.read_bytes()
    done = program("uninstall", "--yes", "--if-unchanged", f"config.yaml={right}")

    assert (refused.code, kept) == (5, written)
    assert (done.code, config.read_text()) == (0, CONFIG)


@pytest.mark.parametrize("call", [("uninstall",), ("uninstall", "--no-input"), ("uninstall", "--purge"), ("rollback",)])
def test_taking_back_wants_a_word(call: tuple[str, ...], program: Runner, files: tuple[Path, Path]) -> None:
    """A missing answer is no yes: without a person --yes is needed, and said; nothing has changed."""
    config, env = files
    program("install", "--skip-package")
    written = (config.read_bytes(), env.read_bytes())

    refused = program(*call)
    told = program(*call, "--json").json

    assert (refused.code, refused.err.splitlines()[-1]) == (2, "  fix: add --yes")
    assert (told["exit_code"], told["errors"][0]["code"]) == (2, "consent_missing")
    assert (config.read_bytes(), env.read_bytes()) == written


def test_purging_takes_the_platforms_variables(program: Runner, files: tuple[Path, Path]) -> None:
    """They go, others stay."""
    _, env = files
    env.write_text("OTHER=1\nCANON_AGENT=ops\n")

    done = program("uninstall", "--purge", "--yes")

    assert (done.code, env.read_text()) == (0, "OTHER=1\n")


def test_rollback_takes_the_newest_run_back(program: Runner, files: tuple[Path, Path]) -> None:
    """One run at a time; with none left it is exit 1 with a sentence."""
    config, env = files
    program("install", "--skip-package", "--no-allow-all-users")
    first = config.read_text()
    program("install", "--skip-package", "--allowed-users", "u1")

    back = program("rollback", "--yes", "--json")
    between = (config.read_text(), env.exists())
    program("rollback", "--yes")
    last = program("rollback", "--yes", "--json")

    assert back.json["data"]["before"] == "install canon"
    assert between == (first, False)
    assert config.read_text() == CONFIG
    assert (last.code, last.json["errors"][0]["code"]) == (1, "nothing_to_roll_back")


def test_upgrade_leaves_a_developers_installation_alone(program: Runner, files: tuple[Path, Path]) -> None:
    """What canon-ops runs from stays unless a source is named; every profile that enables it has its entry."""
    config, _ = files
    config.write_text("plugins: {enabled: [canon-hermes]}\nplatforms: {canon: {enabled: true}}\n")
    work = config.parent / "profiles" / "work"
    work.mkdir(parents=True)
    (work / "config.yaml").write_text(config.read_text())

    data = program("upgrade", "--all-profiles", "--json").json["data"]

    assert [(row["hermes_profile"], row["package"]["step"], row["changed"]) for row in data["profiles"]] == [
        ("default", "kept", False),
        ("work", "kept", False),
    ]
    assert data["changed"] is False
