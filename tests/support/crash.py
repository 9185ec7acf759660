"""Kill or fail a commit at each of its steps, in processes of their own, and look at what is left.

Run as a program (``python -m tests.support.crash SCENARIO FOLDER``) it plays every schedule of a scenario and prints
one JSON object a line; imported, it gives the disks and the scenarios. The process has no threads, so that it may fork.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from canon_ops.errors import CanonOpsError
from canon_ops.files.disk import Disk
from canon_ops.files.transaction import Transaction
from canon_ops.files.undo import undo

__all__ = ["CALLS", "SCENARIOS", "CountingDisk", "FailingDisk", "KillingDisk", "contents", "leftovers", "make_home"]

CALLS = (
    "make_folder",
    "create",
    "overwrite",
    "give_to",
    "set_mode",
    "write",
    "sync",
    "rename",
    "unlink",
    "remove_folder",
)
ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES)


class CountingDisk(Disk):
    """The real disk; ``at_point`` is asked before each call that changes something, and told its name."""

    def __init__(self) -> None:
        self.points: list[str] = []
        for name in CALLS:
            setattr(self, name, self._wrap(name, getattr(self, name)))

    def _wrap(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self.points.append(name)
            return self.at_point(name, call, arguments)

        return counted

    def at_point(self, name: str, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        return call(*arguments)


class KillingDisk(CountingDisk):
    """Kill this process before call number ``point``; ``torn``: a write gets half its bytes down first."""

    def __init__(self, point: int, *, torn: bool = False) -> None:
        super().__init__()
        self.point, self.torn = point, torn

    def at_point(self, name: str, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if len(self.points) == self.point:
            if self.torn and name == "write":
                call(arguments[0], arguments[1][: len(arguments[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments)


class FailingDisk(CountingDisk):
    """Call number ``point`` fails with ``code``; with ``forever`` every later one does too."""

    def __init__(self, point: int, code: int, *, forever: bool = False) -> None:
        super().__init__()
        self.point, self.code, self.forever = point, code, forever

    def at_point(self, name: str, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if len(self.points) == self.point or (self.forever and len(self.points) > self.point):
            raise OSError(self.code, os.strerror(self.code))
        return call(*arguments)


# -- scenarios --------------------------------------------------------------------------------------------------------


def make_home(folder: Path) -> Path:
    """A home with two files, a link, and one commit in its history."""
    home = folder / "home"
    (home / "dotfiles").mkdir(parents=True)
    (home / "dotfiles" / "hermes.yaml").write_bytes(b"a: 1\n")
    (home / "config.yaml").symlink_to(Path("dotfiles/hermes.yaml"))
    (home / ".env").write_bytes(b"K=1\n")
    (home / ".env").chmod(0o640)
    (home / "old.json").write_bytes(b"{}")
    with Transaction(home) as transaction:
        transaction.stage(home / ".env", b"K=1\nL=2\n")
        transaction.commit()
    return home


def one_file(home: Path, disk: Disk) -> None:
    with Transaction(home, disk=disk) as transaction:
        transaction.stage(home / "config.yaml", b"a: 2\n" * 100)
        transaction.commit()


def three_files(home: Path, disk: Disk) -> None:
    """Change through a link, change, create in a new folder, delete."""
    with Transaction(home, disk=disk) as transaction:
        transaction.stage(home / "config.yaml", b"a: 2\n")
        transaction.stage(home / ".env", b"K=2\n")
        transaction.stage(home / "canon" / "agents.json", b'{"agents": {}}', private=True)
        transaction.stage(home / "old.json", None)
        transaction.commit()


def undo_one(home: Path, disk: Disk) -> None:
    with Transaction(home, disk=disk) as transaction:
        undo(transaction)
        transaction.commit()


def mounted(home: Path, disk: Disk) -> None:
    """Two files, one of which is a mount point, so that nothing can be renamed over it."""
    rename = disk.rename

    def refuse(source: Path, target: Path) -> None:
        if target.name == "hermes.yaml":
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        rename(source, target)

    disk.rename = refuse  # type: ignore[method-assign]
    with Transaction(home, disk=disk) as transaction:
        transaction.stage(home / ".env", b"K=2\n")
        transaction.stage(home / "config.yaml", b"a: 2\n" * 100)
        transaction.commit()


SCENARIOS: dict[str, Callable[[Path, Disk], None]] = {
    "one": one_file,
    "three": three_files,
    "undo": undo_one,
    "mounted": mounted,
}


def contents(home: Path) -> dict[str, str]:
    """Every file of the user's: its bytes as text, its mode; temporary files are :func:`leftovers`."""
    found = {}
    for path in sorted(home.rglob("*")):
        if ".canon-ops" not in path.parts and path.is_file() and path.suffix != ".tmp":
            found[str(path.relative_to(home))] = f"{path.stat().st_mode & 0o777:o} {path.read_text()}"
    return found


def leftovers(home: Path) -> list[str]:
    """What no run may leave behind."""
    pending = home / ".canon-ops" / "pending"
    return [str(path.relative_to(home)) for path in home.rglob("*.tmp")] + (["pending"] if pending.exists() else [])


# -- schedules --------------------------------------------------------------------------------------------------------


def schedules(points: list[str]) -> Iterator[tuple[str, Callable[[], Disk]]]:
    for number, name in enumerate(points, start=1):
        yield f"kill {number} {name}", lambda number=number: KillingDisk(number)  # type: ignore[misc]
        if name == "write":
            yield f"tear {number} {name}", lambda number=number: KillingDisk(number, torn=True)  # type: ignore[misc]
        for code in ERRORS:
            for forever in (False, True):
                mark = "ever" if forever else "once"
                yield (
                    f"fail-{mark} {number} {name} {errno.errorcode[code]}",
                    lambda number=number, code=code, forever=forever: FailingDisk(number, code, forever=forever),  # type: ignore[misc]
                )


def play(scenario: Callable[[Path, Disk], None], home: Path, disk: Disk) -> str:
    """Run one schedule in a process of its own and say how that ended: "killed", "done", or an error's code."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        word = "done"
        try:
            scenario(home, disk)
        except CanonOpsError as error:
            word = error.code
        except BaseException as error:
            word = f"unexpected {error!r}"
        os.write(writing, word.encode())
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        word = pipe.read()
    return "killed" if os.WIFSIGNALED(status) else word


def report(label: str, how: str, home: Path, before: dict[str, str], after: dict[str, str]) -> dict[str, Any]:
    """Recover as the next start does, and tell what there is."""
    mixed = contents(home) not in (before, after)
    with Transaction(home) as transaction:
        repaired = transaction.repaired
    now = contents(home)
    return {
        "schedule": label,
        "how": how,
        "mixed_before_recovery": mixed,
        "repaired": repaired.outcome if repaired else None,
        "outcome": "old" if now == before else "new" if now == after else "mixed",
        "now": now if now not in (before, after) else None,
        "leftovers": leftovers(home),
    }


def recover(home: Path, disk: Disk) -> None:
    with Transaction(home, disk=disk):
        pass


def twice(scenario: Callable[[Path, Disk], None], points: list[str], folder: Path) -> Iterator[tuple[str, str, Path]]:
    """Kill the commit at each point, then the recovery at each of its points."""
    home, saved = folder / "try" / "home", folder / "saved"
    for number in range(1, len(points) + 1):
        play(scenario, make_home(folder / "try"), KillingDisk(number))
        (folder / "try").rename(saved)
        second, how = 0, ""
        while how != "done":
            second += 1
            shutil.copytree(saved, folder / "try", symlinks=True)  # to the same place: the journal names whole paths
            how = play(recover, home, KillingDisk(second))
            yield f"kill {number} then {second}", how, home
            shutil.rmtree(folder / "try")
        shutil.rmtree(saved)


def main(name: str, folder: Path) -> None:
    scenario = SCENARIOS[name]
    counting = CountingDisk()
    before = contents(make_home(folder / "before"))
    after_home = make_home(folder / "after")
    scenario(after_home, counting)
    after = contents(after_home)
    say({"points": counting.points, "before": before, "after": after})
    for label, make_disk in schedules(counting.points):
        home = make_home(folder / "try")
        how = play(scenario, home, make_disk())
        say(report(label, how, home, before, after))
        shutil.rmtree(folder / "try")
    for label, how, home in twice(scenario, counting.points, folder):
        say(report(label, how, home, before, after))


def say(row: dict[str, Any]) -> None:
    print(json.dumps(row))  # noqa: T201


if __name__ == "__main__":
    if len(sys.argv) == 4:  # one plain run of a scenario on a home that is there: what strace looks at
        SCENARIOS[sys.argv[1]](Path(sys.argv[2]), Disk())
    else:
        main(sys.argv[1], Path(sys.argv[2]))
