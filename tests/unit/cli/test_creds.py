"""``canon-ops creds`` as a command: a real child process behind the keyring, the loopback Canon behind ``test``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.canon_files import DEV_BINDING, KEY, profile_entry
from tests.support.canon_homes import OTHER_KEY, User, user_at
from tests.support.keyring_backend import entries_of, keyring_variables
from tests.unit.cli.conftest import Runner


@pytest.fixture
def user(home: Path) -> User:
    return user_at(home)


@pytest.fixture
def canon() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as box:
        yield box


def everything_below(folder: Path) -> bytes:
    """The bytes of every file."""
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


class TestList:
    """Where each effective value comes from, and what it hides."""

    def test_records_name_origin_and_what_is_hidden(self, program: Runner, user: User) -> None:
        """A key in .env hides the one in config.yaml; outside a terminal nothing of a key is shown."""
        user.write_env(f"X=1\nCANON_API_KEY={KEY}\nCANON_ENVIRONMENT_ID=canon-dev-v1\nBORGEE_API_KEY={OTHER_KEY}\n")
        user.write_config(f"platforms:\n  canon:\n    token: {OTHER_KEY}\n")

        ran = program("creds", "list")

        lines = ran.out.splitlines()
        assert ran.code == 0
        assert lines[0] == (
            f"canon\tapi_key\t[REDACTED]\tCANON_API_KEY in {user.env_file}, line 2\t"
            f"platforms.canon.token in {user.config_file}"
        )
        assert lines[-1] == f"borgee\tapi_key\t[REDACTED]\tBORGEE_API_KEY in {user.env_file}, line 4\t"
        assert KEY[-4:] not in ran.out
        assert OTHER_KEY not in ran.out

    def test_at_a_terminal_a_key_shows_its_last_four_characters(self, program: Runner, user: User) -> None:
        """And never more; JSON has null."""
        ran = program("creds", "list", terminal=True)
        document = program("creds", "list", "--json")

        assert f"…{KEY[-4:]}" in ran.out
        assert KEY[-5:] not in ran.out
        (key,) = [each for each in document.json["data"]["credentials"] if each["name"] == "api_key"]
        assert (key["value"], key["secret"], key["place"]["name"]) == (None, True, "ops.apiKey")
        assert KEY[-4:] not in document.out

    def test_a_key_in_the_keyring_is_listed_without_asking_it(
        self, program: Runner, user: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Listing follows no reference."""
        for name, value in keyring_variables(user.home / "none", "crashing").items():
            monkeypatch.setenv(name, value)
        user.write_agents(ops=profile_entry(apiKey=None, apiKeyRef={"service": "canon-ops", "account": "ops"}))

        listed = program("creds", "list", "--json").json["data"]["credentials"]
        (key,) = [each for each in listed if each["place"]["name"] == "ops.apiKeyRef"]

        assert key["value"] == "canon-ops/ops"

    def test_nothing_at_all_is_exit_4(self, program: Runner, user: User) -> None:
        """With the command that helps."""
        user.agents_file.unlink()

        ran = program("creds", "list")

        assert (ran.code, ran.out) == (4, "")
        assert ran.err.splitlines()[0].endswith("agents.json has no profile.")
        assert "fix: canon-ops setup canon\n" in ran.err

    def test_a_key_without_its_environment_is_listed_with_what_is_wrong(self, program: Runner, user: User) -> None:
        """One value that is missing hides neither the key that lacks it nor the other platform's."""
        user.write_env(f"CANON_API_KEY={KEY}\nBORGEE_API_KEY={OTHER_KEY}\n")

        ran = program("creds", "list", "--json")

        listed = [(one["platform"], one["name"], one["place"]["line"]) for one in ran.json["data"]["credentials"]]
        assert listed == [("canon", "api_key", 1), ("borgee", "api_key", 2)]
        assert (ran.code, [one["code"] for one in ran.json["errors"]]) == (4, ["environment_missing"])

    def test_a_profile_that_cannot_be_used_is_listed_by_its_choice(self, program: Runner, user: User) -> None:
        """Where the name stands, and what is wrong with the profile."""
        user.write_agents(ops=profile_entry(environmentId=None))
        user.write_env("CANON_AGENT=ops\n")

        ran = program("creds", "list", "--json")

        (one,) = ran.json["data"]["credentials"]
        assert (one["name"], one["value"], one["place"]["name"]) == ("profile", "ops", "CANON_AGENT")
        (error,) = ran.json["errors"]
        assert error["code"] == "profile_unbound"
        assert error["fix"].endswith("canon-ops setup canon --canon-profile ops --agent-id agent_7Qx")

    def test_borgee_alone_is_no_problem_of_canon(self, program: Runner, user: User) -> None:
        """A platform that nobody has set up is not missed, unless it is asked for."""
        user.agents_file.unlink()
        user.write_env("BORGEE_API_KEY_REF=canon-ops/borgee\n")

        both, asked = program("creds", "list"), program("creds", "list", "canon")

        assert (both.code, both.out.split("\t")[:3]) == (0, ["borgee", "api_key", "canon-ops/borgee"])
        assert asked.code == 4

    def test_a_bad_reference_is_named(self, program: Runner, user: User) -> None:
        """Service, slash, account."""
        user.write_env("BORGEE_API_KEY_REF=nonsense\n")

        ran = program("creds", "list", "borgee")

        assert ran.code == 2
        assert "BORGEE_API_KEY_REF cannot be 'nonsense'" in ran.err


class TestAsking:
    """``creds test`` asks Canon who the key is."""

    def entry(self, box: CanonSandbox, **changes: object) -> dict[str, object]:
        ends = box.endpoints
        binding = {**DEV_BINDING, "environmentId": ends.environment_id, "baseUrl": ends.api, "streamUrl": ends.stream}
        return profile_entry(**{**binding, "agentId": "agent_sandbox", "apiKey": ends.agent_key, **changes})

    def test_the_agent_is_named(self, program: Runner, user: User, canon: CanonSandbox) -> None:
        """With the place of the key."""
        user.write_agents(ops=self.entry(canon))

        data = program("creds", "test", "--json").json["data"]

        assert (data["agent_id"], data["canon_profile"], data["environment_id"]) == (
            "agent_sandbox", "ops", canon.endpoints.environment_id,
        )  # fmt: skip
        assert data["origin"] == f"ops.apiKey in {user.agents_file}"

    def test_a_key_in_the_keyring_is_fetched(
        self, program: Runner, user: User, canon: CanonSandbox, ring: Path
    ) -> None:
        """By name, too."""
        ring.write_text(json.dumps({"canon-ops/ops": canon.endpoints.agent_key}))
        reference = {"service": "canon-ops", "account": "ops"}
        user.write_agents(ops=self.entry(canon, apiKey=None, apiKeyRef=reference), b=profile_entry(agentId="b"))

        assert program("creds", "test", "--canon-profile", "ops").code == 0

    @pytest.mark.parametrize(
        ("changes", "code"),
        [({"apiKey": OTHER_KEY}, 4), ({"agentId": "agent_other"}, 4), ({"baseUrl": "http://127.0.0.1:9"}, 3)],
    )
    def test_what_canon_does_not_confirm_is_told_by_its_exit_code(
        self, program: Runner, user: User, canon: CanonSandbox, changes: dict[str, object], code: int
    ) -> None:
        """4 for the key, 3 for the network."""
        user.write_agents(ops=self.entry(canon, **changes))

        ran = program("creds", "test")

        assert (ran.code, ran.out) == (code, "")
        assert OTHER_KEY not in ran.err
        same_agent = f"--agent-id {changes.get('agentId', 'agent_sandbox')}"
        assert (same_agent in ran.err) == (code == 4)  # or a new registration would make another agent

    def test_a_missing_entry_is_exit_4(self, program: Runner, user: User, canon: CanonSandbox, ring: Path) -> None:
        """The keyring works and does not have it."""
        reference = {"service": "canon-ops", "account": "ops"}
        user.write_agents(ops=self.entry(canon, apiKey=None, apiKeyRef=reference))

        ran = program("creds", "test", "--json")

        assert (ran.code, ran.json["errors"][0]["code"]) == (4, "keyring_entry_missing")


MOODS = ["locked", "broken", "crashing", "no bus"]


@pytest.mark.parametrize("mood", MOODS)
class TestBrokenKeyring:
    """BR-44: what the bus answers with hinders no command whose key is elsewhere, and is never a traceback."""

    @pytest.fixture
    def direct(
        self, user: User, canon: CanonSandbox, ring: Path, mood: str, monkeypatch: pytest.MonkeyPatch
    ) -> CanonSandbox:
        """A direct key in force, beside a profile and a Borgee key that are in a keyring which fails."""
        ends = canon.endpoints
        binding = {**DEV_BINDING, "environmentId": ends.environment_id, "baseUrl": ends.api, "streamUrl": ends.stream}
        reference = {"service": "canon-ops", "account": "ops"}
        user.write_agents(ops=profile_entry(**{**binding, "apiKey": None, "apiKeyRef": reference}))
        user.write_env(
            f"CANON_API_KEY={ends.agent_key}\nCANON_ENVIRONMENT_ID={ends.environment_id}\n"
            f"CANON_BASE_URL={ends.api}\nCANON_STREAM_URL={ends.stream}\nBORGEE_API_KEY_REF=canon-ops/borgee\n"
        )
        if mood == "no bus":
            monkeypatch.delenv("PYTHON_KEYRING_BACKEND")
            monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={user.home}/none")
        else:
            monkeypatch.setenv("TEST_KEYRING_MOOD", mood)
        return canon

    @pytest.mark.parametrize(
        "words",
        [
            ("creds", "test"),
            ("creds", "list"),
            ("creds", "audit"),
            ("profile", "list"),
            ("status", "--python", "/nonexistent"),
            ("doctor", "--only", "creds.present", "--only", "creds.accepted", "--python", "/nonexistent"),
        ],
        ids=lambda words: " ".join(words[:2]),
    )
    def test_a_key_elsewhere_is_enough(self, program: Runner, direct: CanonSandbox, words: tuple[str, ...]) -> None:
        """The answer is whole; the keyring's trouble is a remark where somebody asks about it."""
        ran = program(*words)

        assert (ran.code, "Traceback" in ran.err, "fault in canon-ops" in ran.err) == (0, False, False)
        assert direct.endpoints.agent_key not in ran.out + ran.err

    def test_doctor_names_the_trouble_and_fails_nothing(self, program: Runner, direct: CanonSandbox, mood: str) -> None:
        """The check of the keyring itself does not know; the key in force is right all the same."""
        only = ("--only", "creds.keyring", "--only", "creds.accepted")
        checks = program("doctor", *only, "--python", "/nonexistent", "--json").json["data"]["checks"]

        status = {check["id"]: check["status"] for check in checks}
        assert (status["creds.keyring"], status["creds.accepted"]) == ("unknown", "ok")
        said = " ".join(check["message"] for check in checks if check["id"] == "creds.keyring")
        assert "keyring" in said and "cannot be asked" in said

    def test_setup_takes_a_key_for_a_file(self, program: Runner, direct: CanonSandbox, user: User, home: Path) -> None:
        """``setup canon`` with a pasted key needs no keyring unless it is told to use one."""
        ends = direct.endpoints
        words = ["--base-url", ends.api, "--stream-url", ends.stream, "--environment", ends.environment_id, "--yes"]

        ran = program("setup", "canon", "--api-key-stdin", "--store", "file", *words, stdin=f"{ends.agent_key}\n")
        there = program("setup", "canon", "--api-key-stdin", "--store", "keyring", *words, stdin=f"{ends.agent_key}\n")

        assert ran.code == 0, ran.err
        assert (there.code, "keyring" in there.err.lower()) == (3, True)
        assert f"CANON_API_KEY={ends.agent_key}" in user.env_file.read_text()


class TestMove:
    """A key goes to the keyring and back; at every moment one of the two has it."""

    def test_there_and_back_leaves_the_file_as_it_was(self, program: Runner, user: User, ring: Path) -> None:
        """Unknown fields and foreign entries included; the keyring is empty again."""
        user.write_agents(ops=profile_entry(note="kept"), codex=profile_entry(clientType="codex"))
        before = user.agents_file.read_bytes()

        there = program("creds", "move", "--to", "keyring", "--json").json["data"]
        moved = user.agents()["ops"]
        back = program("creds", "move", "--to", "file", "--json").json["data"]

        service, _, account = there["reference"].partition("/")
        assert moved == profile_entry(note="kept", apiKey=None, apiKeyRef={"service": service, "account": account})
        assert (there["changed"], back["changed"], back["reference"]) == (True, True, there["reference"])
        assert user.agents_file.read_bytes() == before
        assert entries_of(ring) == {}

    def test_the_key_is_nowhere_on_the_disk_afterwards(self, program: Runner, user: User, ring: Path) -> None:
        """The history of changes forgets it, also what earlier commands left there."""
        program("profile", "import", str(user.agents_file), "--json")
        program("creds", "remove", "--dry-run")
        user.write_agents(ops=profile_entry(note="1"))

        data = program("creds", "move", "--to", "keyring", "--json").json["data"]

        assert KEY.encode() not in everything_below(user.home)
        assert (len(data["forgotten"]), data["history_id"]) == (1, None)
        assert entries_of(ring) == {data["reference"]: KEY}

    def test_a_second_time_changes_nothing(self, program: Runner, user: User, ring: Path) -> None:
        """And finishes what a crash left: the key in the history."""
        program("creds", "move", "--to", "keyring")
        before = user.agents_file.stat()

        data = program("creds", "move", "--to", "keyring", "--json").json["data"]

        assert (data["changed"], data["files"]) == (False, [])
        assert user.agents_file.stat().st_mtime_ns == before.st_mtime_ns

    @pytest.mark.parametrize(
        ("mood", "code"),
        [
            ("locked", "keyring_locked"),
            ("broken", "keyring_failed"),
            ("forgetful", "keyring_failed"),
            ("quoting", "keyring_failed"),
        ],
    )
    def test_a_keyring_that_fails_changes_nothing(
        self, program: Runner, user: User, ring: Path, monkeypatch: pytest.MonkeyPatch, mood: str, code: str
    ) -> None:
        """Never silently to plain text: exit 3, the file as it was, the key not shown."""
        monkeypatch.setenv("TEST_KEYRING_MOOD", mood)
        before = user.agents_file.read_bytes()

        ran = program("creds", "move", "--to", "keyring", "--json")

        assert (ran.code, ran.json["errors"][0]["code"]) == (3, code)
        assert user.agents_file.read_bytes() == before
        assert KEY not in ran.out + ran.err

    def test_switched_off_is_a_sentence(self, program: Runner, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
        """By the variable, or by preference."""
        monkeypatch.setenv("CANON_OPS_KEYRING", "off")
        by_variable = program("creds", "move", "--to", "keyring")
        monkeypatch.delenv("CANON_OPS_KEYRING")
        program("preferences", "set", "keyring.use", "off")
        by_preference = program("creds", "move", "--to", "keyring")

        assert (by_variable.code, by_preference.code) == (3, 3)
        assert "The keyring is switched off" in by_variable.err
        assert "The keyring is switched off" in by_preference.err

    def test_a_file_that_changes_meanwhile_keeps_its_key(self, program: Runner, user: User, ring: Path) -> None:
        """Exit 5, and what was put into the keyring is taken back."""
        ran = program("creds", "move", "--to", "keyring", "--if-unchanged", "0" * 64)

        assert ran.code == 5
        assert user.agents() == {"ops": profile_entry()}
        assert entries_of(ring) == {}

    def test_a_dry_run_asks_the_keyring_and_puts_nothing(self, program: Runner, user: User, ring: Path) -> None:
        """The diff shows the reference in the key's place, and no key."""
        ran = program("creds", "move", "--to", "keyring", "--dry-run", "--diff")

        assert ran.code == 0
        assert "The key of the Canon profile ops would move to the keyring" in ran.out
        assert '+    "apiKeyRef": {\n' in ran.out
        assert KEY not in ran.out
        assert entries_of(ring) == {}
        assert user.agents() == {"ops": profile_entry()}

    def test_an_entry_that_two_profiles_share_stays(self, program: Runner, user: User, ring: Path) -> None:
        """The other one still needs it."""
        ring.write_text(json.dumps({"s/a": KEY}))
        reference = {"service": "s", "account": "a"}
        user.write_agents(
            a=profile_entry(apiKey=None, apiKeyRef=reference), b=profile_entry(apiKey=None, apiKeyRef=reference)
        )

        data = program("creds", "move", "--to", "file", "--canon-profile", "a", "--json").json["data"]

        assert "another Canon profile refers to it" in data["left_behind"]
        assert entries_of(ring) == {"s/a": KEY}

    def test_two_homes_have_entries_of_their_own(
        self, program: Runner, user: User, ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The same profile name in another agents.json is another account."""
        program("creds", "move", "--to", "keyring")
        other = user_at(tmp_path / "other")
        other.write_agents(ops=profile_entry(apiKey=OTHER_KEY))
        monkeypatch.setenv("HOME", str(other.home))
        program("creds", "move", "--to", "keyring")

        assert sorted(entries_of(ring).values()) == sorted([KEY, OTHER_KEY])

    def test_a_direct_key_has_no_place_for_a_reference(self, program: Runner, user: User, ring: Path) -> None:
        """Exit 4 with what can be named instead."""
        user.write_env(f"CANON_API_KEY={KEY}\nCANON_ENVIRONMENT_ID=canon-dev-v1\n")

        ran = program("creds", "move", "--to", "keyring")

        assert ran.code == 4
        assert "--canon-profile NAME" in ran.err

    def test_borgees_key_moves_by_the_line_in_env(self, program: Runner, user: User, ring: Path) -> None:
        """C1: BORGEE_API_KEY_REF stands in the key's place, and back; other lines stay."""
        text = f"# mine\nBORGEE_API_KEY={OTHER_KEY}\nX=1\n"
        user.write_env(text)

        there = program("creds", "move", "--to", "keyring", "--platform", "borgee", "--diff", "--json")
        moved, history = user.env_file.read_text(), everything_below(user.hermes / ".canon-ops")
        listed = program("creds", "list", "borgee").out
        back = program("creds", "move", "--to", "file", "--platform", "borgee")

        reference = there.json["data"]["reference"]
        assert moved == f"# mine\nX=1\nBORGEE_API_KEY_REF={reference}\n"
        assert OTHER_KEY not in there.out + back.out
        assert OTHER_KEY.encode() not in history
        assert reference in listed
        assert user.env_file.read_text() == f"# mine\nX=1\nBORGEE_API_KEY={OTHER_KEY}\n"
        assert entries_of(ring) == {}


class TestRemove:
    """A key leaves this machine; its agent stays known."""

    def test_the_profile_keeps_its_agent(self, program: Runner, user: User) -> None:
        """So that setup asks for the same one; the history forgets the key."""
        ran = program("creds", "remove", "--canon-profile", "ops", "--yes")

        assert ran.code == 0
        assert f"Removed ops.apiKey in {user.agents_file}.\n" in ran.out
        assert user.agents() == {"ops": profile_entry(apiKey=None)}
        assert KEY.encode() not in everything_below(user.home)

    def test_without_consent_nothing_goes(self, program: Runner, user: User) -> None:
        """Exit 2 names --yes."""
        ran = program("creds", "remove")

        assert (ran.code, ran.out) == (2, "")
        assert user.agents() == {"ops": profile_entry()}

    def test_the_keyrings_entry_goes_with_it(self, program: Runner, user: User, ring: Path) -> None:
        """The whole profile, too, when that is asked for."""
        program("creds", "move", "--to", "keyring")

        data = program("creds", "remove", "--whole-profile", "--yes", "--json").json["data"]

        assert entries_of(ring) == {}
        assert user.agents() == {}
        assert data["left_behind"] is None

    def test_a_keyring_that_is_away_leaves_the_entry_and_says_so(
        self, program: Runner, user: User, ring: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The file's part is done all the same."""
        program("creds", "move", "--to", "keyring")
        monkeypatch.setenv("TEST_KEYRING_MOOD", "locked")

        ran = program("creds", "remove", "--yes")

        assert ran.code == 0
        assert "The keyring still has canon-ops/ops@" in ran.out
        assert "apiKeyRef" not in user.agents()["ops"]

    @pytest.mark.parametrize(
        ("mood", "platform", "whole"),
        [("locked", "canon", False), ("broken", "borgee", False), ("crashing", "canon", True)],
    )
    def test_an_entry_that_was_left_goes_with_the_next_run(
        self, program: Runner, user: User, ring: Path, monkeypatch: pytest.MonkeyPatch, mood: str, platform: str,
        whole: bool,
    ) -> None:  # fmt: skip
        """BR-44: the file has let go of it, the history tells of it, and a person agrees; then nothing is left."""
        words = ["--platform", "borgee"] if platform == "borgee" else ["--canon-profile", "ops"]
        words += ["--whole-profile"] if whole and platform == "canon" else []
        user.write_env(f"BORGEE_API_KEY={OTHER_KEY}\n")
        program("creds", "move", "--to", "keyring", *words[:2])
        kept = entries_of(ring)
        monkeypatch.setenv("TEST_KEYRING_MOOD", mood)
        program("creds", "remove", "--yes", *words)
        still = program("creds", "remove", "--yes", *words)
        monkeypatch.setenv("TEST_KEYRING_MOOD", "")

        planned = program("creds", "remove", "--dry-run", *words)
        unasked = program("creds", "remove", *words)
        left = entries_of(ring)
        again = program("creds", "remove", "--yes", *words)

        assert (still.code, "The keyring may still have canon-ops/" in still.err) == (3, True)
        assert (planned.code, unasked.code, left) == (0, 2, kept)
        assert (again.code, entries_of(ring)) == (0, {})
        assert f"Removed {next(iter(kept))} in the keyring.\n" in again.out
        assert program("creds", "remove", "--yes", *words).code == 4

    def test_an_entry_that_another_profile_uses_is_not_what_was_left(
        self, program: Runner, user: User, ring: Path
    ) -> None:
        """Two profiles, one reference: the second keeps it, whatever the history says of the first."""
        program("creds", "move", "--to", "keyring")
        agents = user.agents()
        user.agents_file.write_text(json.dumps({**agents, "two": agents["ops"]}))
        first = program("creds", "remove", "--canon-profile", "ops", "--yes")

        again = program("creds", "remove", "--canon-profile", "ops", "--yes")

        assert (first.code, again.code, len(entries_of(ring))) == (0, 4, 1)

    def test_a_direct_key_goes_with_its_environment(self, program: Runner, user: User) -> None:
        """Every line of it, overridden ones included; nothing else in .env."""
        user.write_env(f"A=1\nCANON_API_KEY={OTHER_KEY}\nCANON_API_KEY={KEY}\nCANON_ENVIRONMENT_ID=canon-dev-v1\n")

        ran = program("creds", "remove", "--yes", "--diff")

        assert ran.code == 0
        assert user.env_file.read_text() == "A=1\n"
        assert KEY not in ran.out
        assert OTHER_KEY not in ran.out
        history = everything_below(user.hermes / ".canon-ops")
        assert KEY.encode() not in history
        assert OTHER_KEY.encode() not in history

    def test_borgees_key_and_its_entry(self, program: Runner, user: User, ring: Path) -> None:
        """The reference leads to the entry."""
        user.write_env(f"BORGEE_API_KEY={OTHER_KEY}\n")
        program("creds", "move", "--to", "keyring", "--platform", "borgee")

        ran = program("creds", "remove", "--platform", "borgee", "--yes")

        assert ran.code == 0
        assert user.env_file.read_text() == ""
        assert entries_of(ring) == {}

    def test_there_must_be_something(self, program: Runner, user: User) -> None:
        """Exit 4."""
        assert program("creds", "remove", "--platform", "borgee", "--yes").code == 4


class TestAudit:
    """Copies, open files, and keys where nobody meant them to be."""

    def ids(self, program: Runner, *more: str) -> list[tuple[str, str, str | None]]:
        found = program("creds", "audit", "--json", *more).json["data"]["findings"]
        return [(each["status"], each["id"], each["file"] and Path(each["file"]).name) for each in found]

    def test_a_tidy_home_has_nothing(self, program: Runner, user: User) -> None:
        """Each key once, in a private place."""
        user.write_env(f"BORGEE_API_KEY={OTHER_KEY}\n")

        ran = program("creds", "audit")

        assert (ran.code, ran.out) == (0, "Nothing was found: each key stands once, in a private place.\n")

    def test_modes_that_let_others_read(self, program: Runner, user: User) -> None:
        """BR-12, N-15: file and folder, each with its command."""
        user.agents_file.chmod(0o644)
        user.write_env("X=1\n")
        user.env_file.chmod(0o640)
        user.hermes.chmod(0o777)

        found = program("creds", "audit", "--json").json

        fixes = [each["fix"] for each in found["data"]["findings"]]
        assert fixes == [
            f"chmod 600 {user.agents_file}", f"chmod 600 {user.env_file}", f"chmod go-w {user.hermes}",
        ]  # fmt: skip
        assert found["exit_code"] == 1
        assert found["errors"][0]["message"] == "3 errors, 0 warnings."
        user.agents_file.chmod(0o600)
        user.hermes.chmod(0o755)
        assert program("creds", "audit").err.startswith("Error: 1 error, 0 warnings.")

    def test_copies_are_warnings(self, program: Runner, user: User) -> None:
        """Exit 0 unless --strict; the fix drops the weaker place."""
        user.write_env(f"CANON_API_KEY={KEY}\n", profile="work")

        assert self.ids(program) == [("warning", "creds.copies", ".env")]
        assert program("creds", "audit").code == 0
        assert program("creds", "audit", "--strict").code == 1

    @pytest.mark.parametrize(
        ("path", "text"),
        [
            ("platforms.canon.api_key", "platforms: {canon: {api_key: %s}}\n"),
            ("platforms.canon.extra.CANON_API_KEY", "platforms:\n  canon:\n    extra:\n      CANON_API_KEY: %s\n"),
            ("borgee.token", "borgee:\n  token: '%s'\n"),
            ("platforms.borgee.extra.api_key", "platforms: {borgee: {extra: {api_key: %s}}}\n"),
        ],
    )
    def test_a_key_in_config_is_misplaced(self, program: Runner, user: User, path: str, text: str) -> None:
        """N-11: every spelling that a platform would read, or refuse."""
        user.write_config(text % OTHER_KEY)

        (finding,) = program("creds", "audit", "--json").json["data"]["findings"]

        line = text[: text.index("%")].count("\n") + 1
        assert (finding["status"], finding["id"], finding["line"]) == ("error", "creds.misplaced", line)
        assert finding["fix"].endswith(f"canon-ops config unset {path}")

    def test_a_reference_to_a_variable_is_no_key(self, program: Runner, user: User) -> None:
        """``${NAME}`` stands for the environment."""
        user.write_config("platforms: {canon: {api_key: '${MY_KEY}'}}\n")

        assert self.ids(program) == []

    @pytest.mark.parametrize(
        "where",
        [".bash_history", ".zshrc", ".canon/agents.json.bak", ".hermes/.env.old", ".hermes/config.yaml.corrupt.1.bak",
         ".hermes/logs/gateway.log", ".config/fish/config.fish"],
    )  # fmt: skip
    def test_a_key_that_leaked_is_found_by_its_line(self, program: Runner, user: User, where: str) -> None:
        """BR-56: histories, start-up files, backups, logs; whatever the key looks like."""
        user.write_env(f"BORGEE_API_KEY={OTHER_KEY}\n")
        file = user.home / where
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"one\ntwo --api-key {OTHER_KEY}\n")

        ran = program("creds", "audit", "--json")

        (finding,) = ran.json["data"]["findings"]
        assert (finding["status"], finding["id"], finding["line"]) == ("error", "creds.leaked", 2)
        assert finding["file"] == str(file)
        assert OTHER_KEY not in ran.out

    def test_references_that_lead_nowhere(self, program: Runner, user: User, ring: Path) -> None:
        """An error when the keyring does not have it; unknown when it cannot be asked."""
        user.write_agents(ops=profile_entry(apiKey=None, apiKeyRef={"service": "s", "account": "a"}))

        assert self.ids(program) == [("error", "creds.keyring", "agents.json")]

    def test_a_keyring_that_cannot_be_asked_is_unknown(
        self, program: Runner, user: User, ring: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is no error of the files."""
        monkeypatch.setenv("TEST_KEYRING_MOOD", "locked")
        user.write_agents(ops=profile_entry(apiKey=None, apiKeyRef={"service": "s", "account": "a"}))

        assert self.ids(program) == [("unknown", "creds.keyring", "agents.json")]
        assert program("creds", "audit").code == 0

    def test_a_file_that_cannot_be_read_is_told(self, program: Runner, user: User) -> None:
        """The others are looked at all the same."""
        user.agents_file.write_text("{")
        user.write_config("a: [\n")
        user.write_env(f"BORGEE_API_KEY={OTHER_KEY}\n")
        (user.home / ".bash_history").write_text(OTHER_KEY)

        assert self.ids(program) == [
            ("error", "creds.leaked", ".bash_history"),
            ("unknown", "creds.unreadable", "agents.json"),
            ("unknown", "creds.unreadable", "config.yaml"),
        ]
