"""Warnings about what fails again and again: the first at once, the rest as a number, once a minute.

A preview that cannot be written fails ten times a second. Silence would hide an outage, and a line for each would hide
everything else.

Source: canon-adapter D49.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from canon_ops.runtime.clock import Clock

__all__ = ["Complaints"]

EVERY_S: Final = 60.0  # ours
KINDS: Final = 64  # ours: more kinds of trouble than there are


@dataclass(slots=True)
class _Told:
    at_s: float
    unsaid: int = 0


class Complaints:
    """Says a warning of each kind at most once a minute, and how often it was left unsaid."""

    def __init__(self, logger: logging.Logger, clock: Clock) -> None:
        self._logger = logger
        self._clock = clock
        self._told: OrderedDict[str, _Told] = OrderedDict()

    def say(self, kind: str, sentence: str) -> None:
        """Warn, unless a warning of this kind was said within the last minute."""
        now_s = self._clock.monotonic_s()
        known = self._told.get(kind)
        if known is not None and now_s - known.at_s < EVERY_S:
            known.unsaid += 1
            return
        more = f" (and {known.unsaid} times more since the last warning)" if known is not None and known.unsaid else ""
        self._logger.warning("%s%s", sentence, more)
        self._told.pop(kind, None)
        self._told[kind] = _Told(now_s)
        if len(self._told) > KINDS:
            self._told.popitem(last=False)
