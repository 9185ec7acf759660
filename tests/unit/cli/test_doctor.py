"""``canon-ops doctor`` as a command: what is asked, how it is shown, and with which exit code.

The checks have their own tests; here they are only arranged.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.cli.commands.doctor import _report, _summary
from canon_ops.cli.plain import render as render_plain
from canon_ops.cli.terminal import Canvas, render
from canon_ops.doctor.check import Check, Finding, Fix, Status
from canon_ops.doctor.registry import CHECKS
from canon_ops.doctor.run import Diagnosis, Verdict
from tests.unit.cli.conftest import Runner


def verdict(name: str, status: Status, message: str, fix: str | None = None) -> Verdict:
    check = Check(name, "A title", "A question?", lambda _examination: ())
    return Verdict(check, Finding(status, message, fix=Fix(fix) if fix else None))


DIAGNOSIS = Diagnosis(
    (
        verdict("host.found", Status.OK, "Hermes is here."),
        verdict("env.mode", Status.WARNING, "Others can read .env.", "chmod 600 .env"),
        verdict("creds.present", Status.ERROR, "There is no key.", "canon-ops setup canon"),
        verdict("creds.accepted", Status.ERROR, "It was refused."),
        verdict("net.api", Status.SKIPPED, "Not asked: creds.present tells why."),
    )
)


def test_people_see_a_line_a_check_the_fix_below_and_a_summary() -> None:
    """What is worst is counted first."""
    assert render(_report(DIAGNOSIS), Canvas(width=80, colour=False, unicode=True)) == (
        "✓ host.found      Hermes is here.\n"
        "! env.mode        Others can read .env.\n"
        "  fix: chmod 600 .env\n"
        "✗ creds.present   There is no key.\n"
        "  fix: canon-ops setup canon\n"
        "✗ creds.accepted  It was refused.\n"
        "- net.api         Not asked: creds.present tells why.\n"
        "2 errors, 1 warning, 1 ok, 1 skipped\n"
    )


def test_pipes_get_a_record_a_finding_and_no_summary() -> None:
    """Status, id, sentence, fix."""
    assert render_plain(_report(DIAGNOSIS)).splitlines()[1:3] == [
        "warning\tenv.mode\tOthers can read .env.\tchmod 600 .env",
        "error\tcreds.present\tThere is no key.\tcanon-ops setup canon",
    ]
    assert len(render_plain(_report(DIAGNOSIS)).splitlines()) == 5


def test_nothing_asked_is_said() -> None:
    """A call that leaves no check says so."""
    assert _summary(Diagnosis(())) == "No checks."


def test_list_names_every_check_and_asks_none(program: Runner) -> None:
    """Ids, areas and questions of the registry, in its order."""
    listed = program("doctor", "--list", "--json").json["data"]["available"]

    assert [row["id"] for row in listed] == [check.id for check in CHECKS]
    assert [row["area"] for row in listed] == [check.area for check in CHECKS]


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (("--only", "config.parse,env.parse"), ["config.parse", "env.parse"]),
        (("--only", "config.parse", "--only", "env.parse", "--skip", "env.parse"), ["config.parse"]),
        (("--area", "env"), ["env.parse", "env.open_access"]),
    ],
)
def test_checks_are_chosen_by_name_and_by_area(program: Runner, words: tuple[str, ...], ids: list[str]) -> None:
    """Names may be repeated or parted by commas; what is skipped is left out."""
    ran = program("doctor", *words, "--json")

    assert [check["id"] for check in ran.json["data"]["checks"]] == ids
    assert ran.code == 0


def test_an_unknown_check_names_the_list(program: Runner) -> None:
    """Exit 2, and the command that lists them."""
    ran = program("doctor", "--only", "host.fnord")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "Error: There is no check 'host.fnord'.\n  fix: canon-ops doctor --list\n"


def test_findings_are_exit_1_with_an_answer_and_no_error_text(program: Runner, home: Path) -> None:
    """A broken config.yaml is a finding: it is the answer, not a failure of the command."""
    (home / ".hermes").mkdir()
    (home / ".hermes" / "config.yaml").write_text("a: [1\n")

    ran = program("doctor", "--only", "config.parse", "--json")

    assert (ran.code, ran.err) == (1, "")
    assert (ran.json["ok"], ran.json["errors"]) == (False, [])
    assert [check["status"] for check in ran.json["data"]["checks"]] == ["error"]
