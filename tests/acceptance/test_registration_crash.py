"""A registration that is killed, at every step and in the middle of calls, and the run that goes on after it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from canon_ops.operate.registration_steps import Phase
from canon_ops.sandbox.server import CanonSandbox
from tests.support.sandboxes import canon_box
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
STEPS = [
    Phase.PREPARE,
    Phase.SUBMIT,
    Phase.RECORD,
    Phase.WAIT,
    Phase.SAVE,
    Phase.MARK,
    Phase.ACKNOWLEDGE,
    Phase.BIND,
    Phase.FORGET,
    Phase.REGISTERED,
]
FOREIGN = {"clientType": "codex", "profile": "theirs", "custom": [1]}


class Machine:
    """A user's home, a loopback Canon, and setup as a child process."""

    def __init__(self, folder: Path, box: CanonSandbox) -> None:
        self.folder = folder
        self.box = box
        self.canon = folder / ".canon"
        (folder / ".hermes").mkdir(parents=True)
        self.canon.mkdir()
        for name in ("agents.json", "pending-registrations.json"):
            (self.canon / name).write_text(json.dumps({"theirs": FOREIGN}))

    def start(self, **more: Any) -> subprocess.Popen[str]:
        answers = {
            "environment": "canon-dev-v1",
            "base_url": self.box.endpoints.api,
            "stream_url": self.box.endpoints.stream,
            "rtdb_url": "http://127.0.0.1:9",
            "firebase_api_key": "loopback",
            "owner_phone": "+15550100",
            "canon_profile": "ops",
            "wait_s": 20.0,
            **more,
        }
        file = self.folder / "answers.json"
        file.write_text(json.dumps(answers))
        return subprocess.Popen(
            [sys.executable, "-m", "tests.support.registering", str(file)],
            cwd=ROOT,
            env={"HOME": str(self.folder), "PATH": os.environ["PATH"]},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, **more: Any) -> tuple[int, list[str], str]:
        """Exit code, phases that were begun, notes."""
        child = self.start(**more)
        out, err = child.communicate(timeout=60)
        return child.returncode, out.split(), err

    def read(self, name: str) -> dict[str, Any]:
        return json.loads((self.canon / name).read_text())  # type: ignore[no-any-return]

    def registrations(self) -> list[tuple[str, bool]]:
        """Status and acknowledgement of every request that Canon knows."""
        return self.box.engine.read(
            lambda world: [(each.status, each.acknowledged) for each in world.registrations.values()]
        )

    def assert_nothing_is_torn(self) -> None:
        """What must hold whenever a run has died: both files whole, foreign entries kept, no key lost."""
        agents, pending = self.read("agents.json"), self.read("pending-registrations.json")
        assert agents["theirs"] == pending["theirs"] == FOREIGN
        if any(acknowledged for _, acknowledged in self.registrations()):
            assert agents["ops"]["apiKey"]

    def assert_registered_once(self) -> None:
        """What must hold in the end: one request, acknowledged; one good key; the home bound; no entry, no litter."""
        assert self.registrations() == [("approved", True)]
        agents = self.read("agents.json")
        keys = self.box.engine.read(lambda world: {agent.agent_id: agent.api_key for agent in world.agents.values()})
        assert agents["ops"]["apiKey"] == keys[agents["ops"]["agentId"]]
        assert self.read("pending-registrations.json") == {"theirs": FOREIGN}
        assert (self.folder / ".hermes" / ".env").read_text() == "CANON_AGENT=ops\n"
        assert sorted(path.name for path in self.canon.iterdir()) == [
            ".canon-ops",
            "agents.json",
            "pending-registrations.json",
        ]
        assert sorted(path.name for path in (self.folder / ".hermes").iterdir()) == [".canon-ops", ".env"]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with canon_box(auto_approve=True) as box:
        yield Machine(tmp_path / "user", box)


def test_every_step_is_in_the_schedule(machine: Machine) -> None:
    """The steps at which the next test kills are exactly those that a run goes through."""
    code, phases, _ = machine.run()

    assert (code, phases) == (0, [phase.value for phase in STEPS])
    machine.assert_registered_once()


# All of them follow one another in the next test; alone, those at which something is kept that the next run needs.
ALONE = {Phase.SUBMIT, Phase.SAVE, Phase.REGISTERED}


@pytest.mark.parametrize(
    "phase",
    [pytest.param(phase, id=phase.value, marks=[] if phase in ALONE else pytest.mark.long) for phase in STEPS],
)
def test_a_run_killed_before_any_step_is_gone_on_with(machine: Machine, phase: Phase) -> None:
    """SIGKILL before the step; the next run finishes the same request and does nothing twice."""
    code, phases, _ = machine.run(die_before=phase.value)
    assert (code, phases[-1]) == (-signal.SIGKILL, phase.value)
    machine.assert_nothing_is_torn()
    if phase is Phase.REGISTERED:  # it died with everything done: nothing is left to resume
        machine.assert_registered_once()
        return

    code, _, notes = machine.run()

    assert code == 0, notes
    machine.assert_registered_once()


@pytest.mark.long
def test_a_run_killed_at_every_step_in_turn_still_ends(machine: Machine) -> None:
    """One registration that dies again and again, each time one step later, is finished by the last run."""
    for phase in STEPS[:-1]:
        machine.run(die_before=phase.value)
        machine.assert_nothing_is_torn()

    code, _, notes = machine.run()

    assert code == 0, notes
    machine.assert_registered_once()


@pytest.mark.parametrize(
    ("path", "is_done"),
    [
        ("/agents/register", lambda machine: machine.registrations()),
        ("/agents/status/*/ack", lambda machine: ("approved", True) in machine.registrations()),
    ],
    ids=["register", "ack"],
)
def test_a_run_killed_while_canon_has_acted_and_not_answered_is_gone_on_with(
    machine: Machine, path: str, is_done: Any
) -> None:
    """Canon has carried the call out, its answer never arrives: the repetition is the same request."""
    machine.box.fault("delay", method="POST", path=path, seconds=30.0, commit=True)
    child = machine.start()
    wait_until(lambda: is_done(machine))
    child.kill()
    child.communicate(timeout=30)
    assert child.returncode == -signal.SIGKILL
    machine.assert_nothing_is_torn()

    code, _, notes = machine.run()

    assert code == 0, notes
    machine.assert_registered_once()


def test_two_runs_at_once_are_one_registration(tmp_path: Path) -> None:
    """Two people run setup for the same profile: one request, one agent, and both runs end well."""
    with canon_box() as box:
        machine = Machine(tmp_path / "user", box)
        children = [machine.start(), machine.start()]
        for child in children:
            assert child.stdout is not None
            assert "wait\n" in iter(child.stdout.readline, "")
        box.human.approve()

        notes = [child.communicate(timeout=60)[1] for child in children]

        assert [child.returncode for child in children] == [0, 0], notes
        machine.assert_registered_once()


def test_ctrl_c_while_the_owner_thinks_keeps_the_request(tmp_path: Path) -> None:
    """SIGINT ends the wait with 130; the note names the request that stays, and the next run takes its key."""
    with canon_box() as box:
        machine = Machine(tmp_path / "user", box)
        child = machine.start()
        box.wait("request", path="/agents/status/*", count=2)
        child.send_signal(signal.SIGINT)
        _, notes = child.communicate(timeout=30)
        request_id = machine.read("pending-registrations.json")["ops"]["requestId"]
        assert child.returncode == 130
        assert notes.splitlines()[-1] == (
            f"The registration of ops (request {request_id}) stays pending. "
            "Go on with: canon-ops setup canon --canon-profile ops"
        )

        box.human.approve(request_id)
        code, _, notes = machine.run()

        assert code == 0, notes
        machine.assert_registered_once()
