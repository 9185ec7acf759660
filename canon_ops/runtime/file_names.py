"""Names of files that stand in files."""

from __future__ import annotations

import os

__all__ = ["named_path"]


def named_path(text: str) -> str:
    """A path that stands in a file, which is UTF-8, as this process names files: its locale may know less than that."""
    return text if text.isascii() else os.fsdecode(text.encode("utf-8", "surrogateescape"))
