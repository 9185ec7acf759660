"""Cases from the field about the doctor: what it must tell apart, and what ``--fix`` must leave alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from canon_ops.doctor.check import Finding, Status
from canon_ops.doctor.mending import choose
from canon_ops.doctor.registry import CHECKS
from canon_ops.hermes.platforms import PLATFORMS, PlatformNames
from canon_ops.sandbox.server import CanonSandbox
from tests.support.clinic import CONFIG, Clinic, open_clinic
from tests.support.sandboxes import canon_box
from tests.unit.cli.conftest import Runner, home, program  # noqa: F401  # fixtures
from tests.unit.doctor import seeded

UNKNOWN = "myIntegration: {key: v}   # nobody's business\n"


@pytest.fixture(scope="module")
def box() -> Iterator[CanonSandbox]:
    with canon_box() as running:
        yield running


@pytest.fixture
def clinic(tmp_path: Path, box: CanonSandbox) -> Clinic:
    return open_clinic(tmp_path, box)


def found(clinic: Clinic, *ids: str) -> list[Finding]:
    """The findings of these checks, in that order."""
    by_id = {one.check.id: one.finding for one in clinic.examine([each for each in CHECKS if each.id in ids]).verdicts}
    return [by_id[name] for name in ids]


def test_a_repair_leaves_what_it_does_not_know(clinic: Clinic) -> None:
    """BR-13: of a working set-up only the finding's line changes, the diff says so, and the old text is kept."""
    text = UNKNOWN + CONFIG.replace("enabled: true", 'enabled: "true"', 1)
    clinic.write_config(text)

    mended = clinic.mend(choose(clinic.examine(), Status.WARNING))

    assert (clinic.home / "config.yaml").read_text() == text.replace('enabled: "true"', "enabled: true")
    assert '-    enabled: "true"\n+    enabled: true\n' in mended.written.diff
    (kept,) = clinic.home.glob(f".canon-ops/history/{mended.written.history_id}/*.before")
    assert kept.read_text() == text


def test_what_cannot_be_read_is_no_dead_end(clinic: Clinic) -> None:
    """BR-13: an unparseable file is left as it is, with line, column and the next step; nothing old is put back."""
    clinic.mend(choose(clinic.examine(), Status.INFO))
    broken = CONFIG.replace("  canon:", "\tcanon:", 1)
    clinic.write_config(broken)

    diagnosis = clinic.examine()
    mended = clinic.mend(choose(diagnosis, Status.INFO))

    (finding,) = [one.finding for one in diagnosis.findings if one.check.area == "config"]
    assert (finding.at.line, finding.at.column) == (6, 1)
    assert finding.fix is not None and finding.fix.command.startswith("replace the tab by spaces: ")
    assert (clinic.home / "config.yaml").read_text() == broken
    assert not mended.written.changed


def test_enabled_is_not_importable_and_not_loaded(clinic: Clinic) -> None:
    """BR-35: installed, enabled, importable and loaded are four words; a failing import tells its last line."""
    seeded.missing_dependency(clinic)
    seeded.gateway_without_canon(clinic)

    installed, enabled, imported, running = found(
        clinic, "plugin.installed", "plugin.enabled", "plugin.import", "gateway.running"
    )

    assert (installed.status, enabled.status) == (Status.OK, Status.OK)
    assert imported.status is Status.ERROR
    assert "No module named 'nowhere_to_be_found'" in imported.message
    assert running.status is Status.ERROR
    assert "the plugin was not loaded or not configured" in running.message


def test_a_service_that_ignores_the_profile_is_named(clinic: Clinic) -> None:
    """BR-38: the unit's HERMES_HOME is compared with the home that is asked about."""
    seeded.service_of_another_home(clinic)

    (service,) = found(clinic, "gateway.service")

    assert service.status is Status.ERROR
    assert f"on {clinic.home / 'profiles' / 'work'}, not on {clinic.home}" in service.message


def test_a_long_step_says_what_it_does(program: Runner) -> None:  # noqa: F811
    """BR-36: on a terminal at once, on stderr; piped, only when asked for."""
    at_terminal = program("doctor", "--only", "config.parse", terminal=True)
    piped = program("doctor", "--only", "config.parse")
    asked = program("doctor", "--only", "config.parse", "--verbose")

    assert "Asking the host, its files and Canon" in at_terminal.err
    assert piped.err == ""
    assert asked.err == "Asking the host, its files and Canon\n"


def test_a_file_that_cannot_be_looked_at_is_not_in_order(clinic: Clinic) -> None:
    """BR-40: whether others can read it is not known then, and that is said."""
    pending = clinic.user / ".canon" / "pending-registrations.json"
    pending.symlink_to(pending)

    (told,) = found(clinic, "creds.agents_file")

    assert (told.status, told.at.file) == (Status.UNKNOWN, str(pending))


def test_the_folder_of_every_platform_is_looked_at(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also that of one which is added: a file of another user in it may lock the gateway out."""
    third = PlatformNames(name="third", label="Third", plugin="third-hermes", package="third_hermes")
    monkeypatch.setattr("canon_ops.doctor.checks.config_file.PLATFORMS", {**PLATFORMS, "third": third})
    clinic.owner_of = lambda path: 4711 if "plugins" in path.parts else os.geteuid()
    for name in (*PLATFORMS, "third"):
        (clinic.home / "plugins" / name).mkdir(parents=True, exist_ok=True)

    (check,) = [one for one in CHECKS if one.id == "config.owner"]
    places = [one.finding.at.file for one in clinic.examine([check]).verdicts if one.finding.at]

    assert places == [str(clinic.home / "plugins" / name) for name in ("canon", "borgee", "third")]
