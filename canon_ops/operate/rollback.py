"""Going back before the newest run of ``install`` or ``upgrade``: its package, and the lines that it changed.

The record of the installation keeps, for each run, the distributions that it took out (their wheels lie beside it, so
no index is asked, whoever published them) and the edits that it made. Going back puts the former into the host, takes
the latter out of the files, and removes the run from the record; doing it again goes one run further back.

The packages stay as they are when another Hermes profile would miss its plugin in what comes back; the files are taken
back all the same. A run that was interrupted by a crash counts as the newest: what it had taken out is put back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from canon_ops.errors import NotFoundError
from canon_ops.files.transaction import FileChange, Transaction, digest
from canon_ops.hermes.discovery import HostInstallation, HostNotFound, find_host
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.host_call import OUR_DISTRIBUTION, installed_distributions
from canon_ops.operate.edit_config import expect_unchanged, refuse_managed
from canon_ops.operate.installation import (
    Installation,
    InterruptedNote,
    Run,
    read_installation,
    record_file,
)
from canon_ops.operate.interrupted import finish_pending
from canon_ops.operate.package.action import preload, put_back
from canon_ops.operate.package.alone import alone_in
from canon_ops.operate.package.remains import find_remains
from canon_ops.operate.package.resolution import unneeded
from canon_ops.operate.package.store import PackageStore, SavedPackage
from canon_ops.operate.prompts import Prompts
from canon_ops.operate.sharing import neighbours
from canon_ops.operate.taking_back import taken_back
from canon_ops.operate.unseen import restart_step
from canon_ops.operate.writing import require_consent

__all__ = ["NothingBefore", "RollbackOptions", "RollbackOutcome", "RollbackPlan", "rollback", "take_back_interrupted"]


class NothingBefore(NotFoundError):
    """No run of ours is recorded for this home."""

    code = "nothing_to_roll_back"


@dataclass(frozen=True, slots=True)
class RollbackOptions:
    """What the caller decided beforehand.

    Attributes:
        skip_package: leave the host's packages alone.
        expected: (file, SHA-256) pairs that must still hold.
    """

    python: Path | None = None
    skip_package: bool = False
    expected: Sequence[tuple[Path | None, str]] = ()


@dataclass(frozen=True, slots=True)
class RollbackPlan:
    """What will be done.

    Attributes:
        run: the run that is taken back; None when only a killed command left something.
        host: None when no package is touched.
        returns: the distributions that come back.
        leaves: the distributions that go.
        keeps_package: why the packages stay as they are although the run changed them; empty when they do not.
        unfinished: the distributions that a killed command was about.
    """

    home: HermesHome
    run: Run | None
    host: HostInstallation | None
    returns: tuple[SavedPackage, ...]
    leaves: tuple[str, ...]
    changes: tuple[FileChange, ...]
    keeps_package: str = ""
    unfinished: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        said = [f"Hermes profile {self.home.profile_name} ({self.home.path}), chosen by {self.home.how.value}."]
        said.append(f"Back before: {self.run.command}." if self.run else "Back before a command that was interrupted.")
        if self.host is None:
            said.append(f"Package: {self.keeps_package or 'left alone'}.")
        else:
            back = f"{', '.join(map(str, self.returns))} back" if self.returns else ""
            out = f"{', '.join(self.leaves)} out" if self.leaves else ""
            said.append(f"Package: {' and '.join(filter(None, (back, out))) or 'nothing to do'} ({self.host.python}).")
        said.append(f"Files: {', '.join(str(one.path) for one in self.changes) or 'nothing to change'}.")
        return said


@dataclass(frozen=True, slots=True)
class RollbackOutcome:
    """What was done; see :class:`~canon_ops.operate.install.InstallOutcome`."""

    plan: RollbackPlan
    dry_run: bool
    history_id: str | None
    next_steps: tuple[str, ...]


def rollback(
    home: HermesHome, environ: Mapping[str, str], options: RollbackOptions, prompts: Prompts, *, dry_run: bool = False
) -> RollbackOutcome:
    """Plan, show, ask, carry out.

    Raises:
        ConsentMissing: nobody agreed; nothing was changed.
        NothingBefore, ManagedHome, RecordDamaged: nothing was changed.
        HostNotFound, HostUnusable: the host that has to change is gone, or does not answer.
        PutBackFailed: the files are as they were; the message names the wheels that are kept.
    """
    if not dry_run:
        finish_pending(home)
    with prompts.progress("Looking at what was there before"):
        plan = _plan(home, environ, options)
    for sentence in plan.sentences():
        prompts.note(sentence)
    if dry_run:
        return RollbackOutcome(plan, True, None, ())
    require_consent(prompts, "Go back to that?")
    return _carry_out(plan, environ, prompts)


def take_back_interrupted(
    home: HermesHome, environ: Mapping[str, str], prompts: Prompts, *, dry_run: bool = False
) -> RollbackOutcome | None:
    """Take back what a killed command left in the host, and no run that came to its end; None when there is nothing.

    Raises:
        as :func:`rollback`.
    """
    if not dry_run:
        finish_pending(home)
    if InterruptedNote.find(home.path) is None:
        return None
    return rollback(home, environ, RollbackOptions(), prompts, dry_run=dry_run)


def _plan(home: HermesHome, environ: Mapping[str, str], options: RollbackOptions) -> RollbackPlan:
    if (managed := refuse_managed(home)) is not None:
        raise managed
    record = read_installation(home.path)
    note = InterruptedNote.read(home.path, record)
    run = record.runs[-1] if record.runs and note is None else None
    if run is None and note is None:
        raise NothingBefore(
            f"No installation by canon-ops is recorded in {home.path}.", fix=home.own_command("doctor --area plugin")
        )
    before, brought = (run.before, run.brought) if run else (note.before, note.brought) if note else (None, ())
    host: HostInstallation | None = None
    leaves: tuple[str, ...] = ()
    reason = ""
    if before is not None and not options.skip_package:
        recorded = note.python if note else record.package.python if record.package else None
        host = find_host(home.environ(environ), python=options.python or _the_same(recorded, home))
        leaves = _leaving(host, home, environ, brought, before)
        reason = _why_it_stays(home, environ, before, leaves) if run else ""
        if reason:
            host, leaves = None, ()
    with Transaction(home.path, dry_run=True) as files:
        expect_unchanged(files, options.expected, home=home, changing=[home.config_file, home.env_file])
        for step in run.steps if run else ():
            file = home.path / step.file
            files.stage(file, taken_back(files.read(file), [step], name=str(file)))
        changes = files.changes()
    return RollbackPlan(
        home, run, host, (before or ()) if host else (), leaves, changes, reason, note.names if note else ()
    )


def _why_it_stays(
    home: HermesHome, environ: Mapping[str, str], returns: Sequence[SavedPackage], leaves: Sequence[str]
) -> str:
    """Whom our package must stay for: another home that would not find its plugin in what comes back; else empty."""
    if OUR_DISTRIBUTION not in {*leaves, *(one.name for one in returns)}:
        return ""
    store = PackageStore(home.path)
    found = [store.plugins(one) for one in returns]
    if None in found:  # an editable installation, which is built where it lies
        return ""
    provided = frozenset[str]().union(*(one for one in found if one is not None))
    needing = [str(one) for one in neighbours(home, environ) if one.plugins - provided]
    if not needing:
        return ""
    return f"the package stays as it is, because {' and '.join(needing)} still enable a plugin of it"


def _the_same(recorded: str | None, home: HermesHome) -> Path:
    """The interpreter of the run: what is taken back from one host must never go into another that happens to be found.

    Raises:
        HostNotFound: it is not there any more.
    """
    if recorded is None or not Path(recorded).exists():
        place = f"{recorded} is not there any more" if recorded else "it is not recorded which interpreter was changed"
        raise HostNotFound(
            f"The package cannot be put back: {place}.",
            fix=home.own_command("rollback --skip-package") + "   (or --python with the host to change)",
        )
    return Path(recorded)


def _leaving(
    host: HostInstallation,
    home: HermesHome,
    environ: Mapping[str, str],
    brought: Sequence[str],
    before: Sequence[SavedPackage],
) -> tuple[str, ...]:
    """What came with the run and nobody else needs, ours among it when something else comes back in its place."""
    installed = installed_distributions(host.python, environ=home.environ(environ))
    returning = {one.name for one in before}
    is_there = OUR_DISTRIBUTION in installed or bool(find_remains(host, installed, [OUR_DISTRIBUTION]))
    ours = [name for name in (OUR_DISTRIBUTION,) if name in brought and is_there and name not in returning]
    others = [name for name in brought if name != OUR_DISTRIBUTION and name not in returning]
    return (*ours, *unneeded(others, installed, host.facts.python, leaving=[OUR_DISTRIBUTION]))


def _carry_out(plan: RollbackPlan, environ: Mapping[str, str], prompts: Prompts) -> RollbackOutcome:
    home, host = plan.home, plan.host
    label = f"rollback of {plan.run.command}" if plan.run else "rollback of an interrupted command"
    store = PackageStore(home.path)
    alone = alone_in(host, prompts) if host is not None else nullcontext()
    with alone, Transaction(home.path, label=label, refuse=lambda _path: refuse_managed(home)) as files:
        for change in plan.changes:
            files.expect(change.path, digest(change.before) or "")
            files.stage(change.path, change.after, private=True)
        record = read_installation(home.path, files.read(record_file(home.path)))
        after = _without(record, plan.run, package_stays=bool(plan.keeps_package))
        if after != record:
            files.stage(record_file(home.path), after.to_bytes() if after.runs else None, private=True)
        if host is not None:
            if host.is_running_interpreter:
                preload()
            with prompts.progress(f"Putting {host.python} back as it was"):
                child = home.environ(environ)
                put_back(host, child, store, plan.returns, instead_of=plan.leaves, unfinished=plan.unfinished)
        history_id = files.commit()
        InterruptedNote.remove(home.path)
        store.prune(after.wheels)
    steps = restart_step(home, environ, changed=True, start=False, tell=prompts.note)
    return RollbackOutcome(plan, False, history_id, steps)


def _without(record: Installation, run: Run | None, *, package_stays: bool) -> Installation:
    if run is None:
        return record
    package = run.package_before if run.before is not None and not package_stays else record.package
    runs = record.runs[:-1]
    return replace(record, runs=runs, package=package if runs else None)
