"""A host that we do not answer for: unaudited versions, and an audited one that somebody changed.

The target for hosts runs this file on versions that must be refused; on an audited host the first part has no subject.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from canon_hermes_plugin.host import read_host_facts
from canon_ops.hermes.audited import Refused, audit
from canon_ops.hermes.gateway import GatewayProcess
from canon_ops.sandbox.model.server import ModelSandbox
from canon_ops.sandbox.server import CanonSandbox
from tests.support.candidate import host_is_audited
from tests.support.environments import CHECKOUT
from tests.support.gateways import direct_key
from tests.support.hermes_rig import add_rig
from tests.support.homes import GatewayHome, build_home
from tests.support.overlays import edited_host

pytestmark = pytest.mark.host

PYTHON = Path(sys.executable)
SCRIPT = str(PYTHON.with_name("canon-ops"))
LACKING = "gateway.platforms.base:BasePlatformAdapter.pause_typing_for_chat"
WITH_RIG = {
    "plugins": {"enabled": ["canon-hermes", "rig"]},
    "platforms": {"rig": {"enabled": True, "token": "test"}},
}

on_a_refused_host = pytest.mark.skipif(host_is_audited(), reason="this Hermes is audited")
on_an_audited_host = pytest.mark.skipif(not host_is_audited(), reason="this Hermes is not audited")


def verdict() -> Refused:
    facts = read_host_facts()
    refused = audit(facts.version, facts.python, facts.platform)
    assert isinstance(refused, Refused)
    return refused


def canon_home(folder: Path, box: CanonSandbox, model: ModelSandbox) -> GatewayHome:
    """A home in which Canon is set up and enabled, beside another platform."""
    home = build_home(
        folder, model_url=model.endpoints.base_url, dotenv=direct_key(box), config=WITH_RIG, load_anyway=False
    )
    add_rig(home.path)
    return home


def canon_ops(home: GatewayHome, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *words], env=dict(home.environ), text=True, capture_output=True, timeout=110)


@on_a_refused_host
def test_the_gateway_runs_without_canon_and_says_why(tmp_path: Path) -> None:
    """H2: the platform stays off with one sentence in the log, the gateway and another platform are as ever."""
    with CanonSandbox() as box, ModelSandbox() as model:
        home = canon_home(tmp_path, box, model)
        with GatewayProcess.start(home.home, python=PYTHON, environ=home.environ, log=tmp_path / "out") as gateway:
            state = gateway.wait_ready(platform="rig")

        assert state.is_connected("rig")
        assert not state.is_connected("canon")
        assert f"The Canon platform stays off. {verdict().sentence}" in home.logs
        assert box.journal() == []


@on_a_refused_host
def test_nothing_is_installed_into_it(tmp_path: Path) -> None:
    """H1: `install` refuses with the same sentence and changes nothing; there is no switch around it."""
    with CanonSandbox() as box, ModelSandbox() as model:
        home = canon_home(tmp_path, box, model)
    before = home.home.config_file.read_bytes()

    done = canon_ops(home, "install", "canon", "--skip-package", "--yes")

    assert done.returncode == 1
    assert verdict().sentence in done.stderr
    assert home.home.config_file.read_bytes() == before


@on_a_refused_host
def test_it_is_shown_with_the_reason_and_the_contract(tmp_path: Path) -> None:
    """`host show` names the refusal, and what the platform would miss; the doctor calls it an error."""
    with CanonSandbox() as box, ModelSandbox() as model:
        home = canon_home(tmp_path, box, model)

    shown = json.loads(canon_ops(home, "host", "show", "--json").stdout)["data"]
    told = json.loads(canon_ops(home, "doctor", "--only", "host.version", "--json").stdout)["data"]

    assert (shown["host"]["audited"], shown["host"]["reason"]) == (False, verdict().sentence)
    assert shown["contract"]["relied_on"] > 40
    assert [one["status"] for one in told["checks"]] == ["error"]


@pytest.mark.long
@pytest.mark.everywhere
@on_an_audited_host
def test_an_audited_host_that_lacks_a_symbol(tmp_path: Path) -> None:
    """One method renamed in the host: the log, `host show` and the doctor name it, and other platforms live."""
    python = edited_host(tmp_path / "env", "gateway.platforms.base", "def pause_typing_for_chat(", "def rest_typing(")
    with CanonSandbox() as box, ModelSandbox() as model:
        home = canon_home(tmp_path, box, model)
        with GatewayProcess.start(home.home, python=python, environ=home.environ, log=tmp_path / "out") as gateway:
            state = gateway.wait_ready(platform="rig")

        shown = json.loads(canon_ops(home, "host", "show", "--python", str(python), "--json").stdout)
        told = json.loads(
            canon_ops(home, "doctor", "--python", str(python), "--only", "host.contract", "--json").stdout
        )

    assert not state.is_connected("canon")
    assert "This Hermes lacks what Canon relies on" in home.logs
    assert "canon-ops doctor --only host.contract" in home.logs
    (broken,) = (one for one in shown["data"]["contract"]["differences"] if one["effect"] == "breaks")
    assert (shown["exit_code"], broken["path"]) == (1, LACKING)
    assert f"{LACKING} is missing" in told["data"]["checks"][0]["message"]


def test_being_installed_is_not_being_there(tmp_path: Path) -> None:
    """Not enabled, our package changes nothing: the gateway runs, another platform connects, no log names Canon."""
    with ModelSandbox() as model:
        only_rig = {**WITH_RIG, "plugins": {"enabled": ["rig"]}}
        home = build_home(tmp_path, model_url=model.endpoints.base_url, dotenv={}, config=only_rig)
        config = home.home.config_file.read_text()
        home.home.config_file.write_text(config.replace("  canon:\n    enabled: true\n", ""))
        add_rig(home.path)
        with GatewayProcess.start(home.home, python=PYTHON, environ=home.environ, log=tmp_path / "out") as gateway:
            state = gateway.wait_ready(platform="rig")

    assert state.is_connected("rig")
    assert [*state.platforms] == ["rig"]
    records = [text.replace(str(CHECKOUT), "") for text in home.log_records()]  # tracebacks name the host's files in it
    mentions = [text for text in records if "canon" in text.lower()]
    assert [text for text in mentions if "parent_cmdline" not in text] == []
