"""A state file of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_hermes_plugin.state.place import state_path
from tests.support.canon_state import Rows


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    return Rows(state_path(tmp_path))
