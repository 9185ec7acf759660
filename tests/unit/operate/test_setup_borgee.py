"""The dialogue of setup borgee against the loopback Borgee, asked and answered beforehand."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from borgee_hermes.locks.identity import CREDENTIAL_SCOPE, identities
from borgee_hermes.locks.ownership import InUse
from canon_ops.errors import CanonOpsError, ExitCode, UsageError
from canon_ops.files.transaction import ChangedUnderUs, digest
from canon_ops.keyring.access import Keyring, KeyringProblem
from canon_ops.operate.borgee_answers import BorgeeAnswers, OtherAgent, SharedRefused
from canon_ops.operate.edit_config import ManagedHome
from canon_ops.operate.prompts import MissingAnswer, Unattended
from canon_ops.operate.setup_answers import BadAnswer
from canon_ops.operate.setup_borgee import setup_borgee
from canon_ops.operate.writing import Writing
from canon_ops.settings.problems import BorgeeKeyInConfig, BorgeeUnshared
from canon_ops.settings.secret import Secret
from tests.support.borgee_boxes import borgee_box
from tests.support.borgee_machine import BorgeeMachine
from tests.support.held_locks import hold_lock
from tests.support.keyring_backend import entries_of, keyring_variables
from tests.support.scripted_prompts import BACK, ScriptedPrompts

KEY_OPTION = "--api-key-stdin, --api-key-file or --api-key-env"
READY = "group_sessions_per_user: false\ndisplay: {busy_input_mode: queue}\n"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[BorgeeMachine]:
    with borgee_box() as box:
        yield BorgeeMachine(tmp_path / "user", box)


@pytest.fixture
def ring(machine: BorgeeMachine, tmp_path: Path) -> Path:
    file = tmp_path / "entries.json"
    machine.environ |= keyring_variables(file)
    return file


def test_nobody_is_needed_when_everything_is_answered(machine: BorgeeMachine) -> None:
    """W27: block, both settings of the gateway, the key, and nothing besides, in files that are its owner's alone."""
    result = machine.setup(machine.answers())

    config, env = machine.read()
    origin = machine.box.endpoints.base_url
    assert yaml.safe_load(config) == {
        "borgee": {"base_url": origin, "allow_insecure_loopback": True},
        "group_sessions_per_user": False,
        "display": {"busy_input_mode": "queue"},
    }
    assert env == f"BORGEE_API_KEY={machine.key.reveal()}\n"
    assert {stat.S_IMODE(machine.hermes.joinpath(name).stat().st_mode) for name in ("config.yaml", ".env")} == {0o600}
    assert (result.agent.agent_id, result.agent.display_name) == ("agent_sandbox", "Aide")
    assert [one.path for one in result.shared] == ["group_sessions_per_user", "display.busy_input_mode"]
    assert (result.store, result.overridden_by, result.is_installed) == ("file", None, False)
    assert machine.key.reveal() not in result.diff


def test_a_second_run_changes_nothing(machine: BorgeeMachine) -> None:
    """The key that is there is kept, the settings are there: no file is written, mtimes included."""
    machine.setup(machine.answers())
    before = {file.name: file.stat().st_mtime_ns for file in machine.hermes.iterdir() if file.is_file()}

    again = machine.setup(BorgeeAnswers())

    assert (again.files, again.shared, again.diff) == ((), (), "")
    assert {name: machine.hermes.joinpath(name).stat().st_mtime_ns for name in before} == before


def test_comments_and_other_settings_stay(machine: BorgeeMachine) -> None:
    """Every byte that nobody asked about is there afterwards; one undo takes all of it back."""
    config = "# the office\ndisplay:   # how it looks\n  skin: dark\nborgee:\n  drain_timeout_seconds: 12  # slow\n"
    machine.write(config=config, env="# keys\nOTHER=1\n")

    result = machine.setup(machine.answers())

    after, env = machine.read()
    assert [line for line in config.splitlines() if line not in after.splitlines()] == []
    assert yaml.safe_load(after)["borgee"]["drain_timeout_seconds"] == 12
    assert env.startswith("# keys\nOTHER=1\n")
    assert {file.name for file in result.files} == {"config.yaml", ".env"}
    assert result.history_id is not None


@pytest.mark.parametrize("path", ["platforms", "gateway.platforms"])
def test_settings_go_where_they_stand_already(machine: BorgeeMachine, path: str) -> None:
    """A top-level block would hide the one that the host reads now."""
    nested: dict[str, Any] = {"borgee": {"base_url": "https://old.example.com", "max_concurrent_dispatches": 7}}
    for name in reversed(path.split(".")):
        nested = {name: nested}
    machine.write(config=yaml.safe_dump(nested) + READY)

    machine.setup(machine.answers())

    tree = yaml.safe_load(machine.read()[0])
    block = tree
    for name in path.split("."):
        block = block[name]
    assert "borgee" not in tree
    assert block["borgee"]["base_url"] == machine.box.endpoints.base_url
    assert block["borgee"]["max_concurrent_dispatches"] == 7


def test_a_dry_run_asks_the_server_and_writes_nothing(machine: BorgeeMachine) -> None:
    """The same answer and the same diff, and not a file."""
    result = machine.setup(machine.answers(), dry_run=True)

    assert machine.greetings == 1
    assert [file.name for file in result.files] == ["config.yaml", ".env"]
    assert "+group_sessions_per_user: false" in result.diff
    assert list(machine.hermes.iterdir()) == []


# The dialogue --------------------------------------------------------------------------------------------------------


def test_a_person_is_asked_for_what_is_missing(machine: BorgeeMachine) -> None:
    """Address, plain http, key, and what changes for everybody; each with the option that answers it."""
    person = ScriptedPrompts(
        ("--base-url", machine.box.endpoints.base_url),
        ("--allow-insecure-loopback", True),
        (KEY_OPTION, machine.key.reveal()),
        ("--change-shared", True),
    )

    result = machine.setup(BorgeeAnswers(), person)

    person.assert_finished()
    assert result.agent.agent_id == "agent_sandbox"
    assert "The key belongs to Aide (agent_sandbox)." in person.said
    assert any("every platform of this gateway" in text for text in person.said)


def test_an_address_that_cannot_be_one_is_asked_again(machine: BorgeeMachine) -> None:
    """W9: a private network is no loopback; paths, users and other schemes are told at once."""
    wrong = ["ftp://chat.example.com", "https://chat.example.com/path", "http://10.0.0.7", "https://a:b@example.com"]
    person = ScriptedPrompts(
        *[("--base-url", text) for text in wrong],
        ("--base-url", machine.box.endpoints.base_url),
        ("--allow-insecure-loopback", True),
    )

    machine.setup(machine.answers(base_url=None, allow_insecure_loopback=None), person)

    assert len(person.complaints) == len(wrong)


def test_going_back_asks_again_and_the_server_once_for_each_key(machine: BorgeeMachine) -> None:
    """From the last question to the key, another key, and on; the first key is not shown to the server again."""
    other = machine.box.human.add_agent("Second")
    person = ScriptedPrompts(
        (KEY_OPTION, machine.key.reveal()),
        ("--change-shared", BACK),
        (KEY_OPTION, str(other["agent_key"])),
        ("--change-shared", BACK),
        (KEY_OPTION, machine.key.reveal()),
        ("--change-shared", True),
    )

    result = machine.setup(machine.answers(api_key=None, change_shared=None), person)

    assert result.agent.agent_id == "agent_sandbox"
    assert machine.greetings == 2


def test_a_refused_key_can_be_typed_again(machine: BorgeeMachine) -> None:
    """The person hears it at once and answers otherwise; whoever stops gets the refusal, and nothing is written."""
    person = ScriptedPrompts(
        (KEY_OPTION, "bgr_live_sandbox_wrong"),
        ("other answers", "back"),
        (KEY_OPTION, machine.key.reveal()),
    )
    result = machine.setup(machine.answers(api_key=None), person)

    stopping = ScriptedPrompts((KEY_OPTION, "bgr_live_sandbox_wrong"), ("other answers", "stop"))
    with pytest.raises(CanonOpsError) as refused:
        machine.setup(machine.answers(api_key=None, keep_key=False), stopping)

    assert result.agent.agent_id == "agent_sandbox"
    assert refused.value.exit_code is ExitCode.CREDENTIAL


@pytest.mark.parametrize("leave_at", ["--base-url", KEY_OPTION, "--change-shared"])
def test_leaving_writes_nothing(machine: BorgeeMachine, leave_at: str) -> None:
    """Ctrl-C at any question."""

    class Leaving(ScriptedPrompts):
        def _next(self, question: Any) -> Any:
            if question.option == leave_at:
                raise KeyboardInterrupt
            return super()._next(question)

    person = Leaving(("--base-url", machine.box.endpoints.base_url), (KEY_OPTION, machine.key.reveal()))

    with pytest.raises(KeyboardInterrupt):
        machine.setup(BorgeeAnswers(allow_insecure_loopback=True), person)

    assert list(machine.hermes.iterdir()) == []


# Refusals: nothing is written ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error", "code"),
    [
        ({"base_url": None}, MissingAnswer, ExitCode.USAGE),
        ({"api_key": None}, MissingAnswer, ExitCode.USAGE),
        ({"base_url": "http://192.168.1.5"}, BadAnswer, ExitCode.USAGE),
        ({"allow_insecure_loopback": False}, BadAnswer, ExitCode.USAGE),
        ({"allow_insecure_loopback": None}, BadAnswer, ExitCode.USAGE),
        ({"api_key": Secret("two words")}, BadAnswer, ExitCode.USAGE),
        ({"store": "drawer"}, BadAnswer, ExitCode.USAGE),
        ({"agent_id": "agent_other"}, OtherAgent, ExitCode.CREDENTIAL),
        ({"change_shared": None}, SharedRefused, ExitCode.FAILED),
        ({"change_shared": False}, SharedRefused, ExitCode.FAILED),
        ({"api_key": Secret("bgr_live_sandbox_wrong")}, CanonOpsError, ExitCode.CREDENTIAL),
        ({"base_url": "http://127.0.0.1:9"}, CanonOpsError, ExitCode.OUTSIDE),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_a_refusal_names_its_reason_and_writes_nothing(
    machine: BorgeeMachine, changes: Mapping[str, object], error: type[CanonOpsError], code: ExitCode
) -> None:
    """Unattended: the exit code says who has to act."""
    with pytest.raises(error) as refused:
        machine.setup(machine.answers(**changes))

    assert refused.value.exit_code is code
    assert list(machine.hermes.iterdir()) == []


def test_a_server_on_this_machine_is_told_how_it_is_allowed(machine: BorgeeMachine) -> None:
    """2.3: its address has no https form; what allows it stands in the advice."""
    with pytest.raises(BadAnswer) as refused:
        machine.setup(machine.answers(allow_insecure_loopback=None))

    assert "--allow-insecure-loopback" in str(refused.value.fix)


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ("borgee: {api_key: bgr_old}\n", BorgeeKeyInConfig),
        ("platforms: {borgee: {extra: {token: bgr_old}}}\n", BorgeeKeyInConfig),
        ("gateway: {multiplex_profiles: true}\n", BorgeeUnshared),
        ("borgee: {max_concurrent_dispatches: 99}\n", UsageError),
    ],
    ids=["key", "token below platforms", "several profiles", "not a number of turns"],
)
def test_what_has_to_go_first_is_told(machine: BorgeeMachine, config: str, error: type[CanonOpsError]) -> None:
    """W10: a key in config.yaml is refused by its place; the server hears nothing before that is settled."""
    machine.write(config=config)

    with pytest.raises(error):
        machine.setup(machine.answers())

    assert machine.read() == (config, "")
    assert machine.greetings == 0


def test_a_key_of_a_person_is_no_agents_key(machine: BorgeeMachine) -> None:
    """The server takes it, and it is a member's."""
    person = machine.box.human.add_agent("Olga", role="member")

    with pytest.raises(OtherAgent, match="member Olga"):
        machine.setup(machine.answers(api_key=Secret(str(person["agent_key"]))))


def test_a_managed_home_is_left_alone(machine: BorgeeMachine) -> None:
    """A package manager owns its files."""
    machine.hermes.joinpath(".managed").write_text("nix")

    with pytest.raises(ManagedHome):
        machine.setup(machine.answers())

    assert [file.name for file in machine.hermes.iterdir()] == [".managed"]


def test_a_file_that_is_not_what_was_seen_is_left_alone(machine: BorgeeMachine) -> None:
    """--if-unchanged holds for both files."""
    machine.write(config=READY)
    expected = [(Path("config.yaml"), digest(b"something else") or "")]
    writing = Writing(machine.home, machine.environ, "setup borgee", expected=expected)

    with pytest.raises(ChangedUnderUs):
        setup_borgee(writing, Keyring(machine.environ), machine.answers(), Unattended(), who_is=_nobody)


def _nobody(*_: object) -> Any:
    raise AssertionError("nobody was to be asked")


# What others share ---------------------------------------------------------------------------------------------------


def test_settings_that_fit_are_not_asked_about(machine: BorgeeMachine) -> None:
    """Also below ``gateway``, and with a mode of Borgee's own."""
    machine.write(config="gateway: {group_sessions_per_user: false}\nborgee: {display: {busy_input_mode: queue}}\n")

    result = machine.setup(machine.answers(change_shared=None))

    assert result.shared == ()


def test_what_somebody_wrote_is_shown_before_it_changes(machine: BorgeeMachine) -> None:
    """B3: the question names path, value and what it does to every platform."""
    machine.write(config="group_sessions_per_user: true\ndisplay: {busy_input_mode: interrupt}\n")
    person = ScriptedPrompts(("--change-shared", True))

    result = machine.setup(machine.answers(change_shared=None), person)

    (asked,) = person.asked
    assert "group_sessions_per_user: false (now true)" in asked
    assert "display.busy_input_mode: queue (now interrupt)" in asked
    assert [(one.before, one.after) for one in result.shared] == [(True, False), ("interrupt", "queue")]
    assert yaml.safe_load(machine.read()[0])["group_sessions_per_user"] is False


# The agent -----------------------------------------------------------------------------------------------------------


def test_the_agent_is_pinned_only_where_that_is_asked_for(machine: BorgeeMachine) -> None:
    """``--agent-id`` writes it; a pin on another agent is changed with consent only."""
    machine.setup(machine.answers(agent_id="agent_sandbox"))
    assert yaml.safe_load(machine.read()[0])["borgee"]["agent_id"] == "agent_sandbox"
    other = str(machine.box.human.add_agent("Second")["agent_key"])

    with pytest.raises(OtherAgent):
        machine.setup(machine.answers(api_key=Secret(other)))
    machine.setup(machine.answers(api_key=Secret(other)), ScriptedPrompts(("--agent-id", True)))

    assert yaml.safe_load(machine.read()[0])["borgee"]["agent_id"] != "agent_sandbox"


def test_a_gateway_that_holds_the_connection_is_not_robbed_of_it(machine: BorgeeMachine) -> None:
    """A server that keeps one connection an agent would leave the gateway deaf, so nothing is asked."""
    identity = identities(machine.home.path, machine.box.endpoints.base_url, machine.key).resource
    hold_lock(CREDENTIAL_SCOPE, identity, machine.environ)

    with pytest.raises(InUse):
        machine.setup(machine.answers())
    assert machine.greetings == 0

    hold_lock(CREDENTIAL_SCOPE, identity, machine.environ, lives=False)
    assert machine.setup(machine.answers()).agent.agent_id == "agent_sandbox"


# The keyring ---------------------------------------------------------------------------------------------------------


def test_a_key_for_the_keyring_never_touches_a_file(machine: BorgeeMachine, ring: Path) -> None:
    """C1: ``.env`` holds the reference; a second run keeps the key where it is."""
    result = machine.setup(machine.answers(store="keyring"))

    (entry,) = entries_of(ring)
    assert entries_of(ring)[entry] == machine.key.reveal()
    assert machine.read()[1] == f"BORGEE_API_KEY_REF={entry}\n"
    below = b"".join(file.read_bytes() for file in machine.hermes.rglob("*") if file.is_file())
    assert machine.key.reveal().encode() not in below
    assert (result.store, machine.setup(BorgeeAnswers()).store) == ("keyring", "keyring")


def test_a_key_moves_to_the_keyring_and_back(machine: BorgeeMachine, ring: Path) -> None:
    """Out of ``.env`` and the history; and back, with nothing left behind in the keyring."""
    machine.setup(machine.answers())

    machine.setup(BorgeeAnswers(keep_key=True, store="keyring"))
    below = b"".join(file.read_bytes() for file in machine.hermes.rglob("*") if file.is_file())
    machine.setup(BorgeeAnswers(keep_key=True, store="file"))

    assert machine.key.reveal().encode() not in below
    assert machine.read()[1] == f"BORGEE_API_KEY={machine.key.reveal()}\n"
    assert entries_of(ring) == {}


def test_a_keyring_that_cannot_be_used_is_found_out_first(machine: BorgeeMachine, ring: Path) -> None:
    """Before anybody is asked anything; never silently to a file."""
    machine.environ["TEST_KEYRING_MOOD"] = "locked"

    with pytest.raises(KeyringProblem):
        machine.setup(machine.answers(store="keyring"))

    assert machine.greetings == 0
    assert list(machine.hermes.iterdir()) == []


def test_files_that_cannot_be_written_leave_the_keyring_as_it_was(
    machine: BorgeeMachine, ring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key went in first, and comes out again."""
    answers = machine.answers(store="keyring")
    writing = Writing(machine.home, machine.environ, "setup borgee")
    asked = machine.box.endpoints

    def meddle(options: Any, key: Secret) -> Any:
        machine.hermes.joinpath("config.yaml").write_text("a: [\n")  # somebody breaks it while the person thinks
        from canon_ops.operate.borgee_answers import BorgeeAgent

        return BorgeeAgent(asked.agent_id, "Aide", "agent")

    with pytest.raises(CanonOpsError):
        setup_borgee(writing, Keyring(machine.environ), answers, Unattended(), who_is=meddle)

    assert entries_of(ring) == {}
    assert machine.read() == ("a: [\n", "")


def test_a_lost_entry_of_the_keyring_is_asked_for_again(machine: BorgeeMachine, ring: Path) -> None:
    """The reference is there and leads nowhere: setup is the cure, not one more refusal."""
    machine.setup(machine.answers(store="keyring"))
    ring.write_text("{}")
    person = ScriptedPrompts(("--base-url", None), ("--allow-insecure-loopback", None), ("--keep-key", None),
                             (KEY_OPTION, machine.key.reveal()))  # fmt: skip

    machine.setup(BorgeeAnswers(store="keyring"), person)

    assert list(entries_of(ring).values()) == [machine.key.reveal()]


def test_what_beats_the_new_key_is_told(machine: BorgeeMachine, ring: Path) -> None:
    """A key in the environment counts before a reference to the keyring."""
    machine.environ["BORGEE_API_KEY"] = "bgr_live_sandbox_older"

    result = machine.setup(machine.answers(store="keyring"))

    assert result.overridden_by is not None
    assert "BORGEE_API_KEY" in result.overridden_by.describe()
