"""What armed faults did, for people and for a test's verdict: one that never struck would prove nothing.

A row is what a sandbox of either platform says of an armed fault: ``name``, how often it ``fired``, how many requests
or events ``met`` it. One that was armed in several rounds is one line. Source: decisions T7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

__all__ = ["reports", "table", "unfired"]

Row = Mapping[str, Any]


class Reporting(Protocol):
    """An armed fault."""

    def report(self) -> Row: ...


def reports(armed: Iterable[Reporting]) -> list[Row]:
    """Their rows."""
    return [one.report() for one in armed]


def table(rows: Iterable[Row]) -> str:
    """One line a fault."""
    fired, met = _sums(rows)
    return "\n".join(f"  {name:32} fired {fired[name]:6} met {met[name]:7}" for name in sorted(met))


def unfired(rows: Iterable[Row]) -> list[str]:
    """Those that never struck."""
    fired, met = _sums(rows)
    return sorted(name for name in met if not fired[name])


def _sums(rows: Iterable[Row]) -> tuple[Counter[str], Counter[str]]:
    fired, met = Counter[str](), Counter[str]()
    for row in rows:
        fired[row["name"]] += row["fired"]
        met[row["name"]] += row["met"]  # a sum of none is a line as well
    return fired, met
