"""One home at a glance: every part by itself, whatever is wrong with the others."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from canon_ops.hermes.homes import resolve_home
from canon_ops.hermes.platform_health import PlatformHealth, StreamState, health_file
from canon_ops.operate.status import read_status
from canon_ops.operate.status_parts import HomeStatus
from tests.support.canon_files import profile_entry
from tests.support.fake_host import clean_environ, make_environment, put_distribution, put_hermes

NOW_MS = 1_796_000_000_000
CONFIG = "plugins:\n  enabled: [canon-hermes]\nplatforms:\n  canon:\n    enabled: true\n"
HEALTH = PlatformHealth(
    "canon", "0.1.0", "0.19.0", os.getpid(), NOW_MS - 1000, "canon-dev-v1", "agent_1", StreamState.OPEN,
    NOW_MS - 60_000, in_work=2, cursor_age_s=3.5, outbox_depth=1, last_trouble="it was away",
)  # fmt: skip


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """Everything in order, and a gateway that is this very process."""
    (tmp_path / ".hermes").mkdir()
    (tmp_path / ".canon").mkdir()
    tmp_path.joinpath(".hermes", "config.yaml").write_text(CONFIG)
    tmp_path.joinpath(".canon", "agents.json").write_text(json.dumps({"ops": profile_entry(agentId="agent_1")}))
    state = {"gateway_state": "running", "pid": os.getpid(), "platforms": {"canon": {"state": "connected"}}}
    tmp_path.joinpath(".hermes", "gateway_state.json").write_text(json.dumps(state))
    return tmp_path


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audited Hermes with our package in it."""
    return host_in(tmp_path_factory.mktemp("host"))


def host_in(folder: Path, version: str = "0.19.0", *, ours: bool = True) -> Path:
    python = make_environment(folder / "env")
    put_hermes(python, version)
    if ours:
        put_distribution(python, "canon-ops", "0.1.0", {"canon_hermes_plugin/__init__.py": ""})
    return python


def look(user: Path, python: Path) -> HomeStatus:
    environ = clean_environ(HOME=str(user))
    return read_status(resolve_home(environ), environ, now_ms=NOW_MS, python=python, system=user / "system")


def report(user: Path, health: PlatformHealth = HEALTH) -> None:
    file = health_file(user / ".hermes", "canon")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(health.data)


def test_everything_in_order(user: Path, host: Path) -> None:
    """Host, platform, credential and gateway, and nothing in the way."""
    report(user)

    seen = look(user, host)

    canon = next(one for one in seen.platforms if one.name == "canon")
    assert seen.in_the_way == ()
    assert seen.host is not None and (seen.host.hermes_version, seen.host.audited, seen.host.canon_ops) == (
        "0.19.0", True, "0.1.0",
    )  # fmt: skip
    assert (canon.plugin_enabled, canon.switched_on, canon.state) == (True, True, "connected")
    assert canon.health is not None
    assert (canon.health.trust, canon.health.stream, canon.health.in_work, canon.health.outbox) == (
        "current", "open", 2, 1,
    )  # fmt: skip
    assert canon.health.trouble is None  # it is over
    assert seen.credential is not None and (seen.credential.canon_profile, seen.credential.agent_id) == (
        "ops",
        "agent_1",
    )
    assert seen.gateway is not None and (seen.gateway.state, seen.gateway.pid) == ("running", os.getpid())


@pytest.mark.parametrize(
    ("changes", "trust"),
    [({}, "current"), ({"written_at_ms": NOW_MS - 100_000}, "stale"), ({"pid": 2**22 + 1}, "dead")],
    ids=["fresh", "silent", "of another process"],
)
def test_what_the_plugin_said_is_believed_only_of_a_living_process(
    changes: dict[str, int], trust: str, user: Path, host: Path
) -> None:
    """X9: age and process are compared first."""
    report(user, replace(HEALTH, **changes))  # type: ignore[arg-type]

    (health,) = [one.health for one in look(user, host).platforms if one.name == "canon"]

    assert health is not None
    assert (health.trust, health.trouble) == (trust, None if trust == "current" else "it was away")


@pytest.mark.parametrize(
    ("file", "text", "about", "code"),
    [
        (".hermes/config.yaml", "a: [1\n", "platforms", "config_syntax"),
        (".canon/agents.json", "{", "credential", "file_damaged"),
        (".hermes/gateway_state.json", "{", "gateway", "gateway_state_damaged"),
        (".canon/pending-registrations.json", "[]", "credential", "file_damaged"),
    ],
)
def test_what_cannot_be_read_stands_alone(file: str, text: str, about: str, code: str, user: Path, host: Path) -> None:
    """It is told with its code and its cure; every other part is there."""
    (user / file).write_text(text)

    seen = look(user, host)

    assert [(one.about, one.code) for one in seen.in_the_way] == [(about, code)]
    assert seen.in_the_way[0].fix
    assert seen.host is not None


def test_a_gateway_that_was_killed(user: Path, host: Path) -> None:
    """The file says running; the process table knows better, and the command that starts one is told."""
    state = {"gateway_state": "running", "pid": 2**22 + 1, "platforms": {"canon": {"state": "connected"}}}
    user.joinpath(".hermes", "gateway_state.json").write_text(json.dumps(state))

    seen = look(user, host)

    assert seen.gateway is not None and (seen.gateway.state, seen.gateway.pid) == ("crashed", None)
    assert [one.state for one in seen.platforms if one.name == "canon"] == [None]
    assert [(one.code, one.fix) for one in seen.in_the_way] == [("gateway_crashed", "hermes gateway run")]


def test_nothing_is_written(user: Path, host: Path) -> None:
    """Looking makes no file and no folder."""
    look(user, host)
    before = sorted(user.rglob("*"))

    look(user, host)

    assert sorted(user.rglob("*")) == before


BORGEE = (
    "plugins: {enabled: [borgee]}\nborgee: {enabled: true, base_url: https://chat.example.com}\n"
    "group_sessions_per_user: false\ndisplay: {busy_input_mode: queue}\n"
)


def furnish(user: Path, *, config: str, dotenv: str = "", state: str | None = "running") -> None:
    """Another config.yaml, another .env, and a gateway in that state, or none that ever ran."""
    home = user / ".hermes"
    (home / "config.yaml").write_text(config)
    (home / ".env").write_text(dotenv)
    file = home / "gateway_state.json"
    if state is None:
        file.unlink()
    else:
        platforms = {"canon": {"state": "fatal", "error_message": "the key was refused"}} if state == "failing" else {}
        file.write_text(json.dumps({"gateway_state": "running", "pid": os.getpid(), "platforms": platforms}))


@pytest.mark.parametrize(
    ("config", "dotenv", "state", "told"),
    [
        ("model: {}\n", "", None, [("nothing_installed", "canon-ops install canon", False)]),
        (CONFIG, "", None, [("gateway_not_running", "hermes gateway run", False)]),
        (CONFIG, "", "failing", [("platform_failing", "canon-ops doctor", True)]),
        (BORGEE, "BORGEE_API_KEY=k\n", "running", []),
        (BORGEE, "", "running", [("borgee_key_missing", "canon-ops env set BORGEE_API_KEY", True)]),
        (
            BORGEE.replace(", base_url: https://chat.example.com", ""), "", None,
            [("borgee_address_missing", "canon-ops setup borgee", True)],
        ),
        (
            "platforms: {canon: {enabled: true}}\n", "", "running",
            [("plugin_not_enabled", "canon-ops install canon", True)],
        ),
        ("plugins: {enabled: [canon-hermes]}\nplatforms: {canon: {enabled: false}}\n", "", None, []),
    ],
    ids=[
        "nothing of ours", "no gateway", "a key that was refused", "Borgee alone", "Borgee without its key",
        "Borgee without anything", "switched on only", "switched off on purpose",
    ],
)  # fmt: skip
def test_the_next_step_is_told_and_no_other(
    config: str, dotenv: str, state: str | None, told: list[tuple[str, str, bool]], user: Path, host: Path
) -> None:
    """What is wanted here decides: a home that nobody gave to Canon lacks no Canon credential."""
    furnish(user, config=config, dotenv=dotenv, state=state)
    if "borgee" in config or config.startswith("model"):
        (user / ".canon" / "agents.json").unlink()

    seen = look(user, host).in_the_way

    assert [(one.code, one.fix, one.is_fault) for one in seen] == told


@pytest.mark.parametrize(
    ("version", "ours", "code", "fix"),
    [
        ("0.19.0", False, "package_missing", "canon-ops install canon"),
        ("0.11.0", True, "host_unaudited", "Install an audited Hermes"),
    ],
)
def test_a_hermes_that_cannot_load_the_platform(version: str, ours: bool, code: str, fix: str, user: Path) -> None:
    """Without the package nothing is loaded; on a Hermes that nobody tried the platform refuses to answer."""
    (told,) = look(user, host_in(user, version, ours=ours)).in_the_way

    assert (told.about, told.code, told.is_fault) == ("host", code, True)
    assert (told.fix or "").startswith(fix)
