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

from canon_ops.hermes.gateway import GatewayProcess
from canon_ops.sandbox.model.server import ModelSandbox
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.homes import GatewayHome, build_home

__all__ = ["Stage", "canon_stage", "direct_key", "start_gateway"]


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


def start_gateway(home: GatewayHome, log: Path) -> GatewayProcess:
    """Start the host of this environment on a home; the caller waits for it and stops it."""
    return GatewayProcess.start(home.home, python=Path(sys.executable), environ=home.environ, log=log)


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
