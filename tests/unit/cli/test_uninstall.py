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
    done = program("uninstall")

    assert (plan.code, unchanged) == (0, written)
    assert plan.out.splitlines()[:2] == [f"Hermes profile default: {config}, {env}", "Canon would be uninstalled."]
    assert "-CANON_ALLOW_ALL_USERS=true\n" in plan.out
    assert done.out.splitlines()[1] == "Canon is uninstalled."
    assert (config.read_text(), env.exists()) == (CONFIG, False)


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
    done = program("uninstall", "--if-unchanged", f"config.yaml={right}")

    assert (refused.code, kept) == (5, written)
    assert (done.code, config.read_text()) == (0, CONFIG)


def test_purging_wants_a_word(program: Runner, files: tuple[Path, Path]) -> None:
    """Without a person --purge needs --yes."""
    _, env = files
    env.write_text("OTHER=1\nCANON_AGENT=ops\n")

    refused = program("uninstall", "--purge", "--json")
    kept = env.read_text()
    done = program("uninstall", "--purge", "--yes")

    assert (refused.code, refused.json["errors"][0]["code"]) == (1, "not_confirmed")
    assert kept == "OTHER=1\nCANON_AGENT=ops\n"
    assert (done.code, env.read_text()) == (0, "OTHER=1\n")


def test_rollback_takes_the_newest_run_back(program: Runner, files: tuple[Path, Path]) -> None:
    """One run at a time; with none left it is exit 1 with a sentence."""
    config, env = files
    program("install", "--skip-package", "--no-allow-all-users")
    first = config.read_text()
    program("install", "--skip-package", "--allowed-users", "u1")

    back = program("rollback", "--json")
    between = (config.read_text(), env.exists())
    program("rollback")
    last = program("rollback", "--json")

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
