"""An installation that is killed at any of its durable steps ends healthy or as before, whatever command comes next.

The states are made by hand, as pip and uv leave them: modules first, then metadata, the list of files last. The one
real kill is :mod:`tests.acceptance.test_install_killed`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from canon_ops.doctor.check import Status
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.mending import choose, mend
from canon_ops.doctor.registry import select
from canon_ops.doctor.run import Diagnosis, diagnose
from canon_ops.files.transaction import Transaction
from canon_ops.operate.install import InstallOptions, install
from canon_ops.operate.installation import InterruptedNote, read_installation
from canon_ops.operate.package.store import PackageStore, SavedPackage
from canon_ops.operate.package.wheel import Wheel
from canon_ops.operate.prompts import Unattended
from canon_ops.operate.rollback import RollbackOptions, rollback
from canon_ops.operate.status import read_status
from canon_ops.operate.writing import Writing
from tests.support.fake_host import put_distribution, site_of
from tests.support.package_site import CONFIG, ENV, Site, make_site

ABOUT_IT = select(only=["plugin.installed", "config.interrupted"])


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path)


# -- what a kill leaves ------------------------------------------------------------------------------------------------


def copied(site: Site, wheel: str) -> Path:
    """Every file of a wheel where its installer copies it, the list of files last; its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site_of(site.python))
        return site_of(site.python) / archive.namelist()[-1].partition("/")[0]


def ours(site: Site) -> Path:
    return copied(site, site.wheel("0.2.0", requires=["helper"]))


def helper(site: Site) -> Path:
    return copied(site, str(site.user / "links" / "helper-1.0-py3-none-any.whl"))


def nothing_yet(site: Site) -> None:
    """The note is written, and no installer was started."""


def modules_alone(site: Site) -> None:
    shutil.rmtree(ours(site))
    shutil.rmtree(site_of(site.python) / "canon_hermes_plugin")


def metadata_begun(site: Site) -> None:
    info = ours(site)
    for file in info.iterdir():
        if file.name != "WHEEL":
            file.unlink()


def no_list_of_files(site: Site) -> None:
    helper(site)
    ours(site).joinpath("RECORD").unlink()
    shutil.rmtree(site_of(site.python) / "borgee_hermes")


def a_dependency_by_half(site: Site) -> None:
    helper(site).joinpath("RECORD").unlink()


def no_script_yet(site: Site) -> None:
    helper(site)
    ours(site)


def old_one_by_half(site: Site) -> None:
    copied(site, site.wheel("0.1.0")).joinpath("RECORD").unlink()
    shutil.rmtree(site_of(site.python) / "canon_ops")


def old_one_set_aside(site: Site) -> None:
    info = copied(site, site.wheel("0.1.0"))
    info.rename(info.with_name("~anon_ops-0.1.0.dist-info"))
    info.with_name("canon_ops").rename(info.with_name("~anon_ops"))


def old_one_out(site: Site) -> None:
    """It is out, and the new one has not come."""


FIRST = (nothing_yet, modules_alone, metadata_begun, no_list_of_files, a_dependency_by_half, no_script_yet)
UPGRADES = (old_one_by_half, old_one_set_aside, old_one_out)
Left = Callable[[Site], None]


def killed(site: Site, left: Left) -> None:
    """What there is after the kill: the note, and what the installer came to."""
    before: tuple[SavedPackage, ...] = ()
    if left in UPGRADES:
        store = PackageStore(site.home.path)
        kept = store.keep(Wheel.read(Path(site.wheel("0.1.0"))))
        before = (SavedPackage("canon-ops", "0.1.0", str(kept.relative_to(store.folder))),)
    brought = ("helper",) if before else ("helper", "canon-ops")
    InterruptedNote(str(site.python), before, brought, "install canon").write(site.home.path)
    left(site)


# -- what comes next ---------------------------------------------------------------------------------------------------


def examined(site: Site) -> Diagnosis:
    return diagnose(ABOUT_IT, Examination(site.home, site.environ, python=site.python))


def status_of(site: Site, check: str) -> str:
    return next(one.finding.status.value for one in examined(site).verdicts if one.check.id == check)


def install_again(site: Site) -> None:
    site.install(site.wheel("0.2.0", requires=["helper"]))


def roll_back(site: Site) -> None:
    site.rollback()


def take_out(site: Site) -> None:
    site.uninstall()


def doctor_fix(site: Site) -> None:
    verdicts = choose(examined(site), Status.WARNING)
    mended = mend(Writing(site.home, site.environ, "doctor --fix"), verdicts, Unattended(yes=True), python=site.python)
    assert [one.error.what for one in mended.refused] == []


NEXT = (install_again, roll_back, take_out, doctor_fix)
Next = Callable[[Site], None]


def contents(site: Site) -> set[str]:
    """What lies in the host beside what was compiled."""
    names = {path.name for path in site_of(site.python).iterdir()} | {
        path.name for path in site.python.parent.iterdir()
    }
    return {name for name in names if name not in {"__pycache__", "_virtualenv.pth"}}


def is_healthy(site: Site) -> bool:
    versions = site.versions
    return (versions.get("canon-ops"), versions.get("helper")) == ("0.2.0", "1.0") and status_of(
        site, "plugin.installed"
    ) == "ok"


def rows() -> list[object]:
    """Each state with each command; what ``make test`` sees has each state and each command once or twice."""
    quick = {
        (nothing_yet, take_out),
        (modules_alone, roll_back),
        (metadata_begun, install_again),
        (no_list_of_files, install_again),
        (no_list_of_files, doctor_fix),
        (no_list_of_files, take_out),
        (a_dependency_by_half, install_again),
        (no_script_yet, install_again),
        (old_one_by_half, roll_back),
        (old_one_set_aside, install_again),
    }
    return [
        pytest.param(
            left, then, marks=[] if (left, then) in quick else [pytest.mark.long],
            id=f"{left.__name__} then {then.__name__}",
        )
        for left in (*FIRST, *UPGRADES)
        for then in NEXT
    ]  # fmt: skip


@pytest.mark.parametrize(("left", "then"), rows())
def test_no_kill_is_a_dead_end(left: Left, then: Next, site: Site) -> None:
    """BR-33: the next command needs no help: the host has the whole package, or what it had before."""
    before = contents(site)
    killed(site, left)

    then(site)

    assert InterruptedNote.find(site.home.path) is None
    assert status_of(site, "config.interrupted") == "ok"
    assert not [name for name in contents(site) if name.startswith("~")]
    if then is install_again:
        assert is_healthy(site)
        assert "canon-hermes" in site.home.config_file.read_text()
        assert (site.python.parent / "canon-ops").exists()
        site.rollback()
    elif left in UPGRADES and then is not take_out:
        assert site.versions["canon-ops"] == "0.1.0"
        assert status_of(site, "plugin.installed") == "ok"
    if left in UPGRADES and then is not take_out:
        assert site.versions["canon-ops"] == "0.1.0"
        assert "helper" not in site.versions
    else:
        assert contents(site) == before
    assert site.files == (CONFIG.encode(), ENV.encode())


PROGRAM = """
import os, sys
from pathlib import Path
from canon_ops.files.disk import Disk
from canon_ops.hermes.homes import resolve_home
from canon_ops.operate.install import InstallOptions, install
from canon_ops.operate.prompts import Unattended
rename = Disk.rename
def killing(self, source, target):
    if Path(target).name == sys.argv[3]:
        os.kill(os.getpid(), 9)
    rename(self, source, target)
Disk.rename = killing
options = InstallOptions(python=Path(sys.argv[1]), source=sys.argv[2])
install(resolve_home(os.environ), os.environ, options, Unattended())
"""


@pytest.mark.parametrize(
    ("at", "then"),
    [
        pytest.param(at, then, marks=[] if (at, then) == (".env", doctor_fix) else [pytest.mark.long])
        for at in ("entry.json", "config.yaml", ".env", "installation.json")
        for then in NEXT
    ],
)
def test_nor_is_one_in_the_middle_of_the_files(at: str, then: Next, site: Site) -> None:
    """BR-33: before the files are promised it counts as an interrupted package, after that the change is finished."""
    before, source = contents(site), site.wheel("0.2.0", requires=["helper"])
    command = [sys.executable, "-c", PROGRAM, str(site.python), source, at]
    run = subprocess.run(command, env=site.environ, check=False, timeout=100)

    then(site)

    assert run.returncode == -9
    assert status_of(site, "config.interrupted") == "ok"
    if then is doctor_fix and InterruptedNote.find(site.home.path) is None and is_healthy(site):
        assert "canon-hermes" in site.home.config_file.read_text()
    elif then is install_again:
        assert is_healthy(site)
    else:
        assert (contents(site), site.files) == (before, (CONFIG.encode(), ENV.encode()))


# -- what is said ------------------------------------------------------------------------------------------------------


def test_status_names_it_first(site: Site) -> None:
    """What was interrupted comes before what a fresh home is told, with both ways on."""
    killed(site, no_list_of_files)

    seen = read_status(site.home, site.environ, now_ms=0, python=site.python)

    first = seen.in_the_way[0]
    assert (first.code, first.fix) == ("install_interrupted", "canon-ops rollback")
    assert "install canon was interrupted while it changed the packages of" in first.message
    assert seen.host is not None
    assert seen.host.canon_ops is None


def test_a_command_that_is_at_work_was_not_interrupted(site: Site) -> None:
    """Its note is no finding as long as it holds the lock of the home."""
    killed(site, nothing_yet)

    with Transaction(site.home.path):
        at_work = status_of(site, "config.interrupted")

    assert (at_work, status_of(site, "config.interrupted")) == ("ok", "error")


def test_a_kill_after_an_update_of_hermes_is_seen(site: Site) -> None:
    """The same package as in an earlier run that came to its end: the note is about the later one."""
    source = site.wheel("0.2.0", requires=["helper"])
    site.install(source)
    run = read_installation(site.home.path).runs[-1]
    for path in [*site_of(site.python).glob("canon_*"), *site_of(site.python).glob("*helper*")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    note = InterruptedNote(str(site.python), run.before or (), run.brought, "doctor --fix canon", runs=1)
    note.write(site.home.path)
    no_list_of_files(site)

    found = sorted(one.check.id for one in examined(site).findings)
    doctor_fix(site)

    assert found == ["config.interrupted", "plugin.installed"]
    assert (is_healthy(site), status_of(site, "config.interrupted")) == (True, "ok")


def test_what_others_own_stays(site: Site) -> None:
    """A folder of modules that another distribution lists is not removed with the half of ours."""
    killed(site, no_list_of_files)
    shutil.rmtree(site_of(site.python) / "canon_hermes_plugin")
    put_distribution(site.python, "canon-hermes-plugin", "0.14.1", {"canon_hermes_plugin/own.py": ""})

    rollback(site.home, site.environ, RollbackOptions(), Unattended(yes=True))

    assert (site_of(site.python) / "canon_hermes_plugin" / "own.py").exists()
    assert not (site_of(site.python) / "canon_ops").exists()


def test_a_persons_own_half_is_mended(site: Site) -> None:
    """Nobody wrote a note, for pip was run by hand; install puts the package there anew all the same."""
    no_list_of_files(site)

    site.install(site.wheel("0.2.0", requires=["helper"]))

    assert is_healthy(site)


def test_a_note_outlives_what_does_not_look_at_packages(site: Site) -> None:
    """`install --skip-package` forgets neither the note nor the wheels that it needs."""
    killed(site, old_one_by_half)
    options = InstallOptions(python=site.python, skip_package=True)

    install(site.home, site.environ, options, Unattended())
    still = InterruptedNote.find(site.home.path)
    site.rollback()

    assert still is not None
    assert site.versions["canon-ops"] == "0.1.0"


def test_a_rehearsal_changes_nothing(site: Site) -> None:
    """What is there by half is planned around, not removed."""
    killed(site, no_list_of_files)
    before = contents(site)

    site.install(site.wheel("0.2.0", requires=["helper"]), dry_run=True)
    outcome = rollback(site.home, site.environ, RollbackOptions(), Unattended(), dry_run=True)

    assert outcome.plan.leaves == ("canon-ops", "helper")
    assert (contents(site), site.files) == (before, (CONFIG.encode(), ENV.encode()))
    assert InterruptedNote.find(site.home.path) is not None
