"""``canon-ops setup canon``: give a Hermes home its Canon agent, by dialogue or by options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from canon_ops.cli.amount import Amount
from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Line, Mark, Result
from canon_ops.cli.session import WriteOptions
from canon_ops.cli.setup_options import answers_options, key_options, last_lines, take_given
from canon_ops.hermes.home_need import HomeNeed
from canon_ops.operate.setup_answers import SetupAnswers, SetupResult, Way
from canon_ops.operate.setup_canon import SetupPlace, setup_canon
from canon_ops.settings.environments import ENVIRONMENTS

__all__ = ["SetupReport", "canon_command", "report_of", "view_of"]

F = TypeVar("F", bound=Callable[..., Any])

# Options that are answers: name -> (metavar, help). The dialogue asks for what is not given.
_ANSWERS: dict[str, tuple[str, str]] = {
    "--base-url": ("URL", "API of the environment, instead of the packaged one."),
    "--stream-url": ("URL", "Event stream of the environment, instead of the packaged one."),
    "--rtdb-url": ("URL", "Realtime database of the environment, instead of the packaged one."),
    "--firebase-api-key": ("TEXT", "Public web key of the environment, instead of the packaged one."),
    "--agent-name": ("TEXT", "Name of the agent, as people will see it."),
    "--description": ("TEXT", "What the agent is for; its owner reads it before approving."),
    "--owner-phone": ("NUMBER", "Phone number of the agent's owner, with + and country code."),
    "--canon-profile": ("NAME", "Canon profile under which the agent is kept."),
    "--agent-id": ("ID", "Reconnect this agent instead of registering a new one."),
    "--use-profile": ("NAME", "Use a Canon profile that exists; register nothing."),
}


@dataclass(frozen=True, slots=True)
class SetupReport:
    """``data`` of ``canon-ops.setup.canon/1``.

    Attributes:
        request_id: the registration request; null where none was needed.
        resumed: an earlier run had begun the registration.
        store: where the key is.
        changed: something was written, or would be in a dry run; a registration always writes.
        overridden_by: places that still beat what was set up.
    """

    way: Literal["register", "use-profile", "key"]
    environment: str
    canon_profile: str | None
    agent_id: str | None
    agent_name: str | None
    request_id: str | None
    resumed: bool
    store: Literal["file", "keyring"]
    files: tuple[Path, ...]
    changed: bool
    diff: str
    overridden_by: tuple[str, ...]
    dry_run: bool


def _answer_options(function: F) -> F:
    for name, (metavar, text) in reversed(_ANSWERS.items()):
        function = click.option(name, metavar=metavar, help=text)(function)
    return function


@declare(
    "setup canon",
    home=HomeNeed.ANY,
    data=SetupReport,
    writes=True,
    timeout_s=30.0,
    examples=(
        "canon-ops setup canon",
        "canon-ops setup canon --agent-name 'Ops' --owner-phone '+1 415 555 0123' --no-input",
        "canon-ops setup canon --api-key-stdin --environment canon-prod-v1 < key.txt",
    ),
)
@click.option("--environment", type=click.Choice(list(ENVIRONMENTS)), help="The Canon environment that owns the agent.")
@click.option("--way", type=click.Choice([way.value for way in Way]), help="How the home gets its agent.")
@_answer_options
@key_options
@click.option(
    "--store", type=click.Choice(["file", "keyring"]),
    help="Where a new key goes; in the keyring it belongs to a Canon profile.  [default: keyring.store, else file]",
)  # fmt: skip
@click.option(
    "--start-over", is_flag=True,
    help="Make a new registration: drop a pending one, and replace an agent that the profile holds unbound.",
)  # fmt: skip
@click.option(
    "--wait", "wait_s", metavar="SECONDS", type=Amount(min=0),
    help="How long to wait for the owner's decision; 0 sends the request and looks once.  [default: 300]",
)  # fmt: skip
@answers_options
def canon_command(
    context: Context,
    write: WriteOptions,
    timeout_s: float,
    start_over: bool,
    **given: Any,
) -> Result:
    """Give the Hermes profile its Canon agent: register, reconnect, use a profile, or paste a key.

    Asks for what no option answers. The environment is verified on its API and its stream before anything is saved,
    and a registration that was interrupted goes on where it was. A key is never an argument: it comes from stdin, a
    file, a variable, or a hidden prompt.
    """
    taken = take_given(context, SetupAnswers, given)
    answers = taken.answers
    if "store" not in answers and "use_profile" not in answers and context.preferences["keyring.store"] != "file":
        answers["store"] = context.preferences["keyring.store"]
    if "way" in answers:
        answers["way"] = Way(answers["way"])
    place = SetupPlace(
        context.home,
        context.environ,
        timeout_s=timeout_s,
        keyring=context.keyring,
        expected=write.expected_of(context.home.env_file),
    )
    result = setup_canon(
        place,
        SetupAnswers(api_key=taken.key, start_over=start_over, **answers),
        context.prompts,
        dry_run=write.dry_run,
    )
    taken.keep(result.answers, dry_run=write.dry_run)
    return Result(report_of(result), view_of(context, result, write), canon_profile=result.canon_profile)


def view_of(context: Context, result: SetupResult, write: WriteOptions) -> list[Block]:
    """The report for people: profile and files first."""
    home = context.home
    files = ", ".join(str(file) for file in result.files) or "no file changes"
    agent = f"{result.agent_name or 'The agent'}{f' ({result.agent_id})' if result.agent_id else ''}"
    kept = f", kept as Canon profile {result.canon_profile}" if result.canon_profile else ""
    kept += ", its key in the keyring" if result.store == "keyring" else ""
    verb = "would answer" if result.dry_run else "answers"
    view: list[Block] = [
        Line(f"Hermes profile {home.profile_name}: {files}"),
        Line(f"{agent} {verb} for this profile on {result.connection.environment_id}{kept}.", Mark.OK),
    ]
    return view + last_lines(context, write, diff=result.diff, overridden_by=result.overridden_by, step="doctor")


def report_of(result: SetupResult) -> SetupReport:
    """The result as scripts see it."""
    return SetupReport(
        way=result.way.value,
        environment=result.connection.environment_id,
        canon_profile=result.canon_profile,
        agent_id=result.agent_id,
        agent_name=result.agent_name,
        request_id=result.request_id,
        resumed=result.resumed,
        store=result.store,
        files=result.files,
        changed=result.changed,
        diff=result.diff,
        overridden_by=tuple(origin.describe() for origin in result.overridden_by),
        dry_run=result.dry_run,
    )
