"""The Kubernetes example on a real gateway: start, probes, update; and its form, by Kubernetes' own schemas."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from canon_ops.sandbox.model.server import ModelSandbox
from canon_ops.sandbox.server import CanonSandbox
from tests.support.asking import CONTROL, call_of
from tests.support.conversing import answer_to
from tests.support.environments import Environment
from tests.support.homes import quiet_config
from tests.support.pods import AGENT, SECRET, Pod
from tests.support.sandboxes import canon_box
from tests.support.waiting import wait_until

VALIDATOR = Environment("kubernetes", requirements=("kubernetes-validate>=1.37",))

pytestmark = [pytest.mark.host, pytest.mark.checkout, pytest.mark.timeout(600)]


def validate(*files: Path, version: str) -> subprocess.CompletedProcess[str]:
    """Ask the schemas of one Kubernetes version; a field that it does not know is a fault."""
    program = VALIDATOR.make().with_name("kubernetes-validate")
    command = [str(program), "--strict", "-k", version, *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.long
@pytest.mark.parametrize("version", ["1.29", "1.37"])
def test_the_manifests_are_of_the_form_that_kubernetes_wants(version: str) -> None:
    """From the first version in which a volume can be one pod's alone to the newest that is known."""
    done = validate(AGENT, SECRET, version=version)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("passed") == 4
    assert "WARN" not in done.stdout


@pytest.mark.long
def test_a_wrong_field_is_found(tmp_path: Path) -> None:
    """The validator looks."""
    spoilt = tmp_path / "agent.yaml"
    spoilt.write_text(AGENT.read_text().replace("periodSeconds: 30", "periodSecond: 30"))

    done = validate(spoilt, version="1.37")

    assert done.returncode != 0
    assert "periodSecond" in done.stdout


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with canon_box() as running:
        yield running


@pytest.fixture
def pod(tmp_path: Path, box: CanonSandbox) -> Iterator[Pod]:
    """A pod whose Canon and whose model are loopback ones."""
    ends = box.endpoints
    answers = (
        f'way = "key"\nenvironment = "{ends.environment_id}"\nbase_url = "{ends.api}"\nstream_url = "{ends.stream}"\n'
    )
    with ModelSandbox() as model:
        config = {key: value for key, value in quiet_config(model.endpoints.base_url).items() if key != "plugins"}
        files = {"answers.toml": answers, "config.yaml": yaml.safe_dump(config, sort_keys=False)}
        yield Pod(tmp_path, files, ends.agent_key)


@pytest.mark.long
def test_a_pod_from_its_first_start_to_its_update(pod: Pod, box: CanonSandbox) -> None:
    """S10.37 on a volume: prepared, live, ready; not ready while the stream is down, ready again; then its successor.

    What is said and answered between two pods is not lost: a message that came meanwhile has its one answer, and an
    approval that was decided meanwhile wakes its session.
    """
    assert pod.prepare().returncode == 0
    assert [pod.probe(name) for name in ("startup", "liveness", "readiness")] == [1, 1, 1]

    with pod.running():
        pod.wait_for("startup", passes=True)
        pod.wait_for("readiness", passes=True)
        asked = call_of(CONTROL, said="asked", action="request_approval", title="File", question="File it?")
        answer_to(box, box.human.say(None, asked))
        down = box.fault("stream-503", times=None)
        box.human.drop_streams()
        pod.wait_for("readiness", passes=False)
        wait_until(lambda: down.fired > 0, timeout_s=90)
        alive_meanwhile = pod.probe("liveness")
        box.human.calm()
        pod.wait_for("readiness", passes=True)

    assert alive_meanwhile == 0
    assert [pod.probe(name) for name in ("liveness", "readiness")] == [1, 1]
    message = box.human.say(None, "[say after the update]")
    (approval,) = box.human.interactions(state="pending")
    box.human.approve(approval["id"])
    before = {file: (pod.folder / "data/hermes" / file).read_bytes() for file in ("config.yaml", ".env")}

    again = pod.prepare()
    with pod.running():
        pod.wait_for("readiness", passes=True)
        answer = answer_to(box, message)
        wait_until(lambda: wake_of(pod) == "delivered", timeout_s=90, pause_s=1.0)

    assert again.returncode == 0, again.stderr
    assert {file: (pod.folder / "data/hermes" / file).read_bytes() for file in before} == before
    assert answer["text"] == "after the update"
    assert box.breaches() == []


def wake_of(pod: Pod) -> str:
    """How far the one approval's decision has come, as an operator sees it in the pod."""
    done = subprocess.run(
        ["canon-ops", "approvals", "list", "--json"], env=pod.environ, capture_output=True, timeout=120, check=True
    )
    (row,) = json.loads(done.stdout)["data"]["approvals"]
    return str(row["wake_status"])


def test_a_key_that_is_refused_ends_the_start(pod: Pod) -> None:
    """The init container fails with the exit code and the words of a credential; nothing is written."""
    pod.key = "agk_live_sandbox_nobody"

    done = pod.prepare()

    assert done.returncode == 4, done.stderr
    assert "agk_live_sandbox_nobody" not in done.stdout + done.stderr
    assert "CANON_API_KEY" not in (pod.folder / "data/hermes/.env").read_text()


@pytest.mark.long
def test_a_new_key_is_taken_over_at_the_next_start(pod: Pod, box: CanonSandbox) -> None:
    """Changing the Secret and restarting the pod is all that a rotation takes."""
    pod.prepare()
    pod.key = box.human.add_agent("Successor")["agent_key"]

    done = pod.prepare()

    assert done.returncode == 0, done.stderr
    assert pod.key in (pod.folder / "data/hermes/.env").read_text()
