"""A real gateway whose key is in the keyring: it connects and answers, and the key is in none of its files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from canon_ops.hermes.gateway import GatewayProcess
from canon_ops.sandbox.model.server import ModelSandbox
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.canon_files import profile_entry
from tests.support.homes import build_home
from tests.support.keyring_backend import keyring_variables

pytestmark = pytest.mark.host


def test_a_gateway_fetches_its_key_from_the_keyring(tmp_path: Path) -> None:
    """Decision C1, in a gateway: agents.json holds a reference, and a message is answered."""
    entries = tmp_path / "entries.json"
    with CanonSandbox(CanonOptions()) as box, ModelSandbox() as model:
        ends = box.endpoints
        dotenv = {"CANON_AGENT": "ops", "CANON_ALLOW_ALL_USERS": "true", "CANON_HOME_CHANNEL": ends.conversation_id}
        home = build_home(tmp_path, model_url=model.endpoints.base_url, dotenv=dotenv)
        profile = profile_entry(
            agentId="agent_sandbox", apiKey=None, apiKeyRef={"service": "canon-ops", "account": "ops"},
            environmentId=ends.environment_id, baseUrl=ends.api, streamUrl=ends.stream, rtdbUrl=ends.api,
        )  # fmt: skip
        canon_home = tmp_path / "user" / ".canon"
        canon_home.mkdir()
        (canon_home / "agents.json").write_text(json.dumps({"ops": profile}))
        entries.write_text(json.dumps({"canon-ops/ops": ends.agent_key}))
        environ = {**home.environ, **keyring_variables(entries)}

        log = tmp_path / "gateway.out"
        with GatewayProcess.start(home.home, python=Path(sys.executable), environ=environ, log=log) as gateway:
            gateway.wait_ready()
            message = box.human.say(None, "[say from the keyring]")
            box.wait("answer", to=message)

    written = [file for folder in (home.path, canon_home) for file in folder.rglob("*") if file.is_file()]
    assert not [file for file in [*written, log] if ends.agent_key.encode() in file.read_bytes()]
