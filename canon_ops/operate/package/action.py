"""Carrying a package plan out in the host, and taking it back.

The order of calls: ``prepare`` keeps everything that will go (nothing in the host has changed yet), ``carry_out``, and,
when anything fails later, ``undo``. ``put_back`` and ``take_out`` serve rollback and uninstall.

The host has no transaction of its own, so this is made of two halves that each can be repeated: what was kept can be
put back however far the first half came. A process that is killed between them leaves a note in the record of the
installation, which the next command reads.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import canon_ops
from canon_ops.errors import OutsideError
from canon_ops.hermes.discovery import HostInstallation
from canon_ops.hermes.host_call import OUR_DISTRIBUTION, installed_distributions
from canon_ops.hermes.installer import Installer
from canon_ops.operate.package.by_hand import install_by_hand
from canon_ops.operate.package.plan import PackageConflict, PackageMissing, PackagePlan
from canon_ops.operate.package.remains import find_remains, remove_remains
from canon_ops.operate.package.resolution import Installed, constraints
from canon_ops.operate.package.store import PackageStore, SavedPackage
from canon_ops.runtime.scratch import scratch_folder

__all__ = ["PackageAction", "PutBackFailed", "clear", "put_back", "take_out"]

_NOT_PRELOADED = ("canon_ops.sandbox", "canon_ops.demo", "canon_ops.__main__")


class PutBackFailed(OutsideError):
    """What was in the host could not be restored; the kept wheels stay where they are."""

    code = "package_put_back_failed"


@dataclass(frozen=True, slots=True)
class PackageAction:
    """One package plan in one host.

    Args:
        store: where the wheels of this home are kept.
    """

    host: HostInstallation
    environ: Mapping[str, str]
    plan: PackagePlan
    store: PackageStore

    def prepare(self) -> tuple[SavedPackage, ...]:
        """Keep what will go or move, and the wheel that comes.

        Raises:
            PackageAltered: something could not be put back afterwards, so it is not taken out.
        """
        moved = [self.plan.installed[move.name] for move in self.plan.moves if move.before is not None]
        if self.plan.source is not None:
            self.store.keep(self.plan.source.wheel)
        return tuple(self.store.save(one, prefix=self.host.facts.prefix) for one in (*self.plan.replaces, *moved))

    def carry_out(self) -> None:
        """Take out what has to go, put ours in, held to the plan, and look at the result.

        Raises:
            InstallerFailed: the installer says why.
            PackageConflict: something moved that was not in the plan.
        """
        if self.plan.source is None:
            return
        installer = _installer_of(self.host)
        if self.host.is_running_interpreter:
            preload()
        clear(self.host, self.environ, self.plan.unfinished)
        take_out(self.host, self.environ, [one.name for one in self.plan.replaces])
        with scratch_folder() as scratch:
            held = scratch.path / "constraints.txt"
            held.write_text(constraints(self.plan.pins or {}, self.plan.moves), encoding="utf-8")
            wheel = self.store.keep(self.plan.source.wheel)
            words = ("--constraint", str(held), str(wheel))
            installer.run(self.host.python, "install", *words, environ=self.environ)
        self._require_as_planned()

    def undo(self, saved: Iterable[SavedPackage]) -> None:
        """Make the host what it was before: what came goes, what went comes back.

        Raises:
            PutBackFailed: it is not; the message says what is missing and where it is kept.
        """
        now = installed_distributions(self.host.python, environ=self.environ)
        came = [name for name in now if name not in self.plan.installed]
        put_back(self.host, self.environ, self.store, saved, instead_of=came)

    def _require_as_planned(self) -> None:
        now = installed_distributions(self.host.python, environ=self.environ)
        expected = {name: one.version for name, one in self.plan.installed.items()}
        for one in self.plan.replaces:
            expected.pop(one.name, None)
        expected |= {move.name: move.after for move in self.plan.moves if move.after is not None}
        expected[OUR_DISTRIBUTION] = self.plan.version
        found = {name: one.version for name, one in now.items()}
        free = {*self.plan.unfinished} - {OUR_DISTRIBUTION}  # what was there by half comes anew only where it is needed
        names = (expected.keys() | found.keys()) - free
        wrong = sorted(name for name in names if expected.get(name) != found.get(name))
        if wrong:
            told = ", ".join(
                f"{name} is {found.get(name) or 'gone'}, not {expected.get(name) or 'absent'}" for name in wrong
            )
            raise PackageConflict(
                f"The installer did else than it had announced in {self.host.python}: {told}.",
                fix="canon-ops doctor --area plugin   (then install again, while nothing else installs there)",
            )


def take_out(host: HostInstallation, environ: Mapping[str, str], names: Sequence[str]) -> None:
    """Uninstall those of the distributions that are there; what is there by half goes without an installer.

    Raises:
        InstallerFailed, PackageMissing: the installer says why, or there is none.
        DiskError: what is there by half cannot be removed.
    """
    if not names:
        return
    there = clear(host, environ, names)
    if whole := [name for name in names if name in there and there[name].is_whole]:
        installer = _installer_of(host)
        installer.run(host.python, "uninstall", *(() if installer.is_uv else ("--yes",)), *whole, environ=environ)


def clear(host: HostInstallation, environ: Mapping[str, str], names: Sequence[str]) -> Installed:
    """Remove what killed installers left of the distributions, and nothing that is whole.

    Returns:
        What was installed before that; empty without names, for then nobody is asked.

    Raises:
        DiskError: something cannot be removed.
    """
    if not names:
        return {}
    there = installed_distributions(host.python, environ=environ)
    remove_remains(find_remains(host, there, names))
    return there


def put_back(
    host: HostInstallation,
    environ: Mapping[str, str],
    store: PackageStore,
    saved: Iterable[SavedPackage],
    *,
    instead_of: Iterable[str] = (),
    unfinished: Sequence[str] = (),
) -> None:
    """Install kept distributions as they were, after ``instead_of`` and their own other versions are out.

    Args:
        unfinished: what an interrupted command was about; whatever it left of that by half goes.

    Raises:
        PutBackFailed: the host is not as it was.
    """
    wanted = tuple(saved)
    try:
        installer = _installer_of(host)
        clear(host, environ, unfinished)
        take_out(host, environ, [*dict.fromkeys([*instead_of, *(one.name for one in wanted)])])
        # By name and folder, not by path: an installation from a path shows its address in `pip freeze` ever after.
        plain = [one for one in wanted if one.wheel is not None]
        if plain:
            folders = [word for one in plain for word in ("--find-links", str((store.folder / str(one.wheel)).parent))]
            exact = [f"{one.name}=={one.version}" for one in plain]
            installer.run(host.python, "install", "--no-deps", "--no-index", *folders, *exact, environ=environ)
        for one in wanted:
            if one.editable is not None:
                installer.run(host.python, "install", "--no-deps", "--editable", one.editable, environ=environ)
    except (OutsideError, PackageMissing) as exc:
        told = ", ".join(map(str, wanted)) or "the state before"
        raise PutBackFailed(
            f"{told} could not be put back into {host.python}: {exc.what}",
            fix=f"the wheels are kept in {store.folder}" if wanted else install_by_hand(host),
        ) from exc


def preload() -> None:
    """Load all of canon-ops before its own files are replaced, so that no half of it is old and the other new."""
    for module in pkgutil.walk_packages(canon_ops.__path__, "canon_ops.", onerror=lambda _name: None):
        if not module.name.startswith(_NOT_PRELOADED):
            with suppress(ImportError):  # an optional extra that is not there
                importlib.import_module(module.name)


def _installer_of(host: HostInstallation) -> Installer:
    if host.installer is None:
        raise PackageMissing(f"Neither pip nor uv can work on {host.python}.", fix=install_by_hand(host))
    return host.installer
