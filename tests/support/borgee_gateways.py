"""A real gateway between the Borgee sandbox and the model sandbox.

::

    with borgee_stage(tmp_path) as stage:
        message = stage.box.human.say(None, "[say hello]")
        stage.box.wait("answer", to=message)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.records import Receipt
from borgee_hermes.inbox.rows import receipt_of
from borgee_hermes.inbox.schema import SCHEMA
from borgee_hermes.loopback.options import BorgeeOptions
from borgee_hermes.loopback.server import BorgeeSandbox
from canon_ops.durable import Snapshot, read_once
from canon_ops.hermes.gateway import GatewayProcess
from canon_ops.sandbox.model.server import ModelSandbox
from tests.support.gateways import start_gateway
from tests.support.homes import GatewayHome, build_home, merged
from tests.support.waiting import wait_until

__all__ = ["BorgeeStage", "borgee_config", "borgee_stage"]


def borgee_config(base_url: str) -> dict[str, Any]:
    """What config.yaml has to say for Borgee, beside a quiet gateway."""
    return {
        "plugins": {"enabled": ["borgee"]},
        "platforms": {"canon": {"enabled": False}},
        "platform_toolsets": {"borgee": ["terminal", "clarify", "borgee"]},
        "group_sessions_per_user": False,
        "borgee": {
            "enabled": True,
            "base_url": base_url,
            "allow_insecure_loopback": True,
            "drain_timeout_seconds": 10,
        },
    }


@dataclass(slots=True)
class BorgeeStage:
    """Everything that runs."""

    box: BorgeeSandbox
    model: ModelSandbox
    home: GatewayHome
    gateway: GatewayProcess
    log: Path

    def receipts(self) -> list[Receipt]:
        """The inbox, in order."""

        def all_of(snapshot: Snapshot) -> list[Receipt]:
            return [receipt_of(row) for row in snapshot.all("SELECT * FROM receipts ORDER BY ingest_seq")]

        return read_once(inbox_file(self.home.path), SCHEMA, all_of)

    def receipt_of(self, message_id: str) -> Receipt:
        """The receipt of a message, once there is one."""

        def found() -> Receipt | None:
            return next((each for each in self.receipts() if each.message_id == message_id), None)

        wait_until(lambda: found() is not None, timeout_s=10)
        receipt = found()
        assert receipt is not None
        return receipt

    def settled(self, message_id: str, *, timeout_s: float = 30) -> Receipt:
        """The receipt of a message, once nothing more happens to it."""
        wait_until(lambda: not self.receipt_of(message_id).status.is_open, timeout_s=timeout_s)
        return self.receipt_of(message_id)

    def answer(self, message_id: str, *, timeout_s: float = 30) -> str:
        """What the agent replied to a message, as it stands when the turn is over."""
        self.settled(message_id, timeout_s=timeout_s)
        (answer, *_) = self.box.wait("answer", timeout_s=5, to=message_id)
        text: str = answer["content"]
        return text

    def start_again(self) -> None:
        """Start a gateway on the same home once the last one has ended; returns when it is ready."""
        assert not self.gateway.is_running
        self.gateway = start_gateway(self.home, self.log)
        self.gateway.wait_ready(platform="borgee")


@contextmanager
def borgee_stage(
    folder: Path,
    *,
    options: BorgeeOptions | None = None,
    config: Mapping[str, Any] | None = None,
    dotenv: Mapping[str, str] | None = None,
) -> Iterator[BorgeeStage]:
    """Both sandboxes and a gateway that is ready, all gone at the end."""
    with BorgeeSandbox(options or BorgeeOptions(require_mention=False)) as box, ModelSandbox() as model:
        home = build_home(
            folder,
            model_url=model.endpoints.base_url,
            dotenv={"BORGEE_API_KEY": box.endpoints.agent_key, "BORGEE_HOME_CHANNEL": "dm_owner", **(dotenv or {})},
            config=merged(borgee_config(box.endpoints.base_url), config or {}),
        )
        log = folder / "gateway.out"
        stage = BorgeeStage(box, model, home, start_gateway(home, log), log)
        try:
            stage.gateway.wait_ready(platform="borgee")
            yield stage
        finally:
            stage.gateway.stop()
