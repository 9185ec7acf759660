"""The table of known keys is complete, consistent, and judges values."""

from __future__ import annotations

import pytest

from canon_ops.hermes.keys import KNOWN_KEYS, KeyFile, KeyType, KnownKey, find_key
from canon_ops.settings.credentials import resolve
from canon_ops.settings.options import read_options
from canon_ops.settings.surroundings import Surroundings

VARIABLES_OF_THE_PRODUCT_PAGES = [
    "CANON_ALLOW_ALL_USERS", "CANON_API_KEY", "CANON_BASE_URL", "CANON_ENVIRONMENT_ID", "CANON_FIREBASE_API_KEY",
    "CANON_HOME_CHANNEL", "CANON_HOME_CHANNEL_NAME", "CANON_INBOUND_IMAGE_DELIVERY",
    "CANON_INBOUND_VISUAL_MEDIA_DELIVERY", "CANON_RTDB_URL", "CANON_STREAM_URL", "CANON_TURN_VERBOSITY",
    "BORGEE_API_KEY",
]  # fmt: skip
KEYS_OF_THE_PRODUCT_PAGES = [
    "streaming.enabled", "streaming.transport", "display.platforms.canon.interim_assistant_messages",
    "display.platforms.canon.tool_progress", "display.platforms.canon.show_reasoning", "approvals.mode",
    "gateway.multiplex_profiles", "plugins.enabled", "platforms.canon.enabled", "group_sessions_per_user",
    "display.busy_input_mode", "platforms.canon.extra.turn_verbosity", "platforms.canon.extra.inbound_image_delivery",
    "platforms.canon.extra.inbound_visual_media_delivery",
]  # fmt: skip


@pytest.mark.parametrize("name", VARIABLES_OF_THE_PRODUCT_PAGES)
def test_each_documented_variable_is_known(name: str) -> None:
    """A variable that the product pages name has a row."""
    assert find_key(name, KeyFile.DOTENV) is not None


@pytest.mark.parametrize("name", KEYS_OF_THE_PRODUCT_PAGES)
def test_each_documented_key_is_known(name: str) -> None:
    """A configuration key that the product pages name has a row."""
    assert find_key(name, KeyFile.CONFIG) is not None


def test_no_key_stands_twice() -> None:
    """A name has one row a file."""
    keys = [(key.file, key.name) for key in KNOWN_KEYS]

    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("key", KNOWN_KEYS, ids=lambda key: key.name)
def test_a_row_agrees_with_itself(key: KnownKey) -> None:
    """Default and recommendation are values that the row itself would accept; help is one sentence that fits a line."""
    offered = [value for value in (key.default, key.recommended) if value is not None]

    assert [key.problem(value) for value in offered] == [None] * len(offered)
    assert key.help.endswith(".")
    assert len(key.help) < 72
    assert not (key.secret and offered)


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
