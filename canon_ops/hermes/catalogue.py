"""Texts of the host's own that are missing: a key of its catalogue stands there instead, and nobody can read it.

The fork's wheel lacks the catalogue: a sentence that the host adds to somebody's words arrives as its key alone. Pure.

Source: hermes-host 14.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["without_keys"]

_KEY: Final = re.compile(r"gateway(?:\.[a-z][a-z0-9_]*){2,}")


def without_keys(text: str) -> str:
    """``text`` without the lines that are nothing but a key of the host's catalogue, and the blank ends they leave."""
    lines = text.split("\n")
    kept = [line for line in lines if not _KEY.fullmatch(line.strip())]
    return text if len(kept) == len(lines) else "\n".join(kept).strip()
