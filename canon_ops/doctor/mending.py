"""Carrying out the repairs that findings carry: what ``doctor --fix`` does between two examinations.

The order, once: choose the repairs, plan the edits of the home's files, show them, ask, commit them in one transaction
that undo can take back; then, when a finding asks for it, take back what a killed command left among the packages of
the host, and put the package there again: both show and ask for themselves. An edit that cannot be made safely is told
with its reason, and does not hold the others up.

:func:`choose` and :func:`plan_files` decide and write nothing; :func:`mend` is the shell around them.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from canon_ops.doctor.check import Status
from canon_ops.doctor.repair import (
    ConfigRepair,
    DotenvRepair,
    FinishChanges,
    MakePrivate,
    Repair,
    RestorePackage,
    TakeBackPackage,
)
from canon_ops.doctor.run import Diagnosis, Verdict
from canon_ops.errors import CanonOpsError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.disk import explain
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.files.transaction import FileChange, Transaction, digest
from canon_ops.operate.bring_back import bring_back
from canon_ops.operate.edit_config import refuse_managed
from canon_ops.operate.install import InstallOutcome
from canon_ops.operate.prompts import Prompts
from canon_ops.operate.rollback import take_back_interrupted
from canon_ops.operate.writing import Writing, Written, require_consent

__all__ = ["FilePlan", "Mended", "Refused", "choose", "mend", "plan_files"]

_ORDER = (Status.INFO, Status.WARNING, Status.ERROR)


@dataclass(frozen=True, slots=True)
class Refused:
    """A repair that was not carried out, and why."""

    verdict: Verdict
    error: CanonOpsError


@dataclass(frozen=True, slots=True)
class FilePlan:
    """The edits of the home's files.

    Attributes:
        changes: the files that change; empty when they are right already.
        private: those of them that take a file from group and others.
        planned: the findings that this repairs.
        refused: those whose edit cannot be made.
    """

    changes: tuple[FileChange, ...]
    private: tuple[Verdict, ...]
    planned: tuple[Verdict, ...]
    refused: tuple[Refused, ...]

    @property
    def is_change(self) -> bool:
        return bool(self.changes or self.private)


@dataclass(frozen=True, slots=True)
class Mended:
    """What was done, or would be.

    Attributes:
        done: the findings whose repair was carried out.
        written: the edits of the home's files.
        package: what became of the package; None when no finding was about it.
    """

    dry_run: bool
    done: tuple[Verdict, ...]
    refused: tuple[Refused, ...]
    written: Written
    package: InstallOutcome | None


def choose(diagnosis: Diagnosis, least: Status) -> tuple[Verdict, ...]:
    """The findings that ``--fix`` repairs: at least as grave as ``least``, with a repair."""
    wanted = _ORDER[_ORDER.index(least) :]
    return tuple(one for one in diagnosis.verdicts if one.finding.status in wanted and _repair_of(one) is not None)


def plan_files(writing: Writing, verdicts: Sequence[Verdict]) -> FilePlan:
    """What the repairs among ``verdicts`` that are about files come to.

    Raises:
        ChangedUnderUs: a file is not what the caller last saw.
        ConfigSyntaxError, UnreadableEnv, DiskError: a file to edit cannot be read.
    """
    home, planned, refused = writing.home, [], []
    config_file, env_file = home.config_file, home.env_file
    private: list[Verdict] = []
    with Transaction(home.path, dry_run=True) as files:
        writing.expect(files, config_file, env_file)
        config, env = None, None
        for verdict in verdicts:
            repair = _repair_of(verdict)
            try:
                if isinstance(repair, ConfigRepair | DotenvRepair | MakePrivate) and (no := refuse_managed(home)):
                    raise no
                match repair:
                    case ConfigRepair():
                        config = config or ConfigDocument.parse(files.read(config_file) or b"", str(config_file))
                        config = repair.edit_config(config)
                    case DotenvRepair():
                        env = env or DotenvDocument.parse(files.read(env_file) or b"", str(env_file))
                        env = repair.edit_dotenv(env)
                    case MakePrivate():
                        private.append(verdict)
                    case _:
                        continue
                planned.append(verdict)
            except CanonOpsError as error:
                refused.append(Refused(verdict, error))
        if config is not None:
            files.stage(config_file, config.data, private=True)
        if env is not None:
            files.stage(env_file, env.data, private=True)
        return FilePlan(files.changes(), tuple(private), tuple(planned), tuple(refused))


def mend(
    writing: Writing,
    verdicts: Sequence[Verdict],
    prompts: Prompts,
    *,
    python: Path | None = None,
    show_diff: bool = False,
) -> Mended:
    """Carry out the repairs of ``verdicts``.

    Args:
        python: what ``--python`` said, for the package.
        show_diff: tell the plan among the sentences before asking.

    Raises:
        ConsentMissing: nobody agreed; nothing was changed.
        ChangedUnderUs, LockTimeout: somebody else was at it; nothing was changed.
        ConfigSyntaxError, UnreadableEnv, DiskError: a file cannot be edited.
    """
    halves = [one for one in verdicts if isinstance(_repair_of(one), FinishChanges)]
    finished = Written()
    if halves:
        with Transaction(writing.home.path, dry_run=True) as looking:
            writing.expect(looking, writing.home.config_file, writing.home.env_file)
        writing = replace(writing, expected=())  # what the caller saw is not what stands after it
        finished = _finish(writing, halves, prompts, show_diff)
    plan = plan_files(writing, verdicts)
    written = writing.written(plan.changes, None)
    packages = [one for one in verdicts if isinstance(_repair_of(one), RestorePackage)]
    unfinished = [one for one in verdicts if isinstance(_repair_of(one), TakeBackPackage)]
    if (plan.is_change or packages or unfinished) and not writing.dry_run:
        if show_diff:
            for line in _told([*plan.planned, *unfinished, *packages], plan, written):
                prompts.note(line)
        count = len(plan.planned) + len(unfinished) + len(packages)
        require_consent(prompts, f"Carry out {count} repair{'s' if count != 1 else ''}?")
        written = _commit(writing, plan)
    still_open = () if writing.dry_run else _make_private(plan.private)
    failed = [one.verdict for one in still_open]
    done = [*halves, *(one for one in plan.planned if one not in failed)]
    refused, outcome = [*plan.refused, *still_open], None
    if unfinished:
        try:
            take_back_interrupted(writing.home, writing.environ, prompts, dry_run=writing.dry_run)
            done += unfinished
        except CanonOpsError as error:
            refused += [Refused(verdict, error) for verdict in unfinished]
    if packages:
        try:
            outcome = bring_back(writing.home, writing.environ, prompts, python=python, dry_run=writing.dry_run)
            done += packages
        except CanonOpsError as error:
            refused += [Refused(verdict, error) for verdict in packages]
    private = [_private_of(one).file for one in plan.private if one not in failed]
    files = tuple(dict.fromkeys([*finished.files, *written.files, *private]))
    written = replace(written, files=files, diff=finished.diff + written.diff)
    return Mended(writing.dry_run, tuple(done), tuple(refused), written, outcome)


def _finish(writing: Writing, halves: Sequence[Verdict], prompts: Prompts, show_diff: bool) -> Written:
    """Finish what was left half-done, after consent of its own: what is planned next is of the text after it."""
    from canon_ops.operate.interrupted import finish_changes

    planned = finish_changes(replace(writing, dry_run=True)).written
    if writing.dry_run:
        return planned
    if show_diff:
        for line in [*(one.finding.message for one in halves), *planned.diff.splitlines()]:
            prompts.note(line)
    require_consent(prompts, "Finish the change that was interrupted?")
    return finish_changes(writing).written


def _repair_of(verdict: Verdict) -> Repair | None:
    return verdict.finding.fix.repair if verdict.finding.fix else None


def _told(verdicts: Sequence[Verdict], plan: FilePlan, written: Written) -> list[str]:
    """The plan before the question."""
    about = [f"{one.check.id}: {one.finding.message}" for one in verdicts]
    modes = [_private_of(one).told for one in plan.private]
    return [*about, *written.diff.splitlines(), *modes]


def _commit(writing: Writing, plan: FilePlan) -> Written:
    home = writing.home
    with writing.transaction(home.path, refuse=lambda _path: refuse_managed(home)) as files:
        for change in plan.changes:
            files.expect(change.path, digest(change.before) or "")
            files.stage(change.path, change.after, private=True)
        written = writing.commit(files)
    return written


def _make_private(verdicts: Sequence[Verdict]) -> tuple[Refused, ...]:
    """Take files from group and others; those that could not be taken, and why."""
    failed = []
    for verdict in verdicts:
        private = _private_of(verdict)
        try:
            private.file.chmod(stat.S_IMODE(private.file.stat().st_mode) & 0o777 & ~private.bits)
        except OSError as error:
            failed.append(Refused(verdict, explain(error, private.file)))
    return tuple(failed)


def _private_of(verdict: Verdict) -> MakePrivate:
    repair = _repair_of(verdict)
    assert isinstance(repair, MakePrivate)  # noqa: S101 - they were chosen by it
    return repair
