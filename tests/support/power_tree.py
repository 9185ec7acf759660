"""A power cut, played over folders in folders: what the transactions of ``canon_ops.files`` do to a home.

:mod:`tests.support.power` models the one folder of a database from a trace. Here :class:`RecordingDisk` writes down
each step of a transaction (that no step goes past it is what ``test_files_crash.py`` shows with ``strace``), and
:func:`cuts` plays the steps again, one by one, and makes the states in which the disk may come back after each:

* a file has the bytes that were synchronised, and any part of those that were not;
* a change of names is there or not, each for itself and in any order, until every folder that it touches was
  synchronised; a rename is there whole or not at all.

That is less than the common file systems promise and all that POSIX does, so nothing here relies on one of them.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from tests.support.crash import CountingDisk
from tests.support.power import File

__all__ = ["RecordingDisk", "Site", "Step", "Tree", "cuts"]

Site = tuple[str, str, int]
"""Where a folder is synchronised: module, function, line."""
FEW = 4
"""Of so few names in doubt every combination is tried; of more, none, all, each alone and each missing."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call and what it was about.

    Attributes:
        paths: the folder or file; of a rename the old and the new path.
        descriptor: of the open file, where there is no path.
        site: which line synchronised a folder.
    """

    call: str
    paths: tuple[Path, ...] = ()
    descriptor: int = -1
    data: bytes = b""
    mode: int = 0
    site: Site | None = None


class RecordingDisk(CountingDisk):
    """The real disk, which remembers what was done.

    Args:
        refuse: may raise an error before a call; told its name and the path it is about, of a rename the new one.
    """

    def __init__(self, refuse: Callable[[str, Path | None], None]) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self._refuse = refuse
        self._folder: tuple[Path, Site] | None = None

    def sync_folder(self, path: Path) -> None:
        frame = sys._getframe(1)
        self._folder = path, (Path(frame.f_code.co_filename).stem, frame.f_code.co_name, frame.f_lineno)
        try:
            super().sync_folder(path)
        finally:
            self._folder = None

    def at_point(self, name: str, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        paths = tuple(each for each in arguments if isinstance(each, Path))
        if self._folder is not None:
            paths = (self._folder[0],)
        self._refuse(name, paths[-1] if paths else None)
        first, result = arguments[0], call(*arguments)
        if name == "sync" and self._folder is not None:
            self.steps.append(Step("sync_folder", (self._folder[0],), site=self._folder[1]))
        elif name in ("create", "overwrite"):
            self.steps.append(Step(name, (first,), result, mode=os.fstat(result).st_mode & 0o777))
        elif name == "write":
            self.steps.append(Step(name, (), first, arguments[1][:result]))
        elif name == "set_mode":
            self.steps.append(Step(name, (), first, mode=arguments[1]))
        elif name == "sync":
            self.steps.append(Step(name, (), first))
        elif name != "give_to":
            self.steps.append(Step(name, paths))
        return result


# -- the model --------------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Folder:
    mode: int


@dataclass(eq=False, slots=True)
class Leaf:
    """A file with its bytes, or a link with where it leads."""

    content: File = field(default_factory=File)
    mode: int = 0o600
    link: Path | None = None


Node = Folder | Leaf
Names = dict[Folder, dict[str, Node]]


@dataclass(eq=False, slots=True)
class Naming:
    """One change of names, and the folders whose synchronisation it waits for."""

    changes: tuple[tuple[Folder, str, Node | None], ...]
    waiting: set[Folder]


class Tree:
    """What is below ``root``: as it was at first, and every change of names since."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._top = Folder(root.stat().st_mode & 0o7777)
        self._first: Names = {}
        self._namings: list[Naming] = []
        self._open: dict[int, tuple[Leaf, int]] = {}
        self._take(root, self._top)
        self._now = _copied(self._first)

    def _take(self, path: Path, folder: Folder) -> None:
        names: dict[str, Node] = {}
        for each in path.iterdir():
            mode = each.lstat().st_mode & 0o7777
            if each.is_symlink():
                names[each.name] = Leaf(link=each.readlink())
            elif each.is_dir():
                names[each.name] = below = Folder(mode)
                self._take(each, below)
            else:
                names[each.name] = Leaf(File(each.read_bytes()), mode)
        self._first[folder] = names

    def _find(self, path: Path) -> Node:
        node: Node = self._top
        for part in path.relative_to(self.root).parts:
            assert isinstance(node, Folder)
            node = self._now[node][part]
        return node

    def _folder(self, path: Path) -> Folder:
        found = self._find(path)
        assert isinstance(found, Folder)
        return found

    def apply(self, step: Step) -> None:
        """Carry out one step."""
        if step.call == "sync_folder":
            folder = self._folder(step.paths[0])
            for naming in self._namings:
                naming.waiting.discard(folder)
        elif step.call in ("make_folder", "create"):
            made: Node = Folder(0o700) if step.call == "make_folder" else Leaf(mode=step.mode)
            if isinstance(made, Folder):
                self._first[made] = {}
                self._now[made] = {}
            else:
                self._open[step.descriptor] = made, 0
            self._name((step.paths[0], made))
        elif step.call == "overwrite":
            found = self._find(step.paths[0])
            assert isinstance(found, Leaf)
            found.content.change(0)
            self._open[step.descriptor] = found, 0
        elif step.call == "write":
            leaf, offset = self._open[step.descriptor]
            leaf.content.change((offset, step.data))
            self._open[step.descriptor] = leaf, offset + len(step.data)
        elif step.call == "set_mode":
            self._open[step.descriptor][0].mode = step.mode
        elif step.call == "sync":
            self._open[step.descriptor][0].content.sync()
        elif step.call == "rename":
            source, target = step.paths
            self._name((source, None), (target, self._find(source)))
        else:
            assert step.call in ("unlink", "remove_folder"), step.call
            self._name((step.paths[0], None))

    def _name(self, *changes: tuple[Path, Node | None]) -> None:
        found = tuple((self._folder(path.parent), path.name, node) for path, node in changes)
        self._namings.append(Naming(found, {folder for folder, _, _ in found}))
        _renamed(self._now, self._namings[-1])

    def returns(self, chance: random.Random) -> Iterator[dict[str, tuple[int, bytes | Path | None]]]:
        """The states after a cut now: each path below the root with its mode and bytes, link or, of a folder, None."""
        doubtful = [naming for naming in self._namings if naming.waiting]
        for kept in _choices(len(doubtful)):
            names = _copied(self._first)
            lost = {naming for naming, stays in zip(doubtful, kept, strict=True) if not stays}
            for naming in self._namings:
                if naming not in lost:
                    _renamed(names, naming)
            for torn in (None, chance):
                yield dict(self._paths(names, self._top, "", torn))
                if not any(leaf.content.pending for leaf, _ in self._open.values()):
                    break

    def _paths(
        self, names: Names, folder: Folder, above: str, chance: random.Random | None
    ) -> Iterator[tuple[str, tuple[int, bytes | Path | None]]]:
        for name, node in sorted(names[folder].items()):
            if isinstance(node, Folder):
                yield above + name, (node.mode, None)
                yield from self._paths(names, node, f"{above}{name}/", chance)
            else:
                yield above + name, (node.mode, node.link or node.content.after_a_cut(chance))


def _copied(names: Names) -> Names:
    return {folder: dict(each) for folder, each in names.items()}


def _renamed(names: Names, naming: Naming) -> None:
    for folder, name, node in naming.changes:
        if node is None:
            names[folder].pop(name, None)
        else:
            names[folder][name] = node


def _choices(count: int) -> Iterator[tuple[bool, ...]]:
    if count <= FEW:
        yield from product((False, True), repeat=count)
        return
    for usual in (False, True):
        yield (usual,) * count
        for number in range(count):
            yield (usual,) * number + (not usual,) + (usual,) * (count - number - 1)


def cuts(tree: Tree, steps: list[Step], *, without: Site | None = None) -> Iterator[int]:
    """Play ``steps`` and put each distinct state of the disk below the tree's root; yields how many steps there were.

    Args:
        without: leave out the synchronisations of this site, as if the line were not there.
    """
    chance = random.Random(8)
    for number in range(len(steps) + 1):
        if number:
            step = steps[number - 1]
            if without is None or step.site != without:
                tree.apply(step)
        seen: list[dict[str, tuple[int, bytes | Path | None]]] = []
        for state in tree.returns(chance):
            if state not in seen:
                seen.append(state)
                _put(tree.root, state)
                yield number


def _put(root: Path, state: dict[str, tuple[int, bytes | Path | None]]) -> None:
    for each in root.iterdir():
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each)
        else:
            each.unlink()
    for name, (mode, content) in state.items():
        path = root / name
        if isinstance(content, Path):
            path.symlink_to(content)
        elif content is None:
            path.mkdir()
            path.chmod(mode)
        else:
            path.write_bytes(content)
            path.chmod(mode)
