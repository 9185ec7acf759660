"""``canon-ops install`` as a command, on the host that runs these tests. The work has its own tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hosts import THIS_HOST
from tests.unit.cli.conftest import Runner

pytestmark = pytest.mark.host


def test_a_plan_changes_nothing(program: Runner, home: Path) -> None:
    """The report names profile and files, the plan stands on stderr, the diff in the answer."""
    ran = program("install", "--dry-run", "--diff", "--skip-package")

    config, env = home / ".hermes" / "config.yaml", home / ".hermes" / ".env"
    assert ran.code == 0
    assert ran.out == (
        f"Hermes profile default: {config}, {env}\n"
        "Canon would be installed.\n"
        f"--- /dev/null\n+++ {config}\n@@ -0,0 +1,6 @@\n"
        "+plugins:\n+  enabled:\n+  - canon-hermes\n+platforms:\n+  canon:\n+    enabled: true\n"
        f"--- /dev/null\n+++ {env}\n@@ -0,0 +1 @@\n+CANON_ALLOW_ALL_USERS=true\n"
    )
    assert f"Hermes {THIS_HOST.hermes} on Python" in ran.err
    assert list(home.iterdir()) == []


def test_the_second_run_changes_nothing(program: Runner, home: Path) -> None:
    """The host's own loader confirms the first; the second says that there was nothing to do."""
    first, second = program("install"), program("install", "--json")

    assert first.code == 0
    assert first.out.splitlines()[1:] == ["Canon is installed.", "Hermes loads canon-hermes from its entrypoint."]
    assert second.code == 0
    assert (second.json["data"]["changed"], second.json["data"]["files"]) == (False, [])
    assert second.json["data"]["access"] == "kept"


def test_scripts_get_host_files_and_next_steps(program: Runner, home: Path) -> None:
    """The JSON document says what was found, what was written, and what is left to do."""
    data = program("install", "canon", "--skip-package", "--no-allow-all-users", "--json").json["data"]

    assert (data["platform"], data["access"], data["package"], data["setup"]) == ("canon", "open", None, None)
    assert (data["host"]["hermes_version"], data["host"]["found"]) == (THIS_HOST.hermes, "running")
    assert [(row["path"], row["created"]) for row in data["files"]] == [(str(home / ".hermes" / "config.yaml"), True)]
    assert data["next"] == ["canon-ops setup canon", "hermes gateway run"]
    assert data["history_id"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--allowed-users", " , "), 2, "--allowed-users names nobody."),
        (("--allowed-users", "a", "--allow-all-users"), 2, "Either everybody may start turns or a list of people"),
        (("--python", "/nonexistent"), 3, "There is no interpreter at /nonexistent."),
        (("other",), 2, "Invalid value for '[canon|borgee]…': 'other' is not one of 'canon', 'borgee'."),
        (("borgee", "--allow-all-users"), 2, "Borgee alone decides whom its agent hears"),
        (("canon", "borgee", "--if-unchanged", f"config.yaml={'0' * 64}"), 2, "--if-unchanged goes with one platform"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_refusal_has_its_code_and_writes_nothing(
    program: Runner, home: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    """One sentence on stderr, nothing on stdout, no file."""
    ran = program("install", "--skip-package", *words)

    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
    assert list(home.iterdir()) == []


def test_the_deny_list_is_left_only_with_consent(program: Runner, home: Path) -> None:
    """Without a person the plugin stays denied; --yes takes it off."""
    config = home / ".hermes" / "config.yaml"
    config.parent.mkdir()
    config.write_text("plugins:\n  disabled: [canon-hermes]  # not now\n")

    refused = program("install", "--skip-package")
    kept = config.read_text()
    done = program("install", "--skip-package", "--yes")

    assert (refused.code, refused.out) == (1, "")
    assert kept == "plugins:\n  disabled: [canon-hermes]  # not now\n"
    assert done.code == 0
    assert "disabled: []  # not now" in config.read_text()


def test_install_and_setup_in_one_go(program: Runner, home: Path) -> None:
    """--setup begins the dialogue after the installation; a damaged agents.json ends it before anybody is asked."""
    (home / ".canon").mkdir()
    (home / ".canon" / "agents.json").write_text("{")

    ran = program("install", "--setup", "--skip-package", name="canon-hermes")

    assert ran.code != 0
    assert str(home / ".canon" / "agents.json") in ran.err
    assert "canon-hermes" in (home / ".hermes" / "config.yaml").read_text()
    assert (home / ".canon" / "agents.json").read_text() == "{"
