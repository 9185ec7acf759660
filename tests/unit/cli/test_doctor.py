"""``canon-ops doctor`` as a command: what is asked, how it is shown, and with which exit code.

The checks have their own tests; here they are only arranged.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from canon_ops.cli.checks import EVERY_CHECK
from canon_ops.cli.doctor_report import view_of
from canon_ops.cli.output import Block
from canon_ops.cli.plain import render as render_plain
from canon_ops.cli.terminal import Canvas, render
from canon_ops.doctor.check import Check, Finding, Fix, Status
from canon_ops.doctor.run import Diagnosis, Verdict
from canon_ops.hermes.homes import resolve_home
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


def report(diagnosis: Diagnosis) -> list[Block]:
    return view_of(resolve_home({"HOME": "/home/a"}), diagnosis.verdicts, diagnosis, None, headed=False)


def test_people_see_a_line_a_check_the_fix_below_and_a_summary() -> None:
    """What is worst stands last, where the eye is, and is counted first."""
    assert render(report(DIAGNOSIS), Canvas(width=80, colour=False, unicode=True)) == (
        "- net.api         Not asked: creds.present tells why.\n"
        "✓ host.found      Hermes is here.\n"
        "! env.mode        Others can read .env.\n"
        "  fix: chmod 600 .env\n"
        "✗ creds.present   There is no key.\n"
        "  fix: canon-ops setup canon\n"
        "✗ creds.accepted  It was refused.\n"
        "2 errors, 1 warning, 1 ok, 1 skipped\n"
    )


def test_pipes_get_a_record_a_finding_and_no_summary() -> None:
    """Status, id, sentence, fix."""
    assert render_plain(report(DIAGNOSIS)).splitlines()[2:4] == [
        "warning\tenv.mode\tOthers can read .env.\tchmod 600 .env",
        "error\tcreds.present\tThere is no key.\tcanon-ops setup canon",
    ]
    assert len(render_plain(report(DIAGNOSIS)).splitlines()) == 5


def test_nothing_asked_is_said() -> None:
    """A call that leaves no check says so."""
    assert render(report(Diagnosis(())), Canvas(width=80, colour=False, unicode=True)) == "No checks.\n"


def test_list_names_every_check_and_asks_none(program: Runner) -> None:
    """Ids, areas and questions of the registry, in its order."""
    listed = program("doctor", "--list", "--json").json["data"]["available"]

    assert [row["id"] for row in listed] == [check.id for check in EVERY_CHECK]
    assert [row["area"] for row in listed] == [check.area for check in EVERY_CHECK]


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (("--only", "config.parse,env.parse"), ["config.parse", "env.parse"]),
        (("--only", "config.parse", "--only", "env.parse", "--skip", "env.parse"), ["config.parse"]),
        (("--area", "fs"), ["fs.space", "fs.network"]),
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
    """BR-39: A broken config.yaml is a finding: it is the answer, not a failure of the command."""
    (home / ".hermes").mkdir()
    (home / ".hermes" / "config.yaml").write_text("a: [1\n")

    ran = program("doctor", "--only", "config.parse", "--json")

    assert (ran.code, ran.err) == (1, "")
    assert (ran.json["ok"], ran.json["errors"]) == (False, [])
    assert [check["status"] for check in ran.json["data"]["checks"]] == ["error"]


@pytest.fixture
def unclear(home: Path) -> Path:
    """A Hermes home whose access switch is neither yes nor no; its .env."""
    (home / ".hermes").mkdir()
    env = home / ".hermes" / ".env"
    env.write_text("# access\nCANON_ALLOW_ALL_USERS=maybe\n")
    return env


ACCESS = ("doctor", "--only", "env.open_access")


def test_fix_shows_what_it_changed_and_asks_again(program: Runner, unclear: Path) -> None:
    """The files, each repair, the diff, and the report of the home as it is now."""
    ran = program(*ACCESS, "--fix", "--yes", "--color", "never", terminal=True)

    assert ran.code == 0
    assert ran.out == (
        f"Hermes profile default: {unclear}\n"
        "✓ env.open_access: repaired\n"
        f"--- {unclear}\n"
        f"+++ {unclear}\n"
        "@@ -2 +2 @@\n"
        "-CANON_ALLOW_ALL_USERS=maybe\n"
        "+CANON_ALLOW_ALL_USERS=false\n"
        "✓ env.open_access  There is no switch and no list: Canon's own rules alone\n"
        "                   decide.\n"
        "1 ok\n"
    )
    assert unclear.read_text() == "# access\nCANON_ALLOW_ALL_USERS=false\n"


def test_fix_needs_consent(program: Runner, unclear: Path) -> None:
    """Where nobody can be asked, the option that agrees is named; exit 2, and nothing is written."""
    ran = program(*ACCESS, "--fix", "--json")

    assert (ran.code, ran.json["errors"][0]["fix"]) == (2, "add --yes")
    assert "maybe" in unclear.read_text()


def test_a_dry_run_is_the_plan(program: Runner, unclear: Path) -> None:
    """What would be done, with its diff, and the findings as they are."""
    ran = program(*ACCESS, "--fix", "--dry-run", "--json", "--strict")

    fixed = ran.json["data"]["fixed"]
    assert (ran.code, fixed["dry_run"], fixed["history_id"]) == (1, True, None)
    assert [(one["id"], one["done"]) for one in fixed["repairs"]] == [("env.open_access", True)]
    assert "+CANON_ALLOW_ALL_USERS=false" in fixed["diff"]
    assert [one["status"] for one in ran.json["data"]["checks"]] == ["warning"]
    assert "maybe" in unclear.read_text()


def test_a_file_that_is_not_the_expected_one_is_left(program: Runner, unclear: Path) -> None:
    """--if-unchanged holds --fix to what the caller saw: exit 5."""
    ran = program(*ACCESS, "--fix", "--yes", "--if-unchanged", f".env={'0' * 64}")

    assert ran.code == 5
    assert "maybe" in unclear.read_text()


def test_nothing_left_to_ask_is_a_wrong_call(program: Runner) -> None:
    """A check that is wanted and skipped at once would look as if all were well."""
    ran = program("doctor", "--only", "config.parse", "--skip", "config.parse")

    assert (ran.code, ran.out) == (2, "")
    assert "fix: leave out --skip" in ran.err


def test_options_of_fix_need_fix(program: Runner) -> None:
    """A dry run of nothing is a wrong call."""
    assert program("doctor", "--dry-run").code == 2


def test_severity_min_leaves_slighter_findings_out(program: Runner, unclear: Path) -> None:
    """Told are findings from there on; the summary counts all."""
    words = ("doctor", "--only", "env.open_access,env.parse,platform.enabled,config.parse", "--json", "--severity-min")

    told = {least: program(*words, least).json["data"] for least in ("info", "warning", "error")}

    assert [one["id"] for one in told["info"]["checks"]] == ["config.parse", "env.open_access"]
    assert [one["id"] for one in told["warning"]["checks"]] == ["env.open_access"]
    assert told["error"]["checks"] == []
    assert told["error"]["summary"] == {"ok": 1, "info": 1, "warning": 1, "error": 0, "skipped": 1, "unknown": 0}


def test_all_profiles_are_examined_each_under_its_name(program: Runner, unclear: Path) -> None:
    """One report a Hermes profile; the exit code is that of the worst."""
    work = unclear.parent / "profiles" / "work"
    work.mkdir(parents=True)
    (work / ".env").write_text("CANON_ALLOW_ALL_USERS=true\n")

    ran = program(*ACCESS, "--all-profiles", "--strict", "--json")
    people = program(*ACCESS, "--all-profiles", terminal=True).out

    rows = ran.json["data"]["profiles"]
    assert [(row["hermes_profile"], row["checks"][0]["status"]) for row in rows] == [
        ("default", "warning"),
        ("work", "ok"),
    ]
    assert ran.code == 1
    assert [line for line in people.splitlines() if line.startswith("Hermes profile ")] == [
        f"Hermes profile default: {unclear.parent}",
        f"Hermes profile work: {work}",
    ]


SECRETS = {
    "env": "hunter2-in-the-env",
    "other": "unnamed-0123456789",
    "config": "hunter2-in-the-config",
    "agents": "hunter2-of-an-agent",
    "poll": "hunter2-poll-token",
}


@pytest.fixture
def talkative(unclear: Path) -> Path:
    """A home with something secret, or private, in every place that a bundle looks at; its folder."""
    home = unclear.parent
    unclear.write_text(f"OPENAI_API_KEY={SECRETS['env']}\nMOTTO={SECRETS['other']}\nCANON_AGENT=ops\n")
    (home / "config.yaml").write_text(f"# mine\nmodel: {{api_key: {SECRETS['config']}}}\n")
    canon = home.parent / ".canon"
    canon.mkdir()
    (canon / "agents.json").write_text(json.dumps({"ops": {"apiKey": SECRETS["agents"], "agentId": "agent_1"}}))
    pending = {"new": {"pollToken": SECRETS["poll"], "ownerPhone": "+4930123456", "requestId": "r1"}}
    (canon / "pending-registrations.json").write_text(json.dumps(pending))
    (home / "logs").mkdir()
    (home / "logs" / "gateway.log").write_text(
        "2026-11-30 22:33:08,120 INFO gateway.run: Dana said: our secret plan\n"
        f"2026-11-30 22:33:09,120 ERROR gateway.run: no key {SECRETS['env']}, call +49 30 123456\n"
    )
    return home


def test_a_bundle_holds_what_helps_and_nothing_secret(program: Runner, talkative: Path, tmp_path: Path) -> None:
    """Listed first, for its owner alone; keys, tokens, unnamed values, conversations and telephone numbers stay out."""
    file = tmp_path / "help.zip"

    ran = program("doctor", "--only", "config.parse", "--bundle", str(file))

    texts = {name: zipfile.ZipFile(file).read(name).decode() for name in zipfile.ZipFile(file).namelist()}
    everything = "\n".join(texts.values())
    assert ran.code == 0
    assert [line for line in ran.err.splitlines() if line.startswith("  env-names.txt (")] != []
    assert file.stat().st_mode & 0o777 == 0o600
    assert [place for place, secret in SECRETS.items() if secret in everything] == []
    assert "secret plan" not in everything and "123456" not in everything
    assert texts["env-names.txt"] == "1: OPENAI_API_KEY=[set]\n2: MOTTO=[set]\n3: CANON_AGENT=ops\n"
    assert texts["config.yaml"].startswith("# mine\nmodel:")
    assert json.loads(texts["agents.json"]) == {"ops": {"apiKey": "[set]", "agentId": "agent_1"}}
    assert texts["gateway.log"].startswith("2026-11-30 22:33:09,120 ERROR gateway.run: no key [REDACTED]")
    assert json.loads(texts["doctor.json"])["checks"][0]["id"] == "config.parse"


def test_a_configuration_that_nobody_can_read_stays_out(program: Runner, talkative: Path, tmp_path: Path) -> None:
    """What is a key in it, and what a value, nobody knows; the archive says that it is missing."""
    (talkative / "config.yaml").write_text(f"model: [{SECRETS['config']}\n")
    file = tmp_path / "help.zip"

    program("doctor", "--only", "config.parse", "--bundle", str(file))

    archive = zipfile.ZipFile(file)
    assert "config.yaml" not in archive.namelist()
    assert "config.yaml was left out" in archive.read("CONTENTS.txt").decode()
    assert SECRETS["config"] not in "".join(archive.read(name).decode() for name in archive.namelist())


def test_a_bundle_names_entries_of_the_history_that_cannot_be_read(
    program: Runner, talkative: Path, tmp_path: Path
) -> None:
    """Whoever helps sees that the list has a hole."""
    kept = [program("config", "set", key, "1", "--json").json["data"]["history_id"] for key in ("a", "b")]
    (talkative / ".canon-ops" / "history" / kept[1] / "entry.json").write_text("{")

    program("doctor", "--only", "config.parse", "--bundle", str(tmp_path / "help.zip"))

    rows = zipfile.ZipFile(tmp_path / "help.zip").read("history.txt").decode().splitlines()
    assert [row.split("  ")[:2] for row in rows] == [[kept[0], "config set a"], [kept[1], "cannot be read"]]


def test_a_bundle_writes_over_nothing(program: Runner, talkative: Path, tmp_path: Path) -> None:
    """A file of that name stays what it is: exit 1."""
    file = tmp_path / "help.zip"
    file.write_text("mine")

    ran = program("doctor", "--only", "config.parse", "--bundle", str(file), "--json")

    assert (ran.code, ran.json["errors"][0]["code"], file.read_text()) == (1, "bundle_exists", "mine")


def test_a_live_check_needs_its_option_and_consent(program: Runner, home: Path) -> None:
    """Nothing is said where people see it because a name was guessed, or nobody was asked."""
    guessed = program("doctor", "--only", "live.round_trip")
    unasked = program("doctor", "--live", "--json")

    assert (guessed.code, unasked.code) == (2, 2)
    assert unasked.json["errors"][0]["code"] == "consent_missing"


@pytest.mark.parametrize("chosen", [("--only", "host.version"), ("--area", "host", "--skip", "host.found")])
def test_a_check_that_was_asked_for_and_had_no_host_is_exit_3(program: Runner, chosen: tuple[str, ...]) -> None:
    """BR-40: without a host its version is not known; nothing is green, and whoever chose no check is not alarmed."""
    ran = program("doctor", *chosen, "--python", "/nonexistent", "--json")
    unchosen = program("doctor", "--skip", "host.found", "--offline", "--python", "/nonexistent", "--json")

    assert (ran.code, ran.json["exit_code"], ran.json["ok"]) == (3, 3, False)
    assert {check["status"] for check in ran.json["data"]["checks"]} <= {"skipped", "info", "ok"}
    assert unchosen.code != 3
