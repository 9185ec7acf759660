"""How a report names a file that it changes. Apart from the rest, since an edit of one key loads little."""

from __future__ import annotations

from pathlib import Path

__all__ = ["named"]


def named(file: Path) -> str:
    """A file, with the real one behind a link, which is the one that is written."""
    return f"{file} -> {file.resolve()}" if file.is_symlink() else str(file)
