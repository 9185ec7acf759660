"""The table of known keys is complete, consistent, and judges values."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from canon_ops.hermes.gateway import isolated_environ
from canon_ops.hermes.key_table import PLATFORM_SHARED
from canon_ops.hermes.keys import (
    DENIED_VARIABLES,
    KNOWN_KEYS,
    KeyFile,
    KeyType,
    KnownKey,
    dropped,
    find_key,
    is_secret_name,
)
from canon_ops.settings.credentials import resolve
from canon_ops.settings.options import read_options
from canon_ops.settings.surroundings import Surroundings
from tests.support.hosts import THIS_HOST

# What stands in the two product pages, taken out of them by `names_in`; the pages themselves are not part of the tree.
VARIABLES_OF_THE_PRODUCT_PAGES = [
    "BORGEE_API_KEY", "CANON_ALLOW_ALL_USERS", "CANON_API_KEY", "CANON_BASE_URL", "CANON_ENVIRONMENT_ID",
    "CANON_FIREBASE_API_KEY", "CANON_HOME_CHANNEL", "CANON_HOME_CHANNEL_NAME", "CANON_INBOUND_IMAGE_DELIVERY",
    "CANON_INBOUND_VISUAL_MEDIA_DELIVERY", "CANON_RTDB_URL", "CANON_STREAM_URL", "CANON_TURN_VERBOSITY", "HERMES_HOME",
]  # fmt: skip
KEYS_OF_THE_PRODUCT_PAGES = [
    "approvals.mode", "borgee.allow_insecure_loopback", "borgee.base_url", "borgee.drain_timeout_seconds",
    "borgee.enabled", "borgee.max_concurrent_dispatches", "display.busy_input_mode",
    "display.platforms.canon.interim_assistant_messages", "display.platforms.canon.show_reasoning",
    "display.platforms.canon.tool_progress", "gateway.multiplex_profiles", "group_sessions_per_user",
    "plugins.enabled", "streaming.enabled", "streaming.transport",
]  # fmt: skip
EXTRAS_OF_THE_PRODUCT_PAGES = ["inbound_image_delivery", "inbound_visual_media_delivery", "turn_verbosity"]
OPTIONS_OF_THE_SPECIFICATIONS = [
    "CANON_AGENT", "CANON_AGENTS_FILE", "CANON_AGENTS_JSON_BOOTSTRAP", "CANON_AGENTS_PATH", "CANON_ALLOWED_USERS",
    "CANON_HOME", "HERMES_ALLOW_PRIVATE_URLS", "HERMES_APPROVAL_TIMEOUT", "HERMES_CLARIFY_TIMEOUT",
    "GATEWAY_ALLOWED_USERS", "GATEWAY_ALLOW_ALL_USERS", "BORGEE_API_KEY_REF",
]  # fmt: skip

# What Hermes host 4.1 lists of config.yaml, 4.2 of a platform and of its home channel; {name} is each platform of ours.
KEYS_OF_HERMES = [
    "_config_version", "plugins.enabled", "plugins.disabled", "plugins.hook_callback_timeout",
    "display.busy_input_mode", "display.busy_text_mode", "display.busy_ack_enabled", "streaming.enabled",
    "streaming.transport", "streaming.mode", "streaming.edit_interval", "streaming.buffer_threshold",
    "streaming.cursor", "streaming.fresh_final_after_seconds", "approvals.mode", "approvals.timeout",
    "approvals.cron_mode", "group_sessions_per_user", "gateway.group_sessions_per_user", "thread_sessions_per_user",
    "gateway.multiplex_profiles", "multiplex_profiles", "gateway.multiplex_profile_allowlist",
    "gateway.platform_connect_timeout", "gateway.delivery_ledger", "gateway.write_sessions_json", "session_reset",
    "gateway.session_reset", "reset_triggers", "gateway.reset_triggers", "quick_commands", "gateway.quick_commands",
    "unauthorized_dm_behavior", "gateway.unauthorized_dm_behavior", "agent.clarify_timeout", "agent.gateway_timeout",
    "agent.max_turns", "agent.gateway_startup_warmup_timeout", "agent.gateway_startup_restore_drain_timeout",
    "tools.tool_search.enabled", "security.allow_lazy_installs", "security.tirith_enabled",
    "onboarding.profile_build", "auxiliary.title_generation.enabled", "kanban.dispatch_in_gateway",
]  # fmt: skip
KEYS_OF_A_PLATFORM = [
    *(
        f"platforms.{{name}}.{key}"
        for key in (
            "enabled", "token", "api_key", "home_channel", "reply_to_mode", "gateway_restart_notification",
            "typing_indicator", "typing_status_text", "channel_overrides", "extra", "unauthorized_dm_behavior",
            "notice_delivery", "reply_prefix", "reply_in_thread", "require_mention", "free_response_channels",
            "mention_patterns", "exclusive_bot_mentions", "dm_policy", "allow_from", "allow_admin_from",
            "user_allowed_commands", "group_policy", "group_allow_from", "group_allow_admin_from",
            "group_user_allowed_commands", "channel_prompts", "send_read_receipts", "cron_continuable_surface",
            "home_channel.platform", "home_channel.chat_id", "home_channel.name", "home_channel.thread_id",
            "home_channel.user_id", "home_channel.scope_id",
        )
    ),
    *(
        f"display.platforms.{{name}}.{key}"
        for key in (
            "streaming", "tool_progress", "tool_progress_grouping", "show_reasoning", "tool_preview_length",
            "interim_assistant_messages", "long_running_notifications", "busy_ack_detail", "busy_steer_ack_enabled",
            "cleanup_progress", "live_status", "reasoning_style",
        )
    ),
    "platform_toolsets.{name}",
    *(
        f"plugins.entries.{{plugin}}.{key}"
        for key in ("allow_tool_override", "allow_gateway_injection", "settings", "config")
    ),
]  # fmt: skip


def names_in(page: str) -> tuple[list[str], list[str]]:
    """The variables that a page names, and the paths of the leaves in its blocks of YAML."""
    variables = sorted(set(re.findall(r"\b(?:CANON|BORGEE|HERMES|GATEWAY)_[A-Z0-9_]+\b", page)))
    blocks = re.findall(r"(?:^ *(?:[a-z_]+:.*|- \S+|# .*|)\n)+", page, re.MULTILINE)
    paths: set[str] = set()
    for block in blocks:
        tree = yaml.safe_load(block) if re.search(r"^[a-z_]+:", block, re.MULTILINE) else None
        paths |= set(leaves_of(tree)) if isinstance(tree, dict) else set()
    return variables, sorted(paths)


def leaves_of(tree: dict[str, object], above: str = "") -> Iterator[str]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from leaves_of(value, f"{above}{name}.")
        else:
            yield f"{above}{name}"


@pytest.mark.parametrize("name", [*VARIABLES_OF_THE_PRODUCT_PAGES, *OPTIONS_OF_THE_SPECIFICATIONS])
def test_each_documented_variable_is_known(name: str) -> None:
    """A variable that the product pages name has a row."""
    assert find_key(name, KeyFile.DOTENV) is not None


@pytest.mark.parametrize(
    "name", [*KEYS_OF_THE_PRODUCT_PAGES, *(f"platforms.canon.extra.{name}" for name in EXTRAS_OF_THE_PRODUCT_PAGES)]
)
def test_each_documented_key_is_known(name: str) -> None:
    """A configuration key that the product pages name has a row."""
    assert find_key(name, KeyFile.CONFIG) is not None


@pytest.mark.parametrize("name", KEYS_OF_HERMES)
def test_each_key_of_hermes_that_matters_is_known(name: str) -> None:
    """Every key of the host's own that decides how a platform behaves has a row, also under its other spelling."""
    assert find_key(name, KeyFile.CONFIG) is not None


@pytest.mark.parametrize(("name", "plugin"), [("canon", "canon-hermes"), ("borgee", "borgee")])
def test_each_key_that_hermes_reads_of_a_platform_is_known(name: str, plugin: str) -> None:
    """And none that stands there as the table says is called lost."""
    paths = [path.format(name=name, plugin=plugin) for path in KEYS_OF_A_PLATFORM]

    assert [path for path in paths if find_key(path, KeyFile.CONFIG) is None] == []
    assert [path for path in paths if dropped(path.split(".")) is not None] == []


@pytest.mark.skipif("PRODUCT_PAGES" not in os.environ, reason="PRODUCT_PAGES names no folder with the product pages")
def test_the_lists_are_what_the_pages_say() -> None:
    """Every variable and every key in a block of the pages is in the lists above, and nothing else is."""
    pages = [file.read_text(encoding="utf-8") for file in Path(os.environ["PRODUCT_PAGES"]).glob("*.txt")]

    found = [names_in(page) for page in pages]

    assert sorted({name for variables, _ in found for name in variables}) == VARIABLES_OF_THE_PRODUCT_PAGES
    assert sorted({path for _, paths in found for path in paths}) == KEYS_OF_THE_PRODUCT_PAGES
    assert all(any(name in page for page in pages) for name in EXTRAS_OF_THE_PRODUCT_PAGES)


def test_no_key_stands_twice() -> None:
    """A name, or another spelling of it, has one row a file."""
    keys = [(key.file, name) for key in KNOWN_KEYS for name in (key.name, *key.aliases)]

    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("key", KNOWN_KEYS, ids=lambda key: key.name)
def test_a_row_agrees_with_itself(key: KnownKey) -> None:
    """Default and recommendation are values that the row itself would accept; help is one sentence that fits a line."""
    offered = [value for value in (key.default, key.recommended) if value is not None]

    assert [key.problem(value) for value in offered] == [None] * len(offered)
    assert key.help.endswith(".")
    assert len(key.help) < 72
    assert not (key.secret and offered)
    assert key.refused is None or not offered


def test_the_options_that_settings_read_are_the_rows_allowed_values() -> None:
    """Each allowed value of an option is one that the settings room reads."""
    for name in ("CANON_TURN_VERBOSITY", "CANON_INBOUND_IMAGE_DELIVERY", "CANON_INBOUND_VISUAL_MEDIA_DELIVERY"):
        key = find_key(name, KeyFile.DOTENV)
        assert key is not None
        for value in key.allowed:
            assert read_options(Surroundings(environ={name: value})).settings[name.removeprefix("CANON_").lower()]


def test_a_key_in_config_is_found_where_the_row_says() -> None:
    """The secret paths of the table are paths that the resolution reads."""
    for name in ("api_key", "token"):
        assert find_key(f"platforms.canon.{name}", KeyFile.CONFIG) is not None
        found = resolve(
            Surroundings(platform={name: "agk_live_sandbox_1", "extra": {"environment_id": "canon-dev-v1"}})
        )
        assert found.settings["api_key"].origin.name == f"platforms.canon.{name}"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("platforms.canon.enabled", "false", "platforms.canon.enabled must be true or false; 'false' is not"),
        ("platforms.canon.enabled", True, None),
        ("display.platforms.canon.tool_progress", False,
         "display.platforms.canon.tool_progress must be text; False is not"),
        ("approvals.mode", "sometimes", "approvals.mode cannot be 'sometimes'; allowed are manual, smart, off"),
        ("plugins.enabled", "a, b", "plugins.enabled must be a list; 'a, b' is not"),
        ("platforms.canon.api_key", 5, "platforms.canon.api_key must be text; the value is not"),
        ("borgee.max_concurrent_dispatches", 33, "borgee.max_concurrent_dispatches cannot be 33; it goes from 1 to 32"),
        ("borgee.max_concurrent_dispatches", True,
         "borgee.max_concurrent_dispatches must be a whole number; True is not"),
        ("borgee.drain_timeout_seconds", math.nan, "borgee.drain_timeout_seconds must be a number; nan is not"),
        ("streaming.edit_interval", -1, "streaming.edit_interval cannot be -1; it goes from 0"),
        ("borgee.api_key", "bgr_1234567",
         "borgee.api_key must not be set: Borgee takes its key from BORGEE_API_KEY alone"),
    ],
)  # fmt: skip
def test_a_value_is_judged_in_one_sentence(name: str, value: object, sentence: str | None) -> None:
    """What is wrong with a value is said with the key's name, and a secret is not repeated."""
    key = find_key(name, KeyFile.CONFIG)

    assert key is not None
    assert key.problem(value) == sentence


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (KeyType.INT, 1, True),
        (KeyType.FLOAT, 1, "1"),
        (KeyType.MAP, {}, []),
        (KeyType.LIST, [], "x"),
        (KeyType.BOOL, False, 0),
    ],
)
def test_types_are_those_of_yaml(kind: KeyType, good: object, bad: object) -> None:
    """A boolean is no number and a text is no list."""
    key = KnownKey("k", KeyFile.CONFIG, kind, "Help.")

    assert key.problem(good) is None
    assert key.problem(bad) is not None


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("HERMES_CLARIFY_TIMEOUT", "5", "4"),
        ("HERMES_APPROVAL_TIMEOUT", " 1800 ", "soon"),
        ("CANON_ALLOW_ALL_USERS", "YES", "maybe"),
        ("CANON_ALLOWED_USERS", "user_1, user_2", None),
        ("CANON_TURN_VERBOSITY", "quiet", "loud"),
        ("HERMES_HOME", None, "/data"),
    ],
)
def test_a_variable_is_judged_as_its_reader_takes_it(name: str, good: str | None, bad: str | None) -> None:
    """Numbers, switches and lists stand as text in .env."""
    key = find_key(name, KeyFile.DOTENV)

    assert key is not None
    assert good is None or key.problem(good) is None
    assert bad is None or key.problem(bad) is not None


@pytest.mark.parametrize(
    ("path", "instead"),
    [
        (("platforms", "canon", "base_url"), "platforms.canon.extra.base_url"),
        (("platforms", "canon", "CANON_TURN_VERBOSITY"), "platforms.canon.extra.CANON_TURN_VERBOSITY"),
        (("platforms", "canon", "custom_key"), None),
        (("gateway", "platforms", "canon", "turn_verbosity"), "platforms.canon.extra.turn_verbosity"),
        (("platforms", "canon", "display", "streaming", "enabled"), "display.platforms.canon.streaming"),
        (("platforms", "borgee", "base_url"), "borgee.base_url"),
        (("borgee", "colour"), None),
        (("canon", "base_url"), "platforms.canon.extra.base_url"),
    ],
)
def test_a_key_that_reaches_nobody_is_told_from_one_that_does(path: tuple[str, ...], instead: str | None) -> None:
    """Hermes drops it without a word; where it would be read is said when there is such a place (decision B3)."""
    found = dropped(path)

    assert found is not None
    assert found.instead == instead
    assert instead is None or dropped(instead.split(".")) is None


@pytest.mark.parametrize(
    "path",
    [
        *((key.name.split(".")) for key in KNOWN_KEYS if key.file is KeyFile.CONFIG),
        ["platforms", "canon", "extra", "anything"],
        ["platforms", "canon", "channel_overrides", "c1", "model"],
        ["platforms", "telegram", "anything"],
        ["somebody", "else"],
    ],
    ids=".".join,
)
def test_what_is_read_is_never_called_dropped(path: list[str]) -> None:
    """Every known key, everything below ``extra``, and whatever is not ours."""
    assert dropped(path) is None


LOADS = """
import json, sys
from gateway.config import load_gateway_config
found = next(config for platform, config in load_gateway_config().platforms.items() if platform.value == "signal")
fields = {name for name in found.__dataclass_fields__ if getattr(found, name) not in (None, {}, [])}
print(json.dumps(sorted(fields | set(found.extra))))
"""


@pytest.mark.host
def test_the_host_agrees_on_what_it_drops(tmp_path: Path) -> None:
    """The real loader hands on the shared keys of the table and loses the others; any platform shows it."""
    newer = {"send_read_receipts", "cron_continuable_surface"}
    shared = {name: [] if kind is KeyType.LIST else "x" for name, (kind, _) in PLATFORM_SHARED.items()}
    block = {"enabled": True, "base_url": "https://x", "custom_key": "x", "extra": {"mine": "x"}, **shared}
    (tmp_path / "config.yaml").write_text(json.dumps({"platforms": {"signal": block}}))
    environ = isolated_environ(os.environ, hermes_home=tmp_path, user_home=tmp_path)

    ran = subprocess.run([sys.executable, "-c", LOADS], env=environ, capture_output=True, text=True, check=True)

    arrived = set(json.loads(ran.stdout))
    assert set(shared) - newer <= arrived
    lost = {"base_url", "custom_key"}
    assert lost & arrived == (lost if THIS_HOST.hands_on_every_key else set())
    assert {name: dropped(("platforms", "canon", name)) is None for name in block} == {
        name: name in (arrived - lost) | newer | {"extra"} for name in block
    }


@pytest.mark.host
def test_the_names_that_hermes_refuses_to_write_are_refused_here() -> None:
    """Our list holds the host's own."""
    from hermes_cli.config import _ENV_VAR_NAME_DENYLIST

    assert _ENV_VAR_NAME_DENYLIST <= DENIED_VARIABLES


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("CANON_API_KEY", True),
        ("CANON_AGENTS_JSON_BOOTSTRAP", True),
        ("CANON_FIREBASE_API_KEY", False),
        ("BORGEE_API_KEY_REF", False),
        ("OPENAI_API_KEY", True),
        ("GITHUB_TOKEN_2", True),
        ("CANON_AGENT", False),
    ],
)
def test_a_secret_is_told_by_its_name(name: str, is_secret: bool) -> None:
    """The table decides where it has a row; elsewhere the name does."""
    assert is_secret_name(name) is is_secret
