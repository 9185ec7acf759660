"""What a tool hands back: one JSON text, for a success and for a failure.

Source: canon-adapter R11.1; Canon wire 5.6.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from canon_ops.errors import CanonOpsError

__all__ = ["failure", "success"]


def success(result: Mapping[str, Any]) -> str:
    """The result; ``success`` is ours and no server's."""
    return json.dumps({**result, "success": True})


def failure(error: BaseException | str) -> str:
    """What went wrong, in a sentence."""
    text = error.what if isinstance(error, CanonOpsError) else str(error) or type(error).__name__
    text = " ".join([text, *getattr(error, "__notes__", ())])
    return json.dumps({"error": text, "success": False})
