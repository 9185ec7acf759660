"""Borgee's block of config.yaml. Borgee 9.1."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from canon_ops.errors import CanonOpsError
from canon_ops.settings.borgee import (
    BorgeeOptions,
    canonical_origin,
    read_borgee,
    settings_for_host,
    startup_refusal,
)
from canon_ops.settings.problems import BadBorgeeOption, BadEndpoint, BorgeeKeyInConfig, BorgeeUnshared

GOOD: dict[str, object] = {
    "base_url": "https://chat.example.com",
    "group_sessions_per_user": False,
    "_busy_input_mode": "queue",
}


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://CHAT.Example.com:443/", "https://chat.example.com"),
        ("https://chat.example.com:8443", "https://chat.example.com:8443"),
        ("http://localhost:4901/", "http://localhost:4901"),
        ("http://127.8.9.1", "http://127.8.9.1"),
        ("http://[::1]:4901", "http://[::1]:4901"),
        ("http://127.0.0.1:80", "http://127.0.0.1"),
    ],
)
def test_an_address_has_one_form(text: str, origin: str) -> None:
    """C1, W-27: lower-case host, no default port, no trailing slash."""
    assert canonical_origin(text, allow_insecure_loopback=True) == origin


@pytest.mark.parametrize(
    "text",
    [
        "https://user:secret@example.com", "https://example.com/path", "https://example.com?secret=value",
        "https://example.com?", "https://example.com#", "wss://example.com", "ftp://example.com", "example.com",
        "https://", "https://exa mple.com", "https://example.com:port", "https://[::1", "", "   ", None, 7,
        "http://10.0.0.1", "http://192.168.1.5", "http://172.16.0.1", "http://0.0.0.0", "http://[::]",
        "http://169.254.1.1", "http://[fe80::1]", "http://chat.example.com", "http://localhost.example.com",
        "http://[::ffff:10.0.0.1]", "https://user:secret@example.com:port", "user:secret@example.com",
        "https://user:secret@[::1", "https://secret@", "//user:secret@example.com#secret", "example.com?secret",
    ],
)  # fmt: skip
def test_other_addresses_are_refused(text: object) -> None:
    """C2, W9: loopback means this machine; a private network is not it. No secret of the text is shown."""
    with pytest.raises(BadEndpoint) as caught:
        canonical_origin(text, allow_insecure_loopback=True)

    assert isinstance(caught.value, ValueError)
    assert "secret" not in str(caught.value)


def test_plain_http_needs_to_be_asked_for() -> None:
    """Without the switch even this machine is refused."""
    with pytest.raises(BadEndpoint, match="allow_insecure_loopback"):
        canonical_origin("http://127.0.0.1:4901", allow_insecure_loopback=False)


@pytest.mark.parametrize("value", [True, 1, "1", "true", "YES", " on "])
def test_a_switch_in_words(value: object) -> None:
    """1, true, yes and on count; everything else does not."""
    assert read_borgee({"base_url": "http://[::1]", "allow_insecure_loopback": value}).allow_insecure_loopback
    others: tuple[object, ...] = ("false", "no", "", "2", None, False, 0, 2, [])
    for other in others:
        assert not read_borgee({"base_url": "https://a.b", "allow_insecure_loopback": other}).allow_insecure_loopback


def test_what_is_not_set_has_a_default() -> None:
    """Null is as good as absent."""
    empty = {"agent_id": None, "max_concurrent_dispatches": None, "drain_timeout_seconds": None}

    assert read_borgee({"base_url": "https://a.b", **empty}) == BorgeeOptions("https://a.b", False, "", 4, 30.0)


NO_COUNTS: tuple[object, ...] = (0, 33, True, 3.9, 4.0, "4", float("nan"), [])
NO_TIMES: tuple[object, ...] = (0, -1, 601, float("nan"), float("inf"), True, "30", 10**400, [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(pytest.param("max_concurrent_dispatches", value, id=f"count-{n}") for n, value in enumerate(NO_COUNTS)),
        *(pytest.param("drain_timeout_seconds", value, id=f"time-{n}") for n, value in enumerate(NO_TIMES)),
        ("agent_id", 7),
    ],
)
def test_what_cannot_be_a_value_is_named(name: str, value: object) -> None:
    """W23: a truth is no number, nothing is rounded, and the sentence says where to change it."""
    with pytest.raises(BadBorgeeOption, match=f"borgee.{name}") as caught:
        read_borgee({"base_url": "https://a.b", name: value})

    assert f"canon-ops config set borgee.{name}" in (caught.value.fix or "")


def test_the_hook_hands_over_its_own_keys_and_three_notes() -> None:
    """C3: a key is not handed over, and its place is noted, so that the start is refused."""
    block = {"base_url": "https://a.b", "api_key": "bgr_secret", "max_concurrent_dispatches": 3, "colour": "red"}

    found = settings_for_host({"gateway": {"multiplex_profiles": True}, "borgee": block}, block)

    assert found == {
        "base_url": "https://a.b",
        "max_concurrent_dispatches": 3,
        "_multiplex_profiles": True,
        "_busy_input_mode": "",
        "_refused_keys": ["borgee.api_key"],
    }
    assert isinstance(startup_refusal(found), BorgeeKeyInConfig)


@pytest.mark.parametrize(
    ("config", "block", "mode"),
    [
        ({"display": {"busy_input_mode": "Queue"}}, {}, "queue"),
        ({"display": {"busy_input_mode": "interrupt"}}, {"display": {"busy_input_mode": "queue"}}, "queue"),
        ({"display": {"busy_input_mode": "queue"}}, {"display": {"busy_input_mode": "steer"}}, "steer"),
        ({"display": "odd"}, {}, ""),
    ],
)
def test_the_platforms_own_busy_mode_wins(config: Mapping[str, object], block: Mapping[str, object], mode: str) -> None:
    """The block before the top of the file."""
    assert settings_for_host(config, block)["_busy_input_mode"] == mode


@pytest.mark.parametrize(
    ("config", "multiplexes"),
    [
        ({"multiplex_profiles": True}, True),
        ({"multiplex_profiles": False, "gateway": {"multiplex_profiles": True}}, False),
        ({"gateway": {"multiplex_profiles": "yes"}}, True),
        ({}, False),
    ],
)
def test_multiplexing_is_read_where_hermes_reads_it(config: Mapping[str, object], multiplexes: bool) -> None:
    """The top of the file before the gateway's own block."""
    assert settings_for_host(config, {})["_multiplex_profiles"] is multiplexes


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({"borgee": {"token": "x"}}, "borgee.token"),
        ({"platforms": {"borgee": {"api_key": "x"}}}, "platforms.borgee.api_key"),
        ({"platforms": {"borgee": {"extra": {"token": "x"}}}}, "platforms.borgee.extra.token"),
        ({"borgee": {"extra": {"api_key": "x"}}}, "borgee.extra.api_key"),
        ({"gateway": {"platforms": {"borgee": {"api_key": "x"}}}}, "gateway.platforms.borgee.api_key"),
    ],
)
def test_a_key_anywhere_in_the_file_is_refused_by_its_place(config: Mapping[str, object], place: str) -> None:
    """C4, W10: the sentence names the one place for a key, and where this one has to go from."""
    refusal = startup_refusal({**GOOD, **settings_for_host(config, {})})

    assert isinstance(refusal, BorgeeKeyInConfig)
    assert "BORGEE_API_KEY" in str(refusal)
    assert f"canon-ops config unset {place}" in (refusal.fix or "")


def test_a_key_in_extra_alone_is_refused_too() -> None:
    """C4: whatever way it came."""
    assert isinstance(startup_refusal({**GOOD, "api_key": "bgr_x"}), BorgeeKeyInConfig)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"group_sessions_per_user": True}, "group_sessions_per_user"),
        ({"group_sessions_per_user": None}, "group_sessions_per_user"),
        ({"group_sessions_per_user": 0}, "group_sessions_per_user"),
        ({"_multiplex_profiles": True}, "gateway.multiplex_profiles"),
        ({"_busy_input_mode": "interrupt"}, "display.busy_input_mode"),
        ({"_busy_input_mode": ""}, "display.busy_input_mode"),
    ],
)
def test_a_gateway_that_breaks_a_promise_is_refused(change: Mapping[str, object], key: str) -> None:
    """2.5: exactly false, not multiplexed, queue; and the first that is wrong is named."""
    refusal = startup_refusal({**GOOD, **change})

    assert isinstance(refusal, BorgeeUnshared)
    assert key in refusal.what
    assert startup_refusal(GOOD) is None
    assert isinstance(refusal, CanonOpsError)
