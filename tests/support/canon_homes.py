"""A user with Canon profiles, written by hand: what the commands about profiles and keys work on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tests.support.canon_files import profile_entry

__all__ = ["OTHER_KEY", "User", "user_at"]

OTHER_KEY = "other-0123456789-mnopqrstuvwx"  # no shape by which anybody could tell that it is a key


@dataclass(frozen=True)
class User:
    """One home folder with ``.hermes`` and ``.canon`` in it."""

    home: Path

    @property
    def hermes(self) -> Path:
        return self.home / ".hermes"

    @property
    def env_file(self) -> Path:
        return self.hermes / ".env"

    @property
    def config_file(self) -> Path:
        return self.hermes / "config.yaml"

    @property
    def agents_file(self) -> Path:
        return self.home / ".canon" / "agents.json"

    def write_env(self, text: str, profile: str | None = None) -> None:
        """Write ``.env`` of the default Hermes profile or of a named one, privately."""
        folder = self.hermes / "profiles" / profile if profile else self.hermes
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".env").write_text(text)
        (folder / ".env").chmod(0o600)

    def write_config(self, text: str) -> None:
        self.config_file.write_text(text)
        self.config_file.chmod(0o600)

    def write_agents(self, **entries: object) -> None:
        self.agents_file.parent.mkdir(exist_ok=True, mode=0o700)
        self.agents_file.write_text(json.dumps(entries, indent=2, sort_keys=True) + "\n")
        self.agents_file.chmod(0o600)

    def agents(self) -> dict[str, dict[str, object]]:
        found: dict[str, dict[str, object]] = json.loads(self.agents_file.read_text())
        return found


def user_at(home: Path) -> User:
    """A user with the complete profile ``ops`` and an empty Hermes home."""
    user = User(home)
    user.hermes.mkdir(parents=True, mode=0o700)
    user.write_agents(ops=profile_entry())
    return user
