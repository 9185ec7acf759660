"""The faults that the doctor is held to: one row each, with what is found, said and mended.

Each is made by hand, as an operator, another program or Hermes itself would make it; nothing here writes through our
own editors.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

from canon_ops import __version__
from canon_ops.files.transaction import Transaction
from canon_ops.runtime.clock import SystemClock
from tests.support.canon_files import DEV_BINDING
from tests.support.clinic import CONFIG, Clinic
from tests.support.fake_host import make_environment, put_distribution, script, site_of

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
        "gateway.hooks",
    ],
    "skipped",
)
NO_PACKAGE = dict.fromkeys(["plugin.version", "plugin.entry_point", "plugin.import"], "skipped")
NO_CONTRACT = {"host.contract": "unknown", "gateway.hooks": "skipped"}
NETWORK = ("creds.accepted", "net.api", "net.stream", "net.tls", "net.clock", "net.environment")
NO_NETWORK = dict.fromkeys(NETWORK, "skipped")
NO_ANSWER = dict.fromkeys([name for name in NETWORK if name != "net.tls"], "unknown")  # nothing is encrypted here
NO_CREDENTIAL = {
    "creds.present": "error",
    **dict.fromkeys(["creds.binding", "creds.ambiguous", "net.proxy"], "skipped"),
    **NO_NETWORK,
}
NO_BINDING = {"creds.binding": "error", "net.proxy": "skipped", **NO_NETWORK}
NO_CONFIG = {
    "config.parse": "error",
    **dict.fromkeys(["plugin.enabled", "plugin.denied", "platform.enabled", "gateway.multiplex"], "skipped"),
    "config.comments_lost": "skipped",
    **dict.fromkeys(["settings.streaming", "settings.approvals_mode", "settings.display"], "skipped"),
    **dict.fromkeys(
        ["config.tabs", "config.documents", "config.duplicate_key", "config.dropped_key", "config.text_list",
         "config.value", "config.bare_word", "config.null_section", "config.mode"], "skipped",
    ),
    **NO_CREDENTIAL,
    "creds.present": "skipped",
}  # fmt: skip
OWNED_BY_TABS = {"config.tabs": "error", "config.parse": "skipped"}
NO_ENV = {
    "env.parse": "error",
    **dict.fromkeys(
        ["env.open_access", "gateway.multiplex", "settings.approvals_mode", "registration.pending", "fs.space",
         "fs.network", "env.duplicate", "env.encoding", "env.readers", "env.mode", "env.shadowed", "creds.agents_file",
         "creds.keyring", "creds.copies"], "skipped",
    ),
    **NO_CREDENTIAL,
    "creds.present": "skipped",
}  # fmt: skip
OWNED_BY_AMBIGUITY = {"creds.ambiguous": "error", "creds.present": "skipped"}
COPIED = {"creds.copies": "warning"}  # the profile has the same key
DEFAULTS = dict.fromkeys(["settings.streaming", "settings.approvals_mode", "settings.display"], "info")


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


def installed_by_half(clinic: Clinic) -> None:
    site_of(clinic.python).joinpath(f"canon_ops-{__version__}.dist-info", "RECORD").unlink()


def killed_among_the_packages(clinic: Clinic) -> None:
    note = {"python": str(clinic.python), "before": [], "brought": ["canon-ops"], "command": "install canon", "runs": 0}
    clinic.home.joinpath(".canon-ops").mkdir(exist_ok=True)
    clinic.home.joinpath(".canon-ops", "interrupted.json").write_text(json.dumps(note))


def killed_in_an_environment_that_is_gone(clinic: Clinic) -> None:
    killed_among_the_packages(clinic)
    file = clinic.home / ".canon-ops" / "interrupted.json"
    file.write_text(file.read_text().replace(str(clinic.python), str(clinic.user / "gone" / "bin" / "python")))


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
    clinic.write_config(CONFIG.replace("platforms:", "  disabled: [canon-hermes]\nplatforms:", 1))


def platform_off(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("enabled: true", "enabled: no", 1))


def platform_off_above(clinic: Clinic) -> None:
    clinic.write_config(CONFIG + "canon:\n  enabled: false\n")


def platform_quoted(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("enabled: true", 'enabled: "true"', 1))


def platform_off_in_quotes(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("enabled: true", 'enabled: "false"', 1))


def platform_with_a_word_that_is_none(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("enabled: true", "enabled: maybe", 1))


def platform_unmentioned(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("platforms:\n  canon:\n    enabled: true\n", "", 1))


def comments_that_another_program_dropped(clinic: Clinic) -> None:
    file = clinic.home / "config.yaml"
    with Transaction(clinic.home, label="config snapshot") as transaction:
        transaction.keep(file)  # the older text is known from our history, so that part is ours
    file.write_text(yaml.safe_dump(yaml.safe_load(CONFIG), sort_keys=False))


def config_with_a_tab(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("  canon:", "\tcanon:", 1))


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


def everybody_on_every_platform(clinic: Clinic) -> None:
    clinic.write_env("CANON_ALLOW_ALL_USERS=true\nexport GATEWAY_ALLOW_ALL_USERS='Yes'\n")


def everybody_behind_a_list(clinic: Clinic) -> None:
    clinic.write_env("GATEWAY_ALLOW_ALL_USERS=1\nGATEWAY_ALLOWED_USERS=u1\nCANON_ALLOWED_USERS=u1\n")


def list_for_other_platforms(clinic: Clinic) -> None:
    clinic.write_env("GATEWAY_ALLOWED_USERS=u1\n")


def no_profile(clinic: Clinic) -> None:
    clinic.write_profiles()


def two_profiles(clinic: Clinic) -> None:
    clinic.write_profiles(ops=clinic.profile(), desk=clinic.profile(apiKey="agk_live_sandbox_of_the_desk"))


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


def multiplexing_above(clinic: Clinic) -> None:
    clinic.write_config(CONFIG + "multiplex_profiles: yes\ngateway: {multiplex_profiles: false}\n")


def multiplexing_by_variable(clinic: Clinic) -> None:
    clinic.write_env("CANON_ALLOW_ALL_USERS=true\nexport GATEWAY_MULTIPLEX_PROFILES=1\n")


def streaming_nowhere(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("streaming:\n  enabled: true\n", ""))


def streaming_without_transport(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("streaming:\n", "streaming:\n  transport: off\n"))


def streaming_off_here(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("      tool_progress", "      streaming: false\n      tool_progress"))


def approvals_unmentioned(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("approvals:\n  mode: manual   # people decide\n", ""))


def approvals_off(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("mode: manual", "mode: off"))


def approvals_smart(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("mode: manual", "mode: smart"))


def approvals_misspelt(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("mode: manual", "mode: auto"))


def nobody_is_asked(clinic: Clinic) -> None:
    clinic.write_env("HERMES_YOLO_MODE=1\nCANON_ALLOW_ALL_USERS=true\n")


def reasoning_shown(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("display:\n", "display:\n  show_reasoning: on\n"))


def remarks_in_between(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("      interim_assistant_messages: false\n", ""))


def progress_in_the_chat(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace('tool_progress: "off"', "tool_progress: new"))


def registration(clinic: Clinic, **fields: object) -> None:
    entry = {"profile": "new", "clientType": "hermes", "localRegistrationId": "hermes-1", **DEV_BINDING, **fields}
    write_pending(clinic, json.dumps({"new": entry}))


def write_pending(clinic: Clinic, text: str) -> None:
    file = clinic.user / ".canon" / "pending-registrations.json"
    file.write_text(text)
    file.chmod(0o600)


def registration_that_waits(clinic: Clinic) -> None:
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    registration(clinic, requestId="r1", pollToken="t", updatedAt=f"{hour_ago:%Y-%m-%dT%H:%M:%SZ}")


def registration_that_was_forgotten(clinic: Clinic) -> None:
    registration(clinic, requestId="r1", pollToken="t", updatedAt="2026-01-02T03:04:05Z")


def registration_without_its_token(clinic: Clinic) -> None:
    registration(clinic, requestId="r1", updatedAt="2026-01-02T03:04:05Z")


def registrations_damaged(clinic: Clinic) -> None:
    write_pending(clinic, "[]")


def proxy_that_is_no_address(clinic: Clinic) -> None:
    clinic.environ["HTTPS_PROXY"] = "ftp://somebody:secret@proxy.example"


def proxy_without_a_port_number(clinic: Clinic) -> None:
    clinic.write_env("CANON_ALLOW_ALL_USERS=true\nhttp_proxy=http://proxy.example:many\n")


def certificates_that_are_gone(clinic: Clinic) -> None:
    clinic.environ["SSL_CERT_FILE"] = "/nonexistent/ca.pem"


class ClockThatIsAhead(SystemClock):
    def now_ms(self) -> int:
        return super().now_ms() + 3 * 3_600_000


def clock_that_is_ahead(clinic: Clinic) -> None:
    clinic.clock = ClockThatIsAhead()


def unit(clinic: Clinic, *, python: Path | None = None, home: Path | None = None, system: bool = False) -> None:
    """A service as ``hermes gateway install`` writes it."""
    folder = clinic.system / "etc/systemd/system" if system else clinic.user / ".config/systemd/user"
    folder.mkdir(parents=True, exist_ok=True)
    text = f"""\
[Unit]
Description=Hermes Agent Gateway

[Service]
Type=simple
ExecStart={python or clinic.python} -m hermes_cli.main gateway run
Environment="PATH=/usr/bin"
Environment="HERMES_HOME={home or clinic.home}"
Restart=always
"""
    (folder / "hermes-gateway.service").write_text(text)


def service_of_another_home(clinic: Clinic) -> None:
    unit(clinic, home=clinic.home / "profiles" / "work")


def service_of_a_hermes_that_is_gone(clinic: Clinic) -> None:
    unit(clinic, python=clinic.user / "old" / "bin" / "python3")


def service_of_another_hermes(clinic: Clinic) -> None:
    unit(clinic, python=make_environment(clinic.user / "other"))


def two_services(clinic: Clinic) -> None:
    unit(clinic)
    unit(clinic, system=True)


def hook_that_is_missing(clinic: Clinic) -> None:
    edit_host(clinic, "hermes_cli/plugins.py", "'post_tool_call'", "'after_tool_call'")


def room(**changes: int) -> Callable[[Path], os.statvfs_result]:
    """A disk with 1 GB and a million files left, but for ``changes``."""
    blocks = {"f_bsize": 4096, "f_frsize": 4096, "f_blocks": 10**6, "f_bfree": 250_000, "f_bavail": 250_000}
    files = {"f_files": 10**6, "f_ffree": 10**6, "f_favail": 10**6, "f_flag": 0, "f_namemax": 255}
    values = blocks | files | changes
    return lambda _folder: os.statvfs_result(tuple(values.values()))


def disk_nearly_full(clinic: Clinic) -> None:
    clinic.statvfs = room(f_bavail=5000)


def disk_full(clinic: Clinic) -> None:
    clinic.statvfs = room(f_bavail=0)


def no_room_for_files(clinic: Clinic) -> None:
    clinic.statvfs = room(f_favail=12)


def completion_of_yesterday(clinic: Clinic) -> None:
    folder = clinic.user / ".local" / "share" / "bash-completion" / "completions"
    folder.mkdir(parents=True)
    (folder / "canon-ops").write_text("# bash completion for canon-ops\n# as it was\n")


def home_on_another_machine(clinic: Clinic) -> None:
    clinic.mounts = f"36 35 98:0 / / rw - ext4 /dev/sda rw\n37 36 0:31 / {clinic.home} rw - nfs4 files:/homes rw\n"


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


def health(clinic: Clinic, **fields: object) -> None:
    """What a gateway's plugin would have left, written by hand."""
    old_env(clinic)
    state(clinic, pid=1, platforms={"canon": {"state": "connected"}})
    now_ms = clinic.clock.now_ms()
    report = {
        "schema": "canon-ops.platform-health/1", "platform": "canon", "version": "0.1.0", "host_version": "0.19.0",
        "pid": 1, "written_at_ms": now_ms, "environment_id": "canon-dev-v1", "agent_id": "agent_sandbox",
        "stream": "open", "stream_since_ms": now_ms - 300_000, **fields,
    }  # fmt: skip
    file = clinic.home / "plugins" / "canon" / "health.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(report))


def gateway_without_its_stream(clinic: Clinic) -> None:
    health(clinic, stream="lost", last_trouble="the connection ended")


def gateway_whose_key_was_refused(clinic: Clinic) -> None:
    health(clinic, stream="refused", last_trouble="status 401")


def gateway_that_hangs(clinic: Clinic) -> None:
    health(clinic, written_at_ms=clinic.clock.now_ms() - 600_000)


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    Attributes:
        finds: every check that does not say ok then.
        says: what a sentence of the first of them holds.
        mends: the lines that ``--fix`` removes and adds, as a diff writes them; None when only a person can mend it.
    """

    seed: Callable[[Clinic], None]
    finds: Statuses
    says: str
    mends: tuple[str, ...] | None = None


SEEDED = (
    Fault(no_interpreter, {"host.found": "error", **NO_HOST}, "gone/bin/python"),
    Fault(no_hermes, {"host.found": "error", **NO_HOST}, "no Hermes"),
    Fault(other_version, {"host.version": "error", "host.python": "skipped"}, "0.18.0"),
    Fault(other_python, {"host.python": "error", **NO_CONTRACT}, "Python 3.14"),
    Fault(nothing_can_be_put_there, {"host.layout": "warning", **NO_CONTRACT}, "nothing here can install"),
    Fault(another_hermes_on_path, {"host.command": "warning"}, "runs /usr/bin/python3"),
    Fault(symbol_removed, {"host.contract": "error"}, "gateway.session:build_session_key is missing"),
    Fault(symbol_with_a_new_argument, {"host.contract": "warning"}, "a parameter tone that ours does not take"),
    Fault(hook_that_is_missing, {"gateway.hooks": "warning"}, "lacks post_tool_call"),
    Fault(not_installed, {"plugin.installed": "error", **NO_PACKAGE}, "canon-ops is not installed in"),
    Fault(
        installed_by_half, {"plugin.installed": "error", "plugin.version": "skipped"},
        f"canon-ops {__version__} is in",
    ),
    Fault(
        killed_among_the_packages, {"config.interrupted": "error"},
        "install canon was interrupted while it changed the packages of",
    ),
    Fault(killed_in_an_environment_that_is_gone, {"config.interrupted": "info"}, "python is gone"),
    Fault(damaged_installation_record, {"plugin.version": "warning"}, "installation.json"),
    Fault(foreign_beside_ours, {"plugin.owner": "error"}, "canon-hermes-plugin 0.14.1"),
    Fault(no_entry_point, {"plugin.entry_point": "error"}, "no such entry point"),
    Fault(entry_point_elsewhere, {"plugin.entry_point": "error"}, "leads to somewhere_else"),
    Fault(missing_dependency, {"plugin.import": "error"}, "No module named 'nowhere_to_be_found'"),
    Fault(no_register, {"plugin.import": "error"}, "no register function"),
    Fault(not_enabled, {"plugin.enabled": "error"}, "does not name canon-hermes", ("+  - canon-hermes",)),
    Fault(
        enabled_as_text, {"plugin.enabled": "error"}, "'borgee, canon-hermes', no list",
        ("-  enabled: borgee, canon-hermes", "+  enabled:", "+    - borgee", "+    - canon-hermes"),
    ),
    Fault(
        enabled_is_null, {"plugin.enabled": "error"}, "does not name canon-hermes",
        ("+    - canon-hermes",),
    ),
    Fault(
        denied, {"plugin.denied": "error"}, "beats plugins.enabled",
        ("-  disabled: [canon-hermes]", "+  disabled: []"),
    ),
    Fault(
        platform_off, {"platform.enabled": "error"}, "platforms.canon.enabled is false",
        ("-    enabled: no", "+    enabled: true"),
    ),
    Fault(
        platform_off_above, {"platform.enabled": "error"}, "canon.enabled is false",
        ("-  enabled: false", "+  enabled: true"),
    ),
    Fault(
        platform_quoted, {"platform.enabled": "warning"}, "must be true or false",
        ('-    enabled: "true"', "+    enabled: true"),
    ),
    Fault(
        platform_off_in_quotes, {"platform.enabled": "error"}, "Hermes takes that for off and does not connect Canon",
        ('-    enabled: "false"', "+    enabled: true"),
    ),
    Fault(
        platform_with_a_word_that_is_none, {"platform.enabled": "error"}, "Hermes takes that for off",
        ("-    enabled: maybe", "+    enabled: true"),
    ),
    Fault(
        platform_unmentioned, {"platform.enabled": "info"}, "does not mention Canon",
        ("+platforms:", "+  canon:", "+    enabled: true"),
    ),
    Fault(
        comments_that_another_program_dropped,
        {"config.comments_lost": "warning"},
        "dropped 2 comments from config.yaml; they were there after config snapshot",
        (
            "+# written by hand, from the pages of Hermes and Canon",
            "-  mode: manual",
            "+  mode: manual   # people decide",
            "-      tool_progress: 'off'",
            '+      tool_progress: "off"',
        ),
    ),
    Fault(config_with_a_tab, {"config.tabs": "error", **NO_CONFIG, **OWNED_BY_TABS}, "has a tab at line 6"),
    Fault(config_with_a_date_that_is_none, NO_CONFIG, "config.yaml"),
    Fault(config_with_half_a_character, NO_CONFIG, "config.yaml"),
    Fault(config_that_is_a_pipe, NO_CONFIG, "not a regular file"),
    Fault(
        no_config,
        {"config.parse": "info", "plugin.enabled": "error", "platform.enabled": "info", **DEFAULTS},
        "There is no config.yaml",
        (
            "+mode 0600", "+platforms:", "+  canon:", "+    enabled: true", "+streaming:", "+  enabled: true",
            "+display:", "+  platforms:", "+    canon:", "+      interim_assistant_messages: false",
            "+      tool_progress: 'off'",
        ),
    ),
    Fault(
        multiplexing, {"gateway.multiplex": "error"}, "gateway.multiplex_profiles is on",
        ("-  multiplex_profiles: true", "+  multiplex_profiles: false"),
    ),
    Fault(
        multiplexing_above, {"gateway.multiplex": "error"}, "multiplex_profiles is on",
        ("-multiplex_profiles: yes", "+multiplex_profiles: false"),
    ),
    Fault(
        multiplexing_by_variable, {"gateway.multiplex": "error"}, "GATEWAY_MULTIPLEX_PROFILES",
        ("-export GATEWAY_MULTIPLEX_PROFILES=1", "+export GATEWAY_MULTIPLEX_PROFILES=false"),
    ),
    Fault(
        streaming_nowhere, {"settings.streaming": "info"}, "streaming.enabled is not on",
        ("+streaming:", "+  enabled: true"),
    ),
    Fault(
        streaming_without_transport, {"settings.streaming": "info"}, "streaming.transport is off",
        ("-  transport: off", "+  transport: auto"),
    ),
    Fault(
        streaming_off_here, {"settings.streaming": "info"}, "display.platforms.canon.streaming is off",
        ("-      streaming: false", "+      streaming: true"),
    ),
    Fault(
        approvals_unmentioned, {"settings.approvals_mode": "info"}, "an auxiliary model decides",
    ),
    Fault(
        approvals_smart, {"settings.approvals_mode": "info"}, "approvals.mode is smart",
    ),
    Fault(
        approvals_off, {"settings.approvals_mode": "warning"}, "nobody is asked",
    ),
    Fault(
        approvals_misspelt, {"settings.approvals_mode": "warning"}, "'auto', which Hermes does not know",
    ),
    Fault(
        nobody_is_asked, {"settings.approvals_mode": "warning"}, "every command without asking",
    ),
    Fault(
        reasoning_shown, {"settings.display": "warning"}, "display.show_reasoning is true",
        ("+      show_reasoning: false",),
    ),
    Fault(
        remarks_in_between, {"settings.display": "info"}, "that is Hermes' default",
        ("+      interim_assistant_messages: false",),
    ),
    Fault(
        progress_in_the_chat, {"settings.display": "info"}, "tool_progress is new",
        ("-      tool_progress: new", "+      tool_progress: 'off'"),
    ),
    Fault(env_line_that_is_none, {"env.parse": "error"}, "Line 2 of .env, meant for CANON_AGENT, counts for nothing"),
    Fault(
        switch_that_is_no_word, {"env.open_access": "warning"}, "'maybe', neither yes nor no",
        ("-CANON_ALLOW_ALL_USERS=maybe", "+CANON_ALLOW_ALL_USERS=false"),
    ),
    Fault(
        list_behind_an_open_door, {"env.open_access": "warning"}, "counts for nothing",
        ("-CANON_ALLOW_ALL_USERS=true", "+CANON_ALLOW_ALL_USERS=false"),
    ),
    Fault(
        everybody_on_every_platform, {"env.open_access": "warning"}, ".env, line 2 is on: anybody on any platform",
    ),
    Fault(everybody_behind_a_list, {"env.open_access": "warning"}, "GATEWAY_ALLOWED_USERS keeps it from counting"),
    Fault(list_for_other_platforms, {"env.open_access": "warning"}, "line 1 does not count for Canon"),
    Fault(env_in_utf_32, NO_ENV, "UTF-32"),
    Fault(no_profile, NO_CREDENTIAL, "No Canon credential"),
    Fault(two_profiles, {"creds.ambiguous": "error", **NO_CREDENTIAL, **OWNED_BY_AMBIGUITY}, "desk"),
    Fault(unknown_profile, NO_CREDENTIAL, "desk"),
    Fault(
        damaged_profiles, {"creds.agents_file": "error", **NO_CREDENTIAL, "creds.present": "skipped"}, "agents.json",
    ),
    Fault(unbound_profile, NO_BINDING, "ops"),
    Fault(key_without_environment, {**NO_BINDING, **COPIED}, "CANON_ENVIRONMENT_ID"),
    Fault(unknown_environment, {**NO_BINDING, **COPIED}, "canon-moon-v1"),
    Fault(hidden_key, {"creds.present": "warning", **COPIED}, "it hides"),
    Fault(key_in_the_keyring, {"creds.keyring": "unknown", "creds.accepted": "skipped"}, "cannot be asked"),
    Fault(key_unknown_to_canon, {"creds.accepted": "error"}, "does not take the key"),
    Fault(key_revoked, {"creds.accepted": "error"}, "does not take the key"),
    Fault(key_of_another_agent, {"creds.accepted": "error"}, "not to agent_other"),
    Fault(registration_that_waits, {"registration.pending": "info"}, "waits for its owner"),
    Fault(registration_that_was_forgotten, {"registration.pending": "warning"}, "days ago: take it for expired"),
    Fault(registration_without_its_token, {"registration.pending": "warning"}, "lost its token"),
    Fault(registrations_damaged, {"registration.pending": "error"}, "pending-registrations.json"),
    Fault(api_of_another_environment, {"net.environment": "error", "creds.accepted": "skipped"}, "another environment"),
    Fault(stream_away, {"net.stream": "unknown", "net.environment": "unknown"}, "no usable answer"),
    Fault(canon_away, NO_ANSWER, "no connection"),
    Fault(offline, NO_NETWORK, "--offline"),
    Fault(proxy_that_is_no_address, {"net.proxy": "error"}, "'ftp://...@proxy.example'"),
    Fault(proxy_without_a_port_number, {"net.proxy": "error"}, "line 2"),
    Fault(certificates_that_are_gone, {"net.tls": "error"}, "/nonexistent/ca.pem"),
    Fault(clock_that_is_ahead, {"net.clock": "warning"}, "3 hours ahead"),
    Fault(gateway_killed, {"gateway.running": "warning"}, "was killed or crashed"),
    Fault(gateway_without_canon, {"gateway.running": "error"}, "without Canon"),
    Fault(gateway_retrying, {"gateway.running": "error"}, "no such host"),
    Fault(gateway_older_than_env, {"gateway.stale": "warning"}, "counts after a restart"),
    Fault(gateway_without_its_stream, {"net.stream": "warning"}, "without Canon's event stream for 5 minutes"),
    Fault(gateway_whose_key_was_refused, {"net.stream": "error"}, "refused the gateway's key: status 401"),
    Fault(gateway_that_hangs, {"net.stream": "warning"}, "has not said for 10 minutes"),
    Fault(gateway_state_damaged, {"gateway.running": "unknown", "gateway.stale": "skipped"}, "gateway_state.json"),
    Fault(service_of_another_home, {"gateway.service": "error"}, "profiles/work, not on"),
    Fault(service_of_a_hermes_that_is_gone, {"gateway.service": "error"}, "which is gone"),
    Fault(service_of_another_hermes, {"gateway.service": "warning"}, "the Hermes that is looked at runs"),
    Fault(two_services, {"gateway.service": "warning"}, "Two services"),
    Fault(disk_nearly_full, {"fs.space": "warning"}, "20.5 MB left"),
    Fault(disk_full, {"fs.space": "error"}, "0.0 MB left"),
    Fault(no_room_for_files, {"fs.space": "warning"}, "12 more files only"),
    Fault(completion_of_yesterday, {"completion.current": "warning"}, "for bash is of another canon-ops"),
    Fault(home_on_another_machine, {"fs.network": "warning"}, "lies on nfs4"),
)  # fmt: skip
