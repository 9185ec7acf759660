"""Each seeded fault is found by the check that is about it, and no other check takes it for its own."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from canon_ops import __version__
from canon_ops.cli.tree import leaves
from canon_ops.doctor.check import Status
from canon_ops.doctor.registry import CHECKS
from canon_ops.doctor.repair import AddToList, RemoveFromList, SetConfig
from canon_ops.doctor.run import Diagnosis
from canon_ops.errors import ExitCode
from canon_ops.sandbox.server import CanonSandbox
from tests.support.clinic import CONFIG, Clinic, open_clinic
from tests.support.fake_host import put_distribution, script, site_of
from tests.support.sandboxes import canon_box

Statuses = dict[str, str]

NO_HOST = dict.fromkeys(
    [
        "host.version",
        "host.python",
        "host.layout",
        "host.command",
        "host.contract",
        "plugin.installed",
        "plugin.version",
        "plugin.owner",
        "plugin.entry_point",
        "plugin.import",
    ],
    "skipped",
)
NO_PACKAGE = dict.fromkeys(["plugin.version", "plugin.entry_point", "plugin.import"], "skipped")
NO_NETWORK = dict.fromkeys(["creds.accepted", "net.api", "net.stream", "net.environment"], "skipped")
NO_CREDENTIAL = {"creds.present": "error", "creds.binding": "skipped", **NO_NETWORK}
NO_BINDING = {"creds.binding": "error", **NO_NETWORK}
NO_CONFIG = {
    "config.parse": "error",
    **dict.fromkeys(["plugin.enabled", "plugin.denied", "platform.enabled", "gateway.multiplex"], "skipped"),
    **dict.fromkeys(["creds.present", "creds.binding"], "skipped"),
    **NO_NETWORK,
}


@pytest.fixture(scope="module")
def shared_box() -> Iterator[CanonSandbox]:
    with canon_box() as box:
        yield box


@pytest.fixture
def box(shared_box: CanonSandbox) -> Iterator[CanonSandbox]:
    yield shared_box
    shared_box.human.calm()


@pytest.fixture
def clinic(tmp_path: Path, box: CanonSandbox) -> Clinic:
    return open_clinic(tmp_path, box)


def remarks(diagnosis: Diagnosis) -> Statuses:
    """Every check that did not say ok, less the one that says that no gateway has run."""
    found = {
        one.check.id: one.finding.status.value for one in diagnosis.verdicts if one.finding.status is not Status.OK
    }
    if found.get("gateway.running") == "info":
        del found["gateway.running"]
    return found


COMMANDS = {" ".join(words) for words, _ in leaves()} | {"env set", "env unset", "profile bind"}  # the last: promised


def cures_without_command(diagnosis: Diagnosis) -> list[str]:
    """Each cure that begins with our name and is no command of the program."""
    cures = [one.finding.fix.command for one in diagnosis.verdicts if one.finding.fix]
    own = [cure for cure in cures if cure.startswith("canon-ops ")]
    return [cure for cure in own if not {cure.split()[1], " ".join(cure.split()[1:3])} & COMMANDS]


def test_a_healthy_home_has_no_findings(clinic: Clinic) -> None:
    """Nothing is reported about an installation in order, and every check could answer."""
    diagnosis = clinic.examine()

    assert [one.finding.message for one in diagnosis.findings] == []
    assert diagnosis.summary == {"ok": len(CHECKS) - 1, "info": 1, "warning": 0, "error": 0, "skipped": 0, "unknown": 0}
    assert diagnosis.exit_code(strict=True, asked_for=True) is ExitCode.DONE


def no_interpreter(clinic: Clinic) -> None:
    clinic.python = clinic.user / "gone" / "bin" / "python"


def no_hermes(clinic: Clinic) -> None:
    shutil.rmtree(site_of(clinic.python) / "hermes_cli")


def other_version(clinic: Clinic) -> None:
    site_of(clinic.python).joinpath("hermes_cli", "__init__.py").write_text('__version__ = "0.18.0"\n')


def other_python(clinic: Clinic) -> None:
    an_interpreter_that_says(clinic, "3.14.1", writable=True)


def nothing_can_be_put_there(clinic: Clinic) -> None:
    an_interpreter_that_says(clinic, "3.13.1", writable=False)


def an_interpreter_that_says(clinic: Clinic, python: str, *, writable: bool) -> None:
    said = json.dumps(
        {"v": 1, "imports": {"canon_hermes_plugin": {"ok": True, "registers": True, "file": "/x"}}, "plugins": None,
         "facts": {
             "executable": "/x/python", "python": python, "platform": "linux", "prefix": "/x", "is_venv": True,
             "has_pip": True, "externally_managed": False, "site": "/x", "site_writable": writable,
             "hermes": {"version": "0.19.0", "release_date": None, "folder": "/x", "is_checkout": False,
                        "distribution": None},
             "entry_points": [{"name": "canon-hermes", "value": "canon_hermes_plugin", "distribution": "canon-ops",
                               "version": __version__}],
             "owners": {"canon_hermes_plugin": [{"name": "canon-ops", "version": __version__, "editable": False}]}}}
    )  # fmt: skip
    clinic.python = script(clinic.user / "python3.14", f"#!/bin/sh\ncat >/dev/null\ncat <<'END'\n{said}\nEND\n")


def symbol_removed(clinic: Clinic) -> None:
    edit_host(clinic, "gateway/session.py", "def build_session_key(", "def build_key(")


def symbol_with_a_new_argument(clinic: Clinic) -> None:
    edit_host(clinic, "gateway/platforms/base.py", "def send(*args", "def send(self, chat_id, content, tone, *args")


def helper_without_which_ours_stands_in(clinic: Clinic) -> None:
    edit_host(clinic, "gateway/session.py", "def neutralize_untrusted_inline_text(", "def neutralize(")


def edit_host(clinic: Clinic, file: str, before: str, after: str) -> None:
    path = site_of(clinic.python) / file
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def not_installed(clinic: Clinic) -> None:
    site = site_of(clinic.python)
    shutil.rmtree(site / f"canon_ops-{__version__}.dist-info")
    shutil.rmtree(site / "canon_hermes_plugin")


def damaged_installation_record(clinic: Clinic) -> None:
    clinic.home.joinpath(".canon-ops").mkdir()
    clinic.home.joinpath(".canon-ops", "installation.json").write_text('{"v": 1')


def another_hermes_on_path(clinic: Clinic) -> None:
    script(clinic.user / "bin" / "hermes", "#!/usr/bin/python3\n")
    clinic.environ["PATH"] = f"{clinic.user / 'bin'}:{os.defpath}"


def foreign_beside_ours(clinic: Clinic) -> None:
    put_distribution(clinic.python, "canon-hermes-plugin", "0.14.1", {"canon_hermes_plugin/cards.py": ""})


def no_entry_point(clinic: Clinic) -> None:
    site_of(clinic.python).joinpath("canon_ops-0.1.0.dist-info", "entry_points.txt").unlink()


def entry_point_elsewhere(clinic: Clinic) -> None:
    site_of(clinic.python).joinpath("canon_ops-0.1.0.dist-info", "entry_points.txt").write_text(
        "[hermes_agent.plugins]\ncanon-hermes = somewhere_else\n"
    )


def missing_dependency(clinic: Clinic) -> None:
    site_of(clinic.python).joinpath("canon_hermes_plugin", "__init__.py").write_text("import nowhere_to_be_found\n")


def no_register(clinic: Clinic) -> None:
    site_of(clinic.python).joinpath("canon_hermes_plugin", "__init__.py").write_text("")


def not_enabled(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("  - canon-hermes", "  - borgee"))


def enabled_as_text(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("\n  - canon-hermes", " borgee, canon-hermes"))


def enabled_is_null(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("\n  - canon-hermes", ""))


def denied(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("platforms:", "  disabled: [canon-hermes]\nplatforms:"))


def platform_off(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("enabled: true", "enabled: no"))


def platform_off_above(clinic: Clinic) -> None:
    clinic.write_config(CONFIG + "canon:\n  enabled: false\n")


def platform_quoted(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("enabled: true", 'enabled: "true"'))


def platform_unmentioned(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.partition("platforms:")[0])


def config_with_a_tab(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("  canon:", "\tcanon:"))


def config_with_a_date_that_is_none(clinic: Clinic) -> None:
    clinic.write_config(CONFIG + "day: 2024-13-45\n")


def config_with_half_a_character(clinic: Clinic) -> None:
    clinic.write_config(CONFIG + 'half: "\\ud800"\n')


def config_that_is_a_pipe(clinic: Clinic) -> None:
    clinic.home.joinpath("config.yaml").unlink()
    os.mkfifo(clinic.home / "config.yaml")


def no_config(clinic: Clinic) -> None:
    clinic.home.joinpath("config.yaml").unlink()


def multiplexing(clinic: Clinic) -> None:
    clinic.write_config(CONFIG + "gateway:\n  multiplex_profiles: true\n")


def env_line_that_is_none(clinic: Clinic) -> None:
    clinic.write_env("CANON_ALLOW_ALL_USERS=true\nCANON_AGENT: ops\n")


def env_in_utf_32(clinic: Clinic) -> None:
    clinic.home.joinpath(".env").write_bytes("CANON_AGENT=ops\n".encode("utf-32"))


def switch_that_is_no_word(clinic: Clinic) -> None:
    clinic.write_env("CANON_ALLOW_ALL_USERS=maybe\n")


def list_behind_an_open_door(clinic: Clinic) -> None:
    clinic.write_env("CANON_ALLOW_ALL_USERS=true\nCANON_ALLOWED_USERS=u1\n")


def no_profile(clinic: Clinic) -> None:
    clinic.write_profiles()


def two_profiles(clinic: Clinic) -> None:
    clinic.write_profiles(ops=clinic.profile(), desk=clinic.profile())


def unknown_profile(clinic: Clinic) -> None:
    clinic.write_env("CANON_AGENT=desk\n")


def damaged_profiles(clinic: Clinic) -> None:
    clinic.user.joinpath(".canon", "agents.json").write_text('{"ops": {\n')


def unbound_profile(clinic: Clinic) -> None:
    clinic.write_profiles(ops=clinic.profile(environmentId=None))


def key_without_environment(clinic: Clinic) -> None:
    clinic.write_env(f"CANON_API_KEY={clinic.box.endpoints.agent_key}\n")


def unknown_environment(clinic: Clinic) -> None:
    clinic.write_env(f"CANON_API_KEY={clinic.box.endpoints.agent_key}\nCANON_ENVIRONMENT_ID=canon-moon-v1\n")


def hidden_key(clinic: Clinic) -> None:
    ends = clinic.box.endpoints
    clinic.environ["CANON_API_KEY"] = "agk_live_sandbox_of_the_shell"
    clinic.write_env(
        f"CANON_API_KEY={ends.agent_key}\nCANON_ENVIRONMENT_ID={ends.environment_id}\nCANON_BASE_URL={ends.api}\n"
        f"CANON_STREAM_URL={ends.stream}\nCANON_RTDB_URL=http://127.0.0.1:9\nCANON_FIREBASE_API_KEY=x\n"
    )


def key_in_the_keyring(clinic: Clinic) -> None:
    clinic.write_profiles(ops=clinic.profile(apiKey=None, apiKeyRef={"service": "canon-ops", "account": "ops"}))


def key_unknown_to_canon(clinic: Clinic) -> None:
    clinic.write_profiles(ops=clinic.profile(apiKey="agk_live_sandbox_never_issued"))


def key_revoked(clinic: Clinic) -> None:
    clinic.box.fault("me-403")


def key_of_another_agent(clinic: Clinic) -> None:
    clinic.write_profiles(ops=clinic.profile(agentId="agent_other"))


def api_of_another_environment(clinic: Clinic) -> None:
    clinic.box.fault("health-wrong-environment")


def stream_away(clinic: Clinic) -> None:
    clinic.write_profiles(ops=clinic.profile(streamUrl="http://127.0.0.1:9"))


def canon_away(clinic: Clinic) -> None:
    clinic.write_profiles(ops=clinic.profile(baseUrl="http://127.0.0.1:9", streamUrl="http://127.0.0.1:9"))


def offline(clinic: Clinic) -> None:
    canon_away(clinic)
    clinic.offline = True


def state(clinic: Clinic, **fields: object) -> None:
    clinic.home.joinpath("gateway_state.json").write_text(json.dumps({"gateway_state": "running", **fields}))


def gateway_killed(clinic: Clinic) -> None:
    state(clinic, pid=2**22 + 1, platforms={"canon": {"state": "connected"}})


def old_env(clinic: Clinic) -> None:
    """As a gateway would have found it: written before every process of this machine."""
    os.utime(clinic.home / ".env", (1, 1))


def gateway_without_canon(clinic: Clinic) -> None:
    old_env(clinic)
    state(clinic, pid=1, platforms={})


def gateway_retrying(clinic: Clinic) -> None:
    old_env(clinic)
    state(clinic, pid=1, platforms={"canon": {"state": "retrying", "error_message": "no such host"}})


def gateway_older_than_env(clinic: Clinic) -> None:
    state(clinic, pid=os.getpid(), platforms={"canon": {"state": "connected"}})
    an_hour_on = clinic.home.joinpath(".env").stat().st_mtime + 3600
    os.utime(clinic.home / ".env", (an_hour_on, an_hour_on))


def gateway_state_damaged(clinic: Clinic) -> None:
    clinic.home.joinpath("gateway_state.json").write_text("{")


SEEDED: list[tuple[Callable[[Clinic], None], Statuses]] = [
    (no_interpreter, {"host.found": "error", **NO_HOST}),
    (no_hermes, {"host.found": "error", **NO_HOST}),
    (other_version, {"host.version": "error", "host.python": "skipped"}),
    (other_python, {"host.python": "error", "host.contract": "unknown"}),
    (nothing_can_be_put_there, {"host.layout": "warning", "host.contract": "unknown"}),
    (another_hermes_on_path, {"host.command": "warning"}),
    (symbol_removed, {"host.contract": "error"}),
    (symbol_with_a_new_argument, {"host.contract": "warning"}),
    (helper_without_which_ours_stands_in, {}),
    (
        not_installed,
        {
            "plugin.installed": "error",
            **dict.fromkeys(["plugin.version", "plugin.entry_point", "plugin.import"], "skipped"),
        },
    ),
    (damaged_installation_record, {"plugin.version": "warning"}),
    (foreign_beside_ours, {"plugin.owner": "error"}),
    (no_entry_point, {"plugin.entry_point": "error"}),
    (entry_point_elsewhere, {"plugin.entry_point": "error"}),
    (missing_dependency, {"plugin.import": "error"}),
    (no_register, {"plugin.import": "error"}),
    (not_enabled, {"plugin.enabled": "error"}),
    (enabled_as_text, {"plugin.enabled": "error"}),
    (enabled_is_null, {"plugin.enabled": "error"}),
    (denied, {"plugin.denied": "error"}),
    (platform_off, {"platform.enabled": "error"}),
    (platform_off_above, {"platform.enabled": "error"}),
    (platform_quoted, {"platform.enabled": "warning"}),
    (platform_unmentioned, {"platform.enabled": "info"}),
    (config_with_a_tab, NO_CONFIG),
    (config_with_a_date_that_is_none, NO_CONFIG),
    (config_with_half_a_character, NO_CONFIG),
    (config_that_is_a_pipe, NO_CONFIG),
    (no_config, {"config.parse": "info", "plugin.enabled": "error", "platform.enabled": "info"}),
    (multiplexing, {"gateway.multiplex": "error"}),
    (env_line_that_is_none, {"env.parse": "warning"}),
    (switch_that_is_no_word, {"env.open_access": "warning"}),
    (list_behind_an_open_door, {"env.open_access": "warning"}),
    (
        env_in_utf_32,
        {
            "env.parse": "error",
            "env.open_access": "skipped",
            "creds.present": "skipped",
            "creds.binding": "skipped",
            **NO_NETWORK,
        },
    ),
    (no_profile, NO_CREDENTIAL),
    (two_profiles, NO_CREDENTIAL),
    (unknown_profile, NO_CREDENTIAL),
    (damaged_profiles, NO_CREDENTIAL),
    (unbound_profile, NO_BINDING),
    (key_without_environment, NO_BINDING),
    (unknown_environment, NO_BINDING),
    (hidden_key, {"creds.present": "warning"}),
    (key_in_the_keyring, {"creds.accepted": "skipped"}),
    (key_unknown_to_canon, {"creds.accepted": "error"}),
    (key_revoked, {"creds.accepted": "error"}),
    (key_of_another_agent, {"creds.accepted": "error"}),
    (api_of_another_environment, {"net.environment": "error", "creds.accepted": "skipped"}),
    (stream_away, {"net.stream": "unknown", "net.environment": "unknown"}),
    (canon_away, dict.fromkeys(["creds.accepted", "net.api", "net.stream", "net.environment"], "unknown")),
    (offline, NO_NETWORK),
    (gateway_killed, {"gateway.running": "warning"}),
    (gateway_without_canon, {"gateway.running": "error"}),
    (gateway_retrying, {"gateway.running": "error"}),
    (gateway_older_than_env, {"gateway.stale": "warning"}),
    (gateway_state_damaged, {"gateway.running": "unknown", "gateway.stale": "skipped"}),
]


@pytest.mark.parametrize(("seed", "expected"), SEEDED, ids=lambda value: getattr(value, "__name__", ""))
def test_a_seeded_fault_is_found_where_it_is(
    seed: Callable[[Clinic], None], expected: Statuses, clinic: Clinic
) -> None:
    """Its own check fires with its severity, all others say ok or "not asked", and every cure is a real command."""
    seed(clinic)

    diagnosis = clinic.examine()

    assert remarks(diagnosis) == expected
    assert cures_without_command(diagnosis) == []


def test_every_check_is_seen_to_fail() -> None:
    """No check is without a fault that makes it say something else than ok of its own accord."""
    fired = {name for _, expected in SEEDED for name, status in expected.items() if status not in ("skipped", "info")}

    assert {check.id for check in CHECKS} <= fired


@pytest.mark.parametrize(
    ("seed", "check_id", "command", "repair"),
    [
        (not_enabled, "plugin.enabled", "canon-ops config add plugins.enabled canon-hermes",
         AddToList("plugins.enabled", "canon-hermes")),
        (no_config, "plugin.enabled", "canon-ops install canon", None),
        (denied, "plugin.denied", "canon-ops install canon --yes",
         RemoveFromList("plugins.disabled", "canon-hermes")),
        (platform_off, "platform.enabled", "canon-ops config set platforms.canon.enabled true",
         SetConfig("platforms.canon.enabled", True)),
        (multiplexing, "gateway.multiplex", "canon-ops config set gateway.multiplex_profiles false",
         SetConfig("gateway.multiplex_profiles", False)),
        (enabled_as_text, "plugin.enabled",
         """canon-ops config set plugins.enabled '["borgee", "canon-hermes"]' --type json""", None),
        (key_of_another_agent, "creds.accepted", "canon-ops setup canon --canon-profile ops --agent-id agent_other",
         None),
        (key_without_environment, "creds.binding",
         "canon-ops env set CANON_ENVIRONMENT_ID canon-prod-v1   # one of: canon-prod-v1, canon-dev-v1", None),
        (gateway_killed, "gateway.running", "hermes gateway run", None),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)  # fmt: skip
def test_a_finding_carries_its_cure(
    seed: Callable[[Clinic], None], check_id: str, command: str, repair: object, clinic: Clinic
) -> None:
    """The command to paste, and the same as data where ``--fix`` can do it."""
    seed(clinic)

    found = next(one.finding for one in clinic.examine().findings if one.check.id == check_id)

    assert found.fix is not None
    assert (found.fix.command, found.fix.repair, found.fix.automatic) == (command, repair, repair is not None)


def test_a_finding_names_its_place(clinic: Clinic) -> None:
    """File, line and column stand in the finding and in its JSON form."""
    config_with_a_tab(clinic)
    missing_dependency(clinic)

    by_id = {one.check.id: one.as_data() for one in clinic.examine().findings}

    config, module = by_id["config.parse"], by_id["plugin.import"]
    assert (config["file"], config["line"], config["column"]) == (str(clinic.home / "config.yaml"), 5, 1)
    assert module["file"] == str(site_of(clinic.python) / "canon_hermes_plugin" / "__init__.py")
    assert module["line"] == 1


def test_no_key_is_in_any_answer(clinic: Clinic) -> None:
    """Whatever is found, the key itself is nowhere in the document."""
    for seed in (hidden_key, key_unknown_to_canon):
        seed(clinic)

        document = json.dumps(clinic.examine().as_data())

        assert clinic.box.endpoints.agent_key not in document
        assert "agk_live_sandbox_never_issued" not in document
        assert "agk_live_sandbox_of_the_shell" not in document


def test_an_unreachable_network_is_no_error(clinic: Clinic) -> None:
    """Exit 0 when everything was asked, 3 when the caller asked for exactly that."""
    canon_away(clinic)

    diagnosis = clinic.examine()

    assert diagnosis.exit_code(strict=True) is ExitCode.DONE
    assert diagnosis.exit_code(asked_for=True) is ExitCode.OUTSIDE


def test_the_home_is_as_it_was(clinic: Clinic) -> None:
    """An examination makes no file and no folder in the home."""
    before = sorted(path.relative_to(clinic.user) for path in clinic.home.rglob("*"))

    clinic.examine()

    assert sorted(path.relative_to(clinic.user) for path in clinic.home.rglob("*")) == before


def test_a_host_that_was_changed_by_hand_is_told_apart(clinic: Clinic) -> None:
    """An audited version that lacks a symbol is named with the symbol, its use, and how to put Hermes back."""
    symbol_removed(clinic)

    (found,) = (one.finding for one in clinic.examine().findings if one.check.id == "host.contract")

    assert found.message.startswith("gateway.session:build_session_key is missing")
    assert found.fix is not None
    assert found.fix.command.startswith(f"{clinic.python} -m pip install --force-reinstall --no-deps hermes-agent==")
    assert [one["path"] for one in found.data["differences"]] == ["gateway.session:build_session_key"]


@pytest.mark.skipif(sys.platform != "linux", reason="the fake host claims to be on Linux")
def test_the_host_is_described(clinic: Clinic) -> None:
    """The evidence of an ok is there too, for scripts."""
    data = {one.check.id: one.as_data()["data"] for one in clinic.examine().verdicts}

    assert data["host.found"]["how"] == "option"
    assert data["host.version"] == {"version": "0.19.0", "platform": "linux", "evidence": "run"}
    assert data["creds.present"]["canon_profile"] == "ops"
    assert data["creds.accepted"] == {"agent_id": "agent_sandbox"}
