"""``canon-ops demo`` against the real Hermes gateway: the whole product, and nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from platform import python_version

import jsonschema
import pytest

from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_ops.cli.commands.demo import command
from canon_ops.cli.schemas import document_schema
from canon_ops.demo.steps import STEPS, way_to_a_host
from tests.support.hosts import THIS_HOST
from tests.support.waiting import wait_until

SCRIPT = str(Path(sys.executable).with_name("canon-ops"))
SCHEMA = document_schema(command.document_words, command.data)


pytestmark = [pytest.mark.host, pytest.mark.timeout(300)]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An empty home, and a folder of its own for what is temporary."""
    (tmp_path / "tmp").mkdir()
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path / "tmp"), "LANG": "C.UTF-8"}


def left_behind(environ: dict[str, str]) -> list[str]:
    return [path.name for path in Path(environ["TMPDIR"]).iterdir() if path.name.startswith("canon-ops-demo-")]


def read_if_there(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def assert_the_log_tells_of_the_turn(lines: list[str], message: str) -> None:
    """In this order: our plugin connects, once; the host takes the message as Canon's; its turn is answered."""
    words = (
        "canon_hermes_plugin.runtime: Canon: connected to canon-dev-v1 as Demo agent",
        "inbound message: platform=canon ",
        "response ready: platform=canon ",
    )
    told = [line for line in lines if any(one in line for one in words)]

    assert [one in line for one, line in zip(words, told, strict=False)] == [True, True, True], told
    assert message in told[1]
    assert not any(words[0] in line for line in told[1:])


def test_the_real_gateway_answers_what_it_is_told_to(environ: dict[str, str]) -> None:
    """Changed message, answer, prompt, question and decision are seen at the other end; the gateway is gone.

    --keep keeps home and log: the registry is as the demo told it, and config.yaml as it was before the edit.
    """
    message, answer, prompt = "Which way is the sea?", "Down the hill, then left.", "You are a lighthouse keeper."
    question = "Put [the light] out?"

    done = subprocess.run(
        [SCRIPT, "demo", "--json", "--keep", "--message", message, "--answer", answer, "--prompt", prompt,
         "--question", question, "--decision", "deny"],
        env=environ, text=True, capture_output=True, timeout=240,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA)
    data = document["data"]
    assert [(step["name"], step["ok"]) for step in data["steps"]] == [(step.name, True) for step in STEPS]
    assert (data["message"], data["answer"], data["prompt"]) == (message, answer, prompt)
    assert all(step["duration_s"] >= 0 for step in data["steps"])
    assert data["previews"] > 0
    assert data["gateway"]["version"] == THIS_HOST.hermes
    assert Path(data["gateway"]["executable"]).samefile(sys.executable)
    assert not is_alive(data["gateway"]["pid"])
    assert_the_log_tells_of_the_turn(Path(data["log"]).read_text().splitlines(), message)
    assert "edit_interval: 0.1         # seconds" in (Path(data["home"]) / "config.yaml").read_text()
    approval = data["approval"]
    assert (approval["question"], approval["decision"]) == (question, "deny")
    assert approval["told"].endswith(f"Canon approval {approval['approval_id']} resolved: deny — {question}")
    kept = list(Path(data["home"]).parent.rglob("detached-approvals.json"))
    [entry] = [ApprovalStore(file).read().get(approval["approval_id"]) for file in kept]
    assert entry is not None
    assert (entry.decision, entry.wake_status, entry.summary) == ("deny", "delivered", question)
    assert f"│ {answer}" in done.stderr


def gateways_of(environ: dict[str, str]) -> list[int]:
    """The process ids that the demos at work have written down."""
    homes = [Path(environ["TMPDIR"]) / name / "hermes" for name in left_behind(environ)]
    return [json.loads(text)["pid"] for home in homes if (text := read_if_there(home / "gateway_state.json"))]


@pytest.mark.long
def test_a_killed_demo_takes_its_gateway_along(environ: dict[str, str]) -> None:
    """SIGKILL while the gateway runs: seconds later neither process nor folder is there, and the next demo plays."""
    child = subprocess.Popen(
        [SCRIPT, "demo"], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    gateways: list[int] = []

    def gateway_runs() -> bool:
        gateways.extend(gateways_of(environ))
        return bool(gateways) or child.poll() is not None

    wait_until(gateway_runs, timeout_s=90)
    child.kill()
    child.wait(timeout=10)

    assert gateways
    wait_until(lambda: not any(is_alive(pid) for pid in gateways), timeout_s=12)
    wait_until(lambda: left_behind(environ) == [], timeout_s=5)
    done = subprocess.run([SCRIPT, "demo"], env=environ, text=True, capture_output=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert left_behind(environ) == []


@pytest.mark.long
def test_ctrl_c_leaves_nothing_running_and_nothing_behind(environ: dict[str, str]) -> None:
    """Pressed while the gateway starts: exit 130, no process, no folder."""
    child = subprocess.Popen(
        [SCRIPT, "demo"], env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    gateways: list[int] = []

    def gateway_runs() -> bool:
        gateways.extend(gateways_of(environ))
        return bool(gateways) or child.poll() is not None

    wait_until(gateway_runs, timeout_s=90)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)

    assert (child.returncode, err) == (130, "Interrupted.\n")
    assert gateways
    assert not any(is_alive(pid) for pid in gateways)
    assert left_behind(environ) == []


def test_without_a_host_the_way_to_one_is_named(environ: dict[str, str], tmp_path: Path) -> None:
    """Exit 3, a command to paste, and no folder left."""
    done = subprocess.run(
        [SCRIPT, "demo", "--python", str(tmp_path / "nowhere")],
        env=environ, text=True, capture_output=True, timeout=60,
    )  # fmt: skip

    assert done.returncode == 3
    assert way_to_a_host(sys.platform, python_version()) in done.stderr
    assert left_behind(environ) == []
    shutil.rmtree(environ["TMPDIR"])
