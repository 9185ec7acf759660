"""``canon-ops profile`` as a command: whole outputs, exit codes, and what the files say afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.canon_files import DEV_BINDING, KEY, profile_entry
from tests.support.canon_homes import OTHER_KEY, User, user_at
from tests.support.keyring_backend import keyring_variables
from tests.unit.cli.conftest import Runner

AGENT = "agent_sandbox"


@pytest.fixture
def user(home: Path) -> User:
    return user_at(home)


@pytest.fixture
def canon() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as box:
        yield box


def living(box: CanonSandbox, **changes: object) -> dict[str, object]:
    """A complete profile of the sandbox's own agent."""
    ends = box.endpoints
    binding = {**DEV_BINDING, "environmentId": ends.environment_id, "baseUrl": ends.api, "streamUrl": ends.stream}
    return profile_entry(**{**binding, "agentId": AGENT, "apiKey": ends.agent_key, **changes})


class TestList:
    """Every profile with what people ask about it."""

    def test_records_tell_agent_storage_users_and_problems(self, program: Runner, user: User) -> None:
        """Foreign and incomplete profiles are there too, with the reason."""
        reference = {"service": "canon-ops", "account": "desk"}
        user.write_agents(
            ops=profile_entry(),
            desk=profile_entry(apiKey=None, apiKeyRef=reference, agentId="agent_2", agentName="Desk"),
            old={"apiKey": OTHER_KEY},
            codex=profile_entry(clientType="codex"),
        )
        user.write_env("CANON_AGENT=ops\n")
        user.write_env("CANON_AGENT=desk\n", profile="work")

        ran = program("profile", "list")

        assert (ran.code, ran.err) == (0, "")
        lacks = "agentId, agentName, registeredAt, environmentId, baseUrl, streamUrl, rtdbUrl, firebaseApiKey"
        assert ran.out == (
            "codex\tagent_7Qx\tOps Hermes\tcanon-dev-v1\tfile\t\tIt belongs to client type codex, not hermes.\n"
            "desk\tagent_2\tDesk\tcanon-dev-v1\tkeyring\twork\t\n"
            f"old\t\t\t\tfile\t\tIt lacks {lacks}.\n"
            "ops\tagent_7Qx\tOps Hermes\tcanon-dev-v1\tfile\tdefault\t\n"
        )

    def test_the_only_profile_is_used_without_being_named(self, program: Runner, user: User) -> None:
        """As the resolution would."""
        user.write_env("")

        document = program("profile", "list", "--json").json

        (ops,) = document["data"]["profiles"]
        assert (ops["hermes_profiles"], ops["in_use"], document["canon_profile"]) == (["default"], True, "ops")

    def test_a_home_with_a_key_of_its_own_uses_none(self, program: Runner, user: User) -> None:
        """A direct key beats every profile."""
        user.write_env(f"CANON_API_KEY={KEY}\nCANON_ENVIRONMENT_ID=canon-dev-v1\nCANON_AGENT=ops\n")

        (ops,) = program("profile", "list", "--json").json["data"]["profiles"]

        assert (ops["hermes_profiles"], ops["in_use"]) == ([], False)

    def test_one_from_the_bootstrap_variable_says_so(
        self, program: Runner, user: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It counts, and is not in the file yet."""
        monkeypatch.setenv("CANON_AGENTS_JSON_BOOTSTRAP", json.dumps({"cloud": profile_entry()}))

        cloud, _ops = program("profile", "list", "--json").json["data"]["profiles"]

        assert (cloud["name"], cloud["source"]) == ("cloud", "bootstrap")
        assert "is not in agents.json yet" in cloud["problems"][0]

    def test_a_damaged_file_is_named_with_its_place(self, program: Runner, user: User) -> None:
        """N-15: the cause is told, with line and column, and the file stays."""
        user.agents_file.write_text('{"ops": {\n')

        ran = program("profile", "list")

        assert ran.code == 1
        assert f"  at {user.agents_file}:2:1\n" in ran.err
        assert user.agents_file.read_text() == '{"ops": {\n'


def test_show_is_one_profile_without_its_key(program: Runner, user: User) -> None:
    """Names and values; the key by its place alone."""
    ran = program("profile", "show", "ops")

    assert ran.code == 0
    assert "key\tin agents.json\n" in ran.out
    assert KEY not in ran.out


def test_an_unknown_profile_is_a_credential_error(program: Runner, user: User) -> None:
    """Exit 4, with the names there are."""
    ran = program("profile", "show", "gone")

    assert (ran.code, ran.out) == (4, "")
    assert f"Error: {user.agents_file} has no Canon profile gone; it has ops" in ran.err


class TestBind:
    """CANON_AGENT is set, and what would beat it goes."""

    def test_the_report_names_profile_files_and_what_went(self, program: Runner, user: User) -> None:
        """.env and config.yaml change together; every other byte stays."""
        user.write_env(f"# mine\nOTHER=1\nCANON_API_KEY={KEY}\nCANON_ENVIRONMENT_ID=canon-dev-v1\n")
        user.write_config(
            f"platforms:\n  canon:\n    enabled: true  # yes\n    extra:\n      api_key: {KEY}\n      x: 1\n"
        )

        ran = program("profile", "bind", "ops")

        assert (ran.code, ran.err) == (0, "")
        assert ran.out == (
            f"Hermes profile default: {user.env_file}, {user.config_file}\n"
            "default uses Canon profile ops.\n"
            "Removed CANON_API_KEY.\nRemoved CANON_ENVIRONMENT_ID.\nRemoved platforms.canon.extra.api_key.\n"
        )
        assert user.env_file.read_text() == "# mine\nOTHER=1\nCANON_AGENT=ops\n"
        assert user.config_file.read_text() == (
            "platforms:\n  canon:\n    enabled: true  # yes\n    extra:\n      x: 1\n"
        )

    def test_a_second_time_changes_nothing(self, program: Runner, user: User) -> None:
        """Bytes and mtime stay; it is not an error."""
        program("profile", "bind", "ops")
        before = user.env_file.stat()

        data = program("profile", "bind", "ops", "--json").json["data"]

        assert (data["changed"], data["files"], data["history_id"]) == (False, [], None)
        assert user.env_file.stat().st_mtime_ns == before.st_mtime_ns

    @pytest.mark.parametrize("where", ["env", "overridden", "config"])
    def test_a_key_that_is_nowhere_else_needs_consent(self, program: Runner, user: User, where: str) -> None:
        """Also on a line that another one overrides; without consent nothing changes."""
        texts = {
            "env": (f"CANON_API_KEY={OTHER_KEY}\n", ""),
            "overridden": (f"CANON_API_KEY={OTHER_KEY}\nCANON_API_KEY={KEY}\n", ""),
            "config": ("", f"platforms:\n  canon:\n    token: {OTHER_KEY}\n"),
        }
        env, config = texts[where]
        user.write_env(env)
        user.write_config(config)

        refused = program("profile", "bind", "ops")
        assert (refused.code, refused.out) == (2, "")
        assert "its key is in no Canon profile" in refused.err
        assert "fix: add --yes" in refused.err
        assert OTHER_KEY not in refused.err
        assert user.env_file.read_text() == env

        assert program("profile", "bind", "ops", "--yes").code == 0
        assert OTHER_KEY not in user.env_file.read_text() + user.config_file.read_text()

    def test_the_fix_of_an_ambiguous_profile_is_true(self, program: Runner, user: User) -> None:
        """What `creds list` advises, pasted, makes the credential resolve."""
        user.write_agents(**{"my ops": profile_entry(), "other": profile_entry(agentId="agent_2")})
        advice = program("creds", "list", "canon", "--json").json["errors"][0]

        assert advice["fix"] == "canon-ops profile bind 'my ops'"
        assert program("profile", "bind", "my ops").code == 0

        assert program("creds", "list", "canon", "--json").json["canon_profile"] == "my ops"

    def test_what_the_process_overrides_is_told(
        self, program: Runner, user: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The environment of a process is out of reach."""
        monkeypatch.setenv("CANON_API_KEY", KEY)
        monkeypatch.setenv("CANON_ENVIRONMENT_ID", "canon-dev-v1")

        document = program("profile", "bind", "ops", "--json")

        assert document.json["data"]["overridden_by"] == ["CANON_API_KEY in the process environment"]
        assert document.code == 0

    @pytest.mark.parametrize(("name", "code"), [("old", 4), ("codex", 4), ("gone", 4)])
    def test_a_profile_that_cannot_be_used_is_not_bound(
        self, program: Runner, user: User, name: str, code: int
    ) -> None:
        """Incomplete, foreign or absent: nothing is written."""
        user.write_agents(ops=profile_entry(), old={"apiKey": OTHER_KEY}, codex=profile_entry(clientType="codex"))

        assert program("profile", "bind", name).code == code
        assert not user.env_file.exists()

    def test_a_dry_run_writes_nothing(self, program: Runner, user: User) -> None:
        """The diff shows what would be; no folder is made."""
        ran = program("profile", "bind", "ops", "--dry-run", "--diff")

        assert ran.code == 0
        assert "default would use Canon profile ops.\n" in ran.out
        assert "+CANON_AGENT=ops\n" in ran.out
        assert list(user.hermes.iterdir()) == []

    def test_if_unchanged_holds_both_files(self, program: Runner, user: User) -> None:
        """A digest of another text is exit 5."""
        user.write_env("OTHER=1\n")

        ran = program("profile", "bind", "ops", "--if-unchanged", f".env={'0' * 64}")

        assert ran.code == 5
        assert user.env_file.read_text() == "OTHER=1\n"

    def test_a_managed_home_is_refused(self, program: Runner, user: User) -> None:
        """Its package manager would undo it."""
        (user.hermes / ".managed").write_text("nixos")

        ran = program("profile", "bind", "ops")

        assert ran.code == 1
        assert "managed by NixOS" in ran.err

    def test_a_bootstrapped_profile_is_written_down_first(
        self, program: Runner, user: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The next gateway may not have the variable."""
        monkeypatch.setenv("CANON_AGENTS_JSON_BOOTSTRAP", json.dumps({"cloud": profile_entry()}))

        data = program("profile", "bind", "cloud", "--json").json["data"]

        assert data["files"] == [str(user.agents_file), str(user.env_file)]
        assert sorted(user.agents()) == ["cloud", "ops"]
        assert "apiKey" not in data["diff"]

    def test_a_bootstrapped_profile_comes_and_goes_with_its_use(
        self, program: Runner, user: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One change in one history: a plan writes neither file, and undo takes both back."""
        monkeypatch.setenv("CANON_AGENTS_JSON_BOOTSTRAP", json.dumps({"cloud": profile_entry()}))
        before = user.agents_file.read_bytes()

        program("profile", "bind", "cloud", "--dry-run")
        assert (user.agents_file.read_bytes(), user.env_file.exists()) == (before, False)
        program("profile", "bind", "cloud")
        undone = program("undo")

        assert undone.code == 0
        assert (user.agents_file.read_bytes(), user.env_file.exists()) == (before, False)

    def test_another_hermes_profile_is_meant_by_its_name(self, program: Runner, user: User) -> None:
        """BR-37: the profile that was asked for, and no other, changes."""
        user.write_env("", profile="work")

        ran = program("profile", "bind", "ops", "-p", "work")

        assert ran.out.startswith(f"Hermes profile work: {user.hermes / 'profiles' / 'work' / '.env'}\n")
        assert not user.env_file.exists()


def test_unbind_names_no_profile(program: Runner, user: User) -> None:
    """Every spelling goes, in both files."""
    user.write_env("CANON_AGENT=ops\nX=1\n")
    user.write_config("platforms:\n  canon:\n    extra: {agent: ops, profile: ops, y: 1}\n")

    ran = program("profile", "unbind")

    assert ran.code == 0
    assert "default uses no Canon profile by name.\n" in ran.out
    assert user.env_file.read_text() == "X=1\n"
    assert user.config_file.read_text() == "platforms:\n  canon:\n    extra: {y: 1}\n"


class TestMigrate:
    """An older profile is bound once Canon has confirmed it."""

    def words(self, box: CanonSandbox, name: str = "old") -> tuple[str, ...]:
        ends = box.endpoints
        return ("profile", "migrate", name, "--environment", ends.environment_id, "--base-url", ends.api,
                "--stream-url", ends.stream)  # fmt: skip

    def test_the_fields_that_were_missing_are_added(self, program: Runner, user: User, canon: CanonSandbox) -> None:
        """The key, and fields that nobody knows, stay; the fix of the resolution becomes true."""
        user.write_agents(old={"apiKey": canon.endpoints.agent_key, "note": "kept"})
        assert (
            program("creds", "list", "canon", "--json")
            .json["errors"][0]["fix"]
            .startswith("canon-ops profile migrate old")
        )

        ran = program(*self.words(canon), "--json")

        old = user.agents()["old"]
        assert ran.code == 0
        assert ran.json["data"]["agent_id"] == AGENT == old["agentId"]
        assert (old["note"], old["apiKey"], old["environmentId"]) == (
            "kept", canon.endpoints.agent_key, canon.endpoints.environment_id,
        )  # fmt: skip
        assert program("creds", "list", "canon").code == 0

    def test_a_key_of_another_agent_is_refused(self, program: Runner, user: User, canon: CanonSandbox) -> None:
        """Nothing is written."""
        user.write_agents(old={"apiKey": canon.endpoints.agent_key, "agentId": "agent_other"})
        before = user.agents_file.read_bytes()

        ran = program(*self.words(canon))

        assert ran.code == 4
        assert f"is that of agent {AGENT}, not of agent_other" in ran.err
        assert user.agents_file.read_bytes() == before

    def test_a_key_that_canon_does_not_know_is_refused(self, program: Runner, user: User, canon: CanonSandbox) -> None:
        """Exit 4, nothing written, the key not shown."""
        user.write_agents(old={"apiKey": OTHER_KEY})

        ran = program(*self.words(canon))

        assert ran.code == 4
        assert OTHER_KEY not in ran.out + ran.err

    def test_a_service_of_another_environment_never_sees_the_key(
        self, program: Runner, user: User, canon: CanonSandbox
    ) -> None:
        """The environment is verified first."""
        user.write_agents(old={"apiKey": canon.endpoints.agent_key})
        words = list(self.words(canon))
        words[4] = "canon-prod-v1"

        ran = program(*words)

        assert ran.code != 0
        assert not [entry for entry in canon.journal() if "/agents/me" in json.dumps(entry, default=str)]

    def test_a_complete_profile_is_left_alone(self, program: Runner, user: User, canon: CanonSandbox) -> None:
        """The same environment: nothing to do. Another one: refused, the key belongs elsewhere."""
        user.write_agents(old=living(canon))

        same = program(*self.words(canon), "--json")
        other = program("profile", "migrate", "old", "--environment", "canon-prod-v1")

        assert (same.code, same.json["data"]["changed"]) == (0, False)
        assert other.code == 1

    def test_without_an_environment_nobody_guesses(self, program: Runner, user: User) -> None:
        """Exit 2 names the option."""
        user.write_agents(old={"apiKey": OTHER_KEY})

        ran = program("profile", "migrate", "old")

        assert ran.code == 2
        assert "--environment" in ran.err


class TestExportAndImport:
    """Profiles travel without their keys, unless that is asked for."""

    def test_an_export_has_no_secret_and_no_unknown_field(self, program: Runner, user: User) -> None:
        """What we do not know may be secret."""
        user.write_agents(ops=profile_entry(sessionSecret=OTHER_KEY), codex=profile_entry(clientType="codex"))

        document = json.loads(program("profile", "export").out)

        assert document["format"] == "canon-ops.profiles/1"
        assert document["profiles"] == {"ops": profile_entry(apiKey=None)}

    def test_keys_go_into_a_private_file_only(self, program: Runner, user: User, tmp_path: Path) -> None:
        """Never to stdout; the file is 0600 whatever the umask, and is not overwritten."""
        file = tmp_path / "out.json"

        to_stdout = program("profile", "export", "--include-secrets")
        ran = program("profile", "export", "--include-secrets", "-o", str(file))
        again = program("profile", "export", "-o", str(file))

        assert (to_stdout.code, to_stdout.out) == (2, "")
        assert ran.code == 0
        assert KEY not in ran.out + ran.err
        assert file.stat().st_mode & 0o777 == 0o600
        assert json.loads(file.read_text())["profiles"]["ops"]["apiKey"] == KEY
        assert again.code == 1
        assert "exists already" in again.err

    def test_keys_do_not_go_into_a_file_that_others_read(self, program: Runner, user: User, tmp_path: Path) -> None:
        """A file that is replaced keeps its mode."""
        file = tmp_path / "out.json"
        file.write_text("{}")
        file.chmod(0o644)

        ran = program("profile", "export", "--include-secrets", "-o", str(file), "--replace")

        assert ran.code == 1
        assert f"chmod 600 {file}" in ran.err
        assert file.read_text() == "{}"

    def test_a_key_in_the_keyring_travels_as_a_key(
        self, program: Runner, user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A reference means nothing on another machine."""
        entries = tmp_path / "entries.json"
        entries.write_text(json.dumps({"canon-ops/ops": OTHER_KEY}))
        for name, value in keyring_variables(entries).items():
            monkeypatch.setenv(name, value)
        user.write_agents(ops=profile_entry(apiKey=None, apiKeyRef={"service": "canon-ops", "account": "ops"}))
        file = tmp_path / "out.json"

        program("profile", "export", "--include-secrets", "-o", str(file))

        (entry,) = json.loads(file.read_text())["profiles"].values()
        assert entry["apiKey"] == OTHER_KEY
        assert "apiKeyRef" not in entry

    @pytest.mark.parametrize("name", ["agents.json", ".env", "config.yaml", "a link"])
    def test_an_export_never_takes_the_place_of_what_is_in_use(
        self, program: Runner, user: User, name: str, tmp_path: Path
    ) -> None:
        """Not even with --replace: agents.json holds the keys, and an export is in no history that brings them back."""
        user.write_agents(ops=profile_entry())
        user.write_env("A=1\n")
        user.write_config("a: 1\n")
        (tmp_path / "a link").symlink_to(user.agents_file)
        files = {
            "agents.json": user.agents_file,
            ".env": user.home / ".hermes" / ".env",
            "config.yaml": user.home / ".hermes" / "config.yaml",
            "a link": tmp_path / "a link",
        }
        before = files[name].read_bytes()

        ran = program("profile", "export", "-o", str(files[name]), "--replace")

        assert ran.code == 1
        assert ran.err == f"Error: {files[name]} is in use here.\n  fix: give another name\n"
        assert files[name].read_bytes() == before

    def test_what_is_exported_can_be_imported(
        self, program: Runner, user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The round trip with keys gives the same profile on the other machine."""
        file = tmp_path / "out.json"
        program("profile", "export", "--include-secrets", "-o", str(file))
        other = tmp_path / "other"
        other.mkdir()
        monkeypatch.setenv("HOME", str(other))

        data = program("profile", "import", str(file), "--json").json["data"]

        assert (data["added"], data["keyless"]) == (["ops"], [])
        assert User(other).agents() == {"ops": profile_entry()}
        assert User(other).agents_file.stat().st_mode & 0o777 == 0o600

    def test_without_its_key_a_profile_waits_for_setup(
        self, program: Runner, user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The report says which command brings the key."""
        file = tmp_path / "out.json"
        program("profile", "export", "-o", str(file))
        user.agents_file.unlink()

        ran = program("profile", "import", str(file))

        assert ran.code == 0
        assert "Imported ops (as new).\n" in ran.out
        assert "ops has no key yet: canon-ops setup canon --canon-profile ops\n" in ran.out

    def test_another_profile_of_the_same_name_is_not_overwritten(
        self, program: Runner, user: User, tmp_path: Path
    ) -> None:
        """Only with --replace; the same again is no change, and foreign entries stay."""
        file = tmp_path / "in.json"
        file.write_text(json.dumps({"ops": profile_entry(agentId="agent_9", apiKey=OTHER_KEY)}))
        user.write_agents(ops=profile_entry(), codex=profile_entry(clientType="codex"))

        refused = program("profile", "import", str(file))
        replaced = program("profile", "import", str(file), "--replace", "--diff", "--json")
        again = program("profile", "import", str(file), "--json")

        assert (refused.code, replaced.code) == (1, 0)
        assert replaced.json["data"]["replaced"] == ["ops"]
        assert KEY not in replaced.out
        assert OTHER_KEY not in replaced.out
        assert user.agents()["ops"]["agentId"] == "agent_9"
        assert "codex" in user.agents()
        assert (again.json["data"]["unchanged"], again.json["data"]["changed"]) == (["ops"], False)

    def test_a_keyless_import_of_the_same_agent_keeps_the_key_that_is_here(
        self, program: Runner, user: User, tmp_path: Path
    ) -> None:
        """Endpoints change; the key is still this agent's."""
        file = tmp_path / "in.json"
        file.write_text(json.dumps({"ops": profile_entry(apiKey=None, agentName="New name")}))

        program("profile", "import", str(file), "--replace")

        assert user.agents()["ops"] == profile_entry(agentName="New name")

    @pytest.mark.parametrize("text", ["[]", "{", '{"format": "canon-ops.profiles/9", "profiles": {}}', '{"a": 1}'])
    def test_a_file_that_is_none_of_ours_is_refused(
        self, program: Runner, user: User, tmp_path: Path, text: str
    ) -> None:
        """Nothing is written."""
        file = tmp_path / "in.json"
        file.write_text(text)
        before = user.agents_file.read_bytes()

        assert program("profile", "import", str(file)).code == 1
        assert user.agents_file.read_bytes() == before

    @pytest.mark.parametrize(
        ("name", "key", "why"),
        [
            ("", OTHER_KEY, "{file} has a profile with an empty name"),
            (" ", OTHER_KEY, "{file} has a profile with an empty name"),
            ("a\x1b[2J", OTHER_KEY, "{file} has a profile whose name has control characters: 'a\\x1b[2J'"),
            ("new", [OTHER_KEY], "apiKey of the profile new in {file} is no text"),
            ("new", f"{OTHER_KEY}\nx", "apiKey of the profile new in {file} has a line break or a control character"),
        ],
        ids=["no name", "a blank name", "control characters", "a list", "two lines"],
    )
    def test_a_profile_that_nobody_could_use_is_refused(
        self, program: Runner, user: User, tmp_path: Path, name: str, key: object, why: str
    ) -> None:
        """With a sentence, before anything is written, and without the key."""
        file = tmp_path / "in.json"
        file.write_text(json.dumps({"good": profile_entry(), name: {**profile_entry(), "apiKey": key}}))
        before = user.agents_file.read_bytes()

        ran = program("profile", "import", str(file))

        assert (ran.code, ran.err) == (
            1,
            f"Error: Could not read exported Canon profiles: {why.format(file=file)}; the file is left as it is.\n"
            f"  fix: repair {file} by hand, or move it away\n",
        )
        assert OTHER_KEY not in ran.out + ran.err
        assert user.agents_file.read_bytes() == before

    def test_a_file_that_is_not_there_is_not_to_be_repaired(self, program: Runner, user: User, tmp_path: Path) -> None:
        """The advice is about what is there."""
        ran = program("profile", "import", str(tmp_path / "gone.json"))

        assert (ran.code, ran.err) == (
            1,
            f"Error: There is no file {tmp_path / 'gone.json'}.\n  fix: ls -l {tmp_path}\n",
        )
