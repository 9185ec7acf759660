"""``make soak``: two gateways under load for an hour, replaced in turns; a table, and the page of it.

``SOAK_S=900`` is shorter, ``SOAK_ARGS="--every 240 --settle 90"`` has more lives in less time, and
``SOAK_ARGS=--write`` writes ``docs/soak.md`` with its picture. The exit status is 1 when a promise was not kept: a
message that was lost, answered twice unmarked or never settled, a measure that rises.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from canon_hermes_plugin.host import load_host
from scripts.soak_page import PICTURE, Setting, console, document, is_kept, picture
from tests.support.soak_run import Plan, soak
from tests.support.soaking import Windows

__all__ = ["PAGE", "main"]

CHECKOUT = Path(__file__).resolve().parents[1]
PAGE = CHECKOUT / "docs" / "soak.md"


def setting(note: str) -> Setting:
    """Now and here."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    ).stdout.strip()
    day = datetime.now(UTC).date().isoformat()
    return Setting(day, commit or "no commit", platform.python_version(), str(load_host().version), note)


def plan_of(arguments: list[str] | None) -> tuple[Plan, bool, str]:
    """What was asked for, whether it is written down, and with which note."""
    usual = Plan()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=usual.seconds, help="people say new things for so long (3600)")
    parser.add_argument("--every", type=float, default=usual.every_s, help="from one round of replacements to the next")
    parser.add_argument("--conversations", type=int, default=usual.conversations)
    parser.add_argument("--at-once", type=int, default=usual.at_once, help="turns that are open at any time")
    parser.add_argument("--wait", type=float, default=usual.wait_s, help="how long the model takes for an answer")
    parser.add_argument("--drain", type=float, default=usual.drain_s, help="what a gateway that ends gives its turns")
    parser.add_argument("--settle", type=float, default=usual.windows.settle_s, help="until a life counts as settled")
    parser.add_argument("--window", type=float, default=usual.windows.window_s)
    parser.add_argument("--write", action="store_true", help="write docs/soak.md and its picture")
    parser.add_argument("--note", default="", help="a paragraph of your own for the page")
    options = parser.parse_args(arguments)
    plan = Plan(
        seconds=options.seconds,
        every_s=options.every,
        conversations=options.conversations,
        at_once=options.at_once,
        wait_s=options.wait,
        drain_s=options.drain,
        windows=Windows(options.settle, options.window),
    )
    return plan, options.write, options.note


def main(arguments: list[str] | None = None) -> int:
    """Load, measure, print, write; 1 when a promise was not kept."""
    plan, writes, note = plan_of(arguments)
    with tempfile.TemporaryDirectory(prefix="soak-") as scratch:
        os.environ["HERMES_HOME"] = os.environ["HOME"] = scratch
        now = setting(note)
        found = soak(Path(scratch), plan, lambda line: print(line, file=sys.stderr, flush=True))
    print(console(found, now))
    for broken in (*found.outcome.lost, *found.outcome.breaches, *found.outcome.salvaged):
        print(f"  {broken}")
    if writes:
        PAGE.write_text(document(found, now), encoding="utf-8")
        PAGE.with_name(PICTURE.partition("/")[0]).joinpath("soak.svg").write_text(picture(found), encoding="utf-8")
    return int(not is_kept(found))


if __name__ == "__main__":
    sys.exit(main())
