"""A real gateway whose Canon is the sandbox and whose model is the sandbox: home, credentials, start.

Which plugin answers is the business of the interpreter that is handed in: ours in this environment, a published one in
another. Ten lines make an end-to-end scenario::

    with canon_box(auto_approve=True) as box, model_box() as model:
        home = furnish_canon_home(tmp_path, model)
        await register_profile(box, home)
        with start_canon_gateway(home, python) as gateway:
            gateway.wait_ready()
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canon_ops.client.registration import RegistrationApi
from canon_ops.hermes.gateway import GatewayProcess, isolated_environ
from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.runtime.clock import SystemClock
from canon_ops.sandbox.model.server import ModelSandbox
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.settings.environments import Connection, connection_for
from canon_ops.settings.profiles import AgentsFile
from canon_ops.wire.registration import RegistrationRequest

__all__ = ["CanonHome", "furnish_canon_home", "register_profile", "sandbox_connection", "start_canon_gateway"]


@dataclass(frozen=True)
class CanonHome:
    """The folders of one run: everything the gateway may touch lies below ``root``."""

    root: Path

    @property
    def hermes(self) -> Path:
        return self.root / "hermes"

    @property
    def user(self) -> Path:
        return self.root / "user"

    @property
    def canon(self) -> Path:
        return self.user / ".canon"

    @property
    def log(self) -> Path:
        """What the gateway printed."""
        return self.root / "gateway.out"

    def environ(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The gateway's environment; media of the sandbox lie on loopback, so private URLs are allowed."""
        base = isolated_environ(os.environ, hermes_home=self.hermes, user_home=self.user)
        return {**base, "HERMES_ALLOW_PRIVATE_URLS": "true", **(extra or {})}

    def resolved(self) -> HermesHome:
        return resolve_home(self.environ())


def canon_config(model: ModelSandbox) -> dict[str, Any]:
    """config.yaml of a quiet gateway: no calls outside, no notes in the prompt, one platform."""
    return {
        "model": {
            "default": model.endpoints.model,
            "provider": "custom",
            "base_url": model.endpoints.base_url,
            "api_key": model.endpoints.api_key,
            "context_length": 200_000,
        },
        "plugins": {"enabled": ["canon-hermes"]},
        "platforms": {"canon": {"enabled": True}},
        "streaming": {"enabled": True, "transport": "edit", "edit_interval": 0.1, "buffer_threshold": 5},
        "display": {"busy_input_mode": "queue", "tool_progress": "off"},
        "group_sessions_per_user": False,
        "approvals": {"mode": "manual", "timeout": 20},
        "security": {"tirith_enabled": False, "allow_lazy_installs": False},
        "onboarding": {"profile_build": "off"},
        "tools": {"tool_search": {"enabled": "off"}},
        "auxiliary": {"title_generation": {"enabled": False}},
        "memory": {"memory_enabled": False, "user_profile_enabled": False},
        "compression": {"enabled": False},
        "kanban": {"dispatch_in_gateway": False},
    }


def furnish_canon_home(root: Path, model: ModelSandbox, **changes: Any) -> CanonHome:
    """Make the folders and config.yaml; ``changes`` replace top-level keys. JSON is YAML enough for any reader."""
    home = CanonHome(root)
    home.hermes.mkdir(parents=True)
    home.canon.mkdir(parents=True)
    home.hermes.joinpath("config.yaml").write_text(json.dumps({**canon_config(model), **changes}, indent=2))
    home.hermes.joinpath(".env").write_text("CANON_HOME_CHANNEL=conv_home\nCANON_ALLOW_ALL_USERS=true\n")
    return home


def sandbox_connection(box: CanonSandbox) -> Connection:
    """The sandbox as our own resolution layer names it."""
    return connection_for(
        box.endpoints.environment_id,
        base_url=box.endpoints.api,
        stream_url=box.endpoints.stream,
        rtdb_url="http://127.0.0.1:9",
        firebase_api_key="loopback",
    )


async def register_profile(box: CanonSandbox, home: CanonHome, *, profile: str = "ops", name: str = "Ops") -> str:
    """Register over the wire with our own client, write agents.json with our own writer; the agent's id."""
    connection = sandbox_connection(box)
    async with RegistrationApi(connection, clock=SystemClock()) as api:
        request = RegistrationRequest("+15550100", f"hermes-{profile}", name=name)
        receipt = await api.register(request)
        status = await api.status(receipt.request_id, receipt.poll_token)
        if status.api_key is None:
            box.human.approve(receipt.request_id)
            status = await api.status(receipt.request_id, receipt.poll_token)
        assert status.api_key is not None
        assert status.agent_id is not None
        file = home.canon / "agents.json"
        agents = AgentsFile.parse(file.read_bytes() if file.exists() else None, file=str(file)).with_credential(
            profile,
            connection,
            api_key=status.api_key,
            agent_id=status.agent_id,
            agent_name=status.agent_name or name,
            now_ms=SystemClock().now_ms(),
        )
        file.write_bytes(agents.data)
        file.chmod(0o600)
        await api.ack(receipt.request_id, receipt.poll_token)
    return status.agent_id


def start_canon_gateway(home: CanonHome, python: Path, extra: Mapping[str, str] | None = None) -> GatewayProcess:
    """Start the gateway of ``home`` with the host that ``python`` belongs to."""
    return GatewayProcess.start(home.resolved(), python=python, environ=home.environ(extra), log=home.log)
