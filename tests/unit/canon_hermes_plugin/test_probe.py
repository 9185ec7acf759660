"""What the host hears when it asks whether Canon is set up."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin import probe
from tests.support.hosted_adapter import platform_config

pytestmark = pytest.mark.host

DIRECT = {
    "CANON_API_KEY": "agk_live_sandbox_0123456789abcdef",
    "CANON_ENVIRONMENT_ID": "canon-dev-v1",
    "CANON_RTDB_URL": "http://127.0.0.1:1",
    "CANON_FIREBASE_API_KEY": "web-key",
    "CANON_BASE_URL": "http://127.0.0.1:2",
    "CANON_STREAM_URL": "http://127.0.0.1:3",
}


def profile(name: str) -> dict[str, Any]:
    return {
        "clientType": "hermes",
        "agentId": f"agent_{name}",
        "agentName": name,
        "apiKey": f"agk_live_sandbox_{name}0123456789",
        "environmentId": "canon-dev-v1",
        "baseUrl": "http://127.0.0.1:2",
        "streamUrl": "http://127.0.0.1:3",
        "rtdbUrl": "http://127.0.0.1:1",
        "firebaseApiKey": "web-key",
        "registeredAt": "2026-01-01T00:00:00.000Z",
    }


def write_profiles(own_home: Path, *names: str) -> None:
    (own_home / "canon_home" / "agents.json").write_text(json.dumps({name: profile(name) for name in names}))


def write_config(own_home: Path, text: str) -> None:
    (own_home / "hermes_home" / "config.yaml").write_text(text)


def test_nothing_is_not_configured_and_no_complaint(caplog: pytest.LogCaptureFixture) -> None:
    """A plugin that nobody has set up yet answers no, offers no settings, and leaves the log alone."""
    with caplog.at_level(logging.WARNING):
        answers = (probe.is_ready(), probe.is_configured(platform_config()), probe.enablement())

    assert (answers, caplog.text) == ((False, False, None), "")


def test_a_direct_key_enables_with_the_whole_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """R1.13, D61: the seed carries the key and every endpoint, so a custom environment survives the way through."""
    for name, value in DIRECT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CANON_HOME_CHANNEL", " conv_home ")

    seed = probe.enablement()

    assert probe.is_ready() and seed is not None
    assert {seed[key] for key in ("api_key", "base_url", "stream_url", "rtdb_url", "firebase_api_key")} == {
        DIRECT[name] for name in DIRECT if name != "CANON_ENVIRONMENT_ID"
    }
    assert seed["home_channel"] == {"chat_id": "conv_home", "name": "Canon Home"}


def test_a_profile_is_named_never_copied(own_home: Path) -> None:
    """R1.13: with one profile the seed names it, and its key stays in its file."""
    write_profiles(own_home, "ops")

    seed = probe.enablement()

    assert seed is not None and seed["agent"] == "ops"
    assert "api_key" not in seed


def test_an_agent_named_in_the_configuration_only(own_home: Path) -> None:
    """R1.11: the check function gets no configuration, so it reads the file: two profiles and a choice are ready."""
    write_profiles(own_home, "ops", "dev")
    write_config(own_home, "platforms:\n  canon:\n    enabled: true\n    extra: {agent: dev}\n")

    assert probe.is_ready()
    assert probe.is_configured(platform_config(agent="dev"))


def test_an_ambiguous_choice_is_told_once(own_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The host shows a fixed hint, so the log says which profiles there are; asking again says nothing new."""
    write_profiles(own_home, "first-of-two", "second-of-two")

    answers = [probe.is_configured(platform_config()) for _ in range(3)]

    assert answers == [False] * 3
    assert caplog.text.count("first-of-two, second-of-two") == 1


def test_a_broken_file_is_not_an_exception(own_home: Path) -> None:
    """Whatever is on disk, the host's configuration load goes on."""
    (own_home / "canon_home" / "agents.json").write_text("{")
    write_config(own_home, "platforms: [")

    assert (probe.is_ready(), probe.is_configured(platform_config()), probe.enablement()) == (False, False, None)


def test_asking_opens_nothing_and_writes_nothing(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C1: the check functions open no socket, and a bootstrap in the environment is not written to disk by them."""
    import socket

    monkeypatch.setattr(socket, "socket", None)
    monkeypatch.setenv("CANON_AGENTS_JSON_BOOTSTRAP", json.dumps({"ops": profile("ops")}))

    assert probe.is_ready() and probe.is_configured(platform_config())
    assert list((own_home / "canon_home").iterdir()) == []


@pytest.mark.parametrize("text", ["d: 2024-13-45\n", "d: !!float x\n", "d: !!bool x\n", 'd: !!int ""\n', "\t"])
def test_a_config_that_cannot_be_read_is_a_no(text: str, own_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A check that raised would be a fault of the plugin in the host's eyes; the log says what is wrong."""
    write_config(own_home, text)

    assert probe.is_ready() is False
    assert "config.yaml" in caplog.text


def test_files_that_are_no_files_are_a_no(own_home: Path) -> None:
    """A pipe in the place of a file would hold up the host for ever."""
    os.mkfifo(own_home / "canon_home" / "agents.json")

    assert (probe.is_ready(), probe.is_configured(platform_config()), probe.enablement()) == (False, False, None)
