"""Real Hermes hosts in the layouts that people have, made by uv, and a canon-ops that lives in none of them."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from canon_ops.sandbox.server import CanonSandbox
from tests.support.canon_files import profile_entry
from tests.support.small_wheels import UV

__all__ = ["HERMES", "LayoutHost", "Tool", "checkout_host", "make_tool", "pip_host", "uv_host"]

HERMES = "hermes-agent==0.19.0"
LIMIT_S = 300
_PASSED_ON = ("PIP_", "UV_", "SSL_", "LANG", "TMPDIR")  # where packages come from is the machine's business

CONFIG = """\
# a host that calls nothing outside: keep this remark
model: {default: stub, provider: custom, base_url: "http://127.0.0.1:9/v1", api_key: stub, context_length: 200000}
security: {tirith_enabled: false, allow_lazy_installs: false}   # and this one
onboarding: {profile_build: "off"}
memory: {memory_enabled: false, user_profile_enabled: false}
kanban: {dispatch_in_gateway: false}
streaming: {enabled: true}
approvals: {mode: manual}
display: {platforms: {canon: {interim_assistant_messages: false, tool_progress: "off"}}}
plugins:
  enabled: []
"""
ENV = "# keys of other programs\nexport OTHER='a b'\n"


@dataclass
class LayoutHost:
    """A host and its user.

    Attributes:
        user: HOME of everything that is started.
        python: the interpreter that runs Hermes.
        path: what PATH holds before the system's own.
    """

    user: Path
    python: Path
    path: tuple[Path, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.user / ".hermes"

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: text for name, text in _environ().items() if name.startswith(_PASSED_ON)}
        path = os.pathsep.join([*map(str, self.path), os.defpath])
        return {**kept, "UV_CACHE_DIR": _cache(), "HOME": str(self.user), "PATH": path, **self.extra}

    @property
    def files(self) -> tuple[bytes, bytes]:
        return (self.home / "config.yaml").read_bytes(), (self.home / ".env").read_bytes()

    @property
    def packages(self) -> list[str]:
        """What is installed, as uv counts it from outside."""
        return _run([str(UV), "pip", "freeze", "--python", str(self.python)], self.environ).splitlines()

    def furnish(self, box: CanonSandbox) -> None:
        """A home with settings of its user's own, and a Canon profile for the sandbox's agent."""
        self.home.mkdir(exist_ok=True)
        (self.home / "config.yaml").write_text(CONFIG)
        (self.home / ".env").write_text(ENV)
        for name in ("config.yaml", ".env"):
            (self.home / name).chmod(0o600)
        canon = self.user / ".canon"
        canon.mkdir()
        canon.chmod(0o700)
        ends = box.endpoints
        profile = profile_entry(
            agentId="agent_sandbox", apiKey=ends.agent_key, environmentId=ends.environment_id,
            baseUrl=ends.api, streamUrl=ends.stream,
        )  # fmt: skip
        agents = canon / "agents.json"
        agents.touch(mode=0o600)
        agents.write_text(json.dumps({"ops": profile}))

    def hermes(self, *words: str) -> str:
        """What Hermes' own command prints."""
        return _run([str(self.python), "-m", "hermes_cli.main", *words], self.environ)


@dataclass(frozen=True)
class Tool:
    """canon-ops in an environment of its own, as pipx would have it."""

    python: Path

    def __call__(self, host: LayoutHost, *words: str, code: int = 0) -> dict[str, Any]:
        """Run a command for a host's user; its JSON document, after the exit code was looked at."""
        command = [str(self.python.parent / "canon-ops"), *words, "--json"]
        done = subprocess.run(
            command, env=host.environ, capture_output=True, text=True, timeout=LIMIT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == code, f"{words}: exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def remarks(self, host: LayoutHost, code: int = 0) -> dict[str, str]:
        """What the doctor finds that is not ok."""
        checks = self(host, "doctor", code=code)["data"]["checks"]
        return {row["id"]: row["status"] for row in checks if row["status"] != "ok"}


def make_tool(folder: Path, wheel: Path) -> Tool:
    """A third environment: canon-ops and what it needs, no Hermes."""
    python = _environment(folder)
    _install(python, str(wheel))
    return Tool(python)


def uv_host(user: Path) -> LayoutHost:
    """An environment made by uv, so without pip; `hermes` on PATH, and uv where Hermes' own installer puts it."""
    python = _environment(user / "apps" / "hermes")
    _install(python, HERMES)
    (user / ".hermes" / "bin").mkdir(parents=True)
    (user / ".hermes" / "bin" / "uv").symlink_to(UV)
    commands = user / "commands"
    commands.mkdir()
    (commands / "hermes").symlink_to(python.parent / "hermes")
    return LayoutHost(user, python, (commands,))


def pip_host(user: Path, *more: str) -> LayoutHost:
    """An environment with pip in it and no uv in sight; ``more`` is installed beside Hermes."""
    python = _environment(user / "hermes-venv", "--seed")
    _install(python, HERMES, *more)
    return LayoutHost(user, python, (python.parent,))


def checkout_host(user: Path) -> LayoutHost:
    """The official folder: a source tree with its own environment, whose distribution metadata is missing."""
    root = user / ".hermes" / "hermes-agent"
    python = _environment(root / "venv")
    _install(python, HERMES)
    (site,) = (root / "venv" / "lib").glob("python*/site-packages")
    (info,) = site.glob("hermes_agent-*.dist-info")
    requires = [
        line.partition(": ")[2]
        for line in (info / "METADATA").read_text().splitlines()
        if line.startswith("Requires-Dist: ") and "extra ==" not in line
    ]
    for row in csv.reader((info / "RECORD").read_text().splitlines()):
        source = site / row[0]
        if not row[0].startswith(("..", info.name)) and source.exists():
            target = root / row[0]
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)
    shutil.rmtree(info)
    (root / "pyproject.toml").write_text(f'[project]\nname = "hermes-agent"\ndependencies = {json.dumps(requires)}\n')
    (site / "hermes.pth").write_text(f"{root}\n")
    (user / ".hermes" / "bin").mkdir()
    (user / ".hermes" / "bin" / "uv").symlink_to(UV)
    return LayoutHost(user, python)


def _environment(folder: Path, *options: str) -> Path:
    _run([str(UV), "venv", "--quiet", *options, "--python", sys.executable, str(folder)], _environ())
    return folder / "bin" / "python"


def _install(python: Path, *what: str) -> None:
    _run([str(UV), "pip", "install", "--quiet", "--python", str(python), *what], _environ())


def _cache() -> str:
    """Everything that was downloaded once is used by every user that a test makes."""
    return _run([str(UV), "cache", "dir"], _environ()).strip()


def _environ() -> dict[str, str]:
    """Ours; uv brings authorities of its own, so one that the machine names for pip is named for uv too."""
    ours = dict(os.environ)
    return {"SSL_CERT_FILE": ours["PIP_CERT"], **ours} if "PIP_CERT" in ours else ours


def _run(command: list[str], environ: dict[str, str]) -> str:
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[-4000:]}"
    return done.stdout
