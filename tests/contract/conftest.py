"""A loopback Canon server and our client of its agent, for the modules that ask one with the other."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from canon_ops.client.api import CanonApi
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.settings.secret import Secret
from tests.support.canon_wire import InstantClock
from tests.support.gateways import sandbox_connection
from tests.support.sandboxes import canon_box


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with canon_box() as running:
        yield running


@pytest_asyncio.fixture
async def api(box: CanonSandbox) -> AsyncIterator[CanonApi]:
    key = Secret(box.endpoints.agent_key)
    async with CanonApi(sandbox_connection(box), key, clock=InstantClock(), rng=random.Random(1)) as api:
        yield api
