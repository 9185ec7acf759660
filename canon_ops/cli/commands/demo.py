"""``canon-ops demo``: the whole product against the sandbox, in a temporary home."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Literal

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.commands.sandbox import SandboxNotInstalled
from canon_ops.cli.context import Context
from canon_ops.cli.narrator import narrator_for
from canon_ops.cli.output import Block, Fields, Problem, Result
from canon_ops.demo.narration import DemoReport
from canon_ops.demo.play import play
from canon_ops.demo.stage import DemoOptions
from canon_ops.errors import ExitCode

__all__ = ["command"]

_DEFAULTS = DemoOptions()


@declare(
    "demo",
    data=DemoReport,
    examples=("canon-ops demo", "canon-ops demo --message 'What time is it?' --answer 'Time for a demo.' --keep"),
)
@click.option(
    "--python",
    metavar="PATH",
    type=click.Path(path_type=Path),
    envvar="CANON_OPS_PYTHON",
    help="The host's interpreter, instead of the one that is found.",
)
@click.option("--message", metavar="TEXT", default=_DEFAULTS.message, help="What the person says.")
@click.option("--answer", metavar="TEXT", default=_DEFAULTS.answer, help="What the model answers.")
@click.option("--prompt", metavar="TEXT", default=_DEFAULTS.prompt, help="Who the agent is told to be.")
@click.option(
    "--question", metavar="TEXT", default=_DEFAULTS.question, help="What the agent asks the person to approve."
)
@click.option(
    "--decision",
    type=click.Choice(["allow", "deny"]),
    default=_DEFAULTS.decision,
    help="What the person answers to it.",
)
@click.option("--keep", is_flag=True, help="Keep the temporary home and the gateway's log.")
def command(
    context: Context,
    python: Path | None,
    message: str,
    answer: str,
    prompt: str,
    question: str,
    decision: Literal["allow", "deny"],
    keep: bool,
) -> Result:
    """Watch the whole product work, in a temporary home and without any network.

    Starts a Canon server and a model on loopback, installs the plugin, registers an agent, starts the real Hermes
    gateway, says something and shows the answer as it grows. The agent then asks for an approval, a person decides, and
    the agent hears of it; the approval is listed and audited, the configuration edited and the edit taken back. Nothing
    of it is left behind unless --keep is given, and the exit code is 0 only when every step went well.
    """
    for library in ("starlette", "uvicorn"):
        if importlib.util.find_spec(library) is None:
            raise SandboxNotInstalled(library)
    options = DemoOptions(python, message, answer, prompt, question, decision, keep)
    played = play(options, context.environ, narrator_for(context))
    error = played.error
    return Result(
        played.report,
        _closing(played.report),
        error.exit_code if error else ExitCode.DONE,
        (Problem(error.code, error.sentence, error.fix, error.file, error.line, error.column),) if error else (),
    )


def _closing(report: DemoReport) -> list[Block]:
    """What is worth copying when the story is over."""
    pairs = []
    if report.gateway:
        pairs += [
            ("gateway pid", str(report.gateway.pid)),
            ("executable", str(report.gateway.executable or "unknown")),
            ("hermes_cli.__version__", report.gateway.version or "unknown"),
        ]
    pairs += [("seconds", f"{sum(step.duration_s for step in report.steps):.1f}")]
    if report.home and report.log:
        pairs += [("kept home", str(report.home)), ("kept log", str(report.log))]
    return [Fields(pairs)]
