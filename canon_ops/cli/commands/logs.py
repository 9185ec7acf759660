"""``canon-ops logs``: the gateway's log files, filtered, followed, and without secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Mark, Problem, Result, Row
from canon_ops.errors import ExitCode, UsageError
from canon_ops.hermes.gateway_log import LEVELS, LOG_FILES, LogRecord, follow, last_records, log_file
from canon_ops.hermes.platforms import PLATFORMS

__all__ = ["LogShown", "command"]

MOST = 1_000_000  # records; a log starts anew long before
_PAUSE_S = 0.25
_MARKS = {"WARNING": Mark.WARNING, "ERROR": Mark.ERROR, "CRITICAL": Mark.ERROR}


@dataclass(frozen=True, slots=True)
class LogShown:
    """``data`` of ``canon-ops.logs/1``: the records, the oldest first."""

    file: Path
    records: tuple[LogRecord, ...]


@declare(
    "logs",
    data=LogShown,
    events=LogRecord,
    examples=(
        "canon-ops logs --level warning",
        "canon-ops logs -f --platform canon",
        "canon-ops logs --file agent --grep 'turn [0-9]+' -n 500 --json",
    ),
)
@click.option("-f", "--follow", "goes_on", is_flag=True, help="Go on with what is written, until stopped.")
@click.option("-n", "--lines", "count", type=click.IntRange(0, MOST), default=50, show_default=True, help="How many.")
@click.option("--file", "name", type=click.Choice(LOG_FILES), default="gateway", show_default=True, help="Which log.")
@click.option(
    "--level", type=click.Choice([level.lower() for level in LEVELS]), default="debug", show_default=True,
    help="Only records at least as grave.",
)  # fmt: skip
@click.option("--grep", metavar="REGEX", help="Only records whose text or logger matches.")
@click.option("--platform", type=click.Choice(sorted(PLATFORMS)), help="Only what is about this platform.")
def command(
    context: Context,
    goes_on: bool,
    count: int,
    name: str,
    level: str,
    grep: str | None,
    platform: str | None,
) -> Result:
    """Show the gateway's log: the last records, filtered, with every secret of the home taken out.

    A traceback belongs to the record above it. gateway is what platforms do, agent is everything, errors is warnings
    and worse. With -f it goes on until it is stopped, also when Hermes starts the file anew.
    """
    home = context.home
    context.session.learn_secrets_of_home()
    file, wanted = log_file(home.path, name), _filter(level.upper(), grep, platform)
    records, end = last_records(file, count, wanted)
    if not goes_on:
        if not records and not file.exists():
            problem = Problem("no_log", f"There is no {file}; no gateway has written one.", home.command("gateway run"))
            return Result(LogShown(file, ()), (), ExitCode.FAILED, (problem,))
        return Result(LogShown(file, tuple(records)), _rows(records))
    context.follow()
    for record in records:
        context.emit(Result(record, _rows([record])))
    for record in follow(file, end, lambda: context.pause(_PAUSE_S)):
        if wanted(record):
            context.emit(Result(record, _rows([record])))
    raise AssertionError("a log never ends")


def _filter(level: str, grep: str | None, platform: str | None) -> Callable[[LogRecord], bool]:
    try:
        pattern = re.compile(grep) if grep is not None else None
    except re.error as exc:
        raise UsageError(f"--grep {grep!r} is no regular expression: {exc}.", fix="put \\ before . * + ? ( [") from exc
    about = _about(platform) if platform else None

    def is_wanted(record: LogRecord) -> bool:
        text = f"{record.logger}: {record.message}"
        return (
            record.is_at_least(level)
            and (pattern is None or bool(pattern.search(text)))
            and (about is None or bool(about.search(text)))
        )

    return is_wanted


def _about(platform: str) -> re.Pattern[str]:
    """Its package, its plugin, or its name as a word."""
    names = PLATFORMS[platform]
    words = "|".join(map(re.escape, (names.package, names.plugin, names.name)))
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)


def _rows(records: Sequence[LogRecord]) -> list[Row]:
    return [
        Row((record.at, record.level, record.logger, record.message), _MARKS.get(record.level)) for record in records
    ]
