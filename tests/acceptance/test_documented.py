"""The pages about testing, hosts and fleets say what is: what they show runs as it stands there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from canon_ops.hermes.contract_check import NEEDS, contract_differences
from canon_ops.hermes.gateway import isolated_environ
from scripts.contract_table import PAGE, cells, column
from tests.support.gateways import Stage
from tests.support.hosts import THIS_HOST
from tests.support.sandboxes import canon_box

pytestmark = [pytest.mark.host, pytest.mark.checkout]


def documented_scenario() -> Callable[[Stage], None]:
    """The first Python block of docs/testing.md, executed; its one test."""
    page = PAGE.with_name("testing.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    exec(page.split("```python\n")[1].split("```")[0], names)  # noqa: S102  # our own page
    (test,) = (value for name, value in names.items() if name.startswith("test_"))
    assert callable(test)
    return test


def test_the_scenario_of_the_page_runs(stage: Stage) -> None:
    """docs/testing.md shows a scenario that passes."""
    documented_scenario()(stage)


@pytest.mark.parametrize("platform", NEEDS)
def test_the_page_of_hosts_says_what_this_host_has(platform: str) -> None:
    """docs/hosts.md: the column of this host holds exactly the differences that its interpreter describes."""
    told = column(PAGE.read_text(encoding="utf-8"), platform, THIS_HOST.hermes)

    found = contract_differences(Path(sys.executable), environ=os.environ, platform=platform)

    assert told is not None, "python -m scripts.contract_table"
    assert told == cells(found)


@pytest.mark.long
@pytest.mark.everywhere
@pytest.mark.parametrize("runs", [1, 2])
def test_the_shell_of_the_fleet_page_runs(tmp_path: Path, runs: int) -> None:
    """docs/fleet.md: its blocks bring two homes from nothing to a green doctor; a second run has nothing to do."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.with_name("fleet.md").read_text(encoding="utf-8"), re.DOTALL)
    homes = tmp_path / "homes"
    environ = isolated_environ(os.environ, hermes_home=tmp_path / "nowhere", user_home=tmp_path)
    environ |= {"HOMES": str(homes), "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.defpath])}
    (tmp_path / "keys").mkdir()

    def told(kind: str) -> list[dict[str, object]]:
        files = [tmp_path / f"{name}.{kind}.json" for name in ("support", "billing")]
        return [json.loads(file.read_text(encoding="utf-8"))["data"] for file in files]

    with canon_box() as box:
        ends = box.endpoints
        for name in ("support", "billing"):
            (tmp_path / "keys" / name).write_text(box.human.add_agent(name)["agent_key"])
        lines = {"way": "key", "environment": ends.environment_id, "base_url": ends.api, "stream_url": ends.stream}
        (tmp_path / "answers.toml").write_text("".join(f'{key} = "{value}"\n' for key, value in lines.items()))
        changed = []
        for _ in range(runs):
            for block in blocks:
                subprocess.run(["/bin/sh", "-euc", block], env=environ, cwd=tmp_path, check=True, timeout=300)
            changed.append([[one["changed"] for one in told(kind)] for kind in ("install", "setup", "config")])

    assert len(blocks) == 2
    assert changed == [[[True, True]] * 3, [[False, False]] * 3][:runs]
    assert [one["summary"]["error"] for one in told("doctor")] == [0, 0]  # type: ignore[index]
    probed = json.loads((tmp_path / "probe.json").read_text(encoding="utf-8"))
    assert [one["id"] for one in probed["data"]["checks"]] == ["probe.ready"]
