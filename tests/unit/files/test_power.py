"""The power goes away after any step of a transaction: the files are old or new, and what was told is what is there.

A kill leaves the kernel's memory intact; here everything that was not synchronised may be missing
(:mod:`tests.support.power_tree`). The second test takes each synchronisation of a folder out, one at a time: a state
that breaks a promise must turn up. Source: decisions T6; command-line contract §6.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from canon_ops.errors import CanonOpsError
from canon_ops.files import atomic
from canon_ops.files.disk import Disk
from canon_ops.files.history import History
from canon_ops.files.transaction import Transaction
from tests.support import crash
from tests.support.crash import CountingDisk, contents, make_home
from tests.support.power_tree import RecordingDisk, Site, Step, Tree, cuts

FILES = Path(atomic.__file__).parent


Refuse = Callable[[str, Path | None], None]


class Killed(BaseException):
    """The process ends here."""


def never(call: str, path: Path | None) -> None:
    """Every call works."""


def first(call: str, name: str, code: int) -> Callable[[], Refuse]:
    """The first ``call`` about a file of that name fails."""

    def make() -> Refuse:
        left = [OSError(code, os.strerror(code))]

        def refuse(done: str, path: Path | None) -> None:
            if left and done == call and path is not None and path.name == name:
                raise left.pop()

        return refuse

    return make


@dataclass(frozen=True)
class Scenario:
    """What is done while the power goes away.

    Attributes:
        act: the work, on a folder that ``prepare`` made.
        refuse: what the disk refuses on the way.
        fails: the work ends with an error, after which everything is as before.
        enter: whose lock is taken first when the power is back; "" is the folder itself.
        begun: the folder holds an interrupted commit, so that only the new state is right.
        loose: until the work has ended, the history is not looked at.
    """

    act: Callable[[Path, Disk], None]
    prepare: Callable[[Path], Path] = make_home
    refuse: Callable[[], Refuse] = lambda: never
    fails: bool = False
    enter: str = ""
    begun: bool = False
    loose: bool = False


def untouched(folder: Path) -> Path:
    """A home in which nothing of ours was ever written."""
    home = make_home(folder)
    shutil.rmtree(home / ".canon-ops")
    return home


def two_homes(folder: Path) -> Path:
    """A folder with two homes, each with a file."""
    above = folder / "above"
    for name in ("hermes", "canon"):
        (above / name).mkdir(parents=True)
        (above / name / "file").write_bytes(b"old")
    return above


def in_two_homes(above: Path, disk: Disk) -> None:
    with Transaction(above / "hermes", also=(above / "canon",), disk=disk) as transaction:
        transaction.stage(above / "hermes" / "file", b"new")
        transaction.stage(above / "canon" / "file", b"new")
        transaction.commit()


def created_first(home: Path, disk: Disk) -> None:
    """A new file in a new folder, then a change."""
    with Transaction(home, disk=disk) as transaction:
        transaction.stage(home / "canon" / "agents.json", b"{}", private=True)
        transaction.stage(home / ".env", b"K=2\n")
        transaction.commit()


def interrupted(call: str, name: str, foreign: str = "") -> Callable[[Path], Path]:
    """A home in which the four changes of ``three_files`` were interrupted; somebody else wrote to ``foreign``."""

    class Dying(CountingDisk):
        dead = False

        def at_point(self, done: str, step: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
            self.dead = self.dead or (done == call and isinstance(arguments[-1], Path) and arguments[-1].name == name)
            if self.dead:
                raise Killed
            return step(*arguments)

    def prepare(folder: Path) -> Path:
        home = make_home(folder)
        with contextlib.suppress(Killed):
            crash.three_files(home, Dying())
        assert (home / ".canon-ops" / "pending").exists()
        if foreign:
            (home / foreign).write_bytes(b"theirs")
        return home

    return prepare


def keep(home: Path, disk: Disk) -> None:
    with Transaction(home, disk=disk) as transaction:
        transaction.keep(home / "config.yaml")


def forget(home: Path, disk: Disk) -> None:
    with Transaction(home, disk=disk) as transaction:
        transaction.history.forget(transaction.history.records()[0])


def enter(home: Path, disk: Disk) -> None:
    with Transaction(home, disk=disk):
        pass


def replace(home: Path, disk: Disk) -> None:
    atomic.replace_file(home / ".env", b"K=2\n", disk=disk)


SCENARIOS = {
    "one": Scenario(crash.one_file),
    "three": Scenario(crash.three_files),
    "three in an untouched home": Scenario(crash.three_files, untouched),
    "undo": Scenario(crash.undo_one),
    "in place": Scenario(crash.mounted),
    "two homes": Scenario(in_two_homes, two_homes, enter="canon"),
    "refused while staging": Scenario(crash.three_files, refuse=first("sync", "home", errno.EIO), fails=True),
    "taken back": Scenario(crash.three_files, refuse=first("unlink", "old.json", errno.EACCES), fails=True),
    "a new file taken back": Scenario(created_first, refuse=first("rename", ".env", errno.EACCES), fails=True),
    "keep": Scenario(keep),
    "forget": Scenario(forget, loose=True),
    "discard": Scenario(enter, interrupted("rename", "entry.json"), begun=True),
    "finish": Scenario(enter, interrupted("rename", ".env"), begun=True),
    "finish a deletion": Scenario(enter, interrupted("unlink", "old.json"), begun=True),
    "abandon": Scenario(enter, interrupted("rename", ".env", ".env"), begun=True),
    "abandon at the end": Scenario(enter, interrupted("unlink", "old.json", ".env"), begun=True),
    "replace": Scenario(replace),
}


View = tuple[dict[str, str], list[Any]]


def view(home: Path) -> View:
    """What a person finds: each file, and each entry of the history with its texts."""
    entries: list[Any] = []
    for state in sorted(home.rglob(".canon-ops")):
        history, folder = History(state.parent), state / "history"
        records = history.records()
        if folder.exists():
            entries.append(sorted({each.name for each in folder.iterdir()} - {record.id for record in records}))
        for record in records:
            texts: list[Any] = []
            with contextlib.suppress(CanonOpsError):
                texts = [history.texts(record, which) for which in ("before", "after")]
            entries.append((record.id, record.outcome, texts))
    return contents(home), entries


@dataclass(frozen=True)
class Played:
    """What a scenario did once, so that it can be cut anywhere."""

    scenario: Scenario
    home: Path
    tree: Tree
    steps: list[Step]
    before: View
    after: View
    new: dict[str, str]

    def wrong(self, without: Site | None = None) -> Iterator[str]:
        """Each state after a cut that breaks a promise, and "" for one that keeps them."""
        for number in cuts(copy.deepcopy(self.tree), self.steps, without=without):
            ended = number == len(self.steps)
            try:
                said = self._look(ended=ended)
            except (CanonOpsError, OSError) as error:
                said = f"cannot be repaired: {error!r}"
            last = self.steps[number - 1] if number else None
            yield said and f"step {number} of {len(self.steps)}, {last}: {said}"

    def _look(self, *, ended: bool) -> str:
        mine = self.scenario
        first_of_all = self.home / mine.enter
        with Transaction(first_of_all) as transaction:
            repaired = transaction.repaired
        files = contents(self.home)
        for folder in [*self.home.rglob(".canon-ops")]:
            with Transaction(folder.parent):
                pass
        found = view(self.home)
        if files != found[0]:
            return f"{first_of_all} alone does not repair all"
        litter = [each for each in self.home.rglob("*") if each.suffix == ".tmp" or each.name.startswith("pending")]
        if litter and mine.act is not replace:
            return f"left: {litter}"
        if ended and not mine.fails and repaired is not None:
            return f"what has ended is repaired: {repaired}"
        if ended or mine.begun:
            right = found == self.after
        elif mine.loose:
            right = found[0] in (self.before[0], self.new)
        elif mine.fails:  # either it was carried out, or nothing tells of it
            right = found == self.before or found[0] == self.new
        else:
            right = found in (self.before, self.after)
        return "" if right else f"{'ended' if ended else 'under way'}, but there is {found}"


@pytest.fixture(scope="module")
def play() -> Iterator[Callable[[str], Played]]:
    """Each scenario is carried out once; in memory where there is one."""
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        above = Path(name).resolve()

        @cache
        def played(case: str) -> Played:
            scenario = SCENARIOS[case]
            clean = scenario.prepare(above / case / "clean")
            scenario.act(clean, Disk())
            home = scenario.prepare(above / case)
            before, tree, disk = view(home), Tree(home), RecordingDisk(scenario.refuse())
            with pytest.raises(CanonOpsError) if scenario.fails else contextlib.nullcontext():
                scenario.act(home, disk)
            after = view(home)
            assert (before == after) is (scenario.fails or case == "discard")
            return Played(scenario, home, tree, disk.steps, before, after, contents(clean))

        yield played


@pytest.mark.parametrize("case", SCENARIOS)
def test_a_power_cut_leaves_old_or_new(case: str, play: Callable[[str], Played]) -> None:
    """After each step, with any of what was not synchronised gone: old or new, no litter, and what ended stays so."""
    found = list(play(case).wrong())

    assert [each for each in found if each] == []
    assert len(found) > len(play(case).steps)


# -- each synchronisation is needed -----------------------------------------------------------------------------------


def sites() -> dict[str, Site]:
    """Every line of the room that synchronises a folder: module, function and which of it."""
    found: dict[str, Site] = {}
    for file in sorted(FILES.glob("*.py")):
        for function in ast.walk(ast.parse(file.read_text())):
            if not isinstance(function, ast.FunctionDef):
                continue
            lines = [
                node.lineno
                for node in ast.walk(function)
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "sync_folder"
            ]
            for number, line in enumerate(sorted(lines), start=1):
                found[f"{file.stem}.{function.name} {number}"] = file.stem, function.name, line
    return found


# The site -> a scenario that shows what happens without it.
HELD = {
    "atomic.replace_file 1": "replace",
    "disk.make_folders 1": "three in an untouched home",
    "grounds.announce 1": "two homes",
    "history.forget 1": "forget",
    "journal._drop_temporaries 1": "discard",
    "journal._file_away 1": "one",
    "journal._file_away 2": "one",
    "journal._finish 1": "abandon",
    "journal._move 1": "in place",
    "journal._move 2": "one",
    "journal._replace 1": "three",
    "journal._restore 1": "a new file taken back",
    "journal._take_back 1": "a new file taken back",
    "journal._throw_away 1": "discard",
    "journal.begin 1": "one",
    "journal.begin 2": "one",
    "journal.carry_out 1": "one",
    "journal.keep 1": "keep",
}


@pytest.mark.parametrize("site", HELD)
def test_a_power_cut_tells_when_a_synchronisation_is_missing(site: str, play: Callable[[str], Played]) -> None:
    """Without that line some state after a cut breaks a promise."""
    assert next(filter(None, play(HELD[site]).wrong(without=sites()[site])), None) is not None


def test_every_synchronisation_has_its_scenario() -> None:
    """A line that synchronises a folder comes with the accident that it prevents."""
    assert set(HELD) == set(sites())
