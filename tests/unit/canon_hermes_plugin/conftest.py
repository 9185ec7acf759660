"""A home of its own for everything that reads the process environment, and a real plugin context of the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of the developer's Hermes or Canon reaches a test."""
    for name in ("HERMES_HOME", "HOME", "CANON_HOME"):
        folder = tmp_path / name.lower()
        folder.mkdir()
        monkeypatch.setenv(name, str(folder))
    for name in ("CANON_API_KEY", "CANON_ENVIRONMENT_ID", "CANON_AGENT", "CANON_AGENTS_JSON_BOOTSTRAP"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def private_urls(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The sandbox's files lie on loopback; the host remembers what its configuration allows."""
    from tools import url_safety

    monkeypatch.setenv("HERMES_ALLOW_PRIVATE_URLS", "true")
    url_safety._reset_allow_private_cache()
    yield
    url_safety._reset_allow_private_cache()


class RecordingContext:
    """A plugin context that only takes notes."""

    def __init__(self) -> None:
        self.platforms: list[dict[str, Any]] = []
        self.hooks: list[tuple[str, Any]] = []
        self.commands: list[dict[str, Any]] = []
        self.tools: list[dict[str, Any]] = []
        self.skills: list[tuple[str, Path, str]] = []

    def register_platform(
        self, name: str, label: str, adapter_factory: Callable[..., Any], check_fn: Callable[[], bool], **more: Any
    ) -> None:
        entry = {"name": name, "label": label, "adapter_factory": adapter_factory, "check_fn": check_fn}
        self.platforms.append(entry | more)

    def register_hook(self, name: str, callback: Any) -> None:
        self.hooks.append((name, callback))

    def register_tool(self, **tool: Any) -> None:
        self.tools.append(tool)

    def register_skill(self, name: str, path: Path, description: str = "") -> None:
        self.skills.append((name, path, description))

    def register_cli_command(self, **command: Any) -> None:
        self.commands.append(command)


class BareContext:
    """A plugin context that knows platforms only."""

    def __init__(self) -> None:
        self.platforms: list[dict[str, Any]] = []

    def register_platform(
        self, name: str, label: str, adapter_factory: Callable[..., Any], check_fn: Callable[[], bool], **more: Any
    ) -> None:
        entry = {"name": name, "label": label, "adapter_factory": adapter_factory, "check_fn": check_fn}
        self.platforms.append(entry | more)
