"""What a refused host is told: the command that works in its own environment, not somebody else's pip."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import borgee_hermes.registration
import canon_hermes_plugin.registration
from canon_ops.hermes import discovery

FACTS: Any = SimpleNamespace(version="9.9.9", python="3.11", platform="linux")


class Context:
    """The host's plugin context, as poor as it may be."""

    def __init__(self) -> None:
        self.hint = ""

    def register_platform(self, **entry: Any) -> None:
        self.hint = entry["install_hint"]


@pytest.mark.parametrize("plugin", [canon_hermes_plugin, borgee_hermes], ids=lambda one: str(one.__name__))
def test_the_advice_works_in_the_hosts_own_environment(plugin: Any) -> None:
    """S1.18: the pip of the interpreter that loads the plugin, in full."""
    context = Context()

    plugin.registration.register(context, facts=FACTS)

    assert f": {sys.executable} -m pip install hermes-agent==" in context.hint


@pytest.mark.parametrize("plugin", [canon_hermes_plugin, borgee_hermes], ids=lambda one: str(one.__name__))
def test_an_environment_without_pip_is_told_its_uv(
    plugin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S1.18: Hermes' own installer makes such an environment, and keeps its uv in the home."""
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.touch(mode=0o700)
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    monkeypatch.setattr(discovery, "find_spec", lambda _name: None)
    context = Context()

    plugin.registration.register(context, facts=FACTS)

    assert f": {uv} pip install --python {sys.executable} hermes-agent==" in context.hint
