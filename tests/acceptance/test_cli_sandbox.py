"""``canon-ops sandbox …`` as processes: they say where they listen, serve, and leave when told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import jsonschema
import pytest

from canon_ops.cli.commands.schema import loaded_commands
from canon_ops.cli.schemas import document_schema
from tests.support.terminal import CTRL_C, Screen
from tests.support.waiting import wait_until

SCRIPT = str(Path(sys.executable).with_name("canon-ops"))
SCHEMAS = {
    " ".join(command.words): document_schema(command.document_words, command.data) for command in loaded_commands()
}

# An address that each answers, and with what: Borgee's websocket lets nobody in without a key.
ALIVE = {
    "borgee": ("{base_url}/ws/plugin", 401),
    "canon": ("{api}/healthz/", 200),
    "model": ("{base_url}/models", 200),
}

each = pytest.mark.parametrize("which", ["borgee", "canon", "model"])


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm", "LANG": "C.UTF-8"}


@contextmanager
def serving(which: str, *options: str, environ: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The sandbox as a child process, ready; it is ended on the way out."""
    ready = Path(environ["HOME"]) / f"{which}.json"
    words = [SCRIPT, "sandbox", which, "--ready-file", str(ready), *options]
    child = subprocess.Popen(words, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: ready.exists() or child.poll() is not None)
        yield child
    finally:
        child.kill()
        child.communicate()


@each
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_serves_until_a_signal(which: str, number: signal.Signals, code: int, environ: dict[str, str]) -> None:
    """It answers on the printed address, writes the same to the ready file, and ends with the signal's code."""
    ready = Path(environ["HOME"]) / f"{which}.json"
    with serving(which, environ=environ) as child:
        told = json.loads(ready.read_text())
        url, expected = ALIVE[which]
        status = httpx.get(url.format(**told), trust_env=False).status_code

        child.send_signal(number)
        out, err = child.communicate(timeout=20)

    assert status == expected
    assert dict(line.split("\t") for line in out.splitlines()) == told
    last = ["Serving until Ctrl-C.", "Interrupted." if code == 130 else "Terminated."]
    assert err.splitlines()[-2:] == last
    assert child.returncode == code


@each
def test_json_is_one_object_a_line(which: str, environ: dict[str, str]) -> None:
    """The endpoints when it is ready, and an object about its end; both agree with the event's schema."""
    with serving(which, "--json", environ=environ) as child:
        child.send_signal(signal.SIGTERM)
        out, _ = child.communicate(timeout=20)

    events = [json.loads(line) for line in out.splitlines()]
    for event in events:
        jsonschema.validate(event, SCHEMAS[f"sandbox {which}"])
    assert [event["schema"] for event in events] == [f"canon-ops.sandbox.{which}.event/1"] * 2
    assert [event["exit_code"] for event in events] == [0, 143]


@each
def test_a_port_that_is_taken_is_named(which: str, environ: dict[str, str]) -> None:
    """Exit 3, the address, and what to do; nothing is served."""
    with serving("canon", environ=environ):
        taken = json.loads((Path(environ["HOME"]) / "canon.json").read_text())["api"].rpartition(":")[2]

        done = subprocess.run(
            [SCRIPT, "sandbox", which, "--port", taken], env=environ, text=True, capture_output=True, timeout=30
        )

    assert (done.returncode, done.stdout) == (3, "")
    assert f"127.0.0.1:{taken} cannot be used" in done.stderr


@each
def test_a_closed_stdout_ends_it_at_once(which: str, environ: dict[str, str]) -> None:
    """Nobody could learn where it listens, so it does not serve."""
    done = subprocess.run(
        [SCRIPT, "sandbox", which], env=environ, text=True, stderr=subprocess.PIPE, timeout=30,
        preexec_fn=lambda: os.close(1),
    )  # fmt: skip

    assert done.returncode == 3
    assert "The answer could not be written to stdout" in done.stderr


def test_an_unknown_fault_lists_the_known_ones(environ: dict[str, str]) -> None:
    """Exit 2, and the names."""
    done = subprocess.run(
        [SCRIPT, "sandbox", "canon", "--fault", "nope"], env=environ, text=True, capture_output=True, timeout=30
    )

    assert done.returncode == 2
    assert "stream-drop" in done.stderr


def test_ctrl_c_at_a_terminal_stops_it(environ: dict[str, str]) -> None:
    """A person presses Ctrl-C; exit 130 and no traceback."""
    with Screen([SCRIPT, "sandbox", "model"], environ) as screen:
        screen.wait_for("Serving until Ctrl-C.")
        screen.type(CTRL_C)
        code = screen.finish()
        text = screen.text

    assert code == 130
    assert text.endswith("Interrupted.")
    assert "Traceback" not in text
