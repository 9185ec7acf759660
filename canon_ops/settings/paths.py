"""Where Canon's local files are: path arithmetic on the environment, no disk.

Source: Canon wire 3.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from canon_ops.lean import dataclass

__all__ = ["CanonPaths"]


@dataclass(frozen=True, slots=True)
class CanonPaths:
    """The folder shared by every Canon client of this user, and the files in it."""

    home: Path
    agents_file: Path
    pending_file: Path
    detached_approvals_file: Path

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], home: Path) -> CanonPaths:
        """Follow ``CANON_HOME``, then ``CANON_AGENTS_FILE`` or ``CANON_AGENTS_PATH`` for agents.json alone.

        Args:
            environ: the environment as the gateway has it, ``.env`` laid over it.
            home: the user's home folder, which ``~`` stands for.
        """
        folder = _path(environ.get("CANON_HOME"), home) or home / ".canon"
        agents = _path(environ.get("CANON_AGENTS_FILE"), home) or _path(environ.get("CANON_AGENTS_PATH"), home)
        return cls(
            home=folder,
            agents_file=agents or folder / "agents.json",
            pending_file=folder / "pending-registrations.json",
            detached_approvals_file=folder / "detached-approvals.json",
        )


def _path(text: str | None, home: Path) -> Path | None:
    """A path from a variable; white space only is no path, a leading ``~`` is the user's home."""
    if not text or not text.strip():
        return None
    text = text.strip()
    if text == "~" or text.startswith("~/"):
        return home / text[2:]
    return Path(text)
