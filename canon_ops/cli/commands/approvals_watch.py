"""``canon-ops approvals watch``: the registry followed, and a reminder when an approval nears its end.

It reads what the gateways and commands write, under the registry's lock; Canon is not asked, and no answer is fetched.

Source: command-line contract, approvals; decisions L3, L9.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import time
from dataclasses import asdict, dataclass
from typing import Final

import click

from canon_hermes_plugin.approvals.watching import Event, News, Watched, look, state_of
from canon_ops.cli.amount import Amount
from canon_ops.cli.command import command as declare
from canon_ops.cli.commands.approvals import Approval, registry_of, row_of
from canon_ops.cli.context import Context
from canon_ops.cli.output import Item, Mark, Result
from canon_ops.errors import UsageError
from canon_ops.files.lock import LockTimeout
from canon_ops.runtime.clock import SystemClock

__all__ = ["ApprovalNews", "command"]

COMMAND_S: Final = 30.0  # a reminder that hangs must not hide the next one

_MARKS: Final = {Event.EXPIRING: Mark.WARNING, Event.DAMAGED: Mark.ERROR, Event.GONE: Mark.INFO}


@dataclass(frozen=True, slots=True)
class ApprovalNews:
    """``data`` of ``canon-ops.approvals.watch.event/1``.

    Attributes:
        event: "open" at the first look, "requested", "changed", "expiring", "damaged" or "gone".
        before: the state that it had, as "state" gives it; null for one that is new.
        state: its status, with its decision and how far the agent has been told.
        command_exit: what the command of --exec ended with; null when none was run, or it could not be.
    """

    event: str
    before: str | None
    state: str
    approval: Approval
    command_exit: int | None


@declare(
    "approvals watch",
    data=ApprovalNews,
    is_event_stream=True,
    examples=(
        "canon-ops approvals watch",
        "canon-ops approvals watch --within 60 --exec 'notify-send --app-name canon Approval'",
        "canon-ops approvals watch --json",
    ),
)
@click.option(
    "--every", type=Amount(min=0.1), default=2.0, show_default=True, metavar="SECONDS",
    help="The pause between two looks.",
)  # fmt: skip
@click.option(
    "--within", type=Amount(min=0), default=15.0, show_default=True, metavar="MINUTES",
    help="How long before its end an open approval is told of.",
)  # fmt: skip
@click.option(
    "--exec", "words", metavar="CMD",
    help="Run this when an approval nears its end, with the approval as JSON on its standard input; no shell.",
)  # fmt: skip
def command(context: Context, every: float, within: float, words: str | None) -> Result:
    """Tell what happens to detached approvals, until stopped.

    The first look tells what is open. After that each request, each change of state and each approval that nears its
    end is told once. Nothing is asked at Canon and no answer is fetched. Without --exec it ends when its reader does.
    """
    argv = None if words is None else _argv(words)
    store, watched, clock = registry_of(context), Watched(), SystemClock()
    unread: frozenset[str] = frozenset()
    pause = context.pause if argv is None else time.sleep  # reminders are wanted whoever reads
    while True:
        try:
            book = store.read_kept()
        except LockTimeout as error:
            context.say(f"{error.sentence} The next look is in {every:g} s.")
        else:
            watched, news = look(
                watched, book.entries, damaged=book.damaged, now_ms=clock.now_ms(), within_ms=within * 60_000
            )
            for one in news:
                context.emit(_told(one, argv, context))
            for key in sorted(book.damaged.keys() - unread):
                context.say(f"{key} {book.reasons[key]}; see canon-ops approvals verify.")
            unread = frozenset(book.damaged)
        pause(every)


def _argv(words: str) -> list[str]:
    """The command, split as a shell would, and there.

    Raises:
        UsageError: it cannot be split or found; nothing is watched.
    """
    try:
        argv = shlex.split(words)
    except ValueError as error:
        raise UsageError(
            f"--exec: {words!r} cannot be split into words: {error}", fix="canon-ops approvals watch --help"
        ) from error
    if not argv or shutil.which(argv[0]) is None:
        raise UsageError(
            f"--exec: there is no program {argv[0] if argv else words!r}", fix="canon-ops approvals watch --help"
        )
    return argv


def _told(news: News, argv: list[str] | None, context: Context) -> Result:
    row = row_of(news.entry)
    exit_code = _run(argv, row, context) if argv is not None and news.event is Event.EXPIRING else None
    data = ApprovalNews(news.event.value, news.before, state_of(news.entry), row, exit_code)
    was = f"{news.before} -> " if news.event is Event.CHANGED else ""
    said = f"{news.event}: {was}{data.state}; expires {row.expires_at}; {_line(row.summary)}"
    return Result(data, (Item(_MARKS.get(news.event, Mark.OK), row.approval_id, said),))


def _run(argv: list[str], row: Approval, context: Context) -> int | None:
    """Run the reminder; what goes wrong with it is said, and the watch goes on."""
    item = json.dumps(asdict(row)) + "\n"  # what a model wrote need not have a form in UTF-8, so all of it is escaped
    try:
        done = subprocess.run(
            argv,
            input=item.encode("ascii"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=COMMAND_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        context.say(f"--exec: {argv[0]} could not be run for {row.approval_id}: {error}")
        return None
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        context.say(f"--exec: {argv[0]} ended with {done.returncode} for {row.approval_id}: {_line(last[0])}")
    return done.returncode


def _line(text: str) -> str:
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= 120 else line[:119] + "…"
