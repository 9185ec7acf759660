"""What a running gateway has not seen, and what restarts it: one answer, whoever asks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from canon_ops.doctor.examination import Examination
from canon_ops.doctor.registry import select
from canon_ops.doctor.run import diagnose
from canon_ops.files.transaction import Transaction
from canon_ops.hermes.gateway import GatewayState
from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.operate.installation import Installation, InstalledPackage, Run, record_file
from canon_ops.operate.package.store import SavedPackage
from canon_ops.operate.status import read_gateway
from canon_ops.operate.unseen import gateway_lag, restart_notice, restart_step, restart_way
from tests.support.canon_files import as_file, profile_entry
from tests.support.fake_host import clean_environ

STARTED = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
RUNNING = GatewayState("running", 7, True, STARTED, None, {})
LATER, EARLIER = STARTED + timedelta(minutes=5), STARTED - timedelta(minutes=5)
BY_HAND = "stop it where it runs (Ctrl-C), then start it there: hermes gateway run"


class At:
    """A clock that stands."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now_ms(self) -> int:
        return int(self.moment.timestamp() * 1000)

    def monotonic(self) -> float:
        return 0.0


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return clean_environ(HOME=str(tmp_path))


@pytest.fixture
def home(environ: dict[str, str]) -> HermesHome:
    found = resolve_home(environ)
    found.path.mkdir()
    stamp(found.config_file, b"a: 1\n", EARLIER)
    stamp(found.env_file, b"CANON_AGENT=ops\n", EARLIER)
    return found


def stamp(file: Path, data: bytes, at: datetime) -> None:
    file.write_bytes(data)
    os.utime(file, (at.timestamp(), at.timestamp()))


def write(folder: Path, file: Path, data: bytes, at: datetime) -> None:
    """As a command of ours does."""
    with Transaction(folder, label="config set a", clock=At(at)) as files:  # type: ignore[arg-type]
        files.stage(file, data)
        files.commit()


def agents_of(home: HermesHome) -> Path:
    return home.path.parent / ".canon" / "agents.json"


def env_written(home: HermesHome) -> None:
    stamp(home.env_file, b"CANON_AGENT=ops\nTZ=UTC\n", LATER)


def config_set(home: HermesHome) -> None:
    write(home.path, home.config_file, b"a: 2\n", LATER)


def key_changed(home: HermesHome) -> None:
    write(agents_of(home).parent, agents_of(home), as_file(ops=profile_entry(apiKey="agk_live_another_one")), LATER)


def package_put(home: HermesHome) -> None:
    info = home.path.parent / "env" / "lib" / "python3.11" / "site-packages" / "canon_ops-0.2.0.dist-info"
    info.mkdir(parents=True)
    os.utime(info, (LATER.timestamp(), LATER.timestamp()))


def recorded(home: HermesHome) -> None:
    """The package was put into the host before the gateway started."""
    prefix = home.path.parent / "env"
    package = InstalledPackage(
        SavedPackage("canon-ops", "0.2.0", None), "", "hand", str(prefix / "bin" / "python"), str(prefix), None,
        "0.19.0", int(EARLIER.timestamp() * 1000), True,
    )  # fmt: skip
    record_file(home.path).parent.mkdir(exist_ok=True)
    record_file(home.path).write_bytes(Installation(package, (Run("install canon", "canon", 1),)).to_bytes())


@pytest.fixture
def settled(home: HermesHome) -> HermesHome:
    """Everything is as the gateway has read it."""
    agents_of(home).parent.mkdir(mode=0o700)
    write(agents_of(home).parent, agents_of(home), as_file(ops=profile_entry()), EARLIER)
    write(home.path, home.config_file, b"a: 1\nb: 1\n", EARLIER)
    recorded(home)
    return home


CHANGES = [
    (env_written, ".env"),
    (config_set, "config.yaml"),
    (key_changed, "the Canon profile ops"),
    (package_put, "the package in its host"),
]


@pytest.mark.parametrize(("change", "what"), CHANGES, ids=[what for _, what in CHANGES])
def test_what_changed_after_the_start_is_not_seen(
    change: Callable[[HermesHome], None], what: str, settled: HermesHome, environ: dict[str, str], tmp_path: Path
) -> None:
    """BR-31: each thing that is read at the start; before the change, and after a restart, nothing is told."""
    before = gateway_lag(settled, environ, state=RUNNING, system=tmp_path)
    change(settled)

    after = gateway_lag(settled, environ, state=RUNNING, system=tmp_path)
    restarted = gateway_lag(
        settled, environ, state=replace(RUNNING, started_at=LATER + timedelta(seconds=1)), system=tmp_path
    )

    assert before is not None and after is not None and restarted is not None
    assert (before.unseen, restarted.unseen) == ((), ())
    assert [(one.what, one.changed_at) for one in after.unseen] == [(what, LATER)]
    assert (after.pid, after.started_at, after.restart) == (7, STARTED, BY_HAND)


@pytest.mark.parametrize(("change", "what"), CHANGES, ids=[what for _, what in CHANGES])
def test_every_command_has_the_same_answer(
    change: Callable[[HermesHome], None], what: str, settled: HermesHome, environ: dict[str, str], tmp_path: Path
) -> None:
    """status, gateway.stale, and the last line of install, setup and the editors agree about files and restart."""
    change(settled)
    examination = Examination(settled, environ, system=tmp_path)
    examination.gateway._value = (RUNNING,)  # the process table has no gateway of the year 2026

    seen = read_gateway(settled, environ, RUNNING, system=tmp_path)
    (verdict,) = diagnose(select(only=["gateway.stale"]), examination).verdicts

    fix = verdict.finding.fix
    assert fix is not None
    assert verdict.finding.status.value == "warning"
    assert [one["what"] for one in verdict.finding.data["unseen"]] == [one.what for one in seen.unseen] == [what]
    assert (fix.command, seen.restart) == (BY_HAND, BY_HAND)
    settled.gateway_state_file.write_text(json.dumps({"pid": os.getpid(), "gateway_state": "running"}))
    notice = restart_notice(settled, environ, system=tmp_path)
    assert notice is not None and notice.endswith(BY_HAND)
    told: list[str] = []
    steps = restart_step(settled, environ, changed=True, start=False, tell=told.append, system=tmp_path)
    assert (steps, len(told)) == ((BY_HAND,), 1)


def test_what_was_taken_back_is_seen(settled: HermesHome, environ: dict[str, str], tmp_path: Path) -> None:
    """An edit and its undo leave the text that the gateway has read."""
    config_set(settled)
    write(settled.path, settled.config_file, b"a: 1\nb: 1\n", LATER)

    lag = gateway_lag(settled, environ, state=RUNNING, system=tmp_path)

    assert lag is not None and lag.unseen == ()


def test_what_the_gateway_writes_itself_it_has_seen(
    settled: HermesHome, environ: dict[str, str], tmp_path: Path
) -> None:
    """Hermes rewrites config.yaml, and other profiles of agents.json come and go."""
    stamp(settled.config_file, b"a: 1\nb: 1\nhermes: {note: 1}\n", LATER)
    both = as_file(ops=profile_entry(), other=profile_entry(agentId="agent_2"))
    write(agents_of(settled).parent, agents_of(settled), both, LATER)

    lag = gateway_lag(settled, environ, state=RUNNING, system=tmp_path)

    assert lag is not None and lag.unseen == ()


def test_a_start_that_is_not_known_is_no_green_answer(
    home: HermesHome, environ: dict[str, str], tmp_path: Path
) -> None:
    """BR-40: where the system does not tell when the gateway started, the check could not be carried out."""
    examination = Examination(home, environ, system=tmp_path)
    examination.gateway._value = (replace(RUNNING, started_at=None),)

    (verdict,) = diagnose(select(only=["gateway.stale"]), examination).verdicts

    assert verdict.finding.status.value == "unknown"


def user_unit(home: HermesHome, system: Path) -> None:
    unit = home.path.parent / ".config" / "systemd" / "user" / "hermes-gateway.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/opt/hermes/bin/python -m hermes_cli.main gateway run\n")


def system_unit(home: HermesHome, system: Path) -> None:
    unit = system / "etc" / "systemd" / "system" / "hermes-gateway.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/opt/hermes/bin/python -m hermes_cli.main gateway run\n")


def s6_slot(home: HermesHome, system: Path) -> None:
    (system / ".dockerenv").touch()
    (system / "run" / "service" / "gateway-default").mkdir(parents=True)


def in_a_container(home: HermesHome, system: Path) -> None:
    """The gateway stands behind the init of its container."""
    (system / ".dockerenv").touch()
    for pid, name, stat in (("1", "tini", "1 (tini) S 0 1"), ("7", "python", "7 (a (b) c) S 1 7")):
        (system / "proc" / pid).mkdir(parents=True)
        (system / "proc" / pid / "comm").write_text(f"{name}\n")
        (system / "proc" / pid / "stat").write_text(stat)


def terminal_in_a_container(home: HermesHome, system: Path) -> None:
    in_a_container(home, system)
    (system / "proc" / "7" / "stat").write_text("7 (python) S 6 7")


CONTAINER = "restart the container from outside   (docker restart NAME)"


@pytest.mark.parametrize(
    ("keep", "words"),
    [
        (user_unit, "hermes gateway restart"),
        (system_unit, "sudo hermes gateway restart --system"),
        (s6_slot, "hermes gateway restart"),
        (in_a_container, CONTAINER),
        (terminal_in_a_container, BY_HAND),
    ],
)
def test_what_restarts_it_is_who_keeps_it(
    keep: Callable[[HermesHome, Path], None], words: str, home: HermesHome, environ: dict[str, str], tmp_path: Path
) -> None:
    """BR-31: a service by Hermes' command, a container from outside, a terminal by whoever sits there."""
    (tmp_path / "system").mkdir()
    keep(home, tmp_path / "system")

    assert restart_way(home, environ, RUNNING, system=tmp_path / "system").words == words
