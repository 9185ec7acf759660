"""How a host that is not as it was released is put back."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from canon_ops.doctor.checks.host import _reinstall


@pytest.mark.parametrize(
    ("version", "python", "platform", "command"),
    [
        pytest.param("0.19.0", "3.12.1", "linux",
                     "/opt/h/bin/python -m pip install --force-reinstall --no-deps hermes-agent==0.19.0", id="run"),
        pytest.param("0.21.0", "3.13.1", "darwin", "Install Hermes 0.21.0 again, from where it came.", id="on paper"),
    ],
)  # fmt: skip
def test_a_version_known_on_paper_is_not_asked_of_an_index(
    version: str, python: str, platform: str, command: str
) -> None:
    """Only what was run is known to be on a package index."""
    host: Any = SimpleNamespace(
        version=version, python=Path("/opt/h/bin/python"), facts=SimpleNamespace(python=python, platform=platform)
    )

    assert _reinstall(host).command == command
