"""Starting, failing to start, and stopping: the gateway process as an operator meets it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from canon_hermes_plugin.state.file import SCHEMA
from canon_hermes_plugin.state.place import state_path
from canon_ops.durable import Snapshot, read_once
from canon_ops.hermes.gateway import GatewayProcess, PlatformState, read_state
from canon_ops.sandbox.model.server import ModelSandbox
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.conversing import answer_to, states_of
from tests.support.gateways import canon_stage, direct_key, start_gateway
from tests.support.homes import GatewayHome, build_home
from tests.support.waiting import wait_until

pytestmark = pytest.mark.host

CONFIGURATION_FAILED = 78  # hermes-host 10.1
SIGTERM_ANSWERED = 1


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


@pytest.fixture
def model() -> Iterator[ModelSandbox]:
    with ModelSandbox() as running:
        yield running


def platform_state(home: GatewayHome) -> PlatformState:
    state = read_state(home.home)
    return (state.platforms.get("canon") if state else None) or PlatformState("unknown")


def ended(gateway: GatewayProcess) -> int:
    wait_until(lambda: not gateway.is_running, timeout_s=60)
    code = gateway.returncode
    assert code is not None
    return code


def test_messages_during_start_are_answered_once(tmp_path: Path, box: CanonSandbox, model: ModelSandbox) -> None:
    """R6.5: what arrives before the host's inbound gate opens is queued by the host, and answered once afterwards."""
    home = build_home(tmp_path, model_url=model.endpoints.base_url, dotenv=direct_key(box))
    other = box.human.open_conversation([box.endpoints.owner_id, "agent_sandbox"], kind="direct")
    with start_gateway(home, tmp_path / "gateway.out") as gateway:
        box.wait("connected", timeout_s=60)
        early = [box.human.say(None, "[say early]"), box.human.say(other, "[say early too]")]
        answers = [answer_to(box, message, timeout_s=60)["text"] for message in early]
        gateway.wait_ready()

    assert answers == ["early", "early too"]
    assert "Queued inbound message during gateway startup restore" in home.gateway_log
    assert [entry["text"] for entry in box.transcript()].count("early") == 1


def test_sigterm_in_a_turn_leaves_nothing_running_on_canon(tmp_path: Path) -> None:
    """D24: the process ends quickly, the turn is closed on Canon, and its words are there once or will be said again.

    Which, depends on how far the host's stream had come: a draft that the host still finalised is the answer; of a run
    that was cut off nothing stays, and the next gateway has its message.
    """
    with canon_stage(tmp_path) as stage:
        message = stage.box.human.say(None, "[long 600][slow 60]")
        stage.box.wait(lambda world: bool(world.nodes), timeout_s=60)
        turn_id = next(
            state["turnId"] for state in stage.box.human.turns() if message in state.get("activeMessageIds", ())
        )

        code = stage.gateway.stop(timeout_s=30)

        assert code == SIGTERM_ANSWERED
        assert states_of(stage.box, turn_id)[-1] in ("interrupted", "completed")
        assert stage.box.node() is None
        kept = [entry for entry in stage.box.transcript() if entry["text"].split()[:1] == ["word1"]]
        unfinished = read_once(state_path(stage.home.home.path), SCHEMA, _unfinished)
        assert len(kept) + len(unfinished) == 1


def _unfinished(snapshot: Snapshot) -> list[str]:
    return [row[0] for row in snapshot.all("SELECT item_id FROM inbox WHERE state <> 'settled'")]


@pytest.mark.parametrize("where", [{}, {"listener": "stream"}], ids=["both", "stream"])
def test_a_foreign_environment_stops_the_gateway(
    tmp_path: Path, box: CanonSandbox, model: ModelSandbox, where: dict[str, str]
) -> None:
    """S2.2 in a gateway: a stream of another project is a configuration failure with one sentence and its fix."""
    box.fault("health-wrong-project", **where)
    home = build_home(tmp_path, model_url=model.endpoints.base_url, dotenv=direct_key(box))

    with start_gateway(home, tmp_path / "gateway.out") as gateway:
        code = ended(gateway)

    assert code == CONFIGURATION_FAILED
    assert "does not match environment canon-dev-v1" in home.gateway_log
    assert platform_state(home).error_code == "environment_mismatch"
    assert "canon-ops doctor" in home.gateway_log


def test_an_api_that_is_down_is_tried_again(tmp_path: Path, model: ModelSandbox) -> None:
    """D20 in a gateway: with nobody listening the gateway stays up and keeps trying."""
    with CanonSandbox(CanonOptions()) as gone:
        variables = direct_key(gone)
    home = build_home(tmp_path, model_url=model.endpoints.base_url, dotenv=variables)

    with start_gateway(home, tmp_path / "gateway.out") as gateway:
        wait_until(lambda: platform_state(home).state == "retrying", timeout_s=60)

        assert gateway.is_running
        assert platform_state(home).error_code == "connect_failed"
        assert "no connection" in (platform_state(home).error_message or "")


def test_a_profile_named_in_the_configuration_is_enough(tmp_path: Path, box: CanonSandbox, model: ModelSandbox) -> None:
    """R1.11: an agent that is named in platforms.canon only, among several profiles, connects and answers."""
    canon_folder = tmp_path / "user" / ".canon"
    ends = box.endpoints
    profile = {
        "clientType": "hermes",
        "agentId": "agent_sandbox",
        "agentName": "Sandbox Hermes",
        "apiKey": ends.agent_key,
        "environmentId": ends.environment_id,
        "baseUrl": ends.api,
        "streamUrl": ends.stream,
        "rtdbUrl": ends.api,
        "firebaseApiKey": "sandbox-web-key",
        "registeredAt": "2026-01-01T00:00:00.000Z",
    }
    config = {"platforms": {"canon": {"extra": {"agent": "ops"}}}}
    home = build_home(
        tmp_path, model_url=model.endpoints.base_url, dotenv={"CANON_ALLOW_ALL_USERS": "true"}, config=config
    )
    canon_folder.mkdir()
    write_profiles(canon_folder / "agents.json", {"ops": profile, "other": {**profile, "agentId": "agent_other"}})

    with start_gateway(home, tmp_path / "gateway.out") as gateway:
        gateway.wait_ready()
        answer = answer_to(box, box.human.say(None, "[say from a profile]"))

    assert answer["text"] == "from a profile"


def write_profiles(file: Path, profiles: dict[str, dict[str, str]]) -> None:
    import json

    file.write_text(json.dumps(profiles), encoding="utf-8")
    file.chmod(0o600)
