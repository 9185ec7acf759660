"""Gateways are expensive: a module that only talks shares one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.gateways import Stage, canon_stage

CURSOR = " ░"  # not the default one: the plugin has to ask the host which glyph it appends


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A ready gateway between both sandboxes, for the tests of one module."""
    with canon_stage(tmp_path_factory.mktemp("gateway"), config={"streaming": {"cursor": CURSOR}}) as running:
        yield running
