"""What is said of a soak: the table for a terminal, the page for the documentation, and the picture of it. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scripts.soak_svg import Line, Mark, Strip, soak_svg
from tests.support.crash_outcome import Outcome
from tests.support.soak_run import MEASURES, Soak
from tests.support.soaking import Judged, Verdict, is_flat

__all__ = ["PICTURE", "Setting", "console", "document", "is_kept", "picture"]

PICTURE = "pictures/soak.svg"
HEADING = ("measure", "gateway", "level", "rise in a life", "rise over lives", "forgiven", "verdict")


@dataclass(frozen=True, slots=True)
class Setting:
    """Where and when.

    Attributes:
        day: as ``2026-01-31``, in UTC.
        commit: which checkout, shortened.
        note: what whoever measured has to say of it.
    """

    day: str
    commit: str
    python: str
    hermes: str
    note: str = ""


def is_kept(soak: Soak) -> bool:
    """Whether every promise was kept: of messages, and of what is flat."""
    return not _broken(soak.outcome) and is_flat(soak.rows)


def console(soak: Soak, setting: Setting) -> str:
    """For a terminal."""
    table = [HEADING, *(_cells(row) for row in soak.rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(HEADING))]
    rows = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    rows.insert(1, "-" * len(rows[0]))
    return "\n".join([*_facts(soak, setting), "", *rows, "", *_messages(soak), "", _summary(soak)])


def document(soak: Soak, setting: Setting) -> str:
    """For the documentation."""
    windows = soak.plan.windows
    table = [HEADING, ("---",) * len(HEADING), *(_cells(row) for row in soak.rows)]
    return "\n".join([
        "# Load, and gateways that are replaced under it",
        "",
        "Written by `make soak SOAK_ARGS=--write`; do not edit. Two real gateways of two agents answer the people of",
        "many conversations over one loopback Canon; again and again one is told to end and the next is started on its",
        "home, then the other. What one measures is explained in [testing.md](testing.md#soaks).",
        "",
        *(f"- {fact}" for fact in _facts(soak, setting)),
        "",
        f"![Memory, descriptors, threads, tasks, objects and latency of both gateways over the whole time]({PICTURE})",
        "",
        "Each life of a process is looked at from when it had run for "
        f"{windows.settle_s:.0f} s, in windows of {windows.window_s:.0f} s. *Level* is the first of",
        "them, a *rise* is how far the line through all of them, or through the levels of all lives, comes up; of",
        "several lives the steepest. A rise is forgiven up to a share of the level, or an absolute amount.",
        "",
        *(f"| {' | '.join(row)} |" for row in table),
        "",
        *(f"- {line}" for line in _messages(soak)),
        "",
        _summary(soak),
        "",
        *([setting.note, ""] if setting.note else []),
    ])  # fmt: skip


def picture(soak: Soak) -> str:
    """All measures over the same time."""
    gateways = sorted({each.gateway for each in soak.series})
    strips = [
        Strip(
            measure.name,
            measure.unit,
            [
                Line(gateways.index(each.gateway), life.points)
                for each in soak.series
                if each.key == key
                for life in each.lives
                if life.points
            ],
        )
        for key, measure in MEASURES.items()
    ]
    marks = [Mark(gateways.index(one.gateway), one.at_s, one.at_s + one.away_s) for one in soak.replacements]
    title = f"{len(strips)} measures of {len(gateways)} gateways over {soak.seconds / 60:.0f} minutes"
    return soak_svg(strips, marks, seconds=soak.seconds, title=title, names=gateways)


def _facts(soak: Soak, setting: Setting) -> list[str]:
    plan, used = soak.plan, soak.cores
    gateways = len({each.gateway for each in soak.series})
    stops = sorted(one.stop_s for one in soak.replacements)
    away = sorted(one.away_s for one in soak.replacements)
    replaced = f"{len(stops)} replacements"
    if stops:
        replaced += (
            f", a round every {plan.every_s:.0f} s: {stops[0]:.0f} to {stops[-1]:.0f} s to end "
            f"(turns are given {plan.drain_s:.0f} s at most), {away[0]:.0f} to {away[-1]:.0f} s until the next was "
            "ready"
        )
    return [
        f"Measured on {setting.day} at {setting.commit}, for {soak.seconds / 60:.0f} minutes: "
        f"{soak.machine_cores} cores, Linux, Python {setting.python}, Hermes {setting.hermes}; the machine's load was "
        f"{soak.load:.1f}, the soak's own and that of others.",
        f"{plan.conversations:,} conversations, {plan.at_once} turns open at any time in {gateways} gateways. A host "
        f"has ten threads for turns: {10 * gateways} of them run, {plan.wait_s:.0f} s each, the others wait for one.",
        f"{replaced}.",
        "Processors used: " + ", ".join(f"{value:.2f} by {name}" for name, value in used.items()) + ".",
    ]


def _messages(soak: Soak) -> list[str]:
    outcome = soak.outcome
    broken = _broken(outcome)
    counts = ", ".join(f"{count} {what}" for what, count in broken.items()) or "none lost, none answered twice unmarked"
    rest = "" if broken else "; every turn closed, nothing left unsettled"
    return [
        f"{len(outcome.wanted):,} messages: {counts}{rest}",
        f"{soak.carried} of them lived through a replacement; {outcome.marked} answers carry the mark of a run that "
        "was cut off",
        f"from a word to its answer: {_spread(soak.waits_ms, 1_000)} s, most of it the model's and the wait for a "
        "thread",
        f"of that outside of host and model: {_spread(soak.ours_ms)} ms on Canon, {_spread(soak.bare_ms)} ms on a "
        f"platform with no service behind it ({soak.bare_turns} messages, in the same gateways)",
    ]


def _broken(outcome: Outcome) -> dict[str, int]:
    counts = {
        "lost": len(outcome.lost),
        "answered twice unmarked": len(outcome.unmarked),
        "salvaged by the server": len(outcome.salvaged),
        "other breaches": len(outcome.breaches),
        "unsettled": len(outcome.left),
    }
    return {what: count for what, count in counts.items() if count}


def _cells(row: Judged) -> tuple[str, ...]:
    unit = row.measure.unit
    allowed = row.measure.allowed(row.level) if row.level is not None else None
    return (
        row.measure.name,
        row.gateway,
        _with(row.level, unit),
        _with(row.in_a_life, unit, sign="+"),
        _with(row.over_lives, unit, sign="+"),
        _with(allowed, unit),
        str(row.verdict),
    )


def _with(value: float | None, unit: str, *, sign: str = "") -> str:
    return "–" if value is None else f"{value:{sign},.{int(abs(value) < 100)}f} {unit}".strip()


def _spread(values: Sequence[float], divisor: float = 1) -> str:
    """Median and 95th percentile."""
    if not values:
        return "–"
    ordered = sorted(values)
    middle, high = statistics.median(ordered), ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return f"{middle / divisor:,.0f} ({high / divisor:,.0f} at the 95th percentile)"


def _summary(soak: Soak) -> str:
    rises = [f"{row.measure.name} of {row.gateway}" for row in soak.rows if row.verdict is Verdict.RISES]
    short = sum(row.verdict is Verdict.SHORT for row in soak.rows)
    crowded = sum(row.verdict is Verdict.CROWDED for row in soak.rows)
    flat = sum(row.verdict is Verdict.FLAT for row in soak.rows)
    told = [f"{flat} of {len(soak.rows)} measures are flat"]
    told += [f"rising: {', '.join(rises)}"] if rises else []
    told += [f"{short} could not be judged in this time"] if short else []
    told += [f"{crowded} could not be judged beside the machine's other programs"] if crowded else []
    return "; ".join(told) + "."
