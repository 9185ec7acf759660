"""Playing the demo: the steps of the table in order, each timed; the first failure ends it; all is cleared away."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from canon_ops.demo.narration import DemoReport, Narrator, StepReport
from canon_ops.demo.stage import DemoOptions, Stage
from canon_ops.demo.steps import STEPS, Step
from canon_ops.errors import CanonOpsError
from canon_ops.runtime.scratch import scratch_folder

__all__ = ["Played", "play"]


@dataclass(frozen=True, slots=True)
class Played:
    """A demo that has ended: what happened, and the error that ended it early."""

    report: DemoReport
    error: CanonOpsError | None


def play(
    options: DemoOptions, environ: Mapping[str, str], narrator: Narrator, *, steps: Sequence[Step] = STEPS
) -> Played:
    """Run the whole demo; it returns when nothing of it runs any more.

    Args:
        environ: the process environment; only the way to the host is taken from it.

    Returns:
        What happened. Home and log are named when they were kept.
    """
    reports: list[StepReport] = []
    error: CanonOpsError | None = None
    with scratch_folder("demo-", keep=options.keep) as folder, ExitStack() as undo:
        stage = Stage(options, environ, narrator, undo, folder)
        for number, step in enumerate(steps, 1):
            narrator.begin(number, len(steps), step.title)
            report, error = _carry_out(step, stage)
            reports.append(report)
            narrator.end(report)
            if error is not None:
                break
    return Played(
        DemoReport(
            steps=tuple(reports),
            gateway=stage.gateway_facts,
            message=options.message,
            prompt=stage.prompt_received,
            answer=stage.answer,
            previews=stage.previews,
            approval=stage.approval,
            home=stage.home.path if options.keep else None,
            log=stage.log if options.keep else None,
        ),
        error,
    )


def _carry_out(step: Step, stage: Stage) -> tuple[StepReport, CanonOpsError | None]:
    start = time.monotonic()
    error: CanonOpsError | None = None
    try:
        detail = step.run(stage)
    except CanonOpsError as exc:
        error, detail = _outliving(exc, stage), exc.what
    duration_s = round(time.monotonic() - start, 3)
    return StepReport(step.name, step.title, error is None, duration_s, detail, error.fix if error else None), error


def _outliving(error: CanonOpsError, stage: Stage) -> CanonOpsError:
    """An error that points into the temporary folder is no help once that is gone: point to the way to keep it."""
    if not stage.options.keep and error.file is not None and Path(error.file).is_relative_to(stage.folder):
        error.file = error.line = error.column = None
        error.fix = "run it again with --keep, and read the gateway's log"
    return error
