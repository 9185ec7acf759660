"""``canon-ops setup borgee``: give a Hermes home its Borgee agent, by dialogue or by options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Line, Mark, Result
from canon_ops.cli.session import WriteOptions
from canon_ops.cli.setup_options import answers_options, key_options, last_lines, take_given
from canon_ops.hermes.home_need import HomeNeed
from canon_ops.operate.borgee_answers import BorgeeAnswers, BorgeeSetupResult
from canon_ops.operate.setup_borgee import setup_borgee

__all__ = ["BorgeeSetupReport", "borgee_command", "lead_borgee", "report_of", "view_of"]


@dataclass(frozen=True, slots=True)
class SharedSetting:
    """A setting of the whole gateway that was, or would be, changed; ``before`` is null for Hermes' default."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class BorgeeSetupReport:
    """``data`` of ``canon-ops.setup.borgee/1``.

    Attributes:
        pinned: config.yaml names the agent, and the gateway refuses to start as any other.
        shared: settings of the whole gateway that changed, for every platform of it.
        store: where the key is.
        changed: something was written, or would be in a dry run.
        overridden_by: a place whose key still beats what was set up.
        history_id: what ``undo`` takes.
    """

    base_url: str
    agent_id: str
    agent_name: str
    pinned: bool
    shared: tuple[SharedSetting, ...]
    store: Literal["file", "keyring"]
    files: tuple[Path, ...]
    changed: bool
    diff: str
    overridden_by: str | None
    history_id: str | None
    dry_run: bool


@declare(
    "setup borgee",
    home=HomeNeed.ANY,
    data=BorgeeSetupReport,
    writes=True,
    timeout_s=15.0,
    examples=(
        "canon-ops setup borgee",
        "canon-ops setup borgee --base-url https://chat.example.com --api-key-stdin --change-shared < key.txt",
        "canon-ops setup borgee --keep-key --store keyring",
    ),
)
@click.option("--base-url", metavar="URL", help="The Borgee server: an https origin.")
@click.option(
    "--allow-insecure-loopback/--no-allow-insecure-loopback", default=None,
    help="Whether plain http to a server on this very machine is fine.",
)  # fmt: skip
@click.option("--agent-id", metavar="ID", help="The agent that the key must belong to, now and at every start.")
@click.option("--keep-key/--new-key", default=None, help="Whether the key that is there stays.")
@key_options
@click.option(
    "--store", type=click.Choice(["file", "keyring"]),
    help="Where the key goes.  [default: a kept key stays; keyring.store, else file]",
)  # fmt: skip
@click.option(
    "--change-shared/--no-change-shared", default=None,
    help="Whether group_sessions_per_user: false and the queue mode may be set, for every platform of the gateway.",
)  # fmt: skip
@answers_options
def borgee_command(
    context: Context,
    write: WriteOptions,
    timeout_s: float,
    **given: Any,
) -> Result:
    """Give the Hermes profile its Borgee agent: the server's address and the agent's key.

    Asks for what no option answers. The server is asked whose key it is, over the connection that the gateway will
    use, before anything is saved; while a gateway holds that connection nothing is asked. Borgee needs two settings
    that hold for every platform of the gateway: changing what somebody wrote there is asked about. A key is never an
    argument: it comes from stdin, a file, a variable, or a hidden prompt.
    """
    taken = take_given(context, BorgeeAnswers, given)
    result = lead_borgee(context, write, BorgeeAnswers(api_key=taken.key, **taken.answers), timeout_s=timeout_s)
    taken.keep(result.answers, dry_run=write.dry_run)
    return Result(report_of(result), view_of(context, result, write))


def lead_borgee(
    context: Context, write: WriteOptions, answers: BorgeeAnswers, *, timeout_s: float = 15.0
) -> BorgeeSetupResult:
    """Lead the dialogue; a new key goes where the preferences say, unless an answer says otherwise."""
    from borgee_hermes.introduction import who_is  # with the websocket behind it

    return setup_borgee(
        context.writing("setup borgee", write),
        context.keyring,
        answers,
        context.prompts,
        who_is=who_is(context.home, context.environ, timeout_s=timeout_s),
        usual_store=context.preferences["keyring.store"],
    )


def view_of(context: Context, result: BorgeeSetupResult, write: WriteOptions) -> list[Block]:
    """The report for people: profile and files first."""
    home = context.home
    files = ", ".join(str(file) for file in result.files) or "no file changes"
    verb = "would answer" if result.dry_run else "answers"
    where = ", its key in the keyring" if result.store == "keyring" else ""
    agent = f"{result.agent.display_name or 'The agent'} ({result.agent.agent_id})"
    view: list[Block] = [
        Line(f"Hermes profile {home.profile_name}: {files}"),
        Line(f"{agent} {verb} for this profile at {result.options.origin}{where}.", Mark.OK),
    ]
    for one in result.shared:
        value = str(one.after).lower()
        view.append(Line(f"{one.path} is {value} for every platform of this gateway.", Mark.INFO))
    return view + last_lines(
        context,
        write,
        diff=result.diff,
        overridden_by=[result.overridden_by] if result.overridden_by is not None else [],
        step="doctor" if result.is_installed else "install borgee",
    )


def report_of(result: BorgeeSetupResult) -> BorgeeSetupReport:
    """The result as scripts see it."""
    return BorgeeSetupReport(
        base_url=result.options.origin,
        agent_id=result.agent.agent_id,
        agent_name=result.agent.display_name,
        pinned=bool(result.options.agent_id),
        shared=tuple(SharedSetting(one.path, one.before, one.after) for one in result.shared),
        store=result.store,
        files=result.files,
        changed=result.changed,
        diff=result.diff,
        overridden_by=result.overridden_by.describe() if result.overridden_by else None,
        history_id=result.history_id,
        dry_run=result.dry_run,
    )
