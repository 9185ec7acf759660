"""A healthy installation made by hand, for a doctor to examine: nothing in it comes from our own writers.

Host, home and Canon are each as small as they can be: an environment with something that looks like an audited Hermes
and our distribution, three files, and a loopback Canon. A test spoils one thing and asks what is found.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from canon_ops import __version__
from canon_ops.doctor.check import Check
from canon_ops.doctor.examination import Examination, owner_of
from canon_ops.doctor.mending import Mended, mend
from canon_ops.doctor.registry import CHECKS
from canon_ops.doctor.run import Diagnosis, Verdict, diagnose
from canon_ops.hermes.contract_canon import CANON_NEEDS
from canon_ops.hermes.homes import resolve_home
from canon_ops.operate.completion_place import Shell
from canon_ops.operate.prompts import Unattended
from canon_ops.operate.writing import Writing
from canon_ops.runtime.clock import Clock, SystemClock
from canon_ops.sandbox.server import CanonSandbox
from tests.support.canon_files import profile_entry
from tests.support.fake_host import clean_environ, make_environment, put_contract, put_distribution, put_hermes

__all__ = ["COMPLETION", "CONFIG", "Clinic", "open_clinic"]

COMPLETION = "# bash completion for canon-ops\n# as it is now\n"
CONFIG = """\
# written by hand, from the pages of Hermes and Canon
plugins:
  enabled:
  - canon-hermes
platforms:
  canon:
    enabled: true
streaming:
  enabled: true
approvals:
  mode: manual   # people decide
display:
  platforms:
    canon:
      interim_assistant_messages: false
      tool_progress: "off"
"""


@dataclass
class Clinic:
    """One user with one Hermes home."""

    user: Path
    python: Path
    box: CanonSandbox
    environ: dict[str, str] = field(default_factory=dict)
    offline: bool = False
    timeout_s: float = 5.0
    clock: Clock = field(default_factory=SystemClock)
    mounts: str = ""
    statvfs: Callable[[Path], os.statvfs_result] = os.statvfs
    owner_of: Callable[[Path], int | None] = owner_of

    @property
    def system(self) -> Path:
        """Where the operating system's own folders begin."""
        return self.user / "system"

    @property
    def home(self) -> Path:
        return self.user / ".hermes"

    def write_config(self, text: str) -> None:
        self.home.joinpath("config.yaml").write_text(text)

    def write_env(self, text: str) -> None:
        self.home.joinpath(".env").write_text(text)
        self.home.joinpath(".env").chmod(0o600)

    def write_profiles(self, **profiles: dict[str, object]) -> None:
        self.user.joinpath(".canon", "agents.json").write_text(json.dumps(profiles))
        self.user.joinpath(".canon", "agents.json").chmod(0o600)

    def profile(self, **changes: object) -> dict[str, object]:
        """The sandbox's own agent as a profile."""
        ends = self.box.endpoints
        return profile_entry(
            **{
                "agentId": "agent_sandbox",
                "apiKey": ends.agent_key,
                "environmentId": ends.environment_id,
                "baseUrl": ends.api,
                "streamUrl": ends.stream,
                **changes,
            }
        )

    def examine(self, checks: Sequence[Check] = CHECKS) -> Diagnosis:
        environ = self._process()
        examination = Examination(
            home=resolve_home(environ),
            environ=environ,
            python=self.python,
            offline=self.offline,
            timeout_s=self.timeout_s,
            clock=self.clock,
            system=self.system,
            mounts=self.mounts,
            statvfs=self.statvfs,
            owner_of=self.owner_of,
            completion=lambda: {Shell.BASH: {"canon-ops": COMPLETION}},
        )
        return diagnose(checks, examination)

    def mend(self, verdicts: Sequence[Verdict]) -> Mended:
        """Carry out their repairs, with consent."""
        environ = self._process()
        writing = Writing(resolve_home(environ), environ, "doctor --fix")
        return mend(writing, verdicts, Unattended(yes=True), python=self.python)

    def _process(self) -> dict[str, str]:
        return clean_environ(HOME=str(self.user)) | self.environ


def open_clinic(user: Path, box: CanonSandbox, *, version: str = "0.19.0") -> Clinic:
    """Everything in order: no finding."""
    python = make_environment(user / "env")
    put_hermes(python, version)
    put_contract(python, CANON_NEEDS)
    put_distribution(
        python,
        "canon-ops",
        __version__,
        {"canon_hermes_plugin/__init__.py": "def register(ctx): ...\n"},
        entry_points={"canon-hermes": "canon_hermes_plugin"},
    )
    clinic = Clinic(user, python, box)
    clinic.home.mkdir()
    user.joinpath(".canon").mkdir(mode=0o700)
    clinic.write_config(CONFIG)
    clinic.write_env("CANON_ALLOW_ALL_USERS=true\n")
    clinic.write_profiles(ops=clinic.profile())
    return clinic
