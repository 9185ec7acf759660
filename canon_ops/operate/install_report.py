"""What an installation did, as plain data: ``data`` of ``canon-ops.install/1``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from canon_ops.operate.install import InstallOutcome

__all__ = ["FileReport", "HostReport", "InstallReport", "PackageReport"]


@dataclass(frozen=True, slots=True)
class HostReport:
    """The host that was installed into.

    Attributes:
        python: its interpreter.
        found: which way led to it.
        evidence: what stands behind its row of the audited table.
    """

    python: Path
    python_version: str
    hermes_version: str | None
    found: str
    layout: str
    evidence: Literal["run", "document"]


@dataclass(frozen=True, slots=True)
class PackageReport:
    """Our distribution in that host."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file that changed, or would.

    Attributes:
        created: it did not exist before.
        diff: unified, secrets masked.
    """

    path: Path
    created: bool
    diff: str


@dataclass(frozen=True, slots=True)
class InstallReport:
    """The whole answer.

    Attributes:
        package: null when it was left alone.
        access: what became of the question of who may start turns.
        history_id: what ``undo`` takes; null for a dry run and when nothing had to change.
        verified: what the host's own loader confirmed.
        next_steps: commands to paste, in order.
    """

    platform: str
    host: HostReport
    package: PackageReport | None
    access: Literal["kept", "everybody", "listed", "open"]
    files: tuple[FileReport, ...]
    changed: bool
    dry_run: bool
    history_id: str | None
    verified: tuple[str, ...]
    next_steps: tuple[str, ...]

    @classmethod
    def of(cls, outcome: InstallOutcome, *, mask: Callable[[str], str] | None = None) -> Self:
        """The report of an outcome; ``mask`` hides secrets in each line of the diffs."""
        plan, host = outcome.plan, outcome.plan.host
        return cls(
            platform=plan.options.platform.name,
            host=HostReport(
                python=host.python,
                python_version=host.facts.python,
                hermes_version=host.version,
                found=host.how.name.lower(),
                layout=host.layout.name.lower(),
                evidence=plan.audited.evidence.value,
            ),
            package=PackageReport(plan.package.name, plan.package.version) if plan.package else None,
            access=plan.access.value,
            files=tuple(
                FileReport(change.path, change.before is None, change.diff(mask=mask)) for change in plan.changes
            ),
            changed=outcome.changed,
            dry_run=outcome.dry_run,
            history_id=outcome.history_id,
            verified=outcome.verified,
            next_steps=outcome.next_steps,
        )
