"""From an empty profile to a connected gateway, with the doctor asked at each stage: real host, real plugin."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from canon_ops.doctor.examination import Examination
from canon_ops.doctor.registry import CHECKS
from canon_ops.doctor.run import diagnose
from canon_ops.hermes.discovery import find_host
from canon_ops.hermes.gateway import GatewayProcess, isolated_environ
from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.operate.install import InstallOptions, install
from canon_ops.operate.prompts import Unattended
from canon_ops.sandbox.server import CanonSandbox
from tests.support.canon_files import profile_entry
from tests.support.sandboxes import canon_box

QUIET = """\
# a host that calls nothing outside
model: {default: stub, provider: custom, base_url: "http://127.0.0.1:9/v1", api_key: stub, context_length: 200000}
security: {tirith_enabled: false, allow_lazy_installs: false}
onboarding: {profile_build: "off"}
streaming: {enabled: true}
approvals: {mode: manual}
display: {platforms: {canon: {interim_assistant_messages: false, tool_progress: "off"}}}
memory: {memory_enabled: false, user_profile_enabled: false}
kanban: {dispatch_in_gateway: false}
"""

pytestmark = pytest.mark.host


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with canon_box() as running:
        yield running


def remarks(home: HermesHome, environ: dict[str, str]) -> dict[str, str]:
    """What is not ok, in words."""
    found = diagnose(CHECKS, Examination(home, environ)).verdicts
    return {one.check.id: one.finding.status.value for one in found if one.finding.status.value != "ok"}


def test_each_stage_of_an_installation_is_what_the_doctor_says(tmp_path: Path, box: CanonSandbox) -> None:
    """Before, after install, with a profile, with a gateway, after SIGKILL: the doctor is right each time."""
    user = tmp_path / "user"
    user.joinpath(".canon").mkdir(parents=True)
    user.joinpath(".canon").chmod(0o700)
    environ = isolated_environ(os.environ, hermes_home=tmp_path / "hermes", user_home=user)
    home = resolve_home(environ)
    home.path.mkdir()
    home.config_file.write_text(QUIET)
    home.config_file.chmod(0o600)  # a key stands in it
    ends = box.endpoints
    no_credential = {
        "creds.present": "error",
        **dict.fromkeys(
            ["creds.binding", "creds.accepted", "creds.ambiguous", "net.proxy", "net.api", "net.stream"], "skipped"
        ),
        **dict.fromkeys(["net.tls", "net.clock", "net.environment"], "skipped"),
    }
    no_gateway = {"gateway.running": "info"}

    before = remarks(home, environ)
    outcome = install(home, environ, InstallOptions(), Unattended())
    installed = remarks(home, environ)
    profile = profile_entry(agentId="agent_sandbox", apiKey=ends.agent_key, baseUrl=ends.api, streamUrl=ends.stream)
    agents = user / ".canon" / "agents.json"
    agents.touch(mode=0o600)
    agents.write_text(json.dumps({"ops": profile}))
    registered = remarks(home, environ)
    with GatewayProcess.start(
        home, python=find_host(environ).python, environ=environ, log=tmp_path / "gateway.out"
    ) as gateway:
        state = gateway.wait_ready(platform="canon")
        connected = remarks(home, environ)
        gateway.kill()
    killed = remarks(home, environ)

    assert before == {
        "plugin.enabled": "error", "platform.enabled": "skipped", **no_credential, **no_gateway,
    }  # fmt: skip
    assert outcome.next_steps == ("canon-ops setup canon", "hermes gateway run")
    assert installed == {**no_credential, **no_gateway}
    assert registered == no_gateway
    assert state.is_connected("canon")
    assert connected == {}
    assert killed == {"gateway.running": "warning"}
    assert home.config_file.read_text().startswith(QUIET)
