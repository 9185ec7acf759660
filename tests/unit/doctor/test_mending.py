"""Carrying out repairs: one transaction, with consent, and what cannot be made safely holds nothing else up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from canon_ops.doctor.check import Check, Finding, Fix, Status
from canon_ops.doctor.mending import Mended, choose, mend
from canon_ops.doctor.repair import (
    AddToList,
    MakePrivate,
    RemoveFromList,
    Repair,
    SetConfig,
    SetVariable,
    UnsetConfig,
    UnsetVariable,
)
from canon_ops.doctor.run import Diagnosis, Verdict
from canon_ops.errors import ConflictError
from canon_ops.files.history import History
from canon_ops.hermes.homes import resolve_home
from canon_ops.operate.edit_config import ManagedHome
from canon_ops.operate.prompts import Unattended
from canon_ops.operate.writing import ConsentMissing, Writing

CONFIG = (
    "# mine\nplugins:\n  enabled: []   # none yet\nplatforms: &all\n  canon: {enabled: false}\nsame: *all\nold: 1\n"
)
ENV = "A=1\nB=2\n"


@pytest.fixture
def writing(tmp_path: Path) -> Writing:
    environ = {"HOME": str(tmp_path)}
    home = resolve_home(environ)
    home.path.mkdir()
    home.config_file.write_text(CONFIG)
    home.env_file.write_text(ENV)
    return Writing(home, environ, "doctor --fix")


def verdict(repair: Repair | None, status: Status = Status.ERROR, name: str = "a.check") -> Verdict:
    check = Check(name, "A title", "A question?", lambda _examination: ())
    return Verdict(check, Finding(status, f"{name} found something.", Fix("do this", repair)))


def carry_out(writing: Writing, *repairs: Repair, yes: bool = True) -> Mended:
    verdicts = [verdict(repair) for repair in repairs]
    return mend(writing, verdicts, Unattended(yes=yes))


def test_repairs_of_both_files_are_one_entry_of_the_history(writing: Writing) -> None:
    """Every kind of edit, each touching its own line; undo takes all of them back at once."""
    done = carry_out(
        writing,
        AddToList("plugins.enabled", "canon-hermes"),
        SetConfig("streaming.enabled", True),
        UnsetConfig("old"),
        SetVariable("A", "one"),
        UnsetVariable("B"),
    )

    home = writing.home
    assert home.config_file.read_text() == (
        "# mine\nplugins:\n  enabled: [canon-hermes]   # none yet\nplatforms: &all\n  canon: {enabled: false}\n"
        "same: *all\nstreaming:\n  enabled: true\n"
    )
    assert home.env_file.read_text() == "A=one\n"
    assert [one.id for one in History(home.path).records()] == [done.written.history_id]
    assert done.written.files == (home.config_file, home.env_file)


def test_what_is_right_already_is_no_change(writing: Writing) -> None:
    """A repair that finds its work done writes nothing and asks nobody."""
    done = carry_out(writing, RemoveFromList("plugins.enabled", "nobody"), SetVariable("A", "1"), yes=False)

    assert (done.written.files, done.written.history_id, len(done.done)) == ((), None, 2)


def test_a_dry_run_shows_and_writes_nothing(writing: Writing) -> None:
    """The diff is that of the deed, and nobody is asked."""
    plan = carry_out(replace(writing, dry_run=True), SetVariable("A", "one"), yes=False)

    assert (plan.dry_run, plan.written.history_id) == (True, None)
    assert "-A=[REDACTED]\n+A=[REDACTED 2]\n" in plan.written.diff
    assert writing.home.env_file.read_text() == ENV


def test_without_consent_nothing_happens(writing: Writing) -> None:
    """Exit 2, and the option that would have agreed."""
    with pytest.raises(ConsentMissing) as caught:
        carry_out(writing, SetVariable("A", "one"), yes=False)

    assert caught.value.fix == "add --yes"
    assert writing.home.env_file.read_text() == ENV


def test_an_edit_that_is_not_safe_holds_nothing_up(writing: Writing) -> None:
    """What an alias repeats is not edited; the reason is told, and the other repair is carried out."""
    done = carry_out(writing, SetConfig("same.canon.enabled", True), SetVariable("A", "one"))

    (refused,) = done.refused
    assert refused.error.code == "config_alias"
    assert len(done.done) == 1
    assert writing.home.config_file.read_text() == CONFIG
    assert writing.home.env_file.read_text() == "A=one\nB=2\n"


def test_a_managed_home_is_told_and_left(writing: Writing, tmp_path: Path) -> None:
    """Whoever manages the home has to change it; every repair says so."""
    home = resolve_home({"HOME": str(tmp_path), "HERMES_MANAGED": "nixos"})

    done = carry_out(replace(writing, home=home), SetVariable("A", "one"), MakePrivate(home.env_file))

    assert [type(one.error) for one in done.refused] == [ManagedHome, ManagedHome]
    assert (done.done, home.env_file.read_text()) == ((), ENV)


def test_a_file_is_taken_from_group_and_others(writing: Writing) -> None:
    """What the owner may do stays."""
    writing.home.env_file.chmod(0o664)

    done = carry_out(writing, MakePrivate(writing.home.env_file))

    assert writing.home.env_file.stat().st_mode & 0o777 == 0o600
    assert done.written.files == (writing.home.env_file,)


def test_a_file_that_cannot_be_taken_holds_nothing_up(writing: Writing, tmp_path: Path) -> None:
    """It is gone, or somebody else's: the edits are made, and it is told."""
    done = carry_out(writing, MakePrivate(tmp_path / "gone"), SetVariable("A", "one"))

    assert [type(one.error).__name__ for one in done.refused] == ["DiskError"]
    assert (len(done.done), writing.home.env_file.read_text()) == (1, "A=one\nB=2\n")
    assert done.written.files == (writing.home.env_file,)


def test_a_file_that_changed_meanwhile_is_left(writing: Writing) -> None:
    """What was shown is what is done, or nothing is."""

    class Meddler(Unattended):
        def confirm(self, *_question: object, **_more: object) -> bool:
            writing.home.env_file.write_text("A=somebody else's\n")
            return True

    with pytest.raises(ConflictError):
        mend(writing, [verdict(SetVariable("A", "one"))], Meddler())

    assert writing.home.env_file.read_text() == "A=somebody else's\n"


def test_what_is_mended_is_chosen_by_gravity() -> None:
    """Findings below the threshold, without a repair, and checks that found nothing are left out."""
    repair = SetVariable("A", "one")
    rows = [
        verdict(repair, Status.OK, "a.ok"),
        verdict(repair, Status.INFO, "a.info"),
        verdict(repair, Status.WARNING, "a.warning"),
        verdict(None, Status.ERROR, "a.by-hand"),
        verdict(repair, Status.ERROR, "a.error"),
        verdict(repair, Status.UNKNOWN, "a.unknown"),
    ]

    chosen = {least: [one.check.id for one in choose(Diagnosis(tuple(rows)), least)] for least in
              (Status.INFO, Status.WARNING, Status.ERROR)}  # fmt: skip

    assert chosen == {
        Status.INFO: ["a.info", "a.warning", "a.error"],
        Status.WARNING: ["a.warning", "a.error"],
        Status.ERROR: ["a.error"],
    }
