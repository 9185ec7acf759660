"""What the host is told about Canon, on an audited host, on a poorer one, and on one that is refused."""

from __future__ import annotations

import argparse
import json
import logging
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
import yaml

import canon_hermes_plugin
from canon_hermes_plugin.host import HostFacts
from canon_hermes_plugin.registration import register
from canon_ops import __version__
from tests.unit.canon_hermes_plugin.conftest import BareContext, RecordingContext

pytestmark = pytest.mark.host

AUDITED = HostFacts("0.19.0", "3.11", "linux")
HOOKS = ["pre_tool_call", "post_tool_call", "subagent_stop", "post_api_request", "api_request_error", "on_session_end"]
TOOLS = ["canon_runtime_control", "canon_communicate"]
NETWORK_AND_TERMINAL = ("httpx", "websockets", "click", "rich", "questionary", "keyring", "starlette", "uvicorn")


def test_the_platform_and_its_hooks_are_registered() -> None:
    """S1.1: the tools, their toolset's older name, the skill, the hooks in order, the platform; the hint names both."""
    from tools.registry import registry

    ctx = RecordingContext()

    register(ctx, facts=AUDITED)

    assert [(tool["name"], tool["toolset"], tool["is_async"]) for tool in ctx.tools] == [
        (name, "canon", True) for name in TOOLS
    ]
    assert all(tool["description"] == tool["schema"]["description"] for tool in ctx.tools)
    assert registry.get_registered_toolset_aliases()["canon_runtime"] == "canon"
    assert [name for name, _ in ctx.hooks] == HOOKS
    assert [entry["name"] for entry in ctx.platforms] == ["canon"]
    assert [(name, path.name) for name, path, _ in ctx.skills] == [("rich-cards", "SKILL.md")]
    assert "Canon" in ctx.platforms[0]["platform_hint"]
    assert "load canon-hermes:rich-cards with skill_view" in ctx.platforms[0]["platform_hint"]


def test_both_examples_of_the_skill_are_right_cards() -> None:
    """S1.5: two blocks of JSON, each of them a card with nothing wrong; the head of the file names the skill."""
    ctx = RecordingContext()
    register(ctx, facts=AUDITED)
    ((name, path, description),) = ctx.skills

    text = path.read_text(encoding="utf-8")

    cards = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]
    assert [canon_hermes_plugin.validate_card(card) for card in cards] == [{"ok": True, "errors": []}] * 2
    assert yaml.safe_load(text.split("---")[1]) == {"name": name, "description": description}


def test_a_refused_skill_is_not_named() -> None:
    """A host that will not have the skill has everything else, and a hint without it."""

    class Picky(RecordingContext):
        def register_skill(self, name: str, path: Path, description: str = "") -> None:
            raise FileNotFoundError(path)

    ctx = Picky()
    register(ctx, facts=AUDITED)

    assert (len(ctx.tools), len(ctx.hooks), len(ctx.platforms)) == (len(TOOLS), len(HOOKS), 1)
    assert "skill" not in ctx.platforms[0]["platform_hint"]


def test_the_command_line_is_offered_as_hermes_canon() -> None:
    """One subcommand that hands over whatever follows it, options and --help included."""
    ctx = RecordingContext()
    register(ctx, facts=AUDITED)
    (command,) = ctx.commands
    parser = argparse.ArgumentParser(prog="hermes canon")

    command["setup_fn"](parser)

    words = ["doctor", "--json", "-h", "--", "-x"]
    assert command["name"] == "canon"
    assert vars(parser.parse_args(words)) == {"canon_words": words}
    assert vars(parser.parse_args(["--json"])) == {"canon_words": ["--json"]}
    assert vars(parser.parse_args([])) == {"canon_words": []}


def test_a_context_that_knows_platforms_only_is_enough() -> None:
    """S1.2: without hooks and skills registration succeeds, and the hint names no skill."""
    ctx = BareContext()

    register(ctx, facts=AUDITED)

    assert "skill" not in ctx.platforms[0]["platform_hint"]


def test_registering_again_registers_the_hooks_again() -> None:
    """S1.3: a forced rediscovery has emptied the host's tables, so nothing is guarded by a flag."""
    ctx = RecordingContext()

    register(ctx, facts=AUDITED)
    register(ctx, facts=AUDITED)

    assert [name for name, _ in ctx.hooks] == HOOKS * 2


def test_one_refused_hook_does_not_stop_the_others() -> None:
    """A host that rejects a hook name still gets the other hooks and the platform."""

    class Picky(RecordingContext):
        def register_hook(self, name: str, callback: Any) -> None:
            if name == "post_tool_call":
                raise ValueError(name)
            super().register_hook(name, callback)

    ctx = Picky()
    register(ctx, facts=AUDITED)

    assert ([name for name, _ in ctx.hooks], len(ctx.platforms)) == (
        [name for name in HOOKS if name != "post_tool_call"],
        1,
    )


def test_the_real_host_owns_what_was_registered() -> None:
    """S1.4, R1.20: with the host's own context the platform and the three hooks belong to the plugin canon-hermes."""
    from gateway.platform_registry import platform_registry
    from hermes_cli.plugins import PluginContext, PluginManager, PluginManifest

    manager = PluginManager()
    try:
        canon_hermes_plugin.register(PluginContext(PluginManifest(name="canon-hermes"), manager))
        entry = platform_registry.get("canon")

        assert entry is not None
        assert (entry.plugin_name, entry.max_message_length, entry.cron_deliver_env_var) == (
            "canon-hermes", 0, "CANON_HOME_CHANNEL",
        )  # fmt: skip
        assert (entry.allowed_users_env, entry.allow_all_env) == ("CANON_ALLOWED_USERS", "CANON_ALLOW_ALL_USERS")
        assert manager._plugin_platform_names == {"canon"}
        assert manager._plugin_tool_names == {*TOOLS}
        assert manager.list_plugin_skills("canon-hermes") == ["rich-cards"]
        assert sorted(manager._hooks) == sorted(HOOKS)
    finally:
        platform_registry.unregister("canon")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        pytest.param(HostFacts("0.20.1", "3.11", "linux"), ["0.20.1", "0.19.0"], id="version"),
        pytest.param(HostFacts(None, "3.11", "linux"), ["unknown version", "0.19.0"], id="unreadable-version"),
        pytest.param(HostFacts("0.19.0", "3.9", "linux"), ["3.9", "3.11"], id="python"),
        pytest.param(HostFacts("0.19.0", "3.11", "win32"), ["Windows"], id="platform"),
    ],
)
def test_an_unaudited_host_is_refused_in_the_open(
    facts: HostFacts, words: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """S1.18: the platform is there with a false check and the reason as hint, an error is logged, and nothing else."""
    ctx = RecordingContext()

    with caplog.at_level(logging.ERROR):
        register(ctx, facts=facts)

    (entry,) = ctx.platforms
    assert (entry["check_fn"](), entry["validate_config"](object()), ctx.hooks) == (False, False, [])
    assert all(word in entry["install_hint"] and word in caplog.text for word in words)
    with pytest.raises(RuntimeError, match=words[0]):
        entry["adapter_factory"](object())


def test_only_arguments_that_the_host_knows_are_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose platform entry lacks a field gets the others, instead of failing the whole plugin."""
    from dataclasses import make_dataclass

    import gateway.platform_registry as registry

    poorer = make_dataclass("PlatformEntry", ["name", "label", "adapter_factory", "check_fn", "install_hint"])
    monkeypatch.setattr(registry, "PlatformEntry", poorer)
    ctx = RecordingContext()

    register(ctx, facts=AUDITED)

    assert sorted(ctx.platforms[0]) == ["adapter_factory", "check_fn", "install_hint", "label", "name"]


def test_the_manifest_tells_the_version_and_every_setting() -> None:
    """S1.13, R1.4: plugin.yaml has the package's version and the settings in their order, two of them secret."""
    manifest = yaml.safe_load(Path(canon_hermes_plugin.__file__).with_name("plugin.yaml").read_text(encoding="utf-8"))
    settings = [(entry["name"], entry["password"]) for entry in manifest["optional_env"]]

    assert {name: manifest[name] for name in ("name", "label", "kind", "version", "author", "requires_env")} == {
        "name": "canon-hermes", "label": "Canon", "kind": "platform", "version": __version__, "author": "Canon",
        "requires_env": [],
    }  # fmt: skip
    assert settings == [
        ("CANON_API_KEY", True),
        ("CANON_AGENT", False),
        ("CANON_AGENTS_JSON_BOOTSTRAP", True),
        ("CANON_HOME", False),
        ("CANON_ENVIRONMENT_ID", False),
        ("CANON_BASE_URL", False),
        ("CANON_STREAM_URL", False),
        ("CANON_RTDB_URL", False),
        ("CANON_FIREBASE_API_KEY", False),
        ("CANON_HOME_CHANNEL", False),
        ("CANON_ALLOWED_USERS", False),
        ("CANON_ALLOW_ALL_USERS", False),
        ("CANON_INBOUND_IMAGE_DELIVERY", False),
        ("CANON_INBOUND_VISUAL_MEDIA_DELIVERY", False),
        ("CANON_TURN_VERBOSITY", False),
    ]
    assert all(entry["description"] and entry["prompt"] for entry in manifest["optional_env"])


def test_the_manifest_names_what_is_registered() -> None:
    """R1.4: the tools and hooks of plugin.yaml are those that a host gets."""
    manifest = yaml.safe_load(Path(canon_hermes_plugin.__file__).with_name("plugin.yaml").read_text(encoding="utf-8"))
    ctx = RecordingContext()

    register(ctx, facts=AUDITED)

    assert manifest["provides_hooks"] == [name for name, _ in ctx.hooks]
    assert manifest["provides_tools"] == [tool["name"] for tool in ctx.tools]


def test_the_scripts_are_installed() -> None:
    """S1.13, N1, N4: the package brings its program under its own name and under those of Canon's documentation."""
    scripts = {point.name: point for point in distribution("canon-ops").entry_points.select(group="console_scripts")}

    assert sorted(scripts) == ["canon-hermes", "canon-hermes-plugin", "canon-ops"]
    assert all(callable(point.load()) for point in scripts.values())
    assert scripts["canon-hermes"].value == scripts["canon-hermes-plugin"].value


def test_importing_and_registering_load_no_network_and_no_terminal() -> None:
    """R1.3: importing the package loads no host module; registering adds neither a network nor a terminal library."""
    code = f"""
import json, sys
import canon_hermes_plugin
hosts = [name for name in sys.modules if name.split(".")[0] in ("gateway", "hermes_cli", "agent", "tools")]
import canon_ops.settings.credentials
before = [name for name in {NETWORK_AND_TERMINAL!r} if name in sys.modules]
import gateway.platform_registry
host_brings = set(sys.modules)
class Context:
    def register_platform(self, **entry): pass
    def register_hook(self, name, callback): pass
canon_hermes_plugin.register(Context())
after = [name for name in {NETWORK_AND_TERMINAL!r} if name in sys.modules and name not in host_brings]
print(json.dumps([hosts, before, after]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert json.loads(done.stdout) == [[], [], []]
