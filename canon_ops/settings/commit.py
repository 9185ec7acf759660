"""The one thing that settings want from whoever writes files: all of these changes, or none.

Settings compute new texts and never touch the disk; ``files`` implements this protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

__all__ = ["Commit", "FileText"]


@dataclass(frozen=True, slots=True)
class FileText:
    """A file's new content, and the content that it was computed from.

    Args:
        before: what was read; None when the file did not exist. A commit refuses when the disk differs by now.
        private: holds a secret: mode 0600 from creation, its folder 0700.
    """

    path: Path
    before: bytes | None
    after: bytes
    private: bool = False


class Commit(Protocol):
    """Writes all changes together, durably, or raises and leaves every file as it was."""

    def __call__(self, changes: Sequence[FileText]) -> None: ...
