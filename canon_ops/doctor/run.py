"""Asking checks, all at once, each within its own limit, and adding up what they found.

The rules for what is not a plain finding are here and nowhere else:

- what a check needs is missing       skipped, and the check that tells more is named
- it goes out and the caller is offline    skipped
- it took too long, or an error of ours or a fault of ours stopped it    unknown: it says nothing about the installation
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from canon_ops.doctor.check import Answer, Check, Finding, Fix, Status, from_error
from canon_ops.doctor.examination import Examination, FactMissing
from canon_ops.errors import CanonOpsError, ExitCode
from canon_ops.hermes.homes import HermesHome
from canon_ops.runtime.abandonable import AbandonableThreads
from canon_ops.runtime.wakeful import run_wakeful

__all__ = ["Diagnosis", "Verdict", "diagnose", "examine"]

_ATTEMPTS = 4  # a request that is repeated waits for its own limit each time; the check must outlive them


@dataclass(frozen=True, slots=True)
class Verdict:
    """One check with one of its findings."""

    check: Check
    finding: Finding

    @property
    def could_not_run(self) -> bool:
        """The question has no answer, for a reason outside; what the caller left out was not asked at all."""
        is_held_up = self.finding.status is Status.SKIPPED and "needs" in self.finding.data
        return is_held_up or self.finding.status is Status.UNKNOWN

    def as_data(self) -> dict[str, Any]:
        """One entry of ``checks`` in the JSON document. Source: command-line contract, section 7, doctor."""
        found = self.finding
        return {
            "id": self.check.id,
            "area": self.check.area,
            "title": self.check.title,
            "status": found.status.value,
            "message": found.message,
            **dataclasses.asdict(found.at),
            "fix": {"command": found.fix.command, "automatic": found.fix.automatic} if found.fix else None,
            "data": dict(found.data),
        }


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Every verdict, in the order of the registry."""

    verdicts: tuple[Verdict, ...]

    @property
    def summary(self) -> Mapping[str, int]:
        """How many of each status, all six named."""
        counted = Counter(verdict.finding.status for verdict in self.verdicts)
        return {status.value: counted[status] for status in Status}

    @property
    def findings(self) -> tuple[Verdict, ...]:
        """What somebody should look at."""
        return tuple(one for one in self.verdicts if one.finding.status in (Status.WARNING, Status.ERROR))

    def exit_code(self, *, strict: bool = False, asked_for: bool = False) -> ExitCode:
        """What the process should end with.

        Args:
            strict: warnings count like errors.
            asked_for: the checks were chosen one by one or by area, so one that could not run is itself a failure,
                also when it waits for something that another check is about (BR-40).
        """
        statuses = {verdict.finding.status for verdict in self.verdicts}
        if Status.ERROR in statuses or (strict and Status.WARNING in statuses):
            return ExitCode.FAILED
        if asked_for and any(verdict.could_not_run for verdict in self.verdicts):
            return ExitCode.OUTSIDE
        return ExitCode.DONE

    def as_data(self) -> dict[str, Any]:
        """``data`` of the JSON document."""
        return {"checks": [verdict.as_data() for verdict in self.verdicts], "summary": dict(self.summary)}


def diagnose(checks: Sequence[Check], examination: Examination) -> Diagnosis:
    """Ask every check; for callers without a loop.

    It returns within the limits of the checks, and a signal ends it, also when a check hangs in the operating system:
    the thread that hangs is left behind.
    """

    async def on_threads_that_may_hang() -> Diagnosis:
        asyncio.get_running_loop().set_default_executor(AbandonableThreads("doctor"))
        return await examine(checks, examination)

    return run_wakeful(on_threads_that_may_hang())


async def examine(checks: Sequence[Check], examination: Examination) -> Diagnosis:
    """Ask every check, all at once; plain functions run on the loop's default executor."""
    try:
        answers = await asyncio.gather(*(_ask(check, examination) for check in checks))
    finally:
        await examination.aclose()
    return Diagnosis(
        tuple(
            Verdict(check, _aimed(finding, examination.home))
            for check, found in zip(checks, answers, strict=True)
            for finding in found
        )
    )


def _aimed(finding: Finding, home: HermesHome) -> Finding:
    """A cure that came with an error knows of no home; pasted as it stands it would mend another one."""
    fix = finding.fix
    command = home.aim(fix.command) if fix else None
    if fix is None or command is None or command == fix.command:
        return finding
    return dataclasses.replace(finding, fix=dataclasses.replace(fix, command=command))


async def _ask(check: Check, examination: Examination) -> tuple[Finding, ...]:
    if check.network and examination.offline:
        return (Finding(Status.SKIPPED, "Left out: --offline."),)
    limit_s = max(check.limit_s, _ATTEMPTS * examination.timeout_s) if check.network else check.limit_s
    try:
        async with asyncio.timeout(limit_s):
            answer = await _run(check, examination)
    except FactMissing as exc:
        return (Finding(Status.SKIPPED, f"Not asked: {exc.owner} tells why.", data={"needs": exc.owner}),)
    except TimeoutError:
        alone = "--live" if check.live else f"--only {check.id}"
        again = Fix(f"canon-ops doctor {alone}   # when this machine has less to do")
        return (Finding(Status.UNKNOWN, f"No answer within {limit_s:g} s.", again),)
    except CanonOpsError as exc:
        return (from_error(Status.UNKNOWN, exc),)
    except Exception as exc:  # a fault in one check must not hide the findings of the others
        fault = f"{type(exc).__name__}: {exc}"
        return (
            Finding(
                Status.UNKNOWN,
                f"The check itself failed ({fault}); this is a fault in canon-ops.",
                fix=Fix(f"canon-ops doctor --only {check.id} --verbose   (and report what it prints)"),
                data={"code": "internal", "fault": fault},
            ),
        )
    return answer if isinstance(answer, tuple) else (answer,)


async def _run(check: Check, examination: Examination) -> Answer:
    if inspect.iscoroutinefunction(check.run):
        answer: Answer = await check.run(examination)
        return answer
    found = await asyncio.to_thread(check.run, examination)
    assert not inspect.isawaitable(found)  # noqa: S101 - a check is one or the other
    return found
