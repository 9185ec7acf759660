"""``canon-ops host``: the Hermes that commands act on, what a platform relies on in it, and the audited hosts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Fields, Item, Line, Mark, Problem, Result, Table
from canon_ops.errors import ExitCode
from canon_ops.hermes.audited import AUDITED_HOSTS, Audited
from canon_ops.hermes.contract import Difference, Effect, worst
from canon_ops.hermes.contract_check import NEEDS, contract_differences
from canon_ops.hermes.discovery import HostInstallation, HostNotFound, find_host, find_hosts, or_make_one

__all__ = ["AuditedRow", "HostContract", "HostFound", "HostList", "HostShown", "list_command", "show_command"]

_MARKS = {Effect.BREAKS: Mark.ERROR, Effect.UNSEEN: Mark.WARNING, Effect.DEGRADES: Mark.INFO}


@dataclass(frozen=True, slots=True)
class HostFound:
    """One Hermes.

    Attributes:
        hermes_version: ``hermes_cli.__version__``; null when its source does not say.
        distribution: the name under which it was installed; null for a checkout without metadata.
        found: which way led to it.
        installer: what puts packages there: pip or uv; null when nothing of ours may.
        canon_ops: the version of our package in it; null when it is not there.
        audited: whether the platforms answer on it.
        evidence: of the audited row: run or document.
        reason: why it is refused, and ``fix`` what to do; null when it is audited.
    """

    hermes_version: str | None
    distribution: str | None
    python_version: str
    python: Path
    found: str
    layout: str
    installer: str | None
    canon_ops: str | None
    audited: bool
    evidence: str | None
    reason: str | None
    fix: str | None


@dataclass(frozen=True, slots=True)
class ContractDifference:
    """One way in which this host is other than relied on; ``effect`` is breaks, unseen or degrades."""

    path: str
    what: str
    effect: str
    sentence: str


@dataclass(frozen=True, slots=True)
class HostContract:
    """What a platform relies on in this host.

    Attributes:
        relied_on: how many symbols were looked at.
        worst: the gravest effect; null without a difference.
    """

    platform: str
    relied_on: int
    worst: str | None
    differences: tuple[ContractDifference, ...]


@dataclass(frozen=True, slots=True)
class HostShown:
    """``data`` of ``canon-ops.host.show/1``."""

    host: HostFound
    contract: HostContract


@dataclass(frozen=True, slots=True)
class AuditedRow:
    """One host that we answer for."""

    hermes_version: str
    python_minor: str
    platform: str
    evidence: str


@dataclass(frozen=True, slots=True)
class HostList:
    """``data`` of ``canon-ops.host.list/1``."""

    found: tuple[HostFound, ...]
    audited: tuple[AuditedRow, ...]


@declare("host show", data=HostShown, examples=("canon-ops host show", "canon-ops host show --python VENV --json"))
@click.option("--python", metavar="PATH", help="The host's interpreter, or the folder of its environment.")
@click.option("--platform", type=click.Choice(list(NEEDS)), default="canon", show_default=True, help="Whose needs.")
def show_command(context: Context, python: str | None, platform: str) -> Result:
    """Show the Hermes that commands act on, and what a platform misses in it.

    Its interpreter is asked to describe each symbol that the platform relies on; nothing is changed. The exit code is
    1 when the platform cannot work there: the host is not audited, or lacks what the platform needs.
    """
    with context.progress("Asking Hermes what it has"):
        installation = find_host(context.environ, python=python)
        differences = contract_differences(installation.python, environ=context.environ, platform=platform)
    host, gravest = _described(installation), worst(differences)
    contract = HostContract(
        platform,
        len(NEEDS[platform]),
        gravest.value if gravest else None,
        tuple(ContractDifference(one.path, one.what, one.effect.value, one.sentence) for one in differences),
    )
    refused = [] if host.audited else [Problem("host_unaudited", host.reason or "", fix=host.fix)]
    broken = [one for one in differences if one.effect is Effect.BREAKS]
    problems = (*refused, *(Problem("host_contract", one.sentence, fix=host.fix) for one in broken))
    code = ExitCode.FAILED if problems else ExitCode.DONE
    return Result(HostShown(host, contract), _view(host, contract, differences), code, problems)


@declare("host list", data=HostList, examples=("canon-ops host list", "canon-ops host list --json"))
def list_command(context: Context) -> Result:
    """List every Hermes that can be found here, and the audited ones.

    The first is the one that other commands act on. The exit code is 1 when there is none.
    """
    with context.progress("Looking for Hermes"):
        found = tuple(_described(one) for one in find_hosts(context.environ))
    rows = tuple(AuditedRow(one.hermes, one.python, one.platform, one.evidence.value) for one in AUDITED_HOSTS)
    view: list[Block] = [
        Item(
            Mark.OK if one.audited else Mark.ERROR,
            one.hermes_version or "unknown",
            f"{one.python}, Python {one.python_version}, found through {one.found}"
            + ("." if one.audited else f". {one.reason}"),
            one.fix,
        )
        for one in found
    ]
    if found:
        view.append(Line("Audited:", for_people_only=True))
    view.append(
        Table(
            ("audited", "Hermes", "Python", "platform", "evidence"),
            [("audited", one.hermes_version, one.python_minor, one.platform, one.evidence) for one in rows],
        )
    )
    if found:
        return Result(HostList(found, rows), view)
    problem = Problem(
        HostNotFound.code,
        "No Hermes was found on this machine.",
        fix=f"canon-ops host show --python PATH{or_make_one()}",
    )
    return Result(HostList(found, rows), view, ExitCode.FAILED, (problem,))


def _described(host: HostInstallation) -> HostFound:
    facts, verdict = host.facts, host.audit()
    is_audited = isinstance(verdict, Audited)
    distribution = facts.hermes.distribution if facts.hermes else None
    return HostFound(
        hermes_version=host.version,
        distribution=distribution.name if distribution else None,
        python_version=facts.python,
        python=host.python,
        found=host.how.value,
        layout=host.layout.name.lower(),
        installer=host.installer.name if host.installer else None,
        canon_ops=facts.ours.version if facts.ours else None,
        audited=is_audited,
        evidence=verdict.host.evidence.value if isinstance(verdict, Audited) else None,
        reason=None if isinstance(verdict, Audited) else verdict.sentence,
        fix=None if isinstance(verdict, Audited) else verdict.fix,
    )


def _view(host: HostFound, contract: HostContract, differences: tuple[Difference, ...]) -> list[Block]:
    installed = f"{host.distribution or 'a source tree'}, {host.layout}, found through {host.found}"
    view: list[Block] = [
        Fields(
            [
                ("hermes", f"{host.hermes_version or 'unknown'} ({installed})"),
                ("python", f"{host.python_version} ({host.python})"),
                ("installer", host.installer or "none: packages cannot be put there"),
                ("canon-ops", host.canon_ops or "not there"),
            ]
        ),
        Item(
            Mark.OK if host.audited else Mark.ERROR,
            "audited",
            f"By {host.evidence}." if host.audited else host.reason or "",
            host.fix,
        ),
    ]
    view += [Item(_MARKS[one.effect], one.effect.value, one.sentence) for one in differences]
    kept = contract.relied_on - len({one.path for one in differences})
    mark = Mark.ERROR if contract.worst == Effect.BREAKS.value else Mark.OK
    view.append(
        Item(mark, "contract", f"{kept} of {contract.relied_on} symbols are as {contract.platform} needs them.")
    )
    return view
