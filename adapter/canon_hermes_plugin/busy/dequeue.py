"""The seam where the host takes the next waiting message of a session whose run has ended.

The host calls a private method of its runner, ``_promote_queued_event(session_key, adapter, pending_event)``, once a
run: what it returns is answered next, in the same task and without a start hook. It is wrapped on the runner object.
The wrapper passes everything through and never changes the result.

The seam has an owner. A second installation by the same one changes nothing; one that a dead adapter left behind is
replaced, with the host's own method kept underneath; taking it away does nothing to the seam of another.

Source: Canon adapter R5.20, R5.21, R6.34; D4.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

__all__ = ["install", "uninstall"]

logger = logging.getLogger(__name__)

METHOD: Final = "_promote_queued_event"


class _Seam:
    """What stands in the place of the host's method."""

    def __init__(self, original: Callable[..., Any], owner: object, heard: Callable[[str, Any], None]) -> None:
        self.original = original
        self.owner = owner
        self._heard = heard

    def __call__(self, *args: Any, **more: Any) -> Any:
        event = self.original(*args, **more)
        session_key = more.get("session_key", args[0] if args else None)
        adapter = more.get("adapter", args[1] if len(args) > 1 else None)
        if adapter is self.owner and isinstance(session_key, str):
            try:
                self._heard(session_key, event)
            except Exception:  # the host's run must not break over our bookkeeping
                logger.exception("Canon: what Hermes took from its queue could not be noted")
        return event


def install(runner: Any, owner: object, heard: Callable[[str, Any], None]) -> bool:
    """Hear of each message that the host takes for ``owner``; False when this runner has no such method.

    Args:
        owner: the adapter whose messages are meant.
        heard: told the session and the event, which is None when none waits.
    """
    current = getattr(runner, METHOD, None)
    if isinstance(current, _Seam):
        if current.owner is owner:
            return True
        current = current.original
    if not callable(current):
        return False
    setattr(runner, METHOD, _Seam(current, owner, heard))
    return True


def uninstall(runner: Any, owner: object) -> None:
    """Give the host its own method back, if the seam is the owner's."""
    current = getattr(runner, METHOD, None)
    if isinstance(current, _Seam) and current.owner is owner:
        setattr(runner, METHOD, current.original)
