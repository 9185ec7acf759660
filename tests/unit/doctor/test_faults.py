"""Each seeded fault is found by the check that is about it, and no other check takes it for its own."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from canon_ops.cli.tree import leaves
from canon_ops.doctor.check import Status
from canon_ops.doctor.mending import choose
from canon_ops.doctor.registry import CHECKS, select
from canon_ops.doctor.repair import AddToList, RemoveFromList, Repair, RestorePackage, SetConfig, TakeBackPackage
from canon_ops.doctor.run import Diagnosis, Verdict
from canon_ops.errors import ExitCode
from canon_ops.operate.installation import Installation, Run, record_file
from canon_ops.sandbox.server import CanonSandbox
from tests.support.clinic import Clinic, open_clinic
from tests.support.fake_host import site_of
from tests.support.sandboxes import canon_box
from tests.support.untrusted import untrusted_server
from tests.unit.doctor import seeded, seeded_files
from tests.unit.doctor.seeded import NO_ANSWER, SEEDED, Fault, Statuses
from tests.unit.doctor.seeded_files import FILE_FAULTS


@pytest.fixture(scope="module")
def shared_box() -> Iterator[CanonSandbox]:
    with canon_box() as box:
        yield box


@pytest.fixture
def box(shared_box: CanonSandbox) -> Iterator[CanonSandbox]:
    yield shared_box
    shared_box.human.calm()


@pytest.fixture
def clinic(tmp_path: Path, box: CanonSandbox) -> Clinic:
    return open_clinic(tmp_path, box)


def remarks(diagnosis: Diagnosis) -> Statuses:
    """Every check that did not say ok, less the one that says that no gateway has run."""
    found = {
        one.check.id: one.finding.status.value for one in diagnosis.verdicts if one.finding.status is not Status.OK
    }
    if found.get("gateway.running") == "info":
        del found["gateway.running"]
    return found


COMMANDS = {" ".join(words) for words, _ in leaves()} | {"env set", "env unset", "profile bind"}  # the last: promised


def cures_without_command(diagnosis: Diagnosis) -> list[str]:
    """Each cure that begins with our name and is no command of the program."""
    cures = [one.finding.fix.command for one in diagnosis.verdicts if one.finding.fix]
    own = [cure for cure in cures if cure.startswith("canon-ops ")]
    return [cure for cure in own if not {cure.split()[1], " ".join(cure.split()[1:3])} & COMMANDS]


def test_a_healthy_home_has_no_findings(clinic: Clinic) -> None:
    """Nothing is reported about an installation in order, and every check could answer."""
    diagnosis = clinic.examine()

    assert [one.finding.message for one in diagnosis.findings] == []
    assert diagnosis.summary == {"ok": len(CHECKS) - 1, "info": 1, "warning": 0, "error": 0, "skipped": 0, "unknown": 0}
    assert diagnosis.exit_code(strict=True, asked_for=True) is ExitCode.DONE


FAULTS = (*SEEDED, *FILE_FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.seed.__name__)
def test_a_seeded_fault_is_found_where_it_is(fault: Fault, clinic: Clinic) -> None:
    """Its own check fires with its severity, all others say ok or "not asked", and ``--fix`` changes its lines only."""
    fault.seed(clinic)
    before = texts_of(clinic)

    diagnosis = clinic.examine()

    assert remarks(diagnosis) == fault.finds
    told = [one.finding.message for one in diagnosis.verdicts if one.check.id == next(iter(fault.finds))]
    assert any(fault.says in message for message in told), told
    assert cures_without_command(diagnosis) == []

    repairs = [one for one in choose(diagnosis, Status.INFO) if not isinstance(repair_of(one), PACKAGES)]
    mended = clinic.mend(repairs)

    assert mended.refused == ()
    assert changed_lines(before, texts_of(clinic)) == (fault.mends or ()), mended.written.diff
    if repairs:
        mendable = {one.check.id for one in repairs}
        left = {name: status for name, status in fault.finds.items() if name not in mendable | CONFIG_WRITTEN}
        assert remarks(clinic.examine(ABOUT_FILES)) == left


def test_a_service_that_does_not_answer_is_told_with_the_place_of_its_address(clinic: Clinic) -> None:
    """The network may be in order and the address wrong: the cure says where that is written."""
    clinic.write_profiles(ops=clinic.profile(baseUrl="http://127.0.0.1:9", streamUrl="http://127.0.0.1:9"))

    cures = {one.check.id: one.finding.fix.command for one in clinic.examine().verdicts if one.finding.fix}

    assert "the endpoint (ops.baseUrl in " in cures["net.api"]
    assert "the endpoint (ops.streamUrl in " in cures["net.stream"]


PACKAGES = (RestorePackage, TakeBackPackage)  # what is in the host: see tests/unit/operate/test_package_killed.py
ABOUT_FILES = select(
    area=["config", "creds", "env", "platform", "settings"], only=["gateway.multiplex", "plugin.enabled"]
)
CONFIG_WRITTEN = {"config.parse"}  # a home without config.yaml has one after the first repair


def repair_of(verdict: Verdict) -> Repair | None:
    return verdict.finding.fix.repair if verdict.finding.fix else None


def texts_of(clinic: Clinic) -> dict[str, list[str]]:
    """Of each file that people edit, and of the folder of keys: its permissions, and a file's lines."""
    canon = clinic.user / ".canon"
    found = {}
    keys = (canon, canon / "agents.json", canon / "pending-registrations.json")
    for path in (clinic.home / "config.yaml", clinic.home / ".env", *keys):
        if path.exists():
            lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
            found[str(path)] = [f"mode {path.stat().st_mode & 0o7777:04o}", *lines]
    return found


def changed_lines(before: dict[str, list[str]], after: dict[str, list[str]]) -> tuple[str, ...]:
    """What a diff of the two says, without its headings."""
    lines = [
        line
        for name in sorted({*before, *after})
        for line in difflib.unified_diff(before.get(name, []), after.get(name, []), lineterm="", n=0)
    ]
    return tuple(line for line in lines if not line.startswith(("---", "+++", "@@")))


def test_a_certificate_that_nobody_signed(clinic: Clinic, tmp_path: Path) -> None:
    """The reason is the certificate, and that is an error; that nothing answers is only unknown."""
    with untrusted_server(tmp_path) as address:
        clinic.write_profiles(ops=clinic.profile(baseUrl=address, streamUrl=address))

        diagnosis = clinic.examine()

    assert remarks(diagnosis) == {"net.tls": "error", **NO_ANSWER}
    assert "self-signed certificate" in next(one.finding.message for one in diagnosis.findings)


def test_what_ours_stands_in_for_is_no_fault(clinic: Clinic) -> None:
    """A helper that some audited version lacks has a stand-in, and nothing is reported."""
    seeded.helper_without_which_ours_stands_in(clinic)

    assert remarks(clinic.examine()) == {}


def test_every_check_is_seen_to_fail() -> None:
    """No check is without a fault that makes it say something else than ok of its own accord."""
    fired = {name for fault in FAULTS for name, status in fault.finds.items() if status not in ("skipped", "info")}

    assert {check.id for check in CHECKS} - fired <= ONLY_TOLD
    assert len(FAULTS) >= 60


# Never more than worth knowing.
ONLY_TOLD = {"settings.streaming", "config.managed", "config.bare_word", "config.null_section"}


@pytest.mark.parametrize(
    ("seed", "check_id", "command", "repair"),
    [
        (seeded.not_enabled, "plugin.enabled", "canon-ops config add plugins.enabled canon-hermes",
         AddToList("plugins.enabled", "canon-hermes")),
        (seeded.no_config, "plugin.enabled", "canon-ops install canon", None),
        (seeded_files.plugins_that_are_a_text, "plugin.enabled",
         "canon-ops config unset plugins && canon-ops install canon", None),
        (seeded.denied, "plugin.denied", "canon-ops install canon --yes",
         RemoveFromList("plugins.disabled", "canon-hermes")),
        (seeded.platform_off, "platform.enabled", "canon-ops config set platforms.canon.enabled true",
         SetConfig("platforms.canon.enabled", True)),
        (seeded.multiplexing, "gateway.multiplex", "canon-ops config set gateway.multiplex_profiles false",
         SetConfig("gateway.multiplex_profiles", False)),
        (seeded.enabled_as_text, "plugin.enabled",
         """canon-ops config set plugins.enabled '["borgee", "canon-hermes"]' --type json""",
         SetConfig("plugins.enabled", ("borgee", "canon-hermes"))),
        (seeded.key_of_another_agent, "creds.accepted",
         "canon-ops setup canon --canon-profile ops --agent-id agent_other", None),
        (seeded.key_without_environment, "creds.binding",
         "canon-ops env set CANON_ENVIRONMENT_ID canon-prod-v1   # one of: canon-prod-v1, canon-dev-v1", None),
        (seeded.gateway_killed, "gateway.running", "hermes gateway run", None),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)  # fmt: skip
def test_a_finding_carries_its_cure(
    seed: Callable[[Clinic], None], check_id: str, command: str, repair: object, clinic: Clinic
) -> None:
    """The command to paste, and the same as data where ``--fix`` can do it."""
    seed(clinic)

    found = next(one.finding for one in clinic.examine().findings if one.check.id == check_id)

    assert found.fix is not None
    assert (found.fix.command, found.fix.repair, found.fix.automatic) == (command, repair, repair is not None)


def test_an_old_request_does_not_take_a_home_that_works(clinic: Clinic) -> None:
    """Going on would bind the home to another agent: that is offered for another Hermes profile only."""
    seeded.registration_that_was_forgotten(clinic)
    (beside,) = (one.finding.fix for one in clinic.examine().findings if one.check.id == "registration.pending")
    clinic.write_profiles()
    (alone,) = (one.finding.fix for one in clinic.examine().findings if one.check.id == "registration.pending")

    assert beside is not None and alone is not None
    assert beside.command.startswith("canon-ops profile cancel new   (when nobody waits for it;")
    assert beside.command.endswith(" instead of ops: canon-ops setup canon --canon-profile new --profile PROFILE)")
    assert alone.command == "canon-ops setup canon --canon-profile new"


def test_a_lost_config_is_installed_again_where_an_installation_is_recorded(clinic: Clinic) -> None:
    """``--fix`` does it then; without a record it is the operator's to say."""
    record = Installation(runs=(Run("install canon", "canon", 1),))
    folder = record_file(clinic.home).parent
    folder.mkdir()
    record_file(clinic.home).write_bytes(record.to_bytes())
    (clinic.home / "config.yaml").unlink()

    (found,) = (one.finding for one in clinic.examine().findings if one.check.id == "plugin.enabled")

    assert found.fix is not None
    assert (found.fix.command, found.fix.repair) == (
        "canon-ops install canon",
        AddToList("plugins.enabled", "canon-hermes"),
    )


def test_a_finding_names_its_place(clinic: Clinic) -> None:
    """File, line and column stand in the finding and in its JSON form."""
    seeded.config_with_a_tab(clinic)
    seeded.missing_dependency(clinic)

    by_id = {one.check.id: one.as_data() for one in clinic.examine().findings}

    config, module = by_id["config.tabs"], by_id["plugin.import"]
    assert (config["file"], config["line"], config["column"]) == (str(clinic.home / "config.yaml"), 6, 1)
    assert module["file"] == str(site_of(clinic.python) / "canon_hermes_plugin" / "__init__.py")
    assert module["line"] == 1


def test_no_key_is_in_any_answer(clinic: Clinic) -> None:
    """Whatever is found, the key itself is nowhere in the document."""
    for seed in (seeded.hidden_key, seeded.key_unknown_to_canon):
        seed(clinic)

        document = json.dumps(clinic.examine().as_data())

        assert clinic.box.endpoints.agent_key not in document
        assert "agk_live_sandbox_never_issued" not in document
        assert "agk_live_sandbox_of_the_shell" not in document


def test_an_unreachable_network_is_no_error(clinic: Clinic) -> None:
    """Exit 0 when everything was asked, 3 when the caller asked for exactly that."""
    seeded.canon_away(clinic)

    diagnosis = clinic.examine()

    assert diagnosis.exit_code(strict=True) is ExitCode.DONE
    assert diagnosis.exit_code(asked_for=True) is ExitCode.OUTSIDE


def test_the_home_is_as_it_was(clinic: Clinic) -> None:
    """An examination makes no file and no folder in the home."""
    before = sorted(path.relative_to(clinic.user) for path in clinic.home.rglob("*"))

    clinic.examine()

    assert sorted(path.relative_to(clinic.user) for path in clinic.home.rglob("*")) == before


def test_a_host_that_was_changed_by_hand_is_told_apart(clinic: Clinic) -> None:
    """An audited version that lacks a symbol is named with the symbol, its use, and how to put Hermes back."""
    seeded.symbol_removed(clinic)

    (found,) = (one.finding for one in clinic.examine().findings if one.check.id == "host.contract")

    assert found.message.startswith("gateway.session:build_session_key is missing")
    assert found.fix is not None
    assert str(clinic.python) in found.fix.command  # by its own pip or, where it has none, by one that is aimed at it
    assert " --force-reinstall --no-deps hermes-agent==" in found.fix.command
    assert [one["path"] for one in found.data["differences"]] == ["gateway.session:build_session_key"]


@pytest.mark.skipif(sys.platform != "linux", reason="the fake host claims to be on Linux")
def test_the_host_is_described(clinic: Clinic) -> None:
    """The evidence of an ok is there too, for scripts."""
    data = {one.check.id: one.as_data()["data"] for one in clinic.examine().verdicts}

    assert data["host.found"]["how"] == "option"
    assert data["host.version"] == {"version": "0.19.0", "platform": "linux", "evidence": "run"}
    assert data["creds.present"]["canon_profile"] == "ops"
    assert data["creds.accepted"] == {"agent_id": "agent_sandbox"}
