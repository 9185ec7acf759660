"""The doctor knows what canon-ops put into the host, and tells "gone" from "never there"."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from canon_ops import __version__
from canon_ops.doctor.check import Finding
from canon_ops.doctor.repair import RestorePackage
from canon_ops.operate.installation import Installation, InstalledPackage, Run
from canon_ops.operate.package.store import SavedPackage
from canon_ops.sandbox.server import CanonSandbox
from tests.support.clinic import Clinic, open_clinic
from tests.support.fake_host import make_environment, put_distribution, put_hermes, script, site_of
from tests.support.sandboxes import canon_box

AT_MS = 1_796_000_000_000


@pytest.fixture(scope="module")
def box() -> Iterator[CanonSandbox]:
    with canon_box() as running:
        yield running


@pytest.fixture
def clinic(tmp_path: Path, box: CanonSandbox) -> Clinic:
    clinic = open_clinic(tmp_path, box)
    clinic.offline = True
    return clinic


def finding(clinic: Clinic, check: str) -> Finding:
    (verdict,) = [one for one in clinic.examine().verdicts if one.check.id == check]
    return verdict.finding


def recorded(clinic: Clinic, **changes: object) -> None:
    """A record of this very host."""
    prefix = clinic.python.parents[1]
    package = InstalledPackage(
        saved=SavedPackage("canon-ops", "0.0.9", "aa/canon_ops-0.0.9-py3-none-any.whl"), sha256="ab" * 32,
        origin="hand", python=str(clinic.python), prefix=str(prefix),
        environment_made_ms=int((prefix / "pyvenv.cfg").stat().st_mtime * 1000), hermes="0.19.0", at_ms=AT_MS,
        by_us=True,
    )  # fmt: skip
    record = Installation(replace(package, **changes), (Run("install canon", "canon", AT_MS),))  # type: ignore[arg-type]
    folder = clinic.home / ".canon-ops"
    folder.mkdir(exist_ok=True)
    (folder / "installation.json").write_bytes(record.to_bytes())


def take_out(clinic: Clinic) -> None:
    for path in site_of(clinic.python).glob("canon_*"):
        shutil.rmtree(path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hermes": "0.18.2"}, "Hermes was 0.18.2 then and is 0.19.0 now, and an update drops what it does not know"),
        ({"environment_made_ms": 5}, "the environment was rebuilt since"),
        ({"prefix": "/elsewhere"}, "now"),
        ({}, "somebody took it out"),
    ],
    ids=["updated", "rebuilt", "moved", "by hand"],
)
def test_gone_after_an_update(changes: dict[str, object], reason: str, clinic: Clinic) -> None:
    """BR-33: what was there, when, why it is gone, and the version that --fix would bring back."""
    recorded(clinic, **changes)
    take_out(clinic)

    found = finding(clinic, "plugin.installed")

    assert found.status.value == "error"
    assert "canon-ops 0.0.9 was in" in found.message
    assert found.message.endswith(f"{reason}.")
    assert found.data["recorded"] == "0.0.9"
    assert found.fix is not None
    assert found.fix.repair == RestorePackage("0.0.9")


def test_never_there(clinic: Clinic) -> None:
    """Without a record it is not "gone", and what would be installed is the running version."""
    take_out(clinic)

    found = finding(clinic, "plugin.installed")

    assert "is not installed in" in found.message
    assert found.fix is not None
    assert found.fix.command == f"canon-ops install canon --python {clinic.python}"
    assert found.fix.repair == RestorePackage(__version__)


def other_version(version: str) -> Callable[[Clinic], None]:
    def spoil(clinic: Clinic) -> None:
        for path in site_of(clinic.python).glob("canon_ops-*.dist-info"):
            shutil.rmtree(path)
        files = {"canon_hermes_plugin/__init__.py": "def register(ctx): ...\n"}
        points = {"canon-hermes": "canon_hermes_plugin"}
        put_distribution(clinic.python, "canon-ops", version, files, entry_points=points)

    return spoil


@pytest.mark.parametrize(
    ("version", "words", "fix"),
    [("0.0.1", "is older than this program", "canon-ops upgrade"), ("99.0", "may not know all of it", None)],
)
def test_versions_that_differ(version: str, words: str, fix: str | None, clinic: Clinic) -> None:
    """BR-36: an older plugin may lack a feature and can be upgraded; a newer one is only worth knowing."""
    other_version(version)(clinic)

    found = finding(clinic, "plugin.version")

    assert (found.status.value, words in found.message) == ("info", True)
    assert (found.fix.command if found.fix else None) == fix


def test_a_damaged_record_is_said_once(clinic: Clinic) -> None:
    """It is a warning of the check about versions; the others go on without it."""
    folder = clinic.home / ".canon-ops"
    folder.mkdir()
    (folder / "installation.json").write_text("{")

    assert finding(clinic, "plugin.version").status.value == "warning"
    assert finding(clinic, "plugin.installed").status.value == "ok"


def test_another_hermes_on_path(clinic: Clinic) -> None:
    """Whoever types `hermes` gets another one than is looked at; the interpreter of that one is named."""
    other = make_environment(clinic.user / "other")
    put_hermes(other)
    script(clinic.user / "bin" / "hermes", f"#!{other}\n")
    clinic.environ["PATH"] = str(clinic.user / "bin")

    found = finding(clinic, "host.command")

    assert found.status.value == "warning"
    assert found.fix is not None
    assert found.fix.command == f"canon-ops doctor --python {other}"


def test_a_place_where_nothing_installs(clinic: Clinic) -> None:
    """An image is worth knowing about, with the line that goes into it."""
    site_of(clinic.python).joinpath(".install_method").write_text("docker\n")

    found = finding(clinic, "host.layout")

    assert found.status.value == "info"
    assert found.fix is not None
    assert "RUN uv pip install" in found.fix.command
