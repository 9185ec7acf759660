"""Many Hermes homes of one machine, and the example playbook that looks after them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from canon_ops.sandbox.server import CanonSandbox
from tests.support.environments import CHECKOUT, Environment
from tests.support.layouts import LayoutHost, Tool

__all__ = ["ANSIBLE", "Fleet", "FleetHome", "Recap"]

ANSIBLE = Environment("ansible", requirements=("ansible-core>=2.17,<3",))
EXAMPLE = CHECKOUT / "examples" / "ansible"
LIMIT_S = 3_000
_RECAP = re.compile(r"^(?P<host>[\w-]+)\s+: (?P<counts>(?:\w+=\d+\s*)+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FleetHome:
    """One home and its agent; the key comes from a variable, or from a file of the user."""

    name: str
    path: Path
    key: str = field(repr=False)
    key_file: Path | None

    @property
    def variable(self) -> str:
        return f"KEY_OF_{self.name.upper().replace('-', '_')}"

    @property
    def files(self) -> dict[str, tuple[bytes, int]]:
        """What was written for the gateway: bytes and time of each file."""
        names = ("config.yaml", ".env")
        found = [self.path / name for name in names if (self.path / name).exists()]
        return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in found}


@dataclass(frozen=True, slots=True)
class Recap:
    """How a run of the playbook ended.

    Attributes:
        counts: by host what Ansible counts: ok, changed, unreachable, failed.
    """

    code: int
    output: str
    counts: Mapping[str, Mapping[str, int]]

    def hosts_with(self, what: str) -> set[str]:
        """The hosts that count at least one."""
        return {host for host, counts in self.counts.items() if counts[what]}


@dataclass(frozen=True, slots=True)
class Fleet:
    """The homes, the Hermes that they share, and the Canon of their agents."""

    folder: Path
    host: LayoutHost
    tool: Tool
    box: CanonSandbox
    homes: Sequence[FleetHome]

    @classmethod
    def make(cls, folder: Path, host: LayoutHost, tool: Tool, box: CanonSandbox, *, size: int) -> Fleet:
        """Agents with their keys; of the homes there is nothing yet."""
        homes = []
        (folder / "keys").mkdir()
        for number in range(size):
            name = f"home-{number:02}"
            key = box.human.add_agent(f"Agent {number}")["agent_key"]
            file = folder / "keys" / name if number % 2 else None
            if file is not None:
                file.touch(mode=0o600)
                file.write_text(f"{key}\n")
            homes.append(FleetHome(name, folder / "homes" / name, str(key), file))
        fleet = cls(folder, host, tool, box, homes)
        (folder / "inventory.yml").write_text(yaml.safe_dump(fleet._inventory(), sort_keys=False))
        return fleet

    def play(self, *words: str, before: Sequence[str] = ()) -> Recap:
        """Run the example's playbook over the inventory.

        Args:
            before: a program that runs it, with its own words.
        """
        program = str(ANSIBLE.make().with_name("ansible-playbook"))
        command = [*before, program, "-i", str(self.folder / "inventory.yml"), str(EXAMPLE / "site.yml"), *words]
        done = subprocess.run(
            command, env=self._environ(), capture_output=True, text=True, timeout=LIMIT_S, check=False,
            stdin=subprocess.DEVNULL, cwd=self.folder,
        )  # fmt: skip
        counts = {
            found["host"]: {key: int(number) for key, number in re.findall(r"(\w+)=(\d+)", found["counts"])}
            for found in _RECAP.finditer(done.stdout.partition("PLAY RECAP")[2])
        }
        return Recap(done.returncode, done.stdout + done.stderr, counts)

    def remarks(self, home: FleetHome, code: int = 0) -> dict[str, str]:
        """What the doctor finds in a home that is not ok, asked apart from the playbook."""
        words = ("doctor", "--hermes-home", str(home.path), "--python", str(self.host.python))
        checks = self.tool(self.host, *words, code=code)["data"]["checks"]
        return {row["id"]: row["status"] for row in checks if row["status"] != "ok"}

    def _environ(self) -> dict[str, str]:
        keys = {home.variable: home.key for home in self.homes if home.key_file is None}
        own = {"ANSIBLE_CONFIG": str(EXAMPLE / "ansible.cfg"), "ANSIBLE_HOME": str(self.folder / "ansible")}
        utf8 = {"LC_ALL": "C.UTF-8"}  # Ansible refuses any other
        path = os.pathsep.join([str(ANSIBLE.interpreter.parent), self.host.environ["PATH"]])
        return {**self.host.environ, **own, **utf8, **keys, "PATH": path}

    def _inventory(self) -> dict[str, Any]:
        ends = self.box.endpoints
        common = {
            "ansible_connection": "local",
            "ansible_python_interpreter": str(ANSIBLE.interpreter),
            "canon_ops": str(self.tool.python.parent / "canon-ops"),
            "hermes_python": str(self.host.python),
            "canon_environment": ends.environment_id,
            "canon_base_url": ends.api,
            "canon_stream_url": ends.stream,
            "canon_config": {"display.busy_input_mode": "queue", "agent.max_turns": 40},
            "canon_retry_delay": 1,
        }
        hosts = {
            home.name: {
                "hermes_home": str(home.path),
                **({"canon_key_file": str(home.key_file)} if home.key_file else {"canon_key_variable": home.variable}),
            }
            for home in self.homes
        }
        return {"homes": {"vars": common, "hosts": hosts}}
