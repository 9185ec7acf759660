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
from tests.support.canon_files import pending_entry, profile_entry
from tests.support.crash import CountingDisk, contents, play, say, schedules
from tests.support.keyring_backend import FILE_VARIABLE, keyring_variables

__all__ = [
    "COMMANDS",
    "MOVED_KEY",
    "SERVED",
    "WITHOUT_A_JOURNAL",
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
# two folders, and one `undo` three.
COMMANDS: dict[str, tuple[str, ...]] = {
    "env set": ("env", "set", "CANON_AGENT", "desk"),
    "env lint": ("env", "lint", "--fix"),
    "env in a new home": ("env", "set", "CANON_AGENT", "desk", "--hermes-home", "{home}/.hermes/profiles/new"),
    "config set": ("config", "set", "streaming.enabled", "false"),
    "config unset": ("config", "unset", "streaming.enabled"),
    "config add": ("config", "add", "plugins.disabled", "third"),
    "config remove": ("config", "remove", "plugins.disabled", "first"),
    "config edit": ("config", "edit", "--yes"),
    "config recommend": ("config", "recommend", "canon", "--yes"),
    "config heal": ("config", "heal", "--yes"),
    "env unset": ("env", "unset", "LANG"),
    "undo": ("undo",),
    "undo of three": ("undo",),
    "preferences set": ("preferences", "set", "keyring.use", "false"),
    "profile bind": ("profile", "bind", "desk", "--yes"),
    "profile bind from bootstrap": ("profile", "bind", "cloud", "--yes"),
    "profile unbind": ("profile", "unbind"),
    "profile cancel": ("profile", "cancel", "ops", "--yes"),
    "profile migrate": (
        "profile", "migrate", "old", "--environment", "{environment}", "--base-url", "{server}",
        "--stream-url", "{stream}",
    ),
    "profile export": ("profile", "export", "--output", "{home}/offered.json", "--include-secrets", "--replace"),
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
# What writes a file that no history may keep, for it is made of keys.
WITHOUT_A_JOURNAL = {"profile export"}
# What puts a key into the keyring before a file names it: after a kill there may be an entry and old files.
IN_KEYRING = {"setup borgee keyring": (*COMMANDS["setup borgee"], "--store", "keyring")}
IN_KEYRING |= {f"creds move to {store}": ("creds", "move", "--to", store, "--canon-profile", "desk")
               for store in ("keyring", "file")}  # fmt: skip
SERVED = ("SERVER_ADDRESS", "SERVER_KEY", "SERVER_STREAM", "SERVER_ENVIRONMENT")
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
LISTED = CONFIG + "plugins:\n  disabled:\n  # goes with it\n  - first\n  - second   # stays\n"
MOVED_KEY = "agk_live_moving89abcdef01"
MOVING = json.dumps({"ops": profile_entry(), "desk": profile_entry(agentId="agent_desk", apiKey=MOVED_KEY)})
# By case: further files, or others than usual.
OTHER_FILES = {
    "config add": {".hermes/config.yaml": LISTED},
    "config remove": {".hermes/config.yaml": LISTED},
    "profile unbind": {
        ".hermes/.env": ENV + "CANON_AGENT=desk\n",
        ".hermes/config.yaml": CONFIG + "    extra: {agent: desk}\n",
    },
    "creds move to keyring": {".canon/agents.json": MOVING},
    "creds move to file": {".canon/agents.json": MOVING},
    "profile cancel": {".canon/pending-registrations.json": json.dumps({"ops": pending_entry()})},
}
# A command that says yes to whatever it is shown.
EDITORS = {"config edit": "sed -i s/true/false/"}
# By case: config.yaml, what we made of it, and what is there when the command comes.
EARLIER = {
    "config heal": (STRIPPED, CONFIG, STRIPPED),
    "undo": (CONFIG.replace("true", "false"), CONFIG, CONFIG),
}


def _older_profile() -> str:
    """An agents.json from before environments; its key is one that the server knows."""
    return json.dumps({"old": {"apiKey": os.environ.get("SERVER_KEY", ""), "registeredAt": "2026-09-11T15:51:09Z"}})


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
        **OTHER_FILES.get(case, {}),
    }
    if case == "profile migrate":
        files[".canon/agents.json"] = _older_profile()
    for name, text in files.items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.write_text(text)
        file.chmod(0o600)
    if case == "undo of three":
        with Transaction(home / ".hermes", also=(home / ".canon",), label="profile bind") as earlier:
            earlier.stage(home / ".hermes" / "config.yaml", b"a: 1\n")
            earlier.stage(home / ".hermes" / ".env", None)
            earlier.stage(home / ".canon" / "agents.json", b"{}")
            earlier.commit()
    if case in EARLIER:
        config = home / ".hermes" / "config.yaml"
        first, ours, now = EARLIER[case]
        config.write_text(first)
        with Transaction(home / ".hermes", label="config set") as earlier:
            earlier.stage(config, ours.encode())
            earlier.commit()
        config.write_text(now)
    return home


def environ_of(home: Path, case: str = "") -> dict[str, str]:
    """The environment in which a command works on that home."""
    cloud = json.dumps({"cloud": profile_entry(agentId="agent_cloud")})
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "CANON_AGENTS_JSON_BOOTSTRAP": cloud,
        **({"EDITOR": EDITORS[case]} if case in EDITORS else {}),
        **{name: os.environ[name] for name in SERVED if name in os.environ},
        **(keyring_variables(Path(os.environ[FILE_VARIABLE])) if FILE_VARIABLE in os.environ else KEYRING_OFF),
    }


def words_of(case: str, home: Path) -> list[str]:
    """The command line of a case."""
    served = {name.removeprefix("SERVER_").lower(): os.environ.get(name, "") for name in SERVED}
    return [word.format(home=home, server=served["address"], **served) for word in (COMMANDS | IN_KEYRING)[case]]


def stale(home: Path) -> list[str]:
    """What no run may leave behind."""
    return [str(path.relative_to(home)) for path in home.rglob("*") if path.suffix == ".tmp" or path.name == "pending"]


def carry_out(case: str, home: Path) -> None:
    """Run the command in this process.

    Raises:
        CanonOpsError: with the code of the first error that it answered with.
    """
    environ = environ_of(home, case)
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


def left_to_the_next_run(case: str, home: Path) -> None:
    """Where there is no journal: what a kill left is private, and the same command takes it away a minute later."""
    for file in home.rglob("*.tmp"):
        assert file.stat().st_mode & 0o077 == 0
        os.utime(file, (0, 0))
    assert play(scenario(case), home, CountingDisk()) == "done"


def report(
    case: str, label: str, how: str, home: Path, before: dict[str, str], after: dict[str, str]
) -> dict[str, Any]:
    repaired = recover(home)
    now = contents(home)
    if case in WITHOUT_A_JOURNAL:
        left_to_the_next_run(case, home)
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
            yield report(case, label, how, home, before, after)


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
