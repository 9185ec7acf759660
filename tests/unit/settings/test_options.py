"""The operator's options, the home channel and the allowlist."""

from __future__ import annotations

import pytest

from canon_ops.settings.options import (
    HomeChannel,
    MediaDelivery,
    TurnVerbosity,
    UserAccess,
    home_channel,
    read_options,
    user_access,
)
from canon_ops.settings.problems import BadOption
from canon_ops.settings.provenance import Origin, Source
from canon_ops.settings.surroundings import Surroundings

NAMES = ["inbound_image_delivery", "inbound_visual_media_delivery", "turn_verbosity"]


def around(environ: dict[str, str] | None = None, **platform: object) -> Surroundings:
    return Surroundings(environ=environ or {}, platform=platform)


def test_options_have_defaults() -> None:
    """Unset, every option is what the product promises by default, and says so."""
    options = read_options(around())

    assert options.inbound_image_delivery is MediaDelivery.MODEL
    assert options.inbound_visual_media_delivery is MediaDelivery.MODEL
    assert options.turn_verbosity is TurnVerbosity.AUTO
    assert options.settings["turn_verbosity"].origin == Origin(Source.DEFAULT, "CANON_TURN_VERBOSITY")


@pytest.mark.parametrize(
    ("environ", "extra", "expected"),
    [
        ({}, {"turn_verbosity": "QUIET"}, TurnVerbosity.QUIET),
        ({"CANON_TURN_VERBOSITY": ""}, {}, TurnVerbosity.AUTO),
        ({"CANON_TURN_VERBOSITY": "  "}, {"turn_verbosity": "quiet"}, TurnVerbosity.AUTO),
        ({"CANON_TURN_VERBOSITY": "verbose"}, {"turn_verbosity": "quiet"}, TurnVerbosity.VERBOSE),
        ({"CANON_TURN_VERBOSITY": " Verbose "}, {}, TurnVerbosity.VERBOSE),
        ({}, {"canon_turn_verbosity": "quiet"}, TurnVerbosity.QUIET),
        ({}, {"CANON_TURN_VERBOSITY": "quiet"}, TurnVerbosity.QUIET),
        ({}, {"turn_verbosity": None}, TurnVerbosity.AUTO),
    ],
)
def test_verbosity_is_read_in_its_order(
    environ: dict[str, str], extra: dict[str, object], expected: TurnVerbosity
) -> None:
    """S1.12: case and white space do not matter, empty is the default, the environment wins."""
    assert read_options(around(environ, extra=extra)).turn_verbosity is expected


@pytest.mark.parametrize("word", ["loud", "off", "true"])
def test_an_unknown_verbosity_is_refused(word: str) -> None:
    """S1.12: a value that is not known is a ValueError with the variable and the choice, never ignored."""
    with pytest.raises(ValueError, match=r"CANON_TURN_VERBOSITY cannot be .*allowed: auto, verbose, quiet") as caught:
        read_options(around({"CANON_TURN_VERBOSITY": word}))

    assert isinstance(caught.value, BadOption)


@pytest.mark.parametrize("name", NAMES[:2])
def test_an_unknown_media_delivery_is_refused(name: str) -> None:
    """S1.10, S1.11: the error names the variable and trusted-only."""
    variable = f"CANON_{name.upper()}"

    with pytest.raises(ValueError, match=f"{variable} cannot be 'trusted-ish'.*trusted-only"):
        read_options(around({variable: "trusted-ish"}))


@pytest.mark.parametrize("name", NAMES[:2])
def test_media_can_be_trusted_only(name: str) -> None:
    """Both media options take trusted-only from the environment and from extra."""
    variable = f"CANON_{name.upper()}"

    for surroundings in (around({variable: "Trusted-Only"}), around(extra={name: "trusted-only"})):
        assert getattr(read_options(surroundings), name) is MediaDelivery.TRUSTED_ONLY


def test_a_bare_off_of_yaml_is_refused_and_not_taken_for_a_default() -> None:
    """``turn_verbosity: off`` is a boolean in YAML; it is named as what it is."""
    with pytest.raises(
        BadOption, match=r"'false' \(platforms\.canon\.extra\.turn_verbosity in config\.yaml\)"
    ) as caught:
        read_options(around(extra={"turn_verbosity": False}))

    assert caught.value.fix == "canon-ops config set platforms.canon.extra.turn_verbosity auto"


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({}, {}, None),
        ({"CANON_HOME_CHANNEL": " "}, {}, None),
        ({"CANON_HOME_CHANNEL": " c1 "}, {}, ("c1", "Canon Home")),
        ({"CANON_HOME_CHANNEL": "c1", "CANON_HOME_CHANNEL_NAME": " Desk "}, {}, ("c1", "Desk")),
        ({"CANON_HOME_CHANNEL_NAME": "Desk"}, {}, None),
        ({}, {"home_channel": {"chat_id": "c2", "name": "N"}}, ("c2", "N")),
        ({}, {"home_channel": {"chat_id": "c2"}}, ("c2", "Canon Home")),
        ({"CANON_HOME_CHANNEL": "c1"}, {"home_channel": {"chat_id": "c2", "name": "N"}}, ("c1", "Canon Home")),
        ({}, {"home_channel": "c2"}, None),
        ({}, {"home_channel": {"name": "N"}}, None),
    ],
)
def test_the_home_channel_comes_from_the_environment_then_the_configuration(
    environ: dict[str, str], platform: dict[str, object], expected: tuple[str, str] | None
) -> None:
    """The variable wins, its label has a default, and a configured channel needs a chat id."""
    channel = home_channel(around(environ, **platform))

    assert (channel and (channel.chat_id, channel.name)) == expected
    assert channel is None or isinstance(channel, HomeChannel)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, UserAccess(False, None)),
        ({"CANON_ALLOW_ALL_USERS": "true"}, UserAccess(True, None)),
        ({"CANON_ALLOW_ALL_USERS": " YES "}, UserAccess(True, None)),
        ({"CANON_ALLOW_ALL_USERS": "on"}, UserAccess(False, None)),
        ({"CANON_ALLOW_ALL_USERS": "false", "CANON_ALLOWED_USERS": "a"}, UserAccess(False, frozenset("a"))),
        ({"CANON_ALLOWED_USERS": " a, b ,,c"}, UserAccess(False, frozenset("abc"))),
        ({"CANON_ALLOWED_USERS": " , "}, UserAccess(False, None)),
    ],
)
def test_who_may_speak_is_read_from_the_environment(environ: dict[str, str], expected: UserAccess) -> None:
    """A comma-separated list and a switch, read as the host reads them."""
    found = user_access(around(environ))

    assert (found.allow_all, found.allowed) == (expected.allow_all, expected.allowed)


@pytest.mark.parametrize(
    ("word", "is_misread"), [("maybe", True), ("on", True), ("off", False), ("", False), ("1", False)]
)
def test_a_switch_that_is_no_word_of_the_hosts_is_told_apart(word: str, is_misread: bool) -> None:
    """It counts as no, which is not what its writer meant: somebody should hear of it."""
    found = user_access(around({"CANON_ALLOW_ALL_USERS": word}))

    assert (found.misread is not None) is is_misread


def test_a_star_lists_everybody() -> None:
    """``*`` in the allowlist admits everyone, an empty list nobody."""
    assert UserAccess(False, frozenset({"*"})).is_listed("anyone") is True
    assert UserAccess(False, frozenset({"a"})).is_listed("b") is False
    assert UserAccess(False, None).is_listed("a") is False
