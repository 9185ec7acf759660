"""What an end-to-end scenario on a warm gateway costs beyond the host's own time.

Run ``python -m tests.benchmarks.bench_warm_gateway`` where a Hermes is installed. Two gateways of the same host, with
the same configuration and model, are warm: one with our plugin and the loopback Canon, one with a platform that has no
service behind it (``tests/support/bare_platform.py``). Each scenario is played on both in turns, from the moment a
person says it until the answer is there and the turn has ended; the first pair of each warms up. Medians and ranges of
five.

Promise: at most 2 seconds more with our plugin and Canon. The exit status is 1 when that is broken.
"""

from __future__ import annotations

import json
import platform
import socket
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from canon_ops.sandbox.model.server import ModelSandbox
from tests.support.bare_platform import NAME, add_bare_platform, port_of
from tests.support.conversing import answer_to
from tests.support.gateways import canon_stage, start_gateway
from tests.support.homes import build_home
from tests.support.hosts import THIS_HOST

ROUNDS = 5
MOST_S = 2.0
SCENARIOS = {
    "a short answer": "[say Invoice 42 is filed.]",
    "a tool first": '[tool terminal {"command": "true"}][say Invoice 42 is filed.]',
    "a long answer": "[long 300]",
}

Play = Callable[[str], None]


@contextmanager
def with_plugin(folder: Path) -> Iterator[Play]:
    """Our plugin: said on Canon, answered on Canon, the turn closed there."""
    with canon_stage(folder) as stage:
        yield lambda text: _answered(answer_to(stage.box, stage.box.human.say(None, text))["text"])


@contextmanager
def bare(folder: Path) -> Iterator[Play]:
    """The host alone."""
    with ModelSandbox() as model:
        config = {
            "plugins": {"enabled": [NAME]},
            "platforms": {"canon": None, NAME: {"enabled": True, "token": "none"}},
            "platform_toolsets": {"canon": None, NAME: ["terminal", "clarify"]},
        }
        home = build_home(
            folder, model_url=model.endpoints.base_url, dotenv={"GATEWAY_ALLOW_ALL_USERS": "true"}, config=config
        )
        plugin = add_bare_platform(home.path)
        with start_gateway(home, folder / "gateway.out") as gateway:
            gateway.wait_ready(platform=NAME)
            line = socket.create_connection(("127.0.0.1", port_of(plugin)), timeout=60).makefile("rw")

            def play(text: str) -> None:
                line.write(json.dumps(text) + "\n")
                line.flush()
                _answered(" ".join(json.loads(line.readline())))

            yield play


def _answered(text: str) -> None:
    if "Invoice 42 is filed." not in text and "word300" not in text:
        raise RuntimeError(f"not the answer: {text!r}")


def main() -> int:
    """Measure, print, judge."""
    print(f"Python {platform.python_version()}, Hermes {THIS_HOST.hermes}")
    worst = 0.0
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        folders = [Path(scratch, name) for name in ("plugin", "bare")]
        for folder in folders:
            folder.mkdir()
        with with_plugin(folders[0]) as ours, bare(folders[1]) as hosts:
            for name, text in SCENARIOS.items():
                took: dict[str, list[float]] = {"with Canon": [], "bare": []}
                for number in range(ROUNDS + 1):
                    for side, play in (("bare", hosts), ("with Canon", ours)):
                        start = perf_counter()
                        play(text)
                        if number:
                            took[side].append(perf_counter() - start)
                for side, values in took.items():
                    span = f"({min(values):.2f} to {max(values):.2f})"
                    print(f"{name:16} {side:10} {statistics.median(values):6.2f} s {span}")
                more = statistics.median(took["with Canon"]) - statistics.median(took["bare"])
                print(f"{name:16} {'more':10} {more:+6.2f} s")
                worst = max(worst, more)
    return int(worst > MOST_S)


if __name__ == "__main__":
    sys.exit(main())
