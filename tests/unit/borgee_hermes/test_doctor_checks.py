"""What the doctor finds about Borgee: each fault made by hand, found by its own check, mended where it may be."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from borgee_hermes.doctor_checks import CHECKS
from borgee_hermes.inbox.schema import SCHEMA
from borgee_hermes.locks.identity import CREDENTIAL_SCOPE, PROFILE_SCOPE, identities
from borgee_hermes.loopback.server import BorgeeSandbox
from canon_ops import __version__
from canon_ops.doctor.check import Finding, Status
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.mending import choose, mend
from canon_ops.doctor.run import Diagnosis, diagnose
from canon_ops.durable import write_once
from canon_ops.hermes.contract_borgee import BORGEE_NEEDS
from canon_ops.hermes.homes import resolve_home
from canon_ops.hermes.scoped_locks import lock_file
from canon_ops.operate.prompts import Unattended
from canon_ops.operate.writing import Writing
from canon_ops.runtime.clock import Clock, ManualClock, SystemClock
from canon_ops.settings.secret import Secret
from tests.support.borgee_boxes import borgee_box
from tests.support.fake_host import (
    clean_environ,
    make_environment,
    put_contract,
    put_distribution,
    put_hermes,
    site_of,
)

NOW_S = 1_790_000_000.0
CONFIG = """\
# written by hand, from the page of Borgee
plugins:
  enabled:
    - borgee
group_sessions_per_user: false
display:
  busy_input_mode: queue
borgee:
  enabled: true
  base_url: {origin}
  allow_insecure_loopback: true
"""
STUCK = "agent:main:borgee:channel:stuck"


@dataclass
class Ward:
    """One home that serves Borgee, in order, made by hand."""

    user: Path
    python: Path
    box: BorgeeSandbox
    environ: dict[str, str] = field(default_factory=dict)
    clock: Clock = field(default_factory=SystemClock)
    offline: bool = False

    @property
    def home(self) -> Path:
        return self.user / ".hermes"

    @property
    def inbox(self) -> Path:
        return self.home / "plugins" / "borgee" / "inbox.sqlite3"

    def write(self, before: str = "", after: str = "", *, more: str = "") -> None:
        """config.yaml with one piece replaced, or something behind it."""
        text = CONFIG.format(origin=self.box.endpoints.base_url)
        assert before in text
        self.home.joinpath("config.yaml").write_text((text.replace(before, after) if before else text) + more)

    def write_env(self, text: str) -> None:
        self.home.joinpath(".env").write_text(text)
        self.home.joinpath(".env").chmod(0o600)

    def examination(self) -> Examination:
        environ = clean_environ(HOME=str(self.user)) | self.environ
        return Examination(
            resolve_home(environ), environ, python=self.python, clock=self.clock, offline=self.offline, timeout_s=3.0
        )

    def examine(self) -> Diagnosis:
        return diagnose(CHECKS, self.examination())

    def remarks(self) -> dict[str, str]:
        """Every check that did not say ok."""
        return {
            one.check.id: one.finding.status.value
            for one in self.examine().verdicts
            if one.finding.status is not Status.OK
        }

    def finding(self, name: str) -> Finding:
        (first, *_) = [one.finding for one in self.examine().verdicts if one.check.id == f"borgee.{name}"]
        return first

    def receive(self, status: str, *, session: str = STUCK, at_s: float = NOW_S) -> None:
        """A receipt, in plain SQL."""
        write_once(self.inbox, SCHEMA, lambda _transaction: None)
        with closing(sqlite3.connect(self.inbox)) as connection, connection:
            number = connection.execute("SELECT count(*) FROM receipts").fetchone()[0]
            connection.execute(
                "INSERT INTO receipts (kind, channel_id, channel_type, author_id, author_name, message_id, session_key,"
                " source_body, effective_body, source_created_at, payload_hash, dedupe_key, status, created_at,"
                " updated_at) VALUES ('message', 'c', 'channel', 'u', 'Ada', ?, ?, 'hi', 'hi', 1, 'h', ?, ?, ?, ?)",
                (f"m{number}", session, f"d{number}", status, at_s, at_s),
            )

    def lock(self, scope: str, *, pid: int, start: int | None = None) -> None:
        """The note of a gateway that holds one of Hermes' locks."""
        wanted = identities(self.home, self.box.endpoints.base_url, Secret(self.box.endpoints.agent_key))
        identity = wanted.profile if scope == PROFILE_SCOPE else wanted.resource
        file = lock_file(scope, identity, clean_environ(HOME=str(self.user)))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"pid": pid, "start_time": start}))

    def run_gateway(self, state: str | None, message: str | None = None) -> None:
        """The state file of a gateway that runs: this very process."""
        platforms = {"borgee": {"state": state, "error_message": message}} if state else {}
        document = {"pid": os.getpid(), "gateway_state": "running", "platforms": platforms}
        self.home.joinpath("gateway_state.json").write_text(json.dumps(document))

    def tell_health(self, *, written_s: float, stream: str, since_s: float, trouble: str | None = None) -> None:
        """The health file of that gateway, written by hand; times are seconds from now."""
        now_ms = self.clock.now_ms()
        document = {
            "schema": "canon-ops.platform-health/1", "platform": "borgee", "version": "0.1.0", "host_version": "0.19.0",
            "pid": os.getpid(), "written_at_ms": now_ms + int(written_s * 1000), "environment_id": "https://b.example",
            "agent_id": "agent_sandbox", "stream": stream, "stream_since_ms": now_ms + int(since_s * 1000),
            "last_trouble": trouble,
        }  # fmt: skip
        file = self.home / "plugins" / "borgee" / "health.json"
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.write_text(json.dumps(document))


@pytest.fixture(scope="module")
def shared_box() -> Iterator[BorgeeSandbox]:
    with borgee_box() as box:
        yield box


@pytest.fixture
def ward(tmp_path: Path, shared_box: BorgeeSandbox) -> Ward:
    python = make_environment(tmp_path / "env")
    put_hermes(python)
    put_contract(python, BORGEE_NEEDS)
    files = {"borgee_hermes/__init__.py": "def register(ctx): ...\n"}
    put_distribution(python, "canon-ops", __version__, files, entry_points={"borgee": "borgee_hermes"})
    ward = Ward(tmp_path, python, shared_box)
    ward.home.mkdir()
    ward.write()
    ward.write_env(f"BORGEE_API_KEY={shared_box.endpoints.agent_key}\n")
    return ward


def test_a_home_in_order_has_no_findings(ward: Ward) -> None:
    """Every check could answer; the server says whose key it is."""
    assert ward.remarks() == {}
    assert ward.finding("server").data == {"agent_id": "agent_sandbox", "role": "agent"}


def test_a_home_without_borgee_is_not_bothered(ward: Ward) -> None:
    """No host is asked, nobody is connected to, and nothing is made."""
    ward.home.joinpath("config.yaml").write_text("model: {default: x}\n")
    ward.write_env("OTHER=1\n")
    ward.python = ward.user / "nowhere"
    before = len(ward.box.journal())

    messages = {one.finding.message for one in ward.examine().verdicts}

    assert messages == {"Borgee is not set up here."}
    assert len(ward.box.journal()) == before
    assert not ward.inbox.exists()


# One row a fault: what is done, what is found, what it says ----------------------------------------------------------


def denied(ward: Ward) -> None:
    ward.write("    - borgee\n", "    - borgee\n  disabled: [borgee]\n")


def not_enabled(ward: Ward) -> None:
    ward.write("    - borgee\n", "    - other\n")


def switched_off(ward: Ward) -> None:
    ward.write("enabled: true", "enabled: false")


def does_not_import(ward: Ward) -> None:
    site_of(ward.python).joinpath("borgee_hermes", "__init__.py").write_text("import nowhere_to_be_found\n")


def host_lacks_something(ward: Ward) -> None:
    file = site_of(ward.python) / "gateway" / "status.py"
    file.write_text(file.read_text().replace("acquire_scoped_lock", "take_lock"))


def address_in_a_private_network(ward: Ward) -> None:
    ward.write(ward.box.endpoints.base_url, "http://10.0.0.7")


def too_many_turns(ward: Ward) -> None:
    ward.write(more="  max_concurrent_dispatches: 99\n")


def a_drain_that_is_no_number(ward: Ward) -> None:
    ward.write(more="  drain_timeout_seconds: .nan\n")


def key_in_config(ward: Ward) -> None:
    ward.write(more="  api_key: bgr_live_sandbox_copy\n")


def no_key(ward: Ward) -> None:
    ward.write_env("# nothing yet\n")


def reference_that_is_none(ward: Ward) -> None:
    ward.write_env("BORGEE_API_KEY_REF=nothing\n")


def sessions_of_their_own(ward: Ward) -> None:
    ward.write("group_sessions_per_user: false\n", "")


def sessions_beside_another_platform(ward: Ward) -> None:
    ward.write("group_sessions_per_user: false\n", "platforms: {telegram: {enabled: true}}\n")


def sessions_that_somebody_wrote(ward: Ward) -> None:
    ward.write("group_sessions_per_user: false", "group_sessions_per_user: true")


def interrupting(ward: Ward) -> None:
    ward.write("display:\n  busy_input_mode: queue\n", "")


def interrupting_on_borgee_alone(ward: Ward) -> None:
    ward.write(more="  display: {busy_input_mode: interrupt}\n")


def streaming_where_nobody_looks(ward: Ward) -> None:
    ward.write(more="platforms: {telegram: {display: {streaming: {enabled: false}}}}\n")


def gateway_without_borgee(ward: Ward) -> None:
    ward.run_gateway(None)


def gateway_that_gave_up(ward: Ward) -> None:
    ward.run_gateway("fatal", "Borgee does not accept the key")


def gateway_that_hangs(ward: Ward) -> None:
    ward.run_gateway("connected")
    ward.tell_health(written_s=-300, stream="open", since_s=-3_600)


def gateway_whose_connection_is_away(ward: Ward) -> None:
    ward.run_gateway("connected")
    ward.tell_health(written_s=-5, stream="lost", since_s=-600, trouble="the server is being restarted")


def damaged_inbox(ward: Ward) -> None:
    ward.receive("completed")
    data = bytearray(ward.inbox.read_bytes())
    data[4096 * 2 : 4096 * 2 + 400] = b"\xff" * 400
    ward.inbox.write_bytes(data)


def a_state_that_nobody_wrote(ward: Ward) -> None:
    ward.receive("pending")
    with closing(sqlite3.connect(ward.inbox, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("UPDATE receipts SET status = 'weird'")


def inbox_that_others_read(ward: Ward) -> None:
    ward.receive("completed")
    ward.inbox.chmod(0o644)


def no_inbox_at_all_but_a_text(ward: Ward) -> None:
    ward.inbox.parent.mkdir(parents=True)
    ward.inbox.write_text("this is no database, however long it may be " * 30)
    ward.inbox.chmod(0o600)


def messages_that_nobody_works_off(ward: Ward) -> None:
    ward.receive("pending")
    ward.clock = ManualClock(int(NOW_S * 1000) + 3_600_000)


def in_doubt(ward: Ward) -> None:
    ward.receive("quarantined")
    ward.receive("pending")
    ward.clock = ManualClock(int(NOW_S * 1000))


def left_by_a_kill(ward: Ward) -> None:
    ward.receive("processing")
    ward.receive("pending")
    ward.clock = ManualClock(int(NOW_S * 1000) + 3_600_000)


def messages_that_nobody_works_off_beside_a_decision(ward: Ward) -> None:
    in_doubt(ward)
    ward.receive("pending", session="agent:main:borgee:dm:free")
    ward.clock = ManualClock(int(NOW_S * 1000) + 3_600_000)


def home_in_use(ward: Ward) -> None:
    ward.lock(PROFILE_SCOPE, pid=os.getppid())


def key_in_use(ward: Ward) -> None:
    ward.lock(CREDENTIAL_SCOPE, pid=os.getppid())


def refused_key(ward: Ward) -> None:
    ward.write_env("BORGEE_API_KEY=bgr_live_sandbox_wrong\n")


def a_persons_key(ward: Ward) -> None:
    person = ward.box.human.add_agent("Olga", role="member")
    ward.write_env(f"BORGEE_API_KEY={person['agent_key']}\n")


def another_agents_key(ward: Ward) -> None:
    ward.write(more="  agent_id: agent_other\n")


def server_down(ward: Ward) -> None:
    ward.write(ward.box.endpoints.base_url, "http://127.0.0.1:9")


Seed = Callable[[Ward], None]
FAULTS: list[tuple[Seed, dict[str, str], str]] = [
    (denied, {"plugin": "error"}, "plugins.disabled names borgee"),
    (not_enabled, {"plugin": "error"}, "plugins.enabled does not name borgee"),
    (switched_off, {"plugin": "error"}, "borgee.enabled is not true"),
    (does_not_import, {"plugin": "error"}, "nowhere_to_be_found"),
    (host_lacks_something, {"contract": "error"}, "acquire_scoped_lock"),
    (address_in_a_private_network, {"config": "error", "locks": "skipped", "server": "skipped"}, "10.0.0.7"),
    (too_many_turns, {"config": "error", "locks": "skipped", "server": "skipped"}, "max_concurrent_dispatches"),
    (a_drain_that_is_no_number, {"config": "error", "locks": "skipped", "server": "skipped"}, "drain_timeout_seconds"),
    (key_in_config, {"config": "error"}, "borgee.api_key holds a key"),
    (no_key, {"key": "error", "locks": "skipped", "server": "skipped"}, "BORGEE_API_KEY is not set"),
    (reference_that_is_none, {"key": "error", "locks": "skipped", "server": "skipped"}, "BORGEE_API_KEY_REF"),
    (sessions_of_their_own, {"sessions": "error"}, "group_sessions_per_user is not set"),
    (sessions_beside_another_platform, {"sessions": "error"}, "It holds for telegram too"),
    (sessions_that_somebody_wrote, {"sessions": "error"}, "group_sessions_per_user is true"),
    (interrupting, {"busy_mode": "error"}, "display.busy_input_mode is not set"),
    (interrupting_on_borgee_alone, {"busy_mode": "error"}, "borgee.display.busy_input_mode is interrupt"),
    (streaming_where_nobody_looks, {"streaming": "warning"}, "platforms.telegram.display.streaming is read by no"),
    (gateway_without_borgee, {"gateway": "error"}, "without Borgee"),
    (gateway_that_gave_up, {"gateway": "error"}, "Borgee is fatal: Borgee does not accept the key"),
    (gateway_that_hangs, {"gateway": "warning"}, "has not said for 5 minutes how it is doing"),
    (gateway_whose_connection_is_away, {"gateway": "warning"}, "connection for 10 minutes: the server is being"),
    (damaged_inbox, {"inbox": "error"}, "inbox.sqlite3"),
    (a_state_that_nobody_wrote, {"inbox": "error", "quarantine": "skipped"}, "holds what no adapter wrote there"),
    (inbox_that_others_read, {"inbox": "error", "quarantine": "skipped"}, "mode 0644"),
    (no_inbox_at_all_but_a_text, {"inbox": "error", "quarantine": "skipped"}, "inbox.sqlite3"),
    (messages_that_nobody_works_off, {"inbox": "warning"}, "1 Borgee message waits; the oldest came 2026-09-21"),
    (in_doubt, {"quarantine": "warning"}, f"{STUCK} waits for a decision about receipt 1; 1 message behind it"),
    (left_by_a_kill, {"quarantine": "warning"}, f"{STUCK} waits for a decision about receipt 1; 1 message behind it"),
    (
        messages_that_nobody_works_off_beside_a_decision,
        {"inbox": "warning", "quarantine": "warning"},
        "1 Borgee message waits; the oldest came 2026-09-21",
    ),
    (home_in_use, {"locks": "error"}, "is in use by process"),
    (key_in_use, {"locks": "error"}, "Borgee's key is in use by process"),
    (refused_key, {"server": "error"}, "does not accept the key"),
    (a_persons_key, {"server": "error"}, "belongs to the member Olga"),
    (another_agents_key, {"server": "error"}, "borgee.agent_id asks for agent_other"),
    (server_down, {"server": "unknown"}, "could not be reached"),
]  # fmt: skip


@pytest.mark.parametrize(("seed", "finds", "says"), FAULTS, ids=[seed.__name__ for seed, _, _ in FAULTS])
def test_a_seeded_fault_is_found_where_it_is(seed: Seed, finds: dict[str, str], says: str, ward: Ward) -> None:
    """Its own check fires, no other takes it for its own, and every finding but "down" has a cure."""
    seed(ward)

    assert ward.remarks() == {f"borgee.{name}": status for name, status in finds.items()}
    finding = ward.finding(next(iter(finds)))
    assert says in finding.message
    assert finding.fix is not None or finding.status is Status.UNKNOWN or "inbox" in finding.message
    assert ward.box.endpoints.agent_key not in json.dumps([finding.message, dict(finding.data)])


# Mending -------------------------------------------------------------------------------------------------------------

AUTOMATIC: list[Seed] = [
    denied,
    not_enabled,
    switched_off,
    key_in_config,
    sessions_of_their_own,
    interrupting,
    interrupting_on_borgee_alone,
    inbox_that_others_read,
]


@pytest.mark.parametrize("seed", [seed for seed, _, _ in FAULTS], ids=lambda seed: seed.__name__)
def test_fix_mends_what_it_may_and_nothing_else(seed: Seed, ward: Ward) -> None:
    """B3: what others share is left to a person; every comment stays; afterwards all is well."""
    seed(ward)
    ward.offline = True
    environ = clean_environ(HOME=str(ward.user))
    before = ward.home.joinpath("config.yaml").read_text()

    mended = mend(
        Writing(resolve_home(environ), environ, "doctor --fix"),
        choose(ward.examine(), Status.WARNING),
        Unattended(yes=True),
    )

    after = ward.home.joinpath("config.yaml").read_text()
    if seed in AUTOMATIC:
        assert (len(mended.done), mended.refused) == (1, ())
        assert {name for name, status in ward.remarks().items() if status != "skipped"} == set()
        assert after.startswith("# written by hand")
    else:
        assert (mended.done, after) == ((), before)


def test_a_key_whose_only_copy_is_in_config_is_not_thrown_away(ward: Ward) -> None:
    """W10: the command moves it; --fix does not touch it."""
    key_in_config(ward)
    no_key(ward)

    finding = ward.finding("config")

    assert finding.fix is not None
    assert not finding.fix.automatic
    assert "env set BORGEE_API_KEY" in finding.fix.command


@pytest.mark.parametrize("path", ["platforms.borgee", "gateway.platforms.borgee"])
def test_a_key_below_platforms_is_found_too(ward: Ward, path: str) -> None:
    """Wherever the host would look for one."""
    tree = "{borgee: {extra: {token: bgr_live_sandbox_copy}}}"
    ward.write(more=f"platforms: {tree}\n" if path.startswith("platforms") else f"gateway: {{platforms: {tree}}}\n")

    assert f"{path}.extra.token holds a key" in ward.finding("config").message


# A gateway that runs -------------------------------------------------------------------------------------------------


def test_a_connected_gateway_is_not_robbed_of_its_place(ward: Ward) -> None:
    """Decision 0018: by its lock, or, where another user runs it, by its state; the server hears nothing."""
    before = len(ward.box.journal())
    ward.run_gateway("connected")
    by_state = ward.finding("server")
    ward.home.joinpath("gateway_state.json").unlink()
    ward.lock(CREDENTIAL_SCOPE, pid=os.getppid())
    by_lock = ward.finding("server")

    assert [one.status for one in (by_state, by_lock)] == [Status.OK, Status.OK]
    assert "has the connection" in by_lock.message
    assert len(ward.box.journal()) == before


@pytest.mark.parametrize(
    ("stream", "since_s", "written_s"),
    [("open", -3_600, -5), ("lost", -10, -5)],
    ids=["stands", "is made anew just now"],
)
def test_a_gateway_that_is_well_is_left_in_peace(ward: Ward, stream: str, since_s: float, written_s: float) -> None:
    """Its own file agrees with Hermes'."""
    ward.run_gateway("connected")
    ward.tell_health(written_s=written_s, stream=stream, since_s=since_s)

    assert ward.finding("gateway").status is Status.OK


def test_locks_of_the_homes_own_gateway_and_of_the_dead_are_in_order(ward: Ward) -> None:
    """A recycled number is nobody."""
    ward.run_gateway("connected")
    ward.lock(PROFILE_SCOPE, pid=os.getpid())
    ward.lock(CREDENTIAL_SCOPE, pid=os.getppid(), start=1)

    assert ward.finding("locks").status is Status.OK


def test_what_a_gateway_has_in_work_is_no_finding(ward: Ward) -> None:
    """It runs; without a gateway the same receipt waits for a decision."""
    ward.receive("processing")
    ward.run_gateway("connected")

    assert ward.finding("quarantine").status is Status.OK


def test_many_sessions_in_doubt_are_counted(ward: Ward) -> None:
    """Five are named, the rest is a number."""
    for number in range(8):
        ward.receive("quarantined", session=f"agent:main:borgee:channel:c{number}")

    found = [one.finding for one in ward.examine().verdicts if one.check.id == "borgee.quarantine"]

    assert len(found) == 6
    assert found[-1].message == "And 3 more sessions wait for a decision."
