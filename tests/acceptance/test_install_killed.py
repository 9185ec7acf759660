"""`canon-ops install` as people start it, killed with its installer while real pip copies the package."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fake_host import site_of
from tests.support.package_site import Site, make_site
from tests.support.small_wheels import REGISTERS, small_wheel
from tests.support.waiting import wait_until

FILES = 3_000  # enough that pip copies for a second or so: the metadata comes first, the list of files last
POINTS = "[hermes_agent.plugins]\ncanon-hermes = canon_hermes_plugin\nborgee = borgee_hermes\n"
NEXT = {
    "install": ["install", "canon", "--no-input", "--source", "WHEEL"],
    "rollback": ["rollback", "--yes"],
    "uninstall": ["uninstall", "canon", "--yes"],
    "doctor": ["doctor", "--offline", "--fix", "--yes"],
}


def large_wheel(folder: Path) -> Path:
    modules = {f"canon_ops/part_{number:04}.py": "x = 1\n" * 20 for number in range(FILES)}
    plugins = {"canon_hermes_plugin/__init__.py": REGISTERS, "borgee_hermes/__init__.py": REGISTERS}
    files = {"canon_ops/__init__.py": "", **modules, **plugins}
    return small_wheel(folder, "canon-ops", "0.2.0", files, entry_points=POINTS)


def command(site: Site, words: list[str], wheel: Path) -> subprocess.Popen[str]:
    words = [str(wheel) if word == "WHEEL" else word for word in words]
    aim = [] if words[0] == "rollback" else ["--python", str(site.python)]
    program = [str(Path(sys.executable).parent / "canon-ops"), *words, *aim, "--json"]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        program, stdout=pipe, stderr=pipe, text=True, env=site.environ, start_new_session=True
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.parametrize("then", NEXT)
def test_killed_while_pip_copies(then: str, tmp_path: Path) -> None:
    """BR-33: `kill -9` of the whole group between metadata and list of files; the next command needs no help."""
    site = make_site(tmp_path)
    (tmp_path / "tools" / "uv").unlink()  # so that it is the pip beside us that copies
    site.environ |= {"PIP_NO_INDEX": "1", "HERMES_HOME": str(tmp_path / ".hermes")}
    wheel, info = large_wheel(tmp_path / "dist"), site_of(site.python) / "canon_ops-0.2.0.dist-info"
    before = {path.name for path in site_of(site.python).iterdir()} - {"__pycache__"}
    running = command(site, NEXT["install"], wheel)
    wait_until(lambda: (site_of(site.python) / "canon_ops").exists() or running.poll() is not None, timeout_s=120)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    half = {path.name for path in site_of(site.python).iterdir()}
    has_list = (info / "RECORD").exists()

    report = command(site, ["doctor", "--offline", "--only", "config.interrupted"], wheel).communicate()[0]
    following = command(site, NEXT[then], wheel)
    out, err = following.communicate()

    assert ("canon_ops" in half, has_list) == (True, False)
    assert json.loads(report)["data"]["summary"]["error"] == 1
    assert following.returncode == 0 or then == "doctor", (out, err)
    assert not (site.home.path / ".canon-ops" / "interrupted.json").exists()
    if then == "install":
        assert (info / "RECORD").exists()
        assert len([*(site_of(site.python) / "canon_ops").glob("part_*.py")]) == FILES
    else:
        assert {path.name for path in site_of(site.python).iterdir()} - {"__pycache__"} == before
    shutil.rmtree(tmp_path / "env")
