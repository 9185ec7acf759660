"""A gateway that begins with its libraries loaded is the process that it would have been without."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canon_ops.hermes.gateway import ChildProcess, isolated_environ
from tests.support.waiting import wait_until
from tests.support.warm_gateways import launcher_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere gateways are started whole")

HOST = ("agent", "cron", "gateway", "hermes_cli", "hermes_constants", "model_tools", "plugins", "run_agent", "tools")
SCRIPT = f"""#!{sys.executable}
import json, locale, os, signal, sys, threading, time
print(json.dumps({{
    "argv": sys.argv, "original": sys.orig_argv, "path": sys.path, "flags": repr(sys.flags), "name": __name__,
    "called": [word for word in open("/proc/self/cmdline").read().split(chr(0)) if word],
    "environ": dict(os.environ), "folder": os.getcwd(), "own": os.getsid(0) == os.getpgrp() == os.getpid(),
    "files": sorted(os.listdir("/proc/self/fd")), "bytecode": sys.dont_write_bytecode, "zone": time.tzname,
    "encodings": [sys.stdout.encoding, sys.stderr.encoding, locale.getpreferredencoding(), sys.stdout.line_buffering],
    "heard": [str(signal.getsignal(one)).partition(" at ")[0] for one in sorted(signal.valid_signals())],
    "threads": threading.active_count(), "collects": __import__("gc").isenabled(),
    "host": sorted(name for name in sys.modules if name.partition(".")[0] in {HOST}),
}}), flush=True)
print("on stderr", file=sys.stderr, flush=True)
time.sleep(60)
"""


def started(launch: Callable[..., ChildProcess], script: Path, name: str) -> tuple[ChildProcess, dict[str, Any]]:
    """The script in a process that is begun that way, and what it says about itself."""
    folder = script.parent
    environ = isolated_environ(os.environ, hermes_home=folder / "hermes", user_home=folder)
    said = folder / name
    with said.open("ab") as output:
        child = launch(
            [str(script), "gateway", "run", "-v"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environ | {"TZ": "XYZ3"},
            cwd=folder,
            start_new_session=True,
        )
    wait_until(lambda: "on stderr" in said.read_text())
    return child, json.loads(said.read_text().splitlines()[0])


@pytest.mark.host
def test_a_warm_gateway_is_what_a_whole_start_makes(tmp_path: Path) -> None:
    """Arguments, environment, folder, session, streams, signals and path are the same, and of the host only the
    registry of tools is loaded; its end is told as that of a child."""
    script = tmp_path / "hermes"
    script.write_text(SCRIPT, encoding="utf-8")
    script.chmod(0o700)

    whole, of_whole = started(subprocess.Popen, script, "whole")
    warm, of_warm = started(launcher_for(Path(sys.executable), {}), script, "warm")
    state = warm.poll()
    with pytest.raises(subprocess.TimeoutExpired):
        warm.wait(0.01)
    for child in (warm, whole):
        child.send_signal(signal.SIGTERM)
    ends = [(child.wait(60), child.poll()) for child in (warm, whole)]
    for child in (warm, whole):
        child.send_signal(signal.SIGTERM)

    assert of_whole.pop("host") == []
    assert {"tools.registry"} <= set(of_warm.pop("host")) <= {"tools", "tools.registry", "hermes_constants"}
    assert of_warm == of_whole
    assert (state, ends) == (None, [(-signal.SIGTERM, -signal.SIGTERM)] * 2)


def test_what_a_fork_cannot_be_is_started_whole(tmp_path: Path) -> None:
    """Another interpreter, and a variable that Python reads before anything else."""
    assert launcher_for(tmp_path / "python", {}) is subprocess.Popen
    assert launcher_for(Path(sys.executable), {"PYTHONPATH": str(tmp_path)}) is subprocess.Popen
