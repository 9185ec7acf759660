"""A person's machine for the setup dialogue: a Hermes home, a Canon home, and a loopback Canon beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.operate.prompts import Prompts, Unattended
from canon_ops.operate.setup_answers import SetupAnswers, SetupResult
from canon_ops.operate.setup_canon import SetupPlace, setup_canon
from canon_ops.sandbox.server import CanonSandbox

__all__ = ["OWNER", "Machine"]

OWNER = "+15550100"


class Machine:
    """A user's home with a Hermes home and a Canon home in it, beside a loopback Canon."""

    def __init__(self, folder: Path, box: CanonSandbox) -> None:
        self.box = box
        self.environ = {"HOME": str(folder), "PATH": "/usr/bin"}
        self.hermes = folder / ".hermes"
        self.hermes.mkdir(parents=True)
        self.canon = folder / ".canon"

    @property
    def home(self) -> HermesHome:
        return resolve_home(self.environ)

    @property
    def ends(self) -> dict[str, Any]:
        return {
            "environment": "canon-dev-v1",
            "base_url": self.box.endpoints.api,
            "stream_url": self.box.endpoints.stream,
            "rtdb_url": "http://127.0.0.1:9",
            "firebase_api_key": "loopback",
        }

    @property
    def binding(self) -> dict[str, Any]:
        names = ["environmentId", "baseUrl", "streamUrl", "rtdbUrl", "firebaseApiKey"]
        return dict(zip(names, self.ends.values(), strict=True))

    def setup(
        self, answers: SetupAnswers, prompts: Prompts | None = None, *, dry_run: bool = False, watch: Any = None
    ) -> SetupResult:
        place = SetupPlace(self.home, self.environ, poll_s=0.01)
        more = {} if watch is None else {"watch": watch}
        return setup_canon(place, answers, prompts or Unattended(), dry_run=dry_run, **more)

    def registering(self, **answers: Any) -> SetupAnswers:
        """Everything that an unattended registration needs."""
        given = {**self.ends, "owner_phone": OWNER, "canon_profile": "ops", "wait_s": 5.0, **answers}
        return SetupAnswers(**given)

    def write_env(self, text: str) -> None:
        (self.hermes / ".env").write_text(text)

    def env(self) -> str:
        file = self.hermes / ".env"
        return file.read_text() if file.exists() else ""

    def write_agents(self, **entries: object) -> None:
        self.canon.mkdir(exist_ok=True)
        (self.canon / "agents.json").write_text(json.dumps(entries))

    def write_pending(self, **entries: object) -> None:
        self.canon.mkdir(exist_ok=True)
        (self.canon / "pending-registrations.json").write_text(json.dumps(entries))

    def agents(self) -> dict[str, Any]:
        return json.loads((self.canon / "agents.json").read_text())  # type: ignore[no-any-return]

    def pending(self) -> dict[str, Any]:
        return json.loads((self.canon / "pending-registrations.json").read_text())  # type: ignore[no-any-return]

    def tree(self) -> dict[str, bytes]:
        """Every file below both homes, but for our own locks and history."""
        files = [path for folder in (self.hermes, self.canon) for path in folder.rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in files if ".canon-ops" not in path.parts}

    def calls(self, *, after: int = 0) -> list[str]:
        return [f"{entry['method']} {entry['path']}" for entry in self.box.journal()][after:]
