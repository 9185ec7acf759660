"""Borgee as a platform of the Hermes gateway.

The package owns its import name and entry point. The adapter itself is not part of this version: enabling the plugin
logs one sentence and registers nothing.
"""

from __future__ import annotations

import logging
from typing import Any

__all__ = ["register"]


def register(ctx: Any) -> None:
    """Say that this version brings no Borgee adapter; the host goes on without the platform."""
    del ctx
    logging.getLogger(__name__).error(
        "The Borgee platform is not part of this version of canon-ops; remove 'borgee' from plugins.enabled."
    )
