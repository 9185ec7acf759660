"""A real gateway between the two sandboxes: the whole product in three threads and one process.

with canon_stage(tmp_path) as stage:
    message = stage.box.human.say(None, "[say hello]")
    stage.box.wait("answer", to=message)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canon_ops.client.registration import RegistrationApi
from canon_ops.hermes.gateway import GatewayProcess
from canon_ops.runtime.clock import SystemClock
from canon_ops.sandbox.model.server import ModelSandbox
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.settings.environments import Connection, connection_for
from canon_ops.settings.profiles import AgentsFile
from canon_ops.wire.registration import RegistrationRequest
from tests.support.homes import GatewayHome, build_home
from tests.support.warm_gateways import launcher_for

__all__ = ["Stage", "canon_stage", "direct_key", "register_profile", "sandbox_connection", "start_gateway"]


@dataclass(slots=True)
class Stage:
    """Everything that runs.

    Attributes:
        gateway: the newest process.
        log: takes its output.
    """

    box: CanonSandbox
    model: ModelSandbox
    home: GatewayHome
    gateway: GatewayProcess
    log: Path

    def start_again(self) -> None:
        """Start a gateway on the same home once the last one has ended; returns when it is ready."""
        assert not self.gateway.is_running
        self.gateway = start_gateway(self.home, self.log)
        self.gateway.wait_ready()


def direct_key(box: CanonSandbox) -> dict[str, str]:
    """The ``.env`` of a gateway that is given its key and the sandbox's addresses directly."""
    ends = box.endpoints
    return {
        "CANON_API_KEY": ends.agent_key,
        "CANON_ENVIRONMENT_ID": ends.environment_id,
        "CANON_BASE_URL": ends.api,
        "CANON_STREAM_URL": ends.stream,
        "CANON_RTDB_URL": ends.api,
        "CANON_FIREBASE_API_KEY": "sandbox-web-key",
        "CANON_ALLOW_ALL_USERS": "true",
        "CANON_HOME_CHANNEL": ends.conversation_id,
    }


def sandbox_connection(box: CanonSandbox) -> Connection:
    """The sandbox as our own resolution layer names it."""
    return connection_for(
        box.endpoints.environment_id,
        base_url=box.endpoints.api,
        stream_url=box.endpoints.stream,
        rtdb_url="http://127.0.0.1:9",
        firebase_api_key="loopback",
    )


async def register_profile(box: CanonSandbox, canon_folder: Path, *, profile: str = "ops", name: str = "Ops") -> str:
    """Register over the wire with our own client, write agents.json with our own writer; the agent's id.

    Args:
        canon_folder: exists already.
    """
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
        file = canon_folder / "agents.json"
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


def start_gateway(
    home: GatewayHome, log: Path, *, python: Path | None = None, extra: Mapping[str, str] | None = None
) -> GatewayProcess:
    """Start a host on a home; the caller waits for it and stops it.

    Args:
        python: the interpreter of the host; the one of this environment when None.
        extra: laid over the home's environment.
    """
    environ, python = {**home.environ, **(extra or {})}, python or Path(sys.executable)
    launch = launcher_for(python, environ)
    return GatewayProcess.start(home.home, python=python, environ=environ, log=log, launch=launch)


@contextmanager
def canon_stage(
    folder: Path,
    *,
    options: CanonOptions | None = None,
    limit_per_occasion: int | None = None,
    config: Mapping[str, Any] | None = None,
    dotenv: Mapping[str, str] | None = None,
) -> Iterator[Stage]:
    """Both sandboxes and a gateway that is ready, all gone at the end.

    Args:
        folder: takes the home and the gateway's output; a failing test leaves them there.
        limit_per_occasion: the most faults that one request or event meets.
        config, dotenv: laid over what the home has anyway.
    """
    with CanonSandbox(options, limit_per_occasion=limit_per_occasion) as box, ModelSandbox() as model:
        variables = {**direct_key(box), **(dotenv or {})}
        home = build_home(folder, model_url=model.endpoints.base_url, dotenv=variables, config=config)
        log = folder / "gateway.out"
        stage = Stage(box, model, home, start_gateway(home, log), log)
        try:
            stage.gateway.wait_ready()
            yield stage
        finally:
            stage.gateway.stop()
