"""Canon and Borgee in one real gateway: both answer, each by its own rules, and neither takes the other down.

The settings that Borgee needs hold for the whole gateway, so Canon is tried here under the value that it does not have
elsewhere: everybody in a group shares one session.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from borgee_hermes.loopback.options import BorgeeOptions
from borgee_hermes.loopback.server import BorgeeSandbox
from canon_ops.hermes.gateway import GatewayProcess, read_state
from canon_ops.sandbox.model.server import ModelSandbox
from canon_ops.sandbox.server import CanonSandbox
from tests.support.borgee_boxes import LOBBY
from tests.support.borgee_gateways import borgee_config
from tests.support.conversing import answer_to
from tests.support.gateways import direct_key, start_gateway
from tests.support.homes import GatewayHome, build_home, merged
from tests.support.waiting import wait_until

pytestmark = pytest.mark.host

CURSOR = "▉"  # the host's, while an answer grows
SCRIPT = str(Path(sys.executable).with_name("canon-ops"))


@dataclass
class Both:
    """Two servers, one gateway."""

    canon: CanonSandbox
    borgee: BorgeeSandbox
    model: ModelSandbox
    home: GatewayHome
    gateway: GatewayProcess

    def says(self, platform: str) -> str | None:
        """What the gateway's state file says of a platform."""
        state = read_state(self.home.home)
        entry = state.platforms.get(platform) if state else None
        return entry.state if entry else None

    def ask_canon(self, text: str) -> str:
        answer = answer_to(self.canon, self.canon.human.say(None, text))
        said: str = answer["text"]
        return said

    def ask_borgee(self, text: str, channel: str | None = None, sender: str | None = None) -> str:
        message = self.borgee.human.say(channel, text, sender)
        return self.borgee_answer(message)

    def borgee_answer(self, message: str) -> str:
        """The reply to a message, as it stands once it grows no more."""

        def content() -> str:
            said: str = self.borgee.wait("answer", timeout_s=60, to=message)[0]["content"]
            return said

        wait_until(lambda: CURSOR not in content(), timeout_s=30)
        return content()

    def program(self, *words: str) -> dict[str, Any]:
        """A document of canon-ops on this home."""
        environ = {**self.home.environ, "PATH": os.environ["PATH"]}
        done = subprocess.run([SCRIPT, *words, "--json"], env=environ, capture_output=True, text=True, check=False)
        document: dict[str, Any] = json.loads(done.stdout)
        return document


@contextmanager
def both(folder: Path, *, dotenv: Mapping[str, str] | None = None, wait_for: tuple[str, ...]) -> Iterator[Both]:
    """A gateway with both plugins; it is ready when the platforms in ``wait_for`` are connected."""
    options = BorgeeOptions(require_mention=False)
    with CanonSandbox() as canon, BorgeeSandbox(options) as borgee, ModelSandbox() as model:
        variables = {**direct_key(canon), "BORGEE_API_KEY": borgee.endpoints.agent_key, **(dotenv or {})}
        config = merged(
            borgee_config(borgee.endpoints.base_url),
            {"plugins": {"enabled": ["canon-hermes", "borgee"]}, "platforms": {"canon": {"enabled": True}}},
        )
        home = build_home(folder, model_url=model.endpoints.base_url, dotenv=variables, config=config)
        gateway = start_gateway(home, folder / "gateway.out")
        try:
            for platform in wait_for:
                gateway.wait_ready(platform=platform)
            yield Both(canon, borgee, model, home, gateway)
        finally:
            gateway.stop()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    with both(tmp_path_factory.mktemp("both"), wait_for=("canon", "borgee")) as running:
        yield running


def test_both_answer(stage: Both) -> None:
    """The same agent on two platforms; each answer goes where its question came from."""
    assert stage.ask_canon("[say hello Canon]") == "hello Canon"
    assert stage.ask_borgee("[say hello Borgee]") == "hello Borgee"


def test_turns_run_side_by_side(stage: Both) -> None:
    """A long turn on one platform does not keep the other waiting."""
    slow = stage.borgee.human.say(None, "[wait 6][say the slow one]")
    stage.model.wait(where=lambda request: "the slow one" in request.user_text, timeout_s=30)

    assert stage.ask_canon("[say the quick one]") == "the quick one"
    assert [each for each in stage.borgee.transcript() if each.get("content") == "the slow one"] == []

    assert stage.borgee_answer(slow) == "the slow one"


def test_each_platform_keeps_its_sessions(stage: Both) -> None:
    """A channel of Borgee is one conversation for both authors; Canon's conversation knows nothing of it."""
    stage.ask_borgee("[say noted blue]", LOBBY)
    stage.ask_borgee("[say noted green]", LOBBY, "user_dana")
    shared = json.dumps(stage.model.requests[-1].body["messages"])
    stage.ask_canon("[say Canon alone]")
    apart = json.dumps(stage.model.requests[-1].body["messages"])

    assert "noted blue" in shared and "noted green" in shared
    assert "noted blue" not in apart


def test_the_commands_see_both(stage: Both) -> None:
    """status, gateway status and doctor tell about each; the doctor does not take Borgee's connection away."""
    status = stage.program("status")["data"]["profiles"][0]
    gateway = stage.program("gateway", "status")["data"]
    connections = len(stage.borgee.human.connections())
    doctor = stage.program("doctor", "--area", "borgee")["data"]["checks"]

    assert {one["name"]: one["state"] for one in status["platforms"]} == {"canon": "connected", "borgee": "connected"}
    inbox = next(one["inbox"] for one in status["platforms"] if one["name"] == "borgee")
    assert inbox == {"pending": 0, "running": 0, "in_doubt": 0, "blocked": 0, "trouble": None}
    assert gateway["inbox"] == inbox
    assert {one["status"] for one in doctor} == {"ok"}, doctor
    assert len(stage.borgee.human.connections()) == connections
    assert stage.ask_borgee("[say still here]") == "still here"


def test_setup_does_not_take_the_connection_either(stage: Both) -> None:
    """Exit 5 and the process that has it; the gateway goes on."""
    document = stage.program("setup", "borgee", "--keep-key", "--no-input", "--allow-insecure-loopback",
                             "--base-url", stage.borgee.endpoints.base_url)  # fmt: skip

    assert (document["exit_code"], document["errors"][0]["code"]) == (5, "borgee_in_use")
    assert str(stage.gateway.pid) in document["errors"][0]["message"]
    assert stage.ask_borgee("[say and still here]") == "and still here"


def test_a_connection_that_stays_away_is_told_and_comes_back(stage: Both) -> None:
    """W3: after ten seconds the state file says so, while Canon answers; it says so again when it stands."""
    stage.borgee.fault("upgrade-503", times=None)
    stage.borgee.human.close()
    wait_until(lambda: stage.says("borgee") == "disconnected", timeout_s=40)

    assert stage.ask_canon("[say Canon goes on]") == "Canon goes on"
    assert stage.says("canon") == "connected"

    stage.borgee.human.calm()
    wait_until(lambda: stage.says("borgee") == "connected", timeout_s=60)
    assert stage.ask_borgee("[say back again]") == "back again"


@pytest.mark.long
@pytest.mark.everywhere
def test_a_refused_key_of_borgee_leaves_canon_alone(tmp_path: Path) -> None:
    """Borgee is fatal with its reason, Canon answers, and the doctor names the key."""
    with both(tmp_path, dotenv={"BORGEE_API_KEY": "bgr_live_sandbox_wrong"}, wait_for=("canon",)) as running:
        wait_until(lambda: running.says("borgee") in ("fatal", "retrying"), timeout_s=60)

        assert running.ask_canon("[say Canon alone]") == "Canon alone"
        doctor = running.program("doctor", "--only", "borgee.gateway,borgee.server")["data"]["checks"]

    assert {one["id"]: one["status"] for one in doctor} == {"borgee.gateway": "error", "borgee.server": "error"}
    assert all("key" in one["message"] for one in doctor), doctor


@pytest.mark.long
@pytest.mark.everywhere
def test_a_refused_key_of_canon_leaves_borgee_alone(tmp_path: Path) -> None:
    """The other way round."""
    with both(tmp_path, dotenv={"CANON_API_KEY": "agk_live_sandbox_wrong"}, wait_for=("borgee",)) as running:
        wait_until(lambda: running.says("canon") in ("fatal", "retrying"), timeout_s=60)

        assert running.ask_borgee("[say Borgee alone]") == "Borgee alone"
