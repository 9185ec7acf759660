"""The published Borgee plugin in an environment of its own, below ``.hosts``, made once; a black box."""

from __future__ import annotations

from pathlib import Path

from tests.support.environments import Environment, find_python
from tests.support.tools import is_missing

__all__ = ["PUBLISHED_HOST", "PUBLISHED_VERSION", "published_python"]

PUBLISHED_VERSION, PUBLISHED_HOST = "0.3.1", "0.18.2"


def published_python() -> Path:
    """The interpreter with the published plugin beside the host that it asks for."""
    base = find_python("3.13")
    requirements = (f"hermes-agent=={PUBLISHED_HOST}", f"borgee-hermes-plugin=={PUBLISHED_VERSION}")
    environment = Environment(f"borgee-published-{PUBLISHED_VERSION}", python=base, requirements=requirements)
    if base is None and not environment.is_made:
        is_missing("the published plugin needs Python 3.13")
    return environment.make()
