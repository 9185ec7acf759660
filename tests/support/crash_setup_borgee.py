"""Kill ``setup borgee`` at its steps, and give it again each time.

Run as ``python -m tests.support.crash_setup_borgee CASE FOLDER EVERY`` it kills the command before every EVERYth step
and prints one JSON object a line, the first with the number of steps. The process has no threads, so that it may fork.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.crash import CountingDisk, KillingDisk, contents, play, say
from tests.support.crash_commands import carry_out, make_user, recover, scenario, stale, steps
from tests.support.keyring_backend import FILE_VARIABLE


def played(case: str, folder: Path, every: int) -> Iterator[dict[str, Any]]:
    """First the number of steps, then one row a kill."""
    carry_out(case, make_user(folder / "once"))  # what it imports, its children need not import again
    home = folder / "try" / "user"
    before = contents(make_user(folder / "try"))
    points, how = steps(case, home, folder / "points")
    after = contents(home)
    assert (how, before == after) == ("done", False)
    yield {"steps": len(points)}
    for number in range(0, len(points), every):
        shutil.rmtree(folder / "try")
        _entries_file().unlink(missing_ok=True)
        how = play(scenario(case), make_user(folder / "try"), KillingDisk(number + 1))
        recover(home)
        left = {"left": _state(home, before, after), "env_left": _text(home, ".env"), "entries_left": _entries()}
        again = play(scenario(case), home, CountingDisk())
        yield {
            "how": how,
            **left,
            "again": again,
            "after": _state(home, before, after),
            "env_after": _text(home, ".env"),
            "config_after": _text(home, "config.yaml"),
            "entries_after": _entries(),
            "stale": stale(home),
        }


def _state(home: Path, before: dict[str, str], after: dict[str, str]) -> str:
    now = contents(home)
    return "old" if now == before else "new" if now == after else "mixed"


def _text(home: Path, name: str) -> str:
    return (home / ".hermes" / name).read_text()


def _entries_file() -> Path:
    return Path(os.environ.get(FILE_VARIABLE, "/nonexistent"))


def _entries() -> dict[str, str]:
    """What the keyring holds; nothing where there is none."""
    file = _entries_file()
    entries: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    return entries


if __name__ == "__main__":
    for row in played(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])):
        say(row)
