"""Our adapter on the real host's base class, in the test's own event loop, against a Canon sandbox.

The host's half of a turn is real: its message handling, hooks, typing loop and stream consumer. Only the agent is a
function of the test, called with the host's event and the adapter.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from canon_hermes_plugin import probe
from canon_hermes_plugin.active import ActiveSet
from canon_hermes_plugin.adapter import build_adapter_class
from canon_hermes_plugin.connection.credential import find_credential
from canon_hermes_plugin.host import load_host
from canon_hermes_plugin.offload import Offload
from canon_hermes_plugin.ports import HostPort
from canon_hermes_plugin.runtime import CanonRuntime
from canon_hermes_plugin.turn import machine
from canon_ops.runtime.clock import Clock
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.settings.options import read_options, user_access
from canon_ops.settings.surroundings import Surroundings
from tests.support.attended import Agent, attended
from tests.support.gateways import direct_key

__all__ = ["Agent", "Hosted", "build", "hosted", "platform_config", "until"]


async def until(holds: Callable[[], object], *, timeout_s: float = 10) -> None:
    """Return once ``holds()`` is true, letting the loop run meanwhile; what it asks is outside of this loop."""
    async with asyncio.timeout(timeout_s):
        while not holds():  # noqa: ASYNC110  # a server in another thread sets no event of ours
            await asyncio.sleep(0.005)


@dataclass(slots=True)
class Hosted:
    """The adapter and what the host was told about it."""

    adapter: Any
    active: ActiveSet
    events: list[Any] = field(default_factory=list)
    fatal: list[tuple[str, bool]] = field(default_factory=list)

    @property
    def runtime(self) -> CanonRuntime:
        runtime: CanonRuntime = self.adapter._canon
        return runtime


def platform_config(box: CanonSandbox | None = None, **extra: Any) -> Any:
    """The host's platform configuration for a sandbox, as config.yaml would give it."""
    from gateway.config import PlatformConfig

    settings: dict[str, Any] = dict(extra)
    if box is not None:
        settings = {
            name.removeprefix("CANON_").lower(): value
            for name, value in direct_key(box).items()
            if name not in ("CANON_ALLOW_ALL_USERS", "CANON_HOME_CHANNEL")
        } | settings
    return PlatformConfig(enabled=True, extra=settings)


def build(
    config: Any,
    *,
    active: ActiveSet,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
    home: Path = Path("/nonexistent"),
    home_channel: str | None = None,
) -> Any:
    """An adapter that is not connected."""

    def runtime_for(port: HostPort, config: Any) -> CanonRuntime:
        settings = Surroundings(environ=dict(environ or {}), platform=probe.platform_block(config))
        offload = Offload("canon-test")
        return CanonRuntime(
            port,
            options=read_options(settings),
            access=user_access(settings),
            find=partial(find_credential, offload, partial(probe.surroundings_of, config, dict(environ or {}))),
            offload=offload,
            approvals_offload=Offload("canon-test-approvals", threads=1),
            home=home,
            approvals_file=home / "canon" / "detached-approvals.json",
            home_channel=home_channel,
            clock=clock,
            rng=random.Random(11),
            active=active,
        )

    return build_adapter_class(load_host(), refusal=lambda: None, runtime_for=runtime_for)(config)


@asynccontextmanager
async def hosted(
    box: CanonSandbox,
    agent: Agent | None = None,
    *,
    connect: bool = True,
    clock: Clock | None = None,
    active: ActiveSet | None = None,
    home: Path | None = None,
    home_channel: str | None = None,
    **extra: Any,
) -> AsyncIterator[Hosted]:
    """A connected adapter whose messages go to ``agent``; disconnected at the end.

    What a turn leaves on the screen for three quarters of a second after its answer goes sooner here: an adapter that
    is disconnected waits for it.

    Args:
        home: where it keeps its state; a folder of its own, gone at the end, when None.
    """
    active = active or ActiveSet()
    own_home = tempfile.TemporaryDirectory(prefix="hermes-home-")
    config = platform_config(box, **extra)
    folder = home or Path(own_home.name)
    adapter = build(config, active=active, clock=clock, home=folder, home_channel=home_channel)
    stage = Hosted(adapter, active)

    with own_home, patch.object(machine, "LINGER_MS", 20):
        async with attended(stage, agent, connect=connect):
            yield stage
