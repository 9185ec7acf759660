"""A number with a fraction that a person may give: seconds, minutes.

``float`` also reads ``nan``, which is within every range, and ``inf`` and ``1e300``, which no clock of an operating
system takes: each would end in a traceback far from the option that it came from.
"""

from __future__ import annotations

import math
from typing import Any

import click

__all__ = ["Amount"]

MOST = 10_000_000.0  # of seconds a hundred and fifteen days


class Amount(click.FloatRange):
    """A range of finite numbers; its upper end, where none is given, is beyond every use."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if not math.isfinite(found) or found > MOST:
            self.fail(f"{value} is not a number up to {MOST:,.0f}.", param, ctx)
        return found
