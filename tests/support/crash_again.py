"""Kill a command at its steps, and give it again each time: ``setup borgee`` and ``creds move``.

Run as ``python -m tests.support.crash_again CASE FOLDER EVERY`` it kills the command before every EVERYth step
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
from tests.support.crash_commands import MOVED_KEY, carry_out, make_user, recover, scenario, stale, steps
from tests.support.keyring_backend import FILE_VARIABLE


def played(case: str, folder: Path, every: int) -> Iterator[dict[str, Any]]:
    """First the number of steps, then one row a kill."""
    carry_out(case, prepared(folder / "once", case))  # what it imports, its children need not import again
    home = folder / "try" / "user"
    _entries_file().unlink(missing_ok=True)
    before = contents(prepared(folder / "try", case))
    points, how = steps(case, home, folder / "points")
    after = contents(home)
    assert (how, before == after) == ("done", False)
    yield {"steps": len(points)}
    for number in range(0, len(points), every):
        shutil.rmtree(folder / "try")
        _entries_file().unlink(missing_ok=True)
        how = play(scenario(case), prepared(folder / "try", case), KillingDisk(number + 1))
        recover(home)
        left = {"left": _state(home, before, after), "env_left": _text(home, ".env"), "entries_left": _entries()}
        left["keys_left"] = _holding(home)
        again = play(scenario(case), home, CountingDisk())
        yield {
            "how": how,
            **left,
            "again": again,
            "after": _state(home, before, after),
            "env_after": _text(home, ".env"),
            "config_after": _text(home, "config.yaml"),
            "entries_after": _entries(),
            "keys_after": _holding(home),
            "stale": stale(home),
        }


def prepared(folder: Path, case: str) -> Path:
    """The home in which the command begins; a key that goes back to its file was moved out of it before."""
    home = make_user(folder, case)
    if case == "creds move to file":
        assert play(scenario("creds move to keyring"), home, CountingDisk()) == "done"
    return home


def _holding(home: Path) -> list[str]:
    """Every file below the home that holds the key of ``creds move``; a Canon home is kept to itself."""
    files = [file for file in home.rglob("*") if file.is_file()]
    return sorted(str(file.relative_to(home)) for file in files if MOVED_KEY in file.read_text(errors="replace"))


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
