"""What will be done about our package in the host: decided, and tried by the installer, before anything is done.

In order: what stands there (host_call), what to put there (``source``, ``wheel``), what the installer would move
(``resolution``), the verdict here; then ``action`` carries it out and can take it back.

What is there stays when it is what would be put there, when it is newer, and when nothing could be put there anyway;
an editable installation is a developer's own and stays unless a source is named.
"""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from packaging.version import InvalidVersion, Version

from canon_ops.errors import RefusedError
from canon_ops.hermes.discovery import HostInstallation
from canon_ops.hermes.host_call import OUR_DISTRIBUTION, InstalledDistribution, installed_distributions
from canon_ops.hermes.installer import Installer, InstallerFailed
from canon_ops.operate.package.by_hand import install_by_hand, remove_by_hand
from canon_ops.operate.package.remains import halves
from canon_ops.operate.package.resolution import (
    Installed,
    Move,
    constraints,
    moves_of_pip,
    moves_of_uv,
    objections,
    pinned_by_hermes,
)
from canon_ops.operate.package.source import PackageSource, find_source
from canon_ops.operate.package.wheel import Wheel
from canon_ops.runtime.scratch import scratch_folder

__all__ = ["ForeignPlugin", "PackageConflict", "PackageMissing", "PackagePlan", "Step", "plan_package"]


class ForeignPlugin(RefusedError):
    """Another distribution owns our import packages in that interpreter; pip would overwrite silently."""

    code = "plugin_foreign"


class PackageMissing(RefusedError):
    """We are not in the interpreter that runs Hermes, and nothing here can put us there."""

    code = "package_missing"


class PackageConflict(RefusedError):
    """Putting us there would move Hermes, something that it pins, or something that others need as it is."""

    code = "package_conflict"


class Step(Enum):
    """What happens to our distribution."""

    KEPT = "kept"
    INSTALLED = "installed"
    UPGRADED = "upgraded"
    DOWNGRADED = "downgraded"
    REINSTALLED = "reinstalled"  # the same version from other files


@dataclass(frozen=True, slots=True)
class PackagePlan:
    """The package action, complete.

    Attributes:
        source: what is put there; None when what is there stays.
        installed: everything in the host before.
        replaces: what has to go first: our other version, and distributions of other names that own our packages.
        moves: what the installer would bring or move besides.
        pins: what it is held to.
        because: why what is there stays; empty when it does not.
        replaceable: it stays, but could be put there anew.
        unfinished: the distributions of which goes first what is there by half; ``installed`` has none of that.
    """

    step: Step
    source: PackageSource | None
    installed: Installed
    replaces: tuple[InstalledDistribution, ...] = ()
    moves: tuple[Move, ...] = ()
    pins: Mapping[str, str] | None = None
    because: str = ""
    replaceable: bool = False
    unfinished: tuple[str, ...] = ()

    @property
    def is_change(self) -> bool:
        return self.source is not None

    @property
    def foreign(self) -> tuple[InstalledDistribution, ...]:
        return tuple(one for one in self.replaces if one.name != OUR_DISTRIBUTION)

    @property
    def version(self) -> str:
        """Of our distribution afterwards."""
        return self.source.wheel.version if self.source else self.installed[OUR_DISTRIBUTION].version

    def sentences(self) -> list[str]:
        """The plan in words."""
        if self.source is None:
            return [f"Package: {OUR_DISTRIBUTION} {self.version} stays; {self.because}."]
        before = self.installed.get(OUR_DISTRIBUTION)
        from_version = f", in place of {before.version}" if before else ""
        told = [
            f"Package: {self.source.wheel} is {self.step.value}{from_version}, from {self.source.origin.value} "
            f"({self.source.told}; SHA-256 {self.source.wheel.sha256[:12]}…)."
        ]
        told += [f"Package: {one} owns the same import packages and is replaced." for one in self.foreign]
        if self.moves:
            told.append(f"Package: with it {', '.join(map(str, self.moves))}; Hermes and its pins stay.")
        return told


def plan_package(
    host: HostInstallation,
    environ: Mapping[str, str],
    *,
    source: str | None = None,
    consent: bool = False,
    consent_command: str | None = None,
    newer_only: bool = False,
    anew: bool = False,
    unfinished: Collection[str] = (),
) -> PackagePlan:
    """Decide, and let the installer try.

    Args:
        source: what ``--source`` said.
        consent: a foreign distribution may be replaced.
        consent_command: the command line that would give consent; without it the one that removes it by hand is told.
        anew: put it there even when it is the same: what is there does not work.
        unfinished: the distributions that an interrupted command was about; of them, and of ours, what is there by half
            counts for nothing, and ours is put there anew.
        newer_only: refuse to put an older version in place of a newer one, whatever the source.

    Raises:
        ForeignPlugin: a foreign distribution is there, and nobody consented to replace it.
        PackageMissing: nothing can put us there.
        PackageConflict: it does not fit the host, or ``newer_only`` forbids it.
        and as :func:`~canon_ops.operate.package.source.find_source`.
    """
    everything = installed_distributions(host.python, environ=environ)
    suspects = tuple(dict.fromkeys([OUR_DISTRIBUTION, *unfinished]))
    half = halves(everything, suspects)
    installed = {name: one for name, one in everything.items() if one not in half}
    ours = installed.get(OUR_DISTRIBUTION)
    foreign = tuple(installed[one.name] for one in host.facts.foreign if one.name in installed)
    if foreign and not consent:
        told = " and ".join(map(str, foreign))
        raise ForeignPlugin(
            f"{told} in {host.python} owns import packages of {OUR_DISTRIBUTION}; both cannot be there.",
            fix=(consent_command if host.installer else None) or remove_by_hand(host, [one.name for one in foreign]),
        )
    if ours and not foreign and source is None and (reason := _stays(ours, host)):
        return PackagePlan(Step.KEPT, None, installed, because=reason)
    if host.installer is None:
        raise PackageMissing(
            f"{OUR_DISTRIBUTION} is not installed in {host.python}, which runs Hermes {host.version}.",
            fix=install_by_hand(host),
        )
    found = find_source(source, host, environ)
    step = _step(ours, found.wheel)
    if step is Step.KEPT and not foreign and not anew and OUR_DISTRIBUTION not in unfinished:
        return PackagePlan(Step.KEPT, None, installed, because="it is the same, file by file", replaceable=True)
    if step is Step.DOWNGRADED and newer_only:
        raise PackageConflict(f"{ours} in {host.python} is newer than {found.wheel.version}.", fix="canon-ops rollback")
    if step is Step.DOWNGRADED and source is None and not foreign:
        because = f"it is newer than the running {found.wheel.version}"
        return PackagePlan(Step.KEPT, None, installed, because=because)
    step = Step.REINSTALLED if step is Step.KEPT else step
    replaces = (*((ours,) if ours else ()), *foreign)
    pins = pinned_by_hermes(installed, host.facts.python, hermes_requires=_checkout_requires(host))
    moves = _tried(host, host.installer, found.wheel, installed, pins, replaces, environ)
    moves += tuple(_anew(half, moves))
    return PackagePlan(step, found, installed, replaces, moves, pins, unfinished=suspects)


def _anew(half: Iterable[InstalledDistribution], moves: Iterable[Move]) -> Iterator[Move]:
    """What the installer takes for installed, and will find gone."""
    known = {OUR_DISTRIBUTION, *(move.name for move in moves)}
    return (Move(one.name, None, one.version) for one in half if one.name not in known)


def _stays(ours: InstalledDistribution, host: HostInstallation) -> str:
    """Why what is there stays when no source was named; empty when it may be replaced."""
    if host.is_running_interpreter:
        return "canon-ops runs from it"
    if ours.editable_url is not None:
        return "it is an editable installation"
    return "nothing here can replace it" if host.installer is None else ""


def _step(ours: InstalledDistribution | None, wheel: Wheel) -> Step:
    if ours is None:
        return Step.INSTALLED
    if ours.version == wheel.version:
        same = ours.info is not None and ours.editable_url is None and wheel.is_installed_as(ours.info)
        return Step.KEPT if same else Step.REINSTALLED
    try:
        return Step.UPGRADED if Version(ours.version) < Version(wheel.version) else Step.DOWNGRADED
    except InvalidVersion:
        return Step.REINSTALLED


def _tried(
    host: HostInstallation,
    installer: Installer,
    wheel: Wheel,
    installed: Installed,
    pins: Mapping[str, str],
    replaces: Iterable[InstalledDistribution],
    environ: Mapping[str, str],
) -> tuple[Move, ...]:
    """The moves that may be made. The first answer is free; only one that is refused is tried again within the pins.

    Raises:
        PackageConflict: there is no answer within them.
    """
    leaving = [one.name for one in replaces]
    with scratch_folder() as scratch, _lasting_advice(scratch.path):
        file = scratch.path / wheel.file_name
        file.write_bytes(wheel.data)
        moves = _dry_run(host, installer, [str(file)], installed, leaving, environ)
        against = objections(moves, installed, pins, host.facts.python, leaving=leaving)
        if not against:
            return moves
        held = scratch.path / "constraints.txt"
        held.write_text(constraints(pins), encoding="utf-8")
        try:
            moves = _dry_run(host, installer, ["--constraint", str(held), str(file)], installed, leaving, environ)
        except InstallerFailed as exc:
            raise _conflict(wheel, host, against) from exc
        if still := objections(moves, installed, pins, host.facts.python, leaving=leaving):
            raise _conflict(wheel, host, still)
        return moves


@contextmanager
def _lasting_advice(folder: Path) -> Iterator[None]:
    """No advice names a file of ``folder``, which is gone when it is read."""
    try:
        yield
    except InstallerFailed as exc:
        if str(folder) in (exc.fix or ""):
            exc.fix = "mend what it names, then look again: canon-ops install --dry-run"
        raise


def _conflict(wheel: Wheel, host: HostInstallation, against: Iterable[str]) -> PackageConflict:
    return PackageConflict(
        f"{wheel} does not fit beside Hermes {host.version} in {host.python}: {' '.join(against)}",
        fix="canon-ops install --source WHEEL   (of a version that fits this Hermes)",
    )


def _dry_run(
    host: HostInstallation,
    installer: Installer,
    arguments: list[str],
    installed: Installed,
    but: Iterable[str],
    environ: Mapping[str, str],
) -> tuple[Move, ...]:
    ours = [OUR_DISTRIBUTION, *but]
    if installer.is_uv:
        done = installer.run(host.python, "install", "--dry-run", *arguments, environ=environ)
        return moves_of_uv(done.stderr, installed, but=ours)
    words = ("--dry-run", "--quiet", "--report", "-", *arguments)
    done = installer.run(host.python, "install", *words, environ=environ)
    try:
        return moves_of_pip(json.loads(done.stdout), installed, but=ours)
    except (ValueError, KeyError) as exc:
        raise InstallerFailed(
            f"pip of {host.python} gave no usable report of its dry run.",
            fix=f"{shlex.join(installer.program)} --version   (22.2 is the oldest that can report)",
        ) from exc


def _checkout_requires(host: HostInstallation) -> tuple[str, ...]:
    """What a source checkout of Hermes requires, from its own table: its metadata may be missing."""
    hermes = host.facts.hermes
    if hermes is None or not hermes.is_checkout:
        return ()
    try:
        table = tomllib.loads((hermes.folder / "pyproject.toml").read_text(encoding="utf-8"))
        return tuple(map(str, table["project"]["dependencies"]))
    except (OSError, ValueError, KeyError, TypeError):
        return ()
