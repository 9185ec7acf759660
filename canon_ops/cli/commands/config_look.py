"""``canon-ops config list|path|validate|diff``: look at the Hermes configuration, change nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Diff, Item, Line, Mark, Raw, Result, Table
from canon_ops.cli.platform_choice import platforms_argument
from canon_ops.cli.secrets_of_home import learn_text
from canon_ops.errors import CanonOpsError, ExitCode
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.reading import read_optional
from canon_ops.hermes.config_file import refuse_broken_link
from canon_ops.hermes.home_need import HomeNeed
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.operate.compare_config import compare_config
from canon_ops.operate.list_config import ConfigKey, list_config
from canon_ops.operate.validate_config import ConfigFault, validate_config
from canon_ops.settings.secret import SECRET_MARK

__all__ = ["diff_command", "list_command", "path_command", "validate_command"]

_MARKS = {"error": Mark.ERROR, "warning": Mark.WARNING, "info": Mark.INFO}


@dataclass(frozen=True, slots=True)
class ConfigKeys:
    """``data`` of ``canon-ops.config.list/1``."""

    keys: tuple[ConfigKey, ...]


@dataclass(frozen=True, slots=True)
class ConfigPath:
    """``data`` of ``canon-ops.config.path/1``.

    Attributes:
        real: the file behind symbolic links; the one that is written.
    """

    file: Path
    real: Path
    exists: bool
    managed_by: str | None


@dataclass(frozen=True, slots=True)
class ConfigVerdict:
    """``data`` of ``canon-ops.config.validate/1``; ``valid`` means without an error."""

    file: Path
    valid: bool
    faults: tuple[ConfigFault, ...]


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One place that reads differently; null stands for nothing as well, and ``kind`` tells."""

    path: str
    before: Any
    after: Any
    kind: Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True)
class ConfigComparison:
    """``data`` of ``canon-ops.config.diff/1``.

    Attributes:
        since: the history entry that the file is compared with; null when the history has no text of it.
        changed: whether the bytes differ.
        values: what Hermes reads differently; null when one of the texts cannot be read.
    """

    file: Path
    since: str | None
    command: str | None
    changed: bool
    values: tuple[ValueChange, ...] | None
    diff: str


@declare(
    "config list",
    data=ConfigKeys,
    examples=("canon-ops config list", "canon-ops config list canon --all", "canon-ops config list --json"),
)
@platforms_argument
@click.option("--all", "every", is_flag=True, help="Every known key, also those that nobody sets or recommends.")
def list_command(context: Context, platforms: tuple[str, ...], every: bool) -> Result:
    """List the keys that matter to the platforms, and where each value comes from.

    These are the known keys of both platforms, and of Hermes where a platform depends on them; whatever else is in the
    file is not listed.
    """
    meant = platforms or ((context.program.platform,) if context.program.platform else tuple(PLATFORMS))
    found = list_config(context.home, context.environ, meant)
    if not platforms:  # of the platforms that may be added to Canon only what somebody uses here
        used = {"canon", "hermes", *(key.platform for key in found if key.is_set)}
        found = tuple(key for key in found if key.platform in used)
    rows = [key for key in found if every or key.is_worth_showing]
    for key in rows:
        context.redact.learn_tree(key.key.split("."), key.value)
    rows = [replace(key, value=context.redact.tree(key.key.split("."), key.value)) for key in rows]
    cells = [(key.key, _value(key), _origin(key), key.advice or "") for key in rows]
    return Result(ConfigKeys(tuple(rows)), (Table(("key", "value", "from", "advice"), cells),))


@declare(
    "config path",
    home=HomeNeed.ANY,
    data=ConfigPath,
    examples=("canon-ops config path", "$EDITOR $(canon-ops config path)"),
)
def path_command(context: Context) -> Result:
    """Print where the Hermes configuration is.

    The file need not exist. It is the one that hermes itself would use here.
    """
    home = context.home
    file = home.config_file
    report = ConfigPath(file, file.resolve(), file.exists(), home.managed_by)
    return Result(report, (Raw(f"{file}\n"),))


@declare(
    "config validate",
    data=ConfigVerdict,
    examples=("canon-ops config validate", "canon-ops config validate --strict --json"),
)
@click.option("--strict", is_flag=True, help="Warnings make the exit code 1 too.")
def validate_command(context: Context, strict: bool) -> Result:
    """Check the Hermes configuration: readable, right types, no key that is dropped.

    The exit code is 1 when something is wrong. Keys that are not known are nobody's business and are not judged.
    """
    file = context.home.config_file
    try:
        refuse_broken_link(file)
        document = ConfigDocument.parse(read_optional(file) or b"", str(file))
    except CanonOpsError as error:
        fault = ConfigFault("error", error.code, None, error.what, error.fix, error.line, error.column)
        return _verdict(file, (fault,), ExitCode.FAILED)
    context.redact.learn_tree((), document.value)
    faults = validate_config(document)
    bad = {"error", "warning"} if strict else {"error"}
    failed = any(fault.severity in bad for fault in faults)
    return _verdict(file, faults, ExitCode.FAILED if failed else ExitCode.DONE)


@declare("config diff", data=ConfigComparison, examples=("canon-ops config diff", "canon-ops config diff --values"))
@click.argument("id", required=False)
@click.option("--values", "only_values", is_flag=True, help="Only what Hermes reads differently, not the lines.")
def diff_command(context: Context, id: str | None, only_values: bool) -> Result:
    """Show what changed in the Hermes configuration since this tool last wrote it.

    ID compares with the text that another entry of the history left (history list). The exit code is 0 in any case.
    """
    context.session.learn_secrets_of_home()
    found = compare_config(
        context.home,
        id,
        mask=context.redact.line,
        mask_tree=context.redact.tree,
        look=lambda path, text: learn_text(context.redact, path, text),
    )
    values = None
    if found.values is not None:
        values = tuple(ValueChange(each.path, each.before, each.after, each.kind) for each in found.values)
    report = ConfigComparison(found.file, found.since, found.command, found.changed, values, found.diff)
    if found.since is None:
        return Result(report, (Line(f"The history has no text of {found.file}.", Mark.INFO),))
    view: list[Block] = [Line(f"{found.file} since {found.since} ({found.command})", for_people_only=True)]
    if not found.changed:
        view.append(Line("Nothing changed.", Mark.OK, for_people_only=True))
    if only_values and values is not None:
        view.append(Table(("key", "before", "after"), [_cells(v) for v in values]))
    elif found.diff:
        view.append(Diff(found.diff))
    return Result(report, view)


def _cells(change: ValueChange) -> tuple[str, str, str]:
    before = "unset" if change.kind == "added" else _json(change.before)
    return change.path, before, "unset" if change.kind == "removed" else _json(change.after)


def _verdict(file: Path, faults: tuple[ConfigFault, ...], code: ExitCode) -> Result:
    report = ConfigVerdict(file, not any(fault.severity == "error" for fault in faults), faults)
    view: list[Block] = [
        Item(_MARKS[fault.severity], f"line {fault.line}" if fault.line else "-", fault.message, fault.fix)
        for fault in faults
    ]
    if not faults:
        view.append(Line(f"{file} is as it should be.", Mark.OK))
    return Result(report, view, code)


def _value(key: ConfigKey) -> str:
    if key.secret:
        return "" if key.origin == "unset" else SECRET_MARK
    return "" if key.origin == "unset" else _json(key.value)


def _origin(key: ConfigKey) -> str:
    match key.origin:
        case "config":
            return f"line {key.line}"
        case "dotenv":
            return f"{key.name} in .env"
        case "process":
            return f"{key.name} (environment)"
        case other:
            return other


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
