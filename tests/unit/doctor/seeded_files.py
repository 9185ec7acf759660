"""Faults of config.yaml, of .env and of the places where keys are kept, each made by hand; see seeded.py."""

from __future__ import annotations

import hashlib
import json
import os

from tests.support.clinic import CONFIG, Clinic
from tests.unit.doctor.seeded import NO_CONFIG, NO_CREDENTIAL, Fault

__all__ = ["FILE_FAULTS"]

OTHER_KEY = "agk_live_sandbox_of_another_place"


def below_canon(clinic: Clinic, lines: str) -> None:
    """More lines in the platform's block."""
    switch = "  canon:\n    enabled: true\n"
    assert switch in CONFIG
    clinic.write_config(CONFIG.replace(switch, switch + lines))


def second_document(clinic: Clinic) -> None:
    clinic.write_config(CONFIG + "---\nb: 2\n")


def key_twice(clinic: Clinic) -> None:
    clinic.write_config(CONFIG + "mine: 1\nmine: 2\n")


def lost_key(clinic: Clinic) -> None:
    below_canon(clinic, "    turn_verbosity: quiet\n")


def lost_key_with_its_place_taken(clinic: Clinic) -> None:
    below_canon(clinic, "    turn_verbosity: quiet\n    extra:\n      turn_verbosity: auto\n")


def list_as_text(clinic: Clinic) -> None:
    below_canon(clinic, "    free_response_channels: c1, c2\n")


def switch_in_quotes(clinic: Clinic) -> None:
    below_canon(clinic, '    typing_indicator: "false"\n')


def word_that_is_no_choice(clinic: Clinic) -> None:
    below_canon(clinic, "    extra: {turn_verbosity: loud}\n")


def bare_words(clinic: Clinic) -> None:
    clinic.write_config(CONFIG + "mine:\n  mode: 0600\n  at: 12:30\n  loud: off\n")


def empty_section(clinic: Clinic) -> None:
    clinic.write_config(CONFIG + "gateway:\n")


def section_that_is_a_list(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("streaming:\n  enabled: true\n", "streaming: [enabled]\n"))


def plugins_that_are_a_text(clinic: Clinic) -> None:
    clinic.write_config(CONFIG.replace("plugins:\n  enabled:\n  - canon-hermes\n", "plugins: canon-hermes\n"))


def conflict_of_a_merge(clinic: Clinic) -> None:
    ours = "<<<<<<< HEAD\n  mode: manual\n=======\n  mode: smart\n>>>>>>> theirs\n"
    clinic.write_config(CONFIG.replace("  mode: manual   # people decide\n", ours))


def records_in_a_file(clinic: Clinic) -> None:
    clinic.home.joinpath(".canon-ops").write_text("x")


def lock_that_is_a_folder(clinic: Clinic) -> None:
    clinic.home.joinpath(".canon-ops", "lock").mkdir(parents=True)


def folder_instead_of_profiles(clinic: Clinic) -> None:
    file = clinic.user / ".canon" / "agents.json"
    file.unlink()
    file.mkdir()


def config_with_a_key_for_everybody(clinic: Clinic) -> None:
    clinic.write_config(CONFIG + "model:\n  api_key: sk-0123456789abcdef\n")
    clinic.home.joinpath("config.yaml").chmod(0o644)


def config_that_others_may_change(clinic: Clinic) -> None:
    clinic.home.joinpath("config.yaml").chmod(0o666)


def config_of_somebody_else(clinic: Clinic) -> None:
    clinic.owner_of = lambda path: 4711 if path.name == "config.yaml" else os.geteuid()


def state_of_somebody_else(clinic: Clinic) -> None:
    entry = clinic.home / ".canon-ops" / "history" / "20260101T120000.000Z-1a2b"
    entry.mkdir(parents=True)
    clinic.owner_of = lambda path: 4711 if ".canon-ops" in path.parts else os.geteuid()


def home_of_somebody_else(clinic: Clinic) -> None:
    clinic.owner_of = lambda _path: 4711


def link_that_leads_nowhere(clinic: Clinic) -> None:
    file = clinic.home / "config.yaml"
    file.unlink()
    file.symlink_to("dotfiles/hermes.yaml")


def link_to_a_file(clinic: Clinic) -> None:
    file = clinic.home / "config.yaml"
    file.rename(clinic.home / "hermes.yaml")
    file.symlink_to("hermes.yaml")


def managed_by_a_package(clinic: Clinic) -> None:
    clinic.environ["HERMES_MANAGED"] = "nixos"


def pinned_by_an_administrator(clinic: Clinic) -> None:
    clinic.system.mkdir(exist_ok=True)
    (clinic.system / "config.yaml").write_text("model:\n  default: theirs\n")
    (clinic.system / ".env").write_text("TZ=UTC\n")
    clinic.environ["HERMES_MANAGED_DIR"] = str(clinic.system)


def administrator_over_env(clinic: Clinic) -> None:
    clinic.write_env("CANON_ALLOW_ALL_USERS=true\nTZ=CET\n")
    pinned_by_an_administrator(clinic)


def name_twice(clinic: Clinic) -> None:
    clinic.write_env("TZ=CET\nCANON_ALLOW_ALL_USERS=true\nTZ=UTC\n")


def name_twice_alike(clinic: Clinic) -> None:
    clinic.write_env("TZ=UTC\nA_TOKEN=\nCANON_ALLOW_ALL_USERS=true\nTZ='UTC'\nA_TOKEN=tok-1234\n")


def good_key_behind_an_empty_copy(clinic: Clinic) -> None:
    clinic.write_env("A_TOKEN=tok-1234\nCANON_ALLOW_ALL_USERS=true\nA_TOKEN=\n")


def copy_that_another_line_needs(clinic: Clinic) -> None:
    clinic.write_env("A=\nB=${A}/x\nA=1\nCANON_ALLOW_ALL_USERS=true\n")


def marked_env(clinic: Clinic) -> None:
    clinic.home.joinpath(".env").write_bytes(b"\xef\xbb\xbfTZ=UTC\nCANON_ALLOW_ALL_USERS=true\n")


def env_in_latin_1(clinic: Clinic) -> None:
    clinic.home.joinpath(".env").write_bytes(b"CANON_ALLOW_ALL_USERS=true\nNAME=caf\xe9\n")


def env_in_utf_16(clinic: Clinic) -> None:
    clinic.home.joinpath(".env").write_bytes("CANON_ALLOW_ALL_USERS=true\n".encode("utf-16"))


def half_a_change(clinic: Clinic) -> None:
    """As a kill between two renames leaves it: config.yaml is new, .env is not, and its new text waits beside it."""
    pending = clinic.home / ".canon-ops" / "pending"
    pending.mkdir(parents=True)
    identity, files = "20260101T120000.000Z-1a2b", []
    for number, (name, more) in enumerate((("config.yaml", b"mine: 1\n"), (".env", b"TZ=UTC\n"))):
        path = clinic.home / name
        old = path.read_bytes() if path.exists() else b""
        path.write_bytes(old + more if number == 0 else old)
        pending.joinpath(f"{number}.before").write_bytes(old)
        pending.joinpath(f"{number}.after").write_bytes(old + more)
        temporary = path.with_name(f".{name}.{identity}.tmp")
        before, after = (hashlib.sha256(text).hexdigest() for text in (old, old + more))
        files.append(
            {"path": str(path), "real": str(path), "temporary": str(temporary), "before": before, "after": after,
             "mode": 0o600, "owner": None}
        )  # fmt: skip
    temporary.write_bytes(old + more)
    record = {"format": 1, "id": identity, "time_ms": 1767268800000, "label": "setup canon", "files": files}
    pending.joinpath("entry.json").write_text(json.dumps(record))


def env_with_a_nul_byte(clinic: Clinic) -> None:
    clinic.home.joinpath(".env").write_bytes(b"CANON_ALLOW_ALL_USERS=true\nTZ=U\x00TC\n")


def env_of_windows(clinic: Clinic) -> None:
    clinic.home.joinpath(".env").write_bytes(b"CANON_ALLOW_ALL_USERS='true'\r\n")


def comment_beside_a_value(clinic: Clinic) -> None:
    clinic.write_env("CANON_ALLOW_ALL_USERS=true\nCANON_HOME_CHANNEL_NAME=desk # the old one\n")


def comment_beside_somebodys_value(clinic: Clinic) -> None:
    clinic.write_env("CANON_ALLOW_ALL_USERS=true\nMY_PROMPT=say hello\n")


def open_quote(clinic: Clinic) -> None:
    clinic.write_env('CANON_ALLOW_ALL_USERS=true\nMINE="open\n')


def env_for_everybody(clinic: Clinic) -> None:
    clinic.write_env("CANON_ALLOW_ALL_USERS=true\nOPENAI_API_KEY=sk-0123456789abcdef\n")
    clinic.home.joinpath(".env").chmod(0o644)


def env_for_the_group(clinic: Clinic) -> None:
    clinic.write_env("CANON_ALLOW_ALL_USERS=true\nOPENAI_API_KEY=sk-0123456789abcdef\n")
    clinic.home.joinpath(".env").chmod(0o640)


def env_that_others_may_change(clinic: Clinic) -> None:
    clinic.home.joinpath(".env").chmod(0o662)


def shell_with_another_value(clinic: Clinic) -> None:
    clinic.write_env("CANON_ALLOW_ALL_USERS=true\nCANON_HOME_CHANNEL=c1\n")
    clinic.environ["CANON_HOME_CHANNEL"] = "c2"


def profiles_for_everybody(clinic: Clinic) -> None:
    clinic.user.joinpath(".canon", "agents.json").chmod(0o644)


def pending_keys_for_everybody(clinic: Clinic) -> None:
    file = clinic.user / ".canon" / "pending-registrations.json"
    file.write_text("{}")
    file.chmod(0o640)


def folder_of_profiles_that_others_may_change(clinic: Clinic) -> None:
    clinic.user.joinpath(".canon").chmod(0o777)


def folder_of_profiles_that_others_may_list(clinic: Clinic) -> None:
    clinic.user.joinpath(".canon").chmod(0o755)


def key_in_the_config(clinic: Clinic) -> None:
    clinic.write_profiles(ops=clinic.profile(), other={"apiKey": OTHER_KEY, "clientType": "codex"})
    clinic.write_config(CONFIG + f"mine:\n  notes: {OTHER_KEY}\n")
    (clinic.home / "config.yaml.bak").write_text(f"token: {OTHER_KEY}\n")


def key_in_a_shell_history(clinic: Clinic) -> None:
    key = clinic.box.endpoints.agent_key
    (clinic.user / ".bash_history").write_text(f"ls\nexport CANON_API_KEY={key}\n")


def reference_to_a_silent_keyring(clinic: Clinic) -> None:
    clinic.environ["CANON_OPS_KEYRING"] = "off"
    file = clinic.user / ".canon" / "agents.json"
    reference = {"service": "canon-ops", "account": "ops"}
    file.write_text(json.dumps({"ops": clinic.profile(apiKey=None, apiKeyRef=reference)}))


DOCUMENTS = {name: how for name, how in NO_CONFIG.items() if name != "config.documents"}
LINK = {name: how for name, how in NO_CONFIG.items() if name != "config.mode"}

FILE_FAULTS = (
    Fault(
        second_document,
        {"config.documents": "error", **DOCUMENTS, "config.parse": "skipped"},
        "a second one starts at line",
    ),
    Fault(key_twice, {"config.duplicate_key": "warning"}, "mine stands in lines"),
    Fault(
        lost_key, {"config.dropped_key": "warning"}, "drops turn_verbosity here without a word",
        ("-    turn_verbosity: quiet", "+    extra:", "+      turn_verbosity: quiet"),
    ),
    Fault(lost_key_with_its_place_taken, {"config.dropped_key": "warning"}, "drops turn_verbosity"),
    Fault(list_as_text, {"config.text_list": "error"}, "must be a list",
        (
            "-    free_response_channels: c1, c2", "+    free_response_channels:", "+      - c1", "+      - c2",
        ),
    ),
    Fault(
        switch_in_quotes, {"config.value": "error"}, "must be true or false",
        ('-    typing_indicator: "false"', "+    typing_indicator: false"),
    ),
    Fault(word_that_is_no_choice, {"config.value": "error"}, "cannot be 'loud'"),
    Fault(
        section_that_is_a_list, {"config.value": "error", "settings.streaming": "skipped"},
        "streaming holds a list, where Hermes wants a mapping",
    ),
    Fault(
        plugins_that_are_a_text, {"config.value": "error", "plugin.enabled": "error"},
        "plugins holds a text, where Hermes wants a mapping",
    ),
    Fault(conflict_of_a_merge, NO_CONFIG, "has the mark of a merge that was not finished at line 11"),
    Fault(records_in_a_file, {"config.interrupted": "error", "plugin.version": "unknown"}, "no command that writes"),
    Fault(lock_that_is_a_folder, {"config.interrupted": "error"}, "lock is not what belongs there"),
    Fault(
        folder_instead_of_profiles,
        {"creds.agents_file": "error", **NO_CREDENTIAL, "creds.present": "skipped"},
        "agents.json is not a regular file",
    ),
    Fault(bare_words, {"config.bare_word": "info"}, "mine.mode is 0600 without quotes; Hermes reads 384"),
    Fault(empty_section, {"config.null_section": "info"}, "The section gateway has nothing in it", ("-gateway:",)),
    Fault(
        config_with_a_key_for_everybody, {"config.mode": "error"}, "others can read the keys in it",
        ("-mode 0644", "+mode 0600"),
    ),
    Fault(
        config_that_others_may_change, {"config.mode": "error"}, "others can change it",
        ("-mode 0666", "+mode 0644"),
    ),
    Fault(config_of_somebody_else, {"config.owner": "warning"}, "belongs to uid 4711, its home to uid"),
    Fault(state_of_somebody_else, {"config.owner": "warning"}, "(and 2 more): a command ran as another user"),
    Fault(home_of_somebody_else, {"config.owner": "info"}, "this command runs as uid"),
    Fault(link_that_leads_nowhere, {"config.symlink": "error", **LINK, "config.parse": "skipped"}, "leads nowhere"),
    Fault(link_to_a_file, {"config.symlink": "info"}, "what is edited is"),
    Fault(managed_by_a_package, {"config.managed": "info"}, "is managed by NixOS"),
    Fault(pinned_by_an_administrator, {"config.managed": "info"}, "decides about TZ, model.default"),
    Fault(administrator_over_env, {"env.shadowed": "warning", "config.managed": "info"}, "TZ"),
    Fault(name_twice, {"env.duplicate": "warning"}, "in line 3, and that one counts; the values differ"),
    Fault(name_twice_alike, {"env.duplicate": "warning"}, "TZ is set again in line 4", ("-TZ=UTC", "-A_TOKEN=")),
    Fault(good_key_behind_an_empty_copy, {"env.duplicate": "warning"}, "A_TOKEN is set again in line 3"),
    Fault(copy_that_another_line_needs, {"env.duplicate": "warning", "env.readers": "info"}, "set again in line 3"),
    Fault(marked_env, {"env.encoding": "warning"}, "byte-order mark", ("-\ufeffTZ=UTC", "+TZ=UTC")),
    Fault(env_in_latin_1, {"env.encoding": "warning"}, "not UTF-8"),
    Fault(env_in_utf_16, {"env.encoding": "warning"}, "is UTF-16, "),
    Fault(half_a_change, {"config.interrupted": "error"}, "interrupted (setup canon) half-way", ("+TZ=UTC",)),
    Fault(env_with_a_nul_byte, {"env.encoding": "warning"}, "holds a NUL byte in line 2"),
    Fault(env_of_windows, {"env.encoding": "info"}, "CR and LF"),
    Fault(
        comment_beside_a_value, {"env.readers": "warning"}, "read different values for CANON_HOME_CHANNEL_NAME",
        ("-CANON_HOME_CHANNEL_NAME=desk # the old one", "+# the old one", "+CANON_HOME_CHANNEL_NAME=desk"),
    ),
    Fault(
        comment_beside_somebodys_value, {"env.readers": "info"}, "read different values for MY_PROMPT",
        ("-MY_PROMPT=say hello", "+MY_PROMPT='say hello'"),
    ),
    Fault(open_quote, {"env.parse": "warning"}, "a quote is opened and not closed"),
    Fault(env_for_everybody, {"env.mode": "error"}, "others can read OPENAI_API_KEY", ("-mode 0644", "+mode 0600")),
    Fault(
        env_for_the_group, {"env.mode": "error"}, "mode 0640: others can read OPENAI_API_KEY",
        ("-mode 0640", "+mode 0600"),
    ),
    Fault(env_that_others_may_change, {"env.mode": "error"}, "others can change it", ("-mode 0662", "+mode 0600")),
    Fault(shell_with_another_value, {"env.shadowed": "warning"}, "another CANON_HOME_CHANNEL than .env"),
    Fault(
        profiles_for_everybody, {"creds.agents_file": "error"}, "has mode 0644: others can read the keys",
        ("-mode 0644", "+mode 0600"),
    ),
    Fault(
        pending_keys_for_everybody, {"creds.agents_file": "error"}, "has mode 0640: others can read the keys",
        ("-mode 0640", "+mode 0600"),
    ),
    Fault(
        folder_of_profiles_that_others_may_change, {"creds.agents_file": "error"}, "others can replace the files",
        ("-mode 0777", "+mode 0700"),
    ),
    Fault(
        folder_of_profiles_that_others_may_list, {"creds.agents_file": "info"}, "mode 0755: others can look into",
        ("-mode 0755", "+mode 0700"),
    ),
    Fault(key_in_the_config, {"creds.copies": "error"}, "config.yaml.bak holds a key that is in use"),
    Fault(key_in_a_shell_history, {"creds.copies": "error"}, ".bash_history holds a key that is in use"),
    Fault(
        reference_to_a_silent_keyring, {"creds.keyring": "unknown", "creds.accepted": "skipped"}, "switched off",
    ),
)  # fmt: skip
