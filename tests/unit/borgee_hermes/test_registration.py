"""What the host is told. Borgee 9.1: C5-C8; decisions H2."""

from __future__ import annotations

import inspect
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import yaml

import borgee_hermes
from borgee_hermes import probe, registration
from borgee_hermes.adapter import adapter_class, parts_of
from borgee_hermes.host import HostFacts
from canon_ops.errors import CanonOpsError
from canon_ops.settings.problems import BorgeeKeyInConfig, BorgeeUnshared

CONFIG: dict[str, Any] = {
    "plugins": {"enabled": ["borgee"]},
    "group_sessions_per_user": False,
    "display": {"busy_input_mode": "queue"},
    "borgee": {"enabled": True, "base_url": "http://127.0.0.1:4901", "allow_insecure_loopback": True},
}


class Context:
    """A plugin context that takes notes."""

    def __init__(self) -> None:
        self.platforms: list[dict[str, Any]] = []
        self.tools: list[dict[str, Any]] = []

    def register_platform(self, **entry: Any) -> None:
        self.platforms.append(entry)

    def register_tool(self, **tool: Any) -> None:
        self.tools.append(tool)


def write_config(home: Path, config: dict[str, Any]) -> None:
    home.joinpath("config.yaml").write_text(yaml.safe_dump(config))


@pytest.fixture
def gateway_config(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Load config.yaml as a gateway does, with the plugin discovered by the host itself."""
    monkeypatch.setenv("BORGEE_API_KEY", "bgr_x")

    def load(config: dict[str, Any]) -> Any:
        from gateway.config import load_gateway_config
        from hermes_cli.plugins import discover_plugins

        write_config(own_home, config)
        discover_plugins(force=True)
        return load_gateway_config()

    return load


@pytest.mark.host
def test_the_entry_says_what_a_platform_may_say() -> None:
    """C8: name, required key, length; a good configuration validates, and the factory builds an adapter."""
    context = Context()

    registration.register(context, facts=HostFacts("0.19.0", "3.11", "linux"))  # type: ignore[arg-type]

    (entry,) = context.platforms
    assert (entry["name"], entry["required_env"], entry["max_message_length"]) == ("borgee", ["BORGEE_API_KEY"], 4096)
    assert (entry["pii_safe"], entry["allow_update_command"]) == (True, False)
    assert len(context.tools) == 13
    from gateway.config import PlatformConfig

    good = PlatformConfig(enabled=True, extra={"base_url": "https://a.b"})
    assert entry["validate_config"](good)
    assert not entry["validate_config"](PlatformConfig(enabled=True, extra={"base_url": "http://a.b"}))
    assert entry["adapter_factory"](good).authorization_is_upstream is True


def test_a_host_that_is_not_audited_gets_the_reason() -> None:
    """H2: the platform is there and refuses; no tool is."""
    context = Context()

    registration.register(context, facts=HostFacts("9.9.9", "3.11", "linux"))  # type: ignore[arg-type]

    (entry,) = context.platforms
    assert not entry["check_fn"]()
    assert "9.9.9" in entry["install_hint"]
    assert context.tools == []
    with pytest.raises(RuntimeError, match=r"9\.9\.9"):
        entry["adapter_factory"](None)


@pytest.mark.host
def test_the_installed_package_is_what_hermes_loads() -> None:
    """C6: the entry point, and the shape of the adapter that the host relies on."""
    (entry,) = (each for each in entry_points(group="hermes_agent.plugins") if each.name == "borgee")
    adapter = adapter_class()

    assert entry.load() is borgee_hermes
    assert str(inspect.signature(adapter.connect)) == "(self, *, is_reconnect: 'bool' = False) -> 'bool'"
    assert "finalize" in inspect.signature(adapter.edit_message).parameters
    assert isinstance(inspect.getattr_static(adapter, "authorization_is_upstream"), property)
    from gateway.platforms.base import BasePlatformAdapter

    assert issubclass(adapter, BasePlatformAdapter)


@pytest.mark.host
def test_the_real_loader_makes_the_adapter(gateway_config: Any) -> None:
    """C5, C7: discovered by the host, configured from the whole file, built by the host's own registry."""
    config = gateway_config(CONFIG)
    from gateway.config import Platform
    from gateway.platform_registry import platform_registry

    block = config.platforms[Platform("borgee")]
    block.extra["group_sessions_per_user"] = config.group_sessions_per_user
    entry = platform_registry.get("borgee")
    adapter = platform_registry.create_adapter("borgee", block)

    assert (entry.source, entry.plugin_name) == ("plugin", "borgee")
    assert adapter is not None
    assert (block.extra["group_sessions_per_user"], block.extra["_busy_input_mode"]) == (False, "queue")
    assert adapter._busy_text_mode == "queue"
    assert parts_of(block).check().origin == "http://127.0.0.1:4901"


@pytest.mark.host
def test_a_key_in_the_block_is_refused_through_the_real_loader(gateway_config: Any) -> None:
    """C3, W10: the host drops it, the hook notes it, the start refuses it by its place."""
    config = gateway_config({**CONFIG, "borgee": {**CONFIG["borgee"], "token": "bgr_secret"}})
    from gateway.config import Platform

    block = config.platforms[Platform("borgee")]
    block.extra["group_sessions_per_user"] = config.group_sessions_per_user

    with pytest.raises(BorgeeKeyInConfig, match=r"borgee\.token") as caught:
        parts_of(block).check()
    assert "bgr_secret" not in str(caught.value) + repr(block.extra)


@pytest.mark.host
def test_a_gateway_without_the_two_settings_is_refused(gateway_config: Any) -> None:
    """2.5: what the host's own defaults give is not enough, and the sentence says what to set."""
    config = gateway_config({"plugins": CONFIG["plugins"], "borgee": CONFIG["borgee"]})
    from gateway.config import Platform

    block = config.platforms[Platform("borgee")]
    block.extra["group_sessions_per_user"] = config.group_sessions_per_user

    with pytest.raises(BorgeeUnshared, match="group_sessions_per_user"):
        parts_of(block).check()


def test_the_probes_never_raise() -> None:
    """The host calls them at every configuration load: without a key or with nonsense the answer is no."""
    assert not probe.has_key({})
    assert not probe.has_key({"BORGEE_API_KEY": "  "})
    assert not probe.has_key({"BORGEE_API_KEY_REF": "nonsense"})
    assert probe.has_key({"BORGEE_API_KEY": "bgr_x"})
    assert probe.has_key({"BORGEE_API_KEY_REF": "service/account"})
    assert not probe.is_configured(None)
    assert probe.yaml_settings(None, ["odd"])["_busy_input_mode"] == ""
    with pytest.raises(CanonOpsError):
        probe.key_of({})
