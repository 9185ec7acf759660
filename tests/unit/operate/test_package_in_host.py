"""The package goes into a host and comes back out: real uv, no index, environments of a few files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from canon_ops.doctor.check import Status
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.mending import choose, mend
from canon_ops.doctor.registry import select
from canon_ops.doctor.run import diagnose
from canon_ops.errors import ExitCode
from canon_ops.files.lock import FolderLock, LockTimeout
from canon_ops.files.transaction import ChangedUnderUs
from canon_ops.hermes.discovery import HostNotFound
from canon_ops.hermes.installer import InstallerFailed
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.keyring.access import Keyring
from canon_ops.operate.bring_back import NothingToBringBack, bring_back
from canon_ops.operate.changes import NothingButPackages, undo_change
from canon_ops.operate.install import (
    InstallNotVerified,
    InstallOptions,
    InstallOutcome,
    InterruptedElsewhere,
    carry_out,
    install,
    plan_install,
)
from canon_ops.operate.install_plan import FOREIGN
from canon_ops.operate.installation import InterruptedNote, read_installation
from canon_ops.operate.package.action import PutBackFailed
from canon_ops.operate.package.alone import alone_in
from canon_ops.operate.package.plan import ForeignPlugin, PackageConflict, PackageMissing, Step
from canon_ops.operate.package.source import WrongPackage
from canon_ops.operate.prompts import Unattended
from canon_ops.operate.rollback import NothingBefore
from canon_ops.operate.uninstall import UninstallOptions, uninstall
from canon_ops.operate.upgrade import NothingInstalled, homes_that_enable
from canon_ops.operate.writing import ConsentMissing, Writing
from tests.support.canon_files import as_file, profile_entry
from tests.support.fake_host import make_environment, put_distribution, put_loader, script, site_of
from tests.support.keyring_backend import keyring_variables
from tests.support.package_site import CONFIG, ENV, LOADED, Site, make_site
from tests.support.small_wheels import UV, our_wheel, served_index, small_wheel


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path)


def test_in_and_out_again(site: Site) -> None:
    """D, BR-32: uv puts it where Hermes is, with what it needs; uninstall leaves host and files as they were."""
    before_files, before = site.files, site.versions

    installed = site.install(site.wheel("0.2.0", requires=["helper"]))
    there = site.versions
    removed = site.uninstall()

    assert there == {**before, "canon-ops": "0.2.0", "helper": "1.0"}
    assert installed.plan.package is not None
    assert installed.plan.package.step is Step.INSTALLED
    assert installed.verified == ("Hermes loads canon-hermes from its entrypoint.",)
    assert (site.files, site.versions) == (before_files, before)
    assert removed.plan.removes == ("canon-ops", "helper")
    assert site.kept_wheels == []
    assert not (site.home.path / ".canon-ops" / "installation.json").exists()


def test_the_second_time_nothing_changes(site: Site) -> None:
    """Compared file by file, whatever the record says; neither host nor home is touched."""
    source = site.wheel("0.2.0")
    site.install(source)
    stamps = {path: path.stat().st_mtime_ns for path in [*site_of(site.python).iterdir(), site.home.config_file]}
    (site.home.path / ".canon-ops" / "installation.json").unlink()

    outcome = site.install(source)

    assert (outcome.changed, outcome.plan.package and outcome.plan.package.step) == (False, Step.KEPT)
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_two_homes_at_once_share_one_host(site: Site) -> None:
    """Both plan to put it there; one does, the other waits, finds it there, and changes its own files only."""
    other = Site(site.user, site.python, {**site.environ, "HERMES_HOME": str(site.user / "other")})
    source = site.wheel("0.2.0", requires=["helper"])
    both_planned = threading.Barrier(2, timeout=60)

    class Together(Unattended):
        """Says nothing until the other one has planned, too."""

        def note(self, text: str) -> None:
            if text.startswith("Files: "):
                both_planned.wait()

    def put(one: Site) -> InstallOutcome:
        return install(one.home, one.environ, InstallOptions(python=one.python, source=source), Together())

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(put, [site, other]))

    steps = sorted(one.plan.package.step.value for one in outcomes if one.plan.package)
    assert steps == ["installed", "kept"]
    assert all(one.changed and one.verified for one in outcomes)
    assert all("canon-hermes" in one.home.config_file.read_text() for one in (site, other))
    assert site.versions["canon-ops"] == "0.2.0"


def test_packages_that_were_changed_meanwhile_are_planned_anew(site: Site) -> None:
    """What was planned for another state of the host is not carried out."""
    options = InstallOptions(python=site.python, source=site.wheel("0.2.0", requires=["helper"]))
    plan = plan_install(site.home, site.environ, options)
    site.put(small_wheel(site.user / "links", "stranger", "1.0", {"stranger.py": ""}))
    files = site.files

    with pytest.raises(ChangedUnderUs) as caught:
        carry_out(plan, site.environ, Unattended())

    assert caught.value.exit_code is ExitCode.CONFLICT
    assert "canon-ops" not in site.versions
    assert site.files == files


@pytest.mark.parametrize("command", ["uninstall", "rollback"])
def test_nobody_takes_a_package_out_while_another_puts_one_in(
    command: str, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way back waits for the host's packages, too, and gives up within its time."""
    site.install(site.wheel("0.2.0"))
    monkeypatch.setattr(f"canon_ops.operate.{command}.alone_in", partial(alone_in, patience_s=0.05))

    with FolderLock(site.python.parents[1]), pytest.raises(LockTimeout):
        getattr(site, command)()

    assert site.versions["canon-ops"] == "0.2.0"


def test_the_record_says_what_is_in_force(site: Site) -> None:
    """Name, version, digest, place and time of the environment, and the wheel to bring it back."""
    site.install(site.wheel("0.2.0"))

    package = read_installation(site.home.path).package
    assert package is not None
    assert (package.saved.name, package.saved.version, package.by_us) == ("canon-ops", "0.2.0", True)
    assert (package.prefix, package.hermes) == (str(site.user / "env"), "0.19.0")
    assert package.environment_made_ms == int((site.user / "env" / "pyvenv.cfg").stat().st_mtime * 1000)
    assert site.kept_wheels == ["canon_ops-0.2.0-py3-none-any.whl"]


def test_an_update_of_hermes_is_made_good(site: Site) -> None:
    """BR-33: what an update took out is put there again, the recorded version; configuration and access stay."""
    site.install(site.wheel("0.2.0"))
    files = site.files
    subprocess.run(
        [str(UV), "pip", "uninstall", "--quiet", "--python", str(site.python), "canon-ops"],
        env=site.environ, check=True, timeout=60,
    )  # fmt: skip

    outcome = bring_back(site.home, site.environ, Unattended(), python=site.python)

    assert outcome.changed
    assert (site.versions["canon-ops"], site.files) == ("0.2.0", files)


@pytest.mark.parametrize("harm", ["gone", "broken", "foreign"])
def test_the_doctor_puts_it_back(harm: str, site: Site) -> None:
    """What is gone, does not import, or is somebody else's: found, repaired after consent, and then all is well."""
    site.install(site.wheel("0.2.0"))
    plugin = site_of(site.python) / "canon_hermes_plugin" / "__init__.py"
    match harm:
        case "gone":
            for folder in (plugin.parent, *site_of(site.python).glob("canon_ops-*.dist-info")):
                shutil.rmtree(folder)
        case "broken":
            plugin.unlink()  # it is a hard link into uv's cache
            plugin.write_text("import nowhere_to_be_found\n")
        case "foreign":
            put_distribution(site.python, "canon-hermes-plugin", "0.14.1", {"canon_hermes_plugin/cards.py": ""})
    about_it = select(only=["plugin.installed", "plugin.owner", "plugin.entry_point", "plugin.import"])
    found = diagnose(about_it, Examination(site.home, site.environ, python=site.python))

    mended = mend(
        Writing(site.home, site.environ, "doctor --fix"), choose(found, Status.WARNING), Unattended(yes=True),
        python=site.python,
    )  # fmt: skip

    after = diagnose(about_it, Examination(site.home, site.environ, python=site.python))
    assert [one.error.what for one in mended.refused] == []
    assert (len(mended.done), site.versions["canon-ops"]) == (1, "0.2.0")
    assert [one.finding.message for one in after.findings] == []


BORGEE_LOADED = {**LOADED, "name": "borgee", "key": "borgee"}
BORGEE_ONLY = b"plugins: {enabled: [borgee]}\nborgee: {enabled: true}\n"


def borgee_alone(site: Site) -> None:
    """A home where Borgee was installed and nothing else; its host does not load Canon's plugin."""
    put_loader(site.python, [BORGEE_LOADED, {**LOADED, "enabled": False}])
    site.home.config_file.write_bytes(BORGEE_ONLY)
    site.home.env_file.unlink()
    options = InstallOptions(platform=PLATFORMS["borgee"], python=site.python, source=site.wheel("0.2.0"))
    install(site.home, site.environ, options, Unattended())


def test_what_comes_back_is_the_package_alone(site: Site) -> None:
    """BR-13, BR-33: on a home with Borgee alone no repair enables Canon or opens an access switch."""
    borgee_alone(site)
    shutil.rmtree(site_of(site.python) / "borgee_hermes")
    for folder in site_of(site.python).glob("canon_*"):
        shutil.rmtree(folder)
    about_it = select(only=["plugin.installed"])
    found = diagnose(about_it, Examination(site.home, site.environ, python=site.python))

    mended = mend(
        Writing(site.home, site.environ, "doctor --fix"), choose(found, Status.WARNING), Unattended(yes=True),
        python=site.python,
    )  # fmt: skip

    assert [one.error.what for one in mended.refused] == []
    assert mended.package is not None
    assert mended.package.verified == ("Hermes loads borgee from its entrypoint.",)
    assert site.versions["canon-ops"] == "0.2.0"
    assert (site.home.config_file.read_bytes(), site.home.env_file.exists()) == (BORGEE_ONLY, False)
    assert mended.package.next_steps[0] == "canon-ops setup borgee"
    assert not read_installation(site.home.path).has("canon")


def test_a_plugin_that_was_switched_off_stays_off(site: Site) -> None:
    """BR-33: the package comes back for it all the same, and the deny list is the operator's."""
    site.install(site.wheel("0.2.0"))
    denied = b"plugins:\n  enabled: [canon-hermes]\n  disabled: [canon-hermes]  # for now\n"
    site.home.config_file.write_bytes(denied)
    put_loader(site.python, [{**LOADED, "enabled": False}])
    for folder in site_of(site.python).glob("canon_*"):
        shutil.rmtree(folder)

    outcome = bring_back(site.home, site.environ, Unattended(), python=site.python)

    assert (site.versions["canon-ops"], outcome.verified) == ("0.2.0", ())
    assert site.home.config_file.read_bytes() == denied


def test_nothing_comes_back_for_nobody(site: Site) -> None:
    """BR-13: where neither record nor list names a platform of ours, installing is somebody's decision."""
    (found,) = diagnose(
        select(only=["plugin.installed"]), Examination(site.home, site.environ, python=site.python)
    ).findings

    with pytest.raises(NothingToBringBack):
        bring_back(site.home, site.environ, Unattended(), python=site.python)

    assert found.finding.fix is not None
    assert (found.finding.fix.repair, found.finding.fix.command.startswith("canon-ops install canon")) == (None, True)
    assert site.files == (CONFIG.encode(), ENV.encode())


def test_an_upgrade_leaves_a_home_with_borgee_alone_alone(site: Site) -> None:
    """The platform that is there is verified and recorded; the one that is not is nobody's wish."""
    borgee_alone(site)

    outcome = site.upgrade(site.wheel("0.3.0"))

    assert outcome.verified == ("Hermes loads borgee from its entrypoint.",)
    assert site.versions["canon-ops"] == "0.3.0"
    assert (site.home.config_file.read_bytes(), site.home.env_file.exists()) == (BORGEE_ONLY, False)
    assert not read_installation(site.home.path).has("canon")
    assert not any("setup canon" in step for step in outcome.next_steps)


def test_the_same_version_from_other_files_is_put_there_anew(site: Site) -> None:
    """A developer's second build counts."""
    site.install(site.wheel("0.2.0"))

    outcome = site.install(site.wheel("0.2.0", plugin="def register(ctx): 'second'\n"))

    assert outcome.plan.package is not None
    assert outcome.plan.package.step is Step.REINSTALLED
    assert "second" in (site_of(site.python) / "canon_hermes_plugin" / "__init__.py").read_text()


def test_a_broken_copy_of_the_same_is_put_there_anew(site: Site) -> None:
    """RECORD says that nothing is different, the import says that it is not there: it is mended."""
    source = site.wheel("0.2.0")
    site.install(source)
    (site_of(site.python) / "canon_hermes_plugin" / "__init__.py").unlink()

    outcome = site.install(source)

    assert outcome.changed
    assert (site_of(site.python) / "canon_hermes_plugin" / "__init__.py").exists()


def test_what_would_move_a_pin_of_hermes_is_refused_and_shown(site: Site) -> None:
    """N-12: the versions are named, both files and the host stay."""
    before_files, before = site.files, site.versions

    with pytest.raises(PackageConflict) as caught:
        site.install(site.wheel("0.2.0", requires=["pinned>=2"]))

    assert "pinned 1.0 would become 2.0; Hermes pins it." in caught.value.what
    assert caught.value.exit_code is ExitCode.FAILED
    assert (site.files, site.versions) == (before_files, before)


def test_another_python_is_refused_before_anything_is_tried(site: Site) -> None:
    """N-13: the range and the host's version are said."""
    with pytest.raises(WrongPackage, match=r"needs Python >=3\.99"):
        site.install(site.wheel("0.2.0", requires_python=">=3.99"))


def test_the_newest_that_fits_is_taken_and_a_newer_one_says_why_not(site: Site) -> None:
    """N-13: by name, the version for the host's Python; the newest, when it is asked for, is refused with its range."""
    needs = {"0.2.0": ">=3.8", "0.3.0": ">=3.99"}
    wheels = {our_wheel(site.user / "made", each, requires_python=python): python for each, python in needs.items()}
    for name in ("UV_OFFLINE", "UV_NO_INDEX"):
        del site.environ[name]
    with served_index(site.user / "index", wheels) as address:
        site.environ["UV_INDEX_URL"] = address

        taken = site.install("canon-ops")
        with pytest.raises(InstallerFailed) as newest:
            site.upgrade("canon-ops==0.3.0")

    assert (site.versions["canon-ops"], taken.changed) == ("0.2.0", True)
    assert "canon-ops==0.3.0" in newest.value.what
    assert "Python>=3.99" in newest.value.what.replace("\n", "")


def test_a_stranger_as_source_is_refused(site: Site) -> None:
    """A wheel of another name never gets into the host."""
    with pytest.raises(WrongPackage, match=r"helper 1\.0, not canon-ops"):
        site.install(str(small_wheel(site.user / "x", "helper", "1.0", {"helper.py": ""})))


@pytest.mark.parametrize("plugin", ["import nowhere_to_be_found\n", "x = 1\n"], ids=["no import", "no register"])
def test_what_the_host_cannot_load_is_taken_out_again(plugin: str, site: Site) -> None:
    """Verification fails: the package goes with what it brought, and no file has changed."""
    before_files, before = site.files, site.versions

    with pytest.raises(InstallNotVerified):
        site.install(site.wheel("0.2.0", plugin=plugin, requires=["helper"]))

    assert (site.files, site.versions) == (before_files, before)
    assert not (site.home.path / ".canon-ops" / "interrupted.json").exists()


def test_an_upgrade_that_fails_brings_the_old_version_back(site: Site) -> None:
    """The kept wheel of the version before is put there again."""
    site.install(site.wheel("0.2.0"))

    with pytest.raises(InstallNotVerified):
        site.upgrade(site.wheel("0.3.0", plugin="import nowhere_to_be_found\n"))

    assert site.versions["canon-ops"] == "0.2.0"
    assert site.upgrade(site.wheel("0.2.0")).changed is False


def test_upgrade_and_rollback(site: Site) -> None:
    """The newer version comes, the configuration stays; rollback returns first to the older one, then to nothing."""
    before_files = site.files
    site.install(site.wheel("0.2.0"))
    configured = site.files

    upgraded = site.upgrade(site.wheel("0.3.0"))
    versions = [site.versions["canon-ops"]]
    site.rollback()
    versions.append(site.versions["canon-ops"])
    in_between = site.files
    last = site.rollback()

    assert upgraded.plan.package is not None
    assert upgraded.plan.package.step is Step.UPGRADED
    assert versions == ["0.3.0", "0.2.0"]
    assert in_between == configured
    assert last.plan.leaves == ("canon-ops",)
    assert "canon-ops" not in site.versions
    assert site.files == before_files
    with pytest.raises(NothingBefore):
        site.rollback()


def test_undo_of_an_installation_forgets_no_package(site: Site) -> None:
    """The history brings files back, not packages: what came is still known, and uninstall takes it out."""
    before_files, before = site.files, site.versions
    site.install(site.wheel("0.2.0", requires=["helper"]))
    configured = site.files

    undone = undo_change(Writing(site.home, site.environ, "undo"), None, lambda _path, _text: None)
    taken_back = site.files
    again = undo_change(Writing(site.home, site.environ, "undo"), undone.written.history_id, lambda _path, _text: None)
    there_again = site.files
    undo_change(Writing(site.home, site.environ, "undo"), again.written.history_id, lambda _path, _text: None)
    record = read_installation(site.home.path)
    removed = site.uninstall()

    assert (taken_back, there_again) == (before_files, configured)
    assert undone.keeps.startswith(f"canon-ops 0.2.0 stays in {site.python}; `canon-ops rollback`")
    assert (record.has("canon"), record.brought) == (False, ("helper", "canon-ops"))
    assert removed.plan.removes == ("canon-ops", "helper")
    assert (site.files, site.versions) == (before_files, before)


def test_undo_of_an_upgrade_names_the_way_back(site: Site) -> None:
    """It changed no file of anybody's; the older package comes back by rollback."""
    site.install(site.wheel("0.2.0"))
    site.upgrade(site.wheel("0.3.0"))

    with pytest.raises(NothingButPackages) as caught:
        undo_change(Writing(site.home, site.environ, "undo"), None, lambda _path, _text: None)

    assert caught.value.fix == "canon-ops rollback"
    assert read_installation(site.home.path).package is not None


def test_an_older_version_is_no_upgrade(site: Site) -> None:
    """The way back is rollback."""
    site.install(site.wheel("0.3.0"))

    with pytest.raises(PackageConflict, match=r"is newer than 0\.2\.0"):
        site.upgrade(site.wheel("0.2.0"))


def test_nothing_there_is_nothing_to_upgrade(site: Site) -> None:
    """The advice is to install."""
    with pytest.raises(NothingInstalled) as caught:
        site.upgrade(site.wheel("0.2.0"))

    assert caught.value.fix == "canon-ops install canon"


PUBLISHED = {"canon_hermes_plugin/__init__.py": "def register(ctx): 'theirs'\n", "canon_hermes_plugin/own.py": ""}


def published(site: Site) -> None:
    points = "[hermes_agent.plugins]\ncanon-hermes = canon_hermes_plugin\n"
    site.put(small_wheel(site.user / "p", "canon-hermes-plugin", "0.14.1", PUBLISHED, entry_points=points))


def test_a_foreign_owner_is_replaced_with_consent_and_comes_back(site: Site) -> None:
    """N1: shown and refused first; with consent its files make room; rollback returns to it, no index asked."""
    published(site)
    before, source = site.versions, site.wheel("0.2.0")

    with pytest.raises(ForeignPlugin) as refused:
        site.install(source)
    outcome = site.install(source, FOREIGN)
    between = site.versions
    theirs_gone = not (site_of(site.python) / "canon_hermes_plugin" / "own.py").exists()
    back = site.rollback()

    assert "canon-hermes-plugin 0.14.1" in refused.value.what
    assert refused.value.fix == "canon-ops install canon --yes"
    assert outcome.plan.package is not None
    assert list(map(str, outcome.plan.package.foreign)) == ["canon-hermes-plugin 0.14.1"]
    assert (between.get("canon-ops"), between.get("canon-hermes-plugin"), theirs_gone) == ("0.2.0", None, True)
    assert list(map(str, back.plan.returns)) == ["canon-hermes-plugin 0.14.1"]
    assert site.versions == before
    assert "theirs" in (site_of(site.python) / "canon_hermes_plugin" / "__init__.py").read_text()


def test_the_published_borgee_plugin_makes_room_and_comes_back(site: Site) -> None:
    """N1: the same for the other platform, whose inbox and settings stay where they are."""
    points = "[hermes_agent.plugins]\nborgee = borgee_hermes\n"
    theirs = {"borgee_hermes/__init__.py": "'theirs'\ndef register(ctx): ...\n", "borgee_hermes/own.py": ""}
    site.put(small_wheel(site.user / "p", "borgee-hermes-plugin", "0.3.1", theirs, entry_points=points))
    put_loader(site.python, [{**LOADED, "name": "borgee", "key": "borgee"}])
    site.home.config_file.write_text(
        "plugins: {enabled: [borgee]}\nborgee: {enabled: true, max_concurrent_dispatches: 7}\n"
    )
    inbox = site.home.path / "plugins" / "borgee" / "inbox.sqlite3"
    inbox.parent.mkdir(parents=True)
    inbox.write_bytes(b"receipts")
    before, config = site.versions, site.home.config_file.read_bytes()
    options = InstallOptions(platform=PLATFORMS["borgee"], python=site.python, source=site.wheel("0.2.0"))

    with pytest.raises(ForeignPlugin, match=r"borgee-hermes-plugin 0\.3\.1"):
        install(site.home, site.environ, options, Unattended())
    outcome = install(site.home, site.environ, options.consenting(FOREIGN), Unattended())
    between = site.versions
    site.rollback()

    assert outcome.verified == ("Hermes loads borgee from its entrypoint.",)
    assert (between.get("canon-ops"), between.get("borgee-hermes-plugin")) == ("0.2.0", None)
    assert site.versions == before
    assert (site.home.config_file.read_bytes(), inbox.read_bytes()) == (config, b"receipts")


def test_a_foreign_owner_survives_a_failed_replacement(site: Site) -> None:
    """When ours does not load, theirs is back, file for file."""
    published(site)
    before = site.versions

    with pytest.raises(InstallNotVerified):
        site.install(site.wheel("0.2.0", plugin="x = 1\n"), FOREIGN)

    assert site.versions == before
    assert (site_of(site.python) / "canon_hermes_plugin" / "own.py").exists()


def test_a_kill_in_the_middle_forgets_nothing(site: Site) -> None:
    """A process that ended between the host's packages and the files: the next install knows what stood there first."""
    published(site)
    before, source = site.versions, site.wheel("0.2.0")
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from canon_ops.files.transaction import Transaction\n"
        "from canon_ops.hermes.homes import resolve_home\n"
        "from canon_ops.operate.install import InstallOptions, install\n"
        "from canon_ops.operate.prompts import Unattended\n"
        "class Killed(Unattended):\n"
        "    def progress(self, text):\n"
        "        if text.startswith('Asking Hermes'): os.kill(os.getpid(), 9)\n"
        "        return super().progress(text)\n"
        "options = InstallOptions(python=Path(sys.argv[1]), source=sys.argv[2]).consenting('plugin_foreign')\n"
        "install(resolve_home(os.environ), os.environ, options, Killed())\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", program, str(site.python), source], env=site.environ, check=False, timeout=100
    )
    half = site.versions
    unchanged = site.files == (CONFIG.encode(), ENV.encode())

    site.install(source)
    site.rollback()

    assert killed.returncode == -9
    assert (half.get("canon-ops"), half.get("canon-hermes-plugin"), unchanged) == ("0.2.0", None, True)
    assert site.versions == before


def test_a_kill_in_the_middle_can_be_rolled_back_at_once(site: Site) -> None:
    """Without a second attempt, rollback puts back what the killed command had taken out."""
    published(site)
    before = site.versions
    site.install(site.wheel("0.2.0"), FOREIGN)
    record = site.home.path / ".canon-ops" / "installation.json"
    run = read_installation(site.home.path).runs[-1]
    record.unlink()  # as if the process had ended before it was written
    InterruptedNote(str(site.python), run.before or (), run.brought).write(site.home.path)

    outcome = site.rollback()

    assert outcome.plan.run is None
    assert site.versions == before


def test_no_other_host_is_touched(site: Site) -> None:
    """When the environment of the run is gone, rollback refuses; it does not take the next best Hermes."""
    site.install(site.wheel("0.2.0"))
    site.python.parents[1].rename(site.user / "moved")

    with pytest.raises(HostNotFound, match="is not there any more"):
        site.rollback()


def test_what_was_interrupted_in_another_host_comes_first(site: Site) -> None:
    """Its note is not written over: the command names the other host and the way to put it back."""
    other = make_environment(site.user / "other")
    (site.home.path / ".canon-ops").mkdir(mode=0o700)
    InterruptedNote(str(other), (), ("canon-ops",)).write(site.home.path)

    with pytest.raises(InterruptedElsewhere, match=str(other)) as caught:
        site.install(site.wheel("0.2.0"))

    assert caught.value.fix == "canon-ops rollback"
    assert "canon-ops" not in site.versions


def test_uninstall_goes_where_install_went(site: Site) -> None:
    """Without --python it is the recorded host that is cleaned up, whichever other would be found first."""
    site.install(site.wheel("0.2.0"))

    outcome = uninstall(site.home, site.environ, UninstallOptions(), Unattended(yes=True))

    assert outcome.plan.host is not None
    assert outcome.plan.host.python == site.python
    assert "canon-ops" not in site.versions


def test_a_kill_after_the_last_write_left_nothing_to_do(site: Site) -> None:
    """A note about a run that the record holds is not taken for an interrupted one."""
    source = site.wheel("0.2.0")
    site.install(source)
    run = read_installation(site.home.path).runs[-1]
    InterruptedNote(str(site.python), run.before or (), run.brought).write(site.home.path)

    again = site.install(source)

    assert again.changed is False
    assert read_installation(site.home.path).runs == (run,)


def test_a_package_that_cannot_be_taken_out_leaves_the_record(site: Site) -> None:
    """When the installer fails, no file has changed, and the command can be given again."""
    site.install(site.wheel("0.2.0"))
    files = site.files
    (site.user / "tools" / "uv").unlink()
    script(site.user / "tools" / "uv", "#!/bin/sh\necho 'error: no' >&2\nexit 2\n")

    with pytest.raises(InstallerFailed, match="error: no"):
        site.uninstall()
    kept = site.files
    (site.user / "tools" / "uv").unlink()
    (site.user / "tools" / "uv").symlink_to(UV)
    site.uninstall()

    assert kept == files
    assert site.files == (CONFIG.encode(), ENV.encode())
    assert "canon-ops" not in site.versions


def test_the_cure_of_a_failed_dry_run_names_no_file_that_is_gone(site: Site) -> None:
    """The wheel of the trial was in a folder of its own; the advice is a command that can be given."""
    source = site.wheel("0.2.0")
    (site.user / "tools" / "uv").unlink()
    script(site.user / "tools" / "uv", "#!/bin/sh\necho 'error: no index' >&2\nexit 2\n")

    with pytest.raises(InstallerFailed, match="error: no index") as caught:
        site.install(source)

    assert caught.value.fix == "mend what it names, then look again: canon-ops install --dry-run"


def test_a_wheel_that_is_gone_fails_before_any_file(site: Site) -> None:
    """Rollback that cannot put the package back leaves the configuration as it is and names the place."""
    published(site)
    site.install(site.wheel("0.2.0"), FOREIGN)
    configured = site.files
    for wheel in site.home.path.glob(".canon-ops/packages/*/canon_hermes_plugin*.whl"):
        wheel.unlink()

    with pytest.raises(PutBackFailed) as caught:
        site.rollback()

    assert "canon-hermes-plugin 0.14.1 could not be put back" in caught.value.what
    assert site.files == configured


def test_another_profile_keeps_the_package(site: Site) -> None:
    """Profiles share one environment: what one of them still enables stays there, and the report says for whom."""
    site.install(site.wheel("0.2.0"))
    work = site.home.path / "profiles" / "work"
    work.mkdir(parents=True)
    (work / "config.yaml").write_text("plugins: {enabled: [canon-hermes]}\n")

    outcome = site.uninstall()

    assert outcome.plan.removes == ()
    assert "the Hermes profile work still enable" in outcome.plan.keeps_package
    assert site.versions["canon-ops"] == "0.2.0"
    assert site.files == (CONFIG.encode(), ENV.encode())


def other_profile(site: Site, plugin: str) -> None:
    folder = site.home.path / "profiles" / "work"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(f"plugins: {{enabled: [{plugin}]}}\n")


def test_rollback_leaves_what_another_profile_uses(site: Site) -> None:
    """One environment: the lines of this profile go, the package that the other one loads stays, and that is said."""
    site.install(site.wheel("0.2.0", requires=["helper"]))
    other_profile(site, "canon-hermes")

    outcome = site.rollback()

    assert "the Hermes profile work still enable a plugin of it" in outcome.plan.keeps_package
    assert (outcome.plan.leaves, site.versions["canon-ops"], site.versions["helper"]) == ((), "0.2.0", "1.0")
    assert site.files == (CONFIG.encode(), ENV.encode())


@pytest.mark.parametrize(("plugin", "version"), [("canon-hermes", None), ("borgee", "0.2.0")])
def test_a_published_plugin_comes_back_where_nobody_misses_one(plugin: str, version: str | None, site: Site) -> None:
    """It serves a profile with Canon as well as before; one with Borgee would find its plugin gone."""
    published(site)
    site.install(site.wheel("0.2.0"), FOREIGN)
    other_profile(site, plugin)

    outcome = site.rollback()

    assert site.versions.get("canon-ops") == version
    assert site.versions.get("canon-hermes-plugin") == (None if version else "0.14.1")
    assert bool(outcome.plan.keeps_package) is bool(version)


def test_two_platforms_leave_one_after_the_other(site: Site) -> None:
    """What came with the first one goes with the last one, whichever that is."""
    before_files, before = site.files, site.versions
    source = site.wheel("0.2.0", requires=["helper"])
    put_loader(site.python, [LOADED, BORGEE_LOADED])
    site.install(source)
    borgee = PLATFORMS["borgee"]
    install(site.home, site.environ, InstallOptions(platform=borgee, python=site.python, source=source), Unattended())

    first = site.uninstall()
    options = UninstallOptions(platform=borgee, python=site.python)
    last = uninstall(site.home, site.environ, options, Unattended(yes=True))

    assert (first.plan.removes, "Borgee in this Hermes profile" in first.plan.keeps_package) == ((), True)
    assert last.plan.removes == ("canon-ops", "helper")
    assert (site.files, site.versions) == (before_files, before)


def test_every_profile_is_found_for_an_upgrade(site: Site) -> None:
    """The home itself, and each other one that enables a plugin of ours."""
    for name, enabled in (("work", "[canon-hermes]"), ("idle", "[]"), ("zone", "[borgee]")):
        folder = site.home.path / "profiles" / name
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text(f"plugins: {{enabled: {enabled}}}\n")

    homes = homes_that_enable(site.home, site.environ)

    assert [home.profile_name for home in homes] == ["default", "work", "zone"]


def test_a_dependency_that_somebody_else_uses_stays(site: Site) -> None:
    """Taken out is what came with us, unless another distribution has begun to need it."""
    site.install(site.wheel("0.2.0", requires=["helper"]))
    put_distribution(site.python, "late-comer", "1.0", {"late.py": ""}, requires=["helper>=1"])

    site.uninstall()

    assert "helper" in site.versions
    assert "canon-ops" not in site.versions


def test_credentials_stay_unless_purged(site: Site) -> None:
    """Keys survive uninstall; --purge wants consent, and takes the variables and the Canon profile in force."""
    agents = site.user / ".canon" / "agents.json"
    agents.parent.mkdir()
    agents.write_bytes(as_file(ops=profile_entry(), other=profile_entry(agentId="agent_2")))
    site.home.env_file.write_bytes(ENV.encode() + b"CANON_AGENT=ops\n")
    site.install(site.wheel("0.2.0"))

    site.uninstall(skip_package=True)
    kept = (site.files[1], json.loads(agents.read_text()).keys())
    with pytest.raises(ConsentMissing):
        site.uninstall(purge=True, yes=False)
    outcome = site.uninstall(purge=True)

    assert kept == (ENV.encode() + b"CANON_AGENT=ops\n", {"ops", "other"})
    assert outcome.plan.purged is not None
    assert outcome.plan.purged[0] == "ops"
    assert json.loads(agents.read_text()).keys() == {"other"}
    assert site.files[1] == ENV.encode()


def test_purging_forgets_every_copy_of_a_key(site: Site) -> None:
    """Out of the keyring, and out of both histories: whoever finds the disk finds no key."""
    entries = site.user / "entries.json"
    entries.write_text(json.dumps({"canon-ops/ops": "kept-in-the-keyring", "canon-ops/other": "stays"}))
    agents = site.user / ".canon" / "agents.json"
    agents.parent.mkdir()
    reference = {"service": "canon-ops", "account": "ops"}
    agents.write_bytes(as_file(ops=profile_entry(apiKey=None, apiKeyRef=reference)))
    bootstrap = 'CANON_AGENTS_JSON_BOOTSTRAP={"more": {"apiKey": "boot-secret-0123"}}'
    site.home.env_file.write_text(f"{ENV}CANON_AGENT=ops\n{bootstrap}\n")
    site.install(site.wheel("0.2.0"))
    options = UninstallOptions(python=site.python, purge=True, skip_package=True)
    keyring = Keyring({**os.environ, **keyring_variables(entries)})

    outcome = uninstall(site.home, site.environ, options, Unattended(yes=True), keyring=keyring)

    texts = [file.read_text(errors="replace") for file in site.user.rglob("*") if file.is_file()]
    assert json.loads(entries.read_text()) == {"canon-ops/other": "stays"}
    assert [text for text in texts if "boot-secret-0123" in text] == []
    assert (outcome.left_behind, outcome.history_id) == ((), None)


def test_a_key_that_the_keyring_keeps_is_told(site: Site) -> None:
    """A keyring that does not answer holds nothing else up."""
    agents = site.user / ".canon" / "agents.json"
    agents.parent.mkdir()
    reference = {"service": "canon-ops", "account": "ops"}
    agents.write_bytes(as_file(ops=profile_entry(apiKey=None, apiKeyRef=reference)))
    site.install(site.wheel("0.2.0"))
    options = UninstallOptions(python=site.python, purge=True, skip_package=True)

    outcome = uninstall(
        site.home, site.environ, options, Unattended(yes=True), keyring=Keyring({"CANON_OPS_KEYRING": "off"})
    )

    assert json.loads(agents.read_text()) == {}
    assert [told.startswith("The keyring still has canon-ops/ops") for told in outcome.left_behind] == [True]


def test_a_home_without_a_record_is_taken_back_by_meaning(site: Site) -> None:
    """Who enabled the plugin by hand gets it disabled; a setting of theirs beside it stays."""
    listed = "plugins:\n  enabled:\n  - other\n"
    by_hand = f"{listed}  - canon-hermes\nplatforms:\n  canon:\n    enabled: true\n    extra: {{a: 1}}\n"
    site.home.config_file.write_text(by_hand)

    site.uninstall()

    assert site.home.config_file.read_text() == f"{listed}platforms:\n  canon:\n    extra: {{a: 1}}\n"


def test_where_nothing_can_be_installed_there_are_instructions(site: Site) -> None:
    """A container image gets the line to add to it, with the interpreter in full; nothing is tried."""
    site_of(site.python).joinpath(".install_method").write_text("docker\n")

    with pytest.raises(PackageMissing) as caught:
        site.install(site.wheel("0.2.0"))

    assert caught.value.fix is not None
    assert f"RUN uv pip install --python {site.python}" in caught.value.fix


def test_a_dry_run_tries_and_leaves_no_trace(site: Site) -> None:
    """The installer is asked, the moves are shown, and nothing is written anywhere."""
    before = sorted(site_of(site.python).rglob("*"))

    outcome = site.install(site.wheel("0.2.0", requires=["helper"]), dry_run=True)

    assert any("+ helper 1.0" in sentence for sentence in site.told)
    assert outcome.history_id is None
    assert sorted(site_of(site.python).rglob("*")) == before
    assert site.files == (CONFIG.encode(), ENV.encode())
    assert not (site.home.path / ".canon-ops").exists()


def test_settings_that_lead_elsewhere_are_not_followed(site: Site) -> None:
    """A target of the person's own in the environment does not carry the packages away from the host."""
    site.environ |= {"UV_TARGET": str(site.user / "elsewhere"), "VIRTUAL_ENV": str(site.user / "another")}

    site.install(site.wheel("0.2.0"))

    assert site.versions["canon-ops"] == "0.2.0"
    assert not (site.user / "elsewhere").exists()
