"""A person's machine for ``setup borgee``: a Hermes home beside a loopback Borgee."""

from __future__ import annotations

from pathlib import Path

from borgee_hermes.introduction import who_is
from borgee_hermes.loopback.server import BorgeeSandbox
from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.keyring.access import Keyring
from canon_ops.operate.borgee_answers import BorgeeAnswers, BorgeeSetupResult
from canon_ops.operate.prompts import Prompts, Unattended
from canon_ops.operate.setup_borgee import setup_borgee
from canon_ops.operate.writing import Writing
from canon_ops.settings.secret import Secret

__all__ = ["BorgeeMachine"]


class BorgeeMachine:
    """One user with one Hermes home; the server is asked through the real client."""

    def __init__(self, folder: Path, box: BorgeeSandbox, **variables: str) -> None:
        self.box = box
        self.environ = {"HOME": str(folder), "PATH": "/usr/bin", **variables}
        self.hermes = folder / ".hermes"
        self.hermes.mkdir(parents=True)

    @property
    def home(self) -> HermesHome:
        return resolve_home(self.environ)

    @property
    def key(self) -> Secret:
        return Secret(self.box.endpoints.agent_key)

    def answers(self, **changes: object) -> BorgeeAnswers:
        """Everything that nobody has to be asked about."""
        given: dict[str, object] = {
            "base_url": self.box.endpoints.base_url,
            "allow_insecure_loopback": True,
            "api_key": self.key,
            "change_shared": True,
        }
        return BorgeeAnswers(**{**given, **changes})  # type: ignore[arg-type]

    def setup(
        self, answers: BorgeeAnswers, prompts: Prompts | None = None, *, dry_run: bool = False
    ) -> BorgeeSetupResult:
        writing = Writing(self.home, self.environ, "setup borgee", dry_run=dry_run)
        asking = who_is(self.home, self.environ, timeout_s=5.0)
        return setup_borgee(writing, Keyring(self.environ), answers, prompts or Unattended(), who_is=asking)

    def write(self, config: str | None = None, env: str | None = None) -> None:
        for name, text in (("config.yaml", config), (".env", env)):
            if text is not None:
                self.hermes.joinpath(name).write_text(text)
                self.hermes.joinpath(name).chmod(0o600)

    def read(self) -> tuple[str, str]:
        """config.yaml and ``.env``; an absent file is empty."""
        texts = [self.hermes / name for name in ("config.yaml", ".env")]
        config, env = (file.read_text() if file.exists() else "" for file in texts)
        return config, env

    @property
    def greetings(self) -> int:
        """How many times somebody connected."""
        return sum(each["what"] == "upgrade" for each in self.box.journal())
