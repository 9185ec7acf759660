"""Advice is about the home that the call was about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from canon_ops.hermes.aiming import aimed
from tests.unit.cli.conftest import Runner


@pytest.mark.parametrize(
    ("fix", "told"),
    [
        ("canon-ops history list", "canon-ops history list -A-"),
        ("canon-ops undo 2026   # the newer change first", "canon-ops undo 2026 -A-   # the newer change first"),
        ("canon-ops env lint && canon-ops env list", "canon-ops env lint -A- && canon-ops env list -A-"),
        ("canon-ops config get 'a;b|c' | head", "canon-ops config get 'a;b|c' -A- | head"),
        ("canon-ops config get a#b", "canon-ops config get a#b -A-"),
        ("canon-ops env set K --from-file <(pass show k)", "canon-ops env set K --from-file -A- <(pass show k)"),
        (
            "canon-ops setup canon   (it goes on with request 7)",
            "canon-ops setup canon -A-   (it goes on with request 7)",
        ),
        ("canon-ops verify --quarantine, or a backup", "canon-ops verify --quarantine -A-, or a backup"),
        ("canon-ops undo --profile other", "canon-ops undo --profile other"),
        ("canon-ops undo -p other", "canon-ops undo -p other"),
        ("canon-ops undo --hermes-home=/h", "canon-ops undo --hermes-home=/h"),
        ("ls -ld /h", "ls -ld /h"),
        ("edit the file, then canon-ops env lint", "edit the file, then canon-ops env lint"),
        ("approve it, then: canon-ops setup canon", "approve it, then: canon-ops setup canon -A-"),
        ("2 to look up: canon-ops approvals reconcile", "2 to look up: canon-ops approvals reconcile -A-"),
    ],
)
def test_each_command_of_ours_gets_the_aim_once(fix: str, told: str) -> None:
    """Behind its own words, before a comment or what the shell does with the answer."""
    assert aimed(fix, profile="work", hermes_home=None) == told.replace("-A-", "--profile work")
    assert aimed(fix, profile=None, hermes_home=Path("/a b")) == told.replace("-A-", "--hermes-home '/a b'")
    assert aimed(fix, profile=None, hermes_home=None) == fix


def test_the_advice_of_a_failure_works_where_it_is_pasted(program: Runner, home: Path) -> None:
    """For people and in the document; the lower floors know of no option."""
    folder = home / "other home"
    folder.mkdir()
    (folder / "SOUL.md").touch()

    told = program("undo", "--hermes-home", str(folder))
    document = program("history", "show", "1", "--hermes-home", str(folder), "--json")

    assert told.err.endswith(f"  fix: canon-ops history list --hermes-home '{folder}'\n")
    assert document.json["errors"][0]["fix"] == f"canon-ops history list --hermes-home '{folder}'"


@pytest.mark.parametrize("words", [("status",), ("doctor", "--only", "creds.present")], ids=["status", "doctor"])
def test_the_cure_of_a_finding_is_about_the_home_that_was_looked_at(
    words: tuple[str, ...], program: Runner, home: Path
) -> None:
    """A credential that is missing in one profile is not to be set up in another: on the screen and in the document."""
    work = home / ".hermes" / "profiles" / "work"
    work.mkdir(parents=True)
    (work / "config.yaml").write_text("plugins: {enabled: [canon-hermes]}\nplatforms: {canon: {enabled: true}}\n")
    cure = "canon-ops setup canon --profile work"

    shown, document = program(*words, "-p", "work"), program(*words, "-p", "work", "--json")

    assert f"\t{cure}\n" in shown.out
    assert cure in cures(document.json["data"])


@pytest.mark.parametrize("words", [("status",), ("doctor", "--only", "creds.present")], ids=["status", "doctor"])
def test_each_of_all_profiles_gets_its_own_cure(words: tuple[str, ...], program: Runner, home: Path) -> None:
    """The default profile's as it is, every other one's with its folder."""
    work = home / ".hermes" / "profiles" / "work"
    work.mkdir(parents=True)
    for folder in (home / ".hermes", work):
        text = "plugins: {enabled: [canon-hermes]}\nplatforms: {canon: {enabled: true}}\n"
        (folder / "config.yaml").write_text(text)

    told = cures(program(*words, "--all-profiles", "--json").json["data"])

    assert {f"canon-ops setup canon{aim}" for aim in ("", f" --hermes-home {work}")} <= set(told)


def cures(data: Any) -> list[str]:
    """Every cure in a document, whatever its form."""
    if isinstance(data, list):
        return [cure for one in data for cure in cures(one)]
    if not isinstance(data, dict):
        return []
    here = [data[name] for name in ("fix", "command") if isinstance(data.get(name), str)]
    return here + [cure for one in data.values() for cure in cures(one)]
