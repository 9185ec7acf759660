"""The published Borgee plugin in an environment of its own, below ``.hosts``, made once; a black box."""

from __future__ import annotations

from pathlib import Path

from tests.support.environments import Environment, find_python
from tests.support.tools import is_missing

__all__ = ["published_python"]


def published_python() -> Path:
    """The interpreter with the published plugin beside the host that it asks for."""
    base = find_python("3.13")
    requirements = ("hermes-agent==0.18.2", "borgee-hermes-plugin==0.3.1")
    environment = Environment("borgee-published-0.3.1", python=base, requirements=requirements)
    if base is None and not environment.is_made:
        is_missing("the published plugin needs Python 3.13")
    return environment.make()
