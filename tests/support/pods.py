"""The Kubernetes example, and a pod of it without Kubernetes: its own commands, files and probes on this machine.

The manifest's paths (``/data``, ``/prepare``, ``/keys``) are folders of a test; all else is as it stands there.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from canon_ops.hermes.gateway import isolated_environ
from tests.support.environments import CHECKOUT
from tests.support.waiting import wait_until

__all__ = ["AGENT", "SECRET", "Pod", "manifests", "of_kind", "stateful_set"]

AGENT = CHECKOUT / "examples" / "kubernetes" / "agent.yaml"
SECRET = AGENT.with_name("secret.yaml")
_LIMIT_S = 180
_MOUNTED = re.compile(r"(^|[\s\"'=])/(data|prepare|keys)(?=$|[/\s\"'])", re.MULTILINE)


@cache
def manifests() -> tuple[dict[str, Any], ...]:
    """Every object of the example."""
    return tuple(one for file in (AGENT, SECRET) for one in yaml.safe_load_all(file.read_text(encoding="utf-8")))


def of_kind(kind: str) -> dict[str, Any]:
    """The one object of a kind."""
    (found,) = [one for one in manifests() if one["kind"] == kind]
    return found


def stateful_set() -> dict[str, Any]:
    """The specification of the StatefulSet."""
    return dict(of_kind("StatefulSet")["spec"])


@dataclass
class Pod:
    """One pod on a volume; a second one on the same folder is its successor.

    Args:
        folder: holds the volume and what is mounted.
        configuration: files of the ConfigMap that a test has otherwise.
        key: what the Secret holds.
    """

    folder: Path
    configuration: Mapping[str, str]
    key: str = field(repr=False)
    process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> subprocess.CompletedProcess[str]:
        """What the init container does."""
        for name, text in {**of_kind("ConfigMap")["data"], **self.configuration}.items():
            self._write(self.folder / "prepare" / name, self._here(text))
        self._write(self.folder / "keys" / "canon", self.key)
        (self.folder / "data").mkdir(exist_ok=True)
        return self._run(self._spec["initContainers"][0]["command"])

    @contextmanager
    def running(self) -> Iterator[None]:
        """The gateway's container, from its start to its graceful end."""
        home = self.folder / "data" / "hermes"
        with (self.folder / "gateway.out").open("ab") as output:
            self.process = subprocess.Popen(
                self._program(self._container["command"]), env=self.environ, cwd=home, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        try:
            yield
            self.end()
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def end(self) -> None:
        """SIGTERM and the manifest's own patience; who outlives that fails the test."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(self._spec["terminationGracePeriodSeconds"])

    def probe(self, name: str) -> int:
        """The exit code of a probe: startup, liveness or readiness."""
        probe = self._container[f"{name}Probe"]
        return self._run(probe["exec"]["command"]).returncode

    def wait_for(self, name: str, *, passes: bool, timeout_s: float = 90) -> None:
        """Return once a probe says so; each is a process of its own, as Kubernetes starts it."""
        wait_until(lambda: (self.probe(name) == 0) is passes, timeout_s=timeout_s, pause_s=2.0)

    @property
    def environ(self) -> dict[str, str]:
        """The container's variables, on this machine's programs."""
        declared = {one["name"]: self._here(one["value"]) for one in self._container["env"]}
        base = isolated_environ(os.environ, hermes_home=Path(declared["HERMES_HOME"]), user_home=Path(declared["HOME"]))
        return {**base, **declared, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.defpath])}

    @property
    def _spec(self) -> dict[str, Any]:
        return dict(stateful_set()["template"]["spec"])

    @property
    def _container(self) -> dict[str, Any]:
        return dict(self._spec["containers"][0])

    def _here(self, text: str) -> str:
        return _MOUNTED.sub(lambda found: f"{found[1]}{self.folder / found[2]}", text)

    def _program(self, command: list[str]) -> list[str]:
        return [self._here(word) for word in command]

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._program(command), env=self.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_LIMIT_S, check=False,
        )  # fmt: skip

    @staticmethod
    def _write(file: Path, text: str) -> None:
        file.parent.mkdir(exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8")
