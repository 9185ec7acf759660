"""Kill or fail whole commands at each step by which they change a disk, and look at what is left.

The schedules are those of :mod:`tests.support.crash`; what runs under them is the program itself, with a user's files
below a home of its own. Run as ``python -m tests.support.crash_commands COMMAND FOLDER [slice|none]`` it plays every
schedule of one command (every seventh, none) and prints one JSON object a line. The process has no threads, so that it
may fork.

A command that asks a server finds its address and key in the variables :data:`SERVED`, which the test sets.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from canon_ops.cli.main import start
from canon_ops.cli.streams import Streams
from canon_ops.errors import CanonOpsError
from canon_ops.files import atomic, history, lock, transaction
from canon_ops.files.disk import Disk
from canon_ops.files.transaction import Transaction
from tests.support.canon_files import profile_entry
from tests.support.crash import CountingDisk, contents, play, say, schedules
from tests.support.keyring_backend import FILE_VARIABLE, keyring_variables

__all__ = [
    "COMMANDS",
    "SERVED",
    "carry_out",
    "environ_of",
    "make_user",
    "recover",
    "scenario",
    "stale",
    "steps",
    "words_of",
]

# Name of the case -> the words of the command. One file each; `doctor --fix` two, `profile bind` two, or three in
# two folders.
COMMANDS: dict[str, tuple[str, ...]] = {
    "env set": ("env", "set", "CANON_AGENT", "desk"),
    "env lint": ("env", "lint", "--fix"),
    "env in a new home": ("env", "set", "CANON_AGENT", "desk", "--hermes-home", "{home}/.hermes/profiles/new"),
    "config set": ("config", "set", "streaming.enabled", "false"),
    "config heal": ("config", "heal", "--yes"),
    "undo": ("undo",),
    "preferences set": ("preferences", "set", "keyring.use", "false"),
    "profile bind": ("profile", "bind", "desk", "--yes"),
    "profile bind from bootstrap": ("profile", "bind", "cloud", "--yes"),
    "profile import": ("profile", "import", "{home}/offered.json", "--replace"),
    "creds remove": ("creds", "remove", "--canon-profile", "desk", "--yes"),
    "doctor fix": (
        "doctor", "--only", "env.duplicate,settings.display", "--fix", "--yes", "--severity-min", "info",
    ),
    "setup borgee": (
        "setup", "borgee", "--base-url", "{server}", "--allow-insecure-loopback", "--api-key-env", "SERVER_KEY",
        "--change-shared", "--agent-id", "agent_sandbox",
    ),
}  # fmt: skip
# What puts a key into the keyring before a file names it: after a kill there may be an entry and old files.
IN_KEYRING = {"setup borgee keyring": (*COMMANDS["setup borgee"], "--store", "keyring")}
SERVED = ("SERVER_ADDRESS", "SERVER_KEY")
KEYRING_OFF = {"CANON_OPS_KEYRING": "off"}
SLICES = {"": 1, "slice": 7, "none": None}

CONFIG = """\
# mine
streaming:
  enabled: true   # why not
platforms:
  canon:
    token: older-0123456789-key
    enabled: true
"""
ENV = "# kept\nTZ=UTC\nTZ=CET\nLANG=C\nLANG=C\nCANON_API_KEY=older-0123456789-key\nCANON_ENVIRONMENT_ID=canon-dev-v1\n"


STRIPPED = yaml.safe_dump(yaml.safe_load(CONFIG))
# By case: config.yaml, what we made of it, and what is there when the command comes.
EARLIER = {
    "config heal": (STRIPPED, CONFIG, STRIPPED),
    "undo": (CONFIG.replace("true", "false"), CONFIG, CONFIG),
}


def make_user(folder: Path, case: str = "") -> Path:
    """A home folder with everything that the commands change, and what came before where a case needs it."""
    home = folder / "user"
    files = {
        ".hermes/config.yaml": CONFIG,
        ".hermes/.env": ENV,
        ".hermes/profiles/new/SOUL.md": "",
        ".canon/agents.json": json.dumps({"ops": profile_entry(), "desk": profile_entry(agentId="agent_desk")}),
        ".config/canon-ops/settings.toml": "# mine\n[keyring]\nuse = true\n",
        "offered.json": json.dumps({"desk": profile_entry(agentId="agent_new"), "more": profile_entry(agentId="m")}),
    }
    for name, text in files.items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.write_text(text)
        file.chmod(0o600)
    if case in EARLIER:
        config = home / ".hermes" / "config.yaml"
        first, ours, now = EARLIER[case]
        config.write_text(first)
        with Transaction(home / ".hermes", label="config set") as earlier:
            earlier.stage(config, ours.encode())
            earlier.commit()
        config.write_text(now)
    return home


def environ_of(home: Path) -> dict[str, str]:
    """The environment in which a command works on that home."""
    cloud = json.dumps({"cloud": profile_entry(agentId="agent_cloud")})
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "CANON_AGENTS_JSON_BOOTSTRAP": cloud,
        **{name: os.environ[name] for name in SERVED if name in os.environ},
        **(keyring_variables(Path(os.environ[FILE_VARIABLE])) if FILE_VARIABLE in os.environ else KEYRING_OFF),
    }


def words_of(case: str, home: Path) -> list[str]:
    """The command line of a case."""
    return [
        word.format(home=home, server=os.environ.get("SERVER_ADDRESS", "")) for word in (COMMANDS | IN_KEYRING)[case]
    ]


def stale(home: Path) -> list[str]:
    """What no run may leave behind."""
    return [str(path.relative_to(home)) for path in home.rglob("*") if path.suffix == ".tmp" or path.name == "pending"]


def carry_out(case: str, home: Path) -> None:
    """Run the command in this process.

    Raises:
        CanonOpsError: with the code of the first error that it answered with.
    """
    environ = environ_of(home)
    os.environ.clear()
    os.environ.update(environ)
    out, err = io.StringIO(), io.StringIO()
    code = start("canon-ops", "", [*words_of(case, home), "--json"], environ, Streams(None, out, err, environ))
    document = json.loads(out.getvalue())
    if code and not document["data"]:  # findings that are left (env lint) are no failure
        error = CanonOpsError(document["errors"][0]["message"])
        error.code = document["errors"][0]["code"]  # type: ignore[misc]
        raise error


def scenario(case: str) -> Callable[[Path, Disk], None]:
    """The command as something that :func:`tests.support.crash.play` can run."""

    def run(home: Path, disk: Disk) -> None:
        for room in (atomic, history, lock, transaction):  # this process is a child that nobody else uses
            room.Disk = lambda: disk  # type: ignore[attr-defined]
        carry_out(case, home)

    return run


def recover(home: Path) -> str | None:
    """What the next commands do first, in every folder where changes are journaled; the last outcome."""
    outcome = None
    for place in sorted(home.rglob(".canon-ops")):
        with Transaction(place.parent) as entered:
            outcome = entered.repaired.outcome if entered.repaired else outcome
    return outcome


def report(label: str, how: str, home: Path, before: dict[str, str], after: dict[str, str]) -> dict[str, Any]:
    repaired = recover(home)
    now = contents(home)
    return {
        "schedule": label,
        "how": how,
        "repaired": repaired,
        "outcome": "old" if now == before else "new" if now == after else "mixed",
        "now": now if now not in (before, after) else None,
        "stale": stale(home),
    }


def played(case: str, folder: Path, *, every: int | None = 1) -> Iterator[dict[str, Any]]:
    """First the steps and both states, then one row a schedule."""
    if case == "doctor fix":  # it has threads, which would not survive the fork
        import canon_ops.cli.commands.doctor
        import canon_ops.doctor.mending  # noqa: F401
    else:
        carry_out(case, make_user(folder / "once", case))  # what it imports, its children need not import again
    before = contents(make_user(folder / "try", case))
    home = folder / "try" / "user"
    points, how = steps(case, home, folder / "points")
    after = contents(home)
    yield {"points": points, "before": before, "after": after, "how": how}
    for number, (label, make_disk) in enumerate(schedules(points)):
        if every is not None and number % every == 0:
            shutil.rmtree(folder / "try")
            how = play(scenario(case), make_user(folder / "try", case), make_disk())
            yield report(label, how, home, before, after)


def steps(case: str, home: Path, counted: Path) -> tuple[list[str], str]:
    """Run the command in a child: every step by which it changes the disk, and how it ended."""

    class Writing(CountingDisk):
        """Keep the list where the parent can read it: the command runs in a child."""

        def at_point(self, name: str, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
            counted.write_text("\n".join(self.points))
            return super().at_point(name, call, arguments)

    how = play(scenario(case), home, Writing())
    return counted.read_text().splitlines(), how


if __name__ == "__main__":
    for row in played(sys.argv[1], Path(sys.argv[2]), every=SLICES[sys.argv[3] if sys.argv[3:] else ""]):
        say(row)
