"""The example playbook brings twenty Hermes homes from nothing to a green doctor, and then has nothing to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.environments import CHECKOUT
from tests.support.fleet import Fleet
from tests.support.layouts import make_tool, uv_host
from tests.support.sandboxes import canon_box
from tests.support.tools import needs

SIZE = int(os.environ.get("FLEET_HOMES", "20"))
HEALTHY = {"gateway.running": "info"}  # nobody has started one

pytestmark = [pytest.mark.host, pytest.mark.checkout, pytest.mark.long, pytest.mark.timeout(3_600)]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One Hermes without canon-ops, canon-ops in an environment of its own, and agents on a loopback Canon."""
    folder = tmp_path_factory.mktemp("fleet")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=CHECKOUT, check=True, capture_output=True, timeout=300)
    (wheel,) = (folder / "dist").glob("*.whl")
    with canon_box() as box:
        yield Fleet.make(folder, uv_host(folder / "user"), make_tool(folder / "tool", wheel), box, size=SIZE)


def test_a_rehearsal_changes_nothing(fleet: Fleet) -> None:
    """Ansible's check mode is our dry run: it tells that there is work, and does none of it."""
    packages = fleet.host.packages

    recap = fleet.play("--check", "--limit", "home-00,home-01")

    assert recap.code == 0, recap.output
    assert recap.hosts_with("changed") == {"home-00", "home-01"}
    assert not (fleet.folder / "homes").exists()
    assert fleet.host.packages == packages


def test_from_nothing_to_a_green_doctor(fleet: Fleet) -> None:
    """Every home has its plugin, its own agent and its settings; the Hermes that they share was changed once."""
    recap = fleet.play()

    assert recap.code == 0, recap.output
    assert len(recap.counts) == SIZE
    assert recap.hosts_with("changed") == {home.name for home in fleet.homes}
    assert not recap.hosts_with("failed")
    assert [fleet.remarks(home) for home in (fleet.homes[0], fleet.homes[-1])] == [HEALTHY, HEALTHY]
    assert [line for line in fleet.host.packages if line.startswith("canon-ops")]
    for home in fleet.homes:
        assert home.key in home.files[".env"][0].decode()
        assert (home.path / ".env").stat().st_mode & 0o777 == 0o600
        assert home.key not in recap.output


def test_the_second_run_has_nothing_to_do(fleet: Fleet) -> None:
    """changed=0 in every home, and not a byte or a time of a file is another."""
    before = {home.name: home.files for home in fleet.homes}

    recap = fleet.play()

    assert recap.code == 0, recap.output
    assert len(recap.counts) == SIZE
    assert recap.hosts_with("changed") == set()
    assert {home.name: home.files for home in fleet.homes} == before


def test_what_was_broken_is_mended_and_the_rest_left_alone(fleet: Fleet) -> None:
    """A home without its plugin and key gets them back; one that nobody can read fails, and says which line."""
    spoilt, unreadable = fleet.homes[2], fleet.homes[3]
    config = spoilt.path / "config.yaml"
    config.write_text(config.read_text().replace("canon-hermes", "another-plugin") + "# a remark\n")
    (spoilt.path / ".env").write_text("CANON_ALLOW_ALL_USERS=true\n")
    (unreadable.path / "config.yaml").write_text("plugins: [\n")
    others = {home.name: home.files for home in fleet.homes if home not in (spoilt, unreadable)}

    recap = fleet.play()

    assert recap.code != 0
    assert recap.hosts_with("failed") == {unreadable.name}
    assert recap.hosts_with("changed") == {spoilt.name}
    assert "config_syntax" in recap.output or "line" in recap.output
    assert (unreadable.path / "config.yaml").read_text() == "plugins: [\n"
    assert fleet.remarks(spoilt) == HEALTHY
    assert "# a remark\n" in config.read_text()
    assert {home.name: home.files for home in fleet.homes if home.name in others} == others


@needs("strace")
def test_no_key_is_ever_an_argument(fleet: Fleet, tmp_path: Path) -> None:
    """Of no process that the playbook starts, whichever way the key comes; and a refused key is told without itself."""
    log = tmp_path / "execve.log"
    trace = ["strace", "-f", "-qq", "-s", "1000000", "-e", "trace=execve", "-o", str(log)]
    for home in fleet.homes[:2]:
        (home.path / ".env").write_text("CANON_ALLOW_ALL_USERS=true\n")

    recap = fleet.play("--limit", "home-00,home-01", "-v", before=trace)

    started = log.read_text(errors="replace")
    assert recap.code == 0, recap.output
    assert recap.hosts_with("changed") == {"home-00", "home-01"}
    assert "--api-key-stdin" in started and "--api-key-file" in started
    assert not [home.name for home in fleet.homes[:2] if home.key in started + recap.output]


def test_a_refused_key_ends_the_run_of_its_home(fleet: Fleet) -> None:
    """Exit 4 is not tried again; the reason and the cure are shown although the step hides its output."""
    home = fleet.homes[1]
    assert home.key_file is not None
    home.key_file.write_text("agk_live_sandbox_nobody\n")

    recap = fleet.play("--limit", home.name)
    home.key_file.write_text(f"{home.key}\n")

    assert recap.hosts_with("failed") == {home.name}
    assert "(exit 4)" in recap.output and "Fix: " in recap.output
    assert "FAILED - RETRYING" not in recap.output
    assert home.key in home.files[".env"][0].decode()
