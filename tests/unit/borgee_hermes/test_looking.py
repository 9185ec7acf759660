"""Borgee's inbox at a glance, as ``status`` and ``gateway status`` show it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from borgee_hermes.inbox import store
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.schema import SCHEMA
from borgee_hermes.looking import read_inbox
from canon_ops.durable import write_once
from canon_ops.hermes.platform_health import PlatformHealth, StreamState, health_file
from canon_ops.operate.status_parts import InboxSeen
from canon_ops.runtime.clock import SystemClock
from tests.support.borgee_receipts import a_receipt
from tests.unit.cli.conftest import Runner
from tests.unit.cli.conftest import home as home
from tests.unit.cli.conftest import program as program


def one_of_each(hermes: Path) -> None:
    """A receipt that waits, one that runs, one in doubt and one behind it."""
    file = inbox_file(hermes)
    for message, channel in (("m-1", "a"), ("m-2", "b"), ("m-3", "c")):
        seq = write_once(file, SCHEMA, store.insert, a_receipt(message, channel), now_s=1.0).receipt.ingest_seq
        if channel != "a":
            write_once(file, SCHEMA, store.claim, seq, f"token-{seq}", now_s=1.0)
        if channel == "b":
            write_once(file, SCHEMA, store.recover_processing, now_s=1.0)
    write_once(file, SCHEMA, store.insert, a_receipt("m-4", "b"), now_s=1.0)


def test_a_home_without_inbox_has_none(tmp_path: Path) -> None:
    """And gets none."""
    assert read_inbox(tmp_path, is_owned=False) is None
    assert list(tmp_path.iterdir()) == []


def test_what_waits_runs_and_is_in_doubt_is_counted(tmp_path: Path) -> None:
    """A blocked session counts once, however many wait behind it."""
    one_of_each(tmp_path)

    assert read_inbox(tmp_path, is_owned=True) == InboxSeen(pending=2, running=1, in_doubt=1, blocked=1)


def test_nothing_runs_without_a_gateway(tmp_path: Path) -> None:
    """What one that is gone had in work is in doubt, and blocks its session."""
    one_of_each(tmp_path)

    assert read_inbox(tmp_path, is_owned=False) == InboxSeen(pending=2, running=0, in_doubt=2, blocked=2)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """Status stands; it says why it cannot count."""
    file = inbox_file(tmp_path)
    file.parent.mkdir(parents=True, mode=0o700)
    file.write_text("no database " * 100)
    file.chmod(0o600)

    found = read_inbox(tmp_path, is_owned=False)

    assert found is not None
    assert (found.pending, bool(found.trouble)) == (0, True)


@pytest.fixture
def hermes(home: Path) -> Path:
    """A home whose gateway runs (this process) and makes Borgee's connection anew."""
    folder = home / ".hermes"
    folder.mkdir()
    folder.joinpath("config.yaml").write_text("plugins: {enabled: [borgee]}\nborgee: {enabled: true}\n")
    state = {"pid": os.getpid(), "gateway_state": "running", "platforms": {"borgee": {"state": "disconnected"}}}
    folder.joinpath("gateway_state.json").write_text(json.dumps(state))
    one_of_each(folder)
    return folder


def test_status_shows_borgee_where_it_is_used(program: Runner, hermes: Path) -> None:
    """State of the connection and of the inbox, with the command that goes on."""
    data = program("status", "--json").json["data"]["profiles"][0]
    text = " ".join(program("status", "--color", "never", terminal=True).out.split())

    borgee = next(one for one in data["platforms"] if one["name"] == "borgee")
    assert (borgee["plugin_enabled"], borgee["switched_on"], borgee["state"]) == (True, True, "disconnected")
    assert (borgee["inbox"]["pending"], borgee["inbox"]["in_doubt"]) == (2, 1)
    assert "enabled, switched on; disconnected; 2 waiting, 1 running, 1 in doubt" in text
    assert "1 message of Borgee in doubt: a person decides. fix: canon-ops inbox list" in text


def test_status_says_what_a_killed_gateway_left(program: Runner, hermes: Path) -> None:
    """In status and in gateway status: nothing runs, and a person decides."""
    hermes.joinpath("gateway_state.json").write_text(json.dumps({"pid": 2**22 - 1, "gateway_state": "running"}))

    text = " ".join(program("status", "--color", "never", terminal=True).out.split())
    assert "2 waiting, 0 running, 2 in doubt" in text
    assert "2 messages of Borgee in doubt: a person decides." in text
    assert program("gateway", "status", "--json").json["data"]["inbox"]["in_doubt"] == 2


def test_status_shows_what_the_plugin_says_of_itself(program: Runner, hermes: Path) -> None:
    """X9: how long the connection has been as it is; the inbox counts what waits, so the report does not again."""
    now_ms = SystemClock().now_ms()
    report = PlatformHealth(
        "borgee", "0.1.0", "0.19.0", os.getpid(), now_ms - 1_000, "https://chat.example.com", "agent-1",
        StreamState.LOST, now_ms - 600_000, in_work=3, last_trouble="the server is being restarted",
    )  # fmt: skip
    health_file(hermes, "borgee").write_bytes(report.data)

    data = program("status", "--json").json["data"]["profiles"][0]
    text = " ".join(program("status", terminal=True).out.split())

    health = next(one["health"] for one in data["platforms"] if one["name"] == "borgee")
    assert (health["trust"], health["stream"], health["in_work"]) == ("current", "lost", 3)
    assert health["trouble"] == "the server is being restarted"
    assert "disconnected; stream lost for 10 min; 2 waiting, 1 running" in text


def test_status_is_silent_about_a_platform_that_nobody_uses(program: Runner, home: Path) -> None:
    """In the document it stands all the same."""
    (home / ".hermes").mkdir()
    (home / ".hermes" / "config.yaml").write_text("plugins: {enabled: [canon-hermes]}\n")

    assert "Borgee" not in program("status", terminal=True).out
    names = [one["name"] for one in program("status", "--json").json["data"]["profiles"][0]["platforms"]]
    assert names == ["canon", "borgee"]


def test_gateway_status_shows_the_inbox(program: Runner, hermes: Path) -> None:
    """Beside what the gateway says of the platform."""
    ran = program("gateway", "status", "--json")

    data = ran.json["data"]
    assert (ran.code, data["platforms"]["borgee"]["state"], data["inbox"]["running"]) == (0, "disconnected", 1)
    shown = program("gateway", "status", "--hermes-home", str(hermes), "--color", "never", terminal=True)
    text = " ".join(shown.out.split())
    assert f"1 in doubt fix: canon-ops inbox list --hermes-home {hermes}" in text
