"""``canon-ops config``: read and edit the Hermes configuration of a profile, every other byte kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Diff, Line, Mark, Problem, Raw, Result
from canon_ops.cli.session import WriteOptions
from canon_ops.errors import ExitCode, UsageError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.reading import read_optional
from canon_ops.files.values import TYPES, BadValue, parse_value
from canon_ops.files.yaml_path import format_path, parse_path
from canon_ops.hermes.keys import KeyFile, KnownKey, find_key, near_key
from canon_ops.operate.edit_config import ConfigEdited, edit_config

__all__ = ["ConfigValue", "add_command", "get_command", "set_command"]

KeyPath = tuple[str | int, ...]
Edit = Callable[[ConfigDocument], ConfigDocument]

TYPE_OPTION = click.option(
    "--type", "kind", type=click.Choice(list(TYPES)), default="auto", show_default=True, help="How to read the value."
)


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """``data`` of ``canon-ops.config.get/1``.

    Attributes:
        value: as Hermes reads it; null also when it is absent.
        line: where the value begins, from 1.
    """

    path: str
    found: bool
    value: Any
    file: Path
    line: int | None


@declare(
    "config get",
    data=ConfigValue,
    examples=("canon-ops config get plugins.enabled", "canon-ops config get 'platforms.canon.extra' --json"),
)
@click.argument("key")
def get_command(context: Context, key: str) -> Result:
    """Print one value of the Hermes configuration.

    KEY is a path: a.b.c, list[0].x, and keys with dots or brackets in quotes. Text is printed as it is, everything
    else as JSON. The exit code is 1 when the key is not there.
    """
    context.home.require_existing()
    path, file = parse_path(key), context.home.config_file
    found = ConfigDocument.parse(read_optional(file) or b"", str(file)).find(path)
    if found is None:
        problem = Problem("config_absent", f"{format_path(path)} is not set in {file}.", file=str(file))
        return Result(ConfigValue(format_path(path), False, None, file, None), (), ExitCode.FAILED, (problem,))
    context.redact.learn_tree(path, found.value)
    text = found.value if isinstance(found.value, str) else _shown(found.value)
    return Result(ConfigValue(format_path(path), True, found.value, file, found.line), (Raw(f"{text}\n"),))


@declare(
    "config set",
    data=ConfigEdited,
    writes=True,
    examples=(
        "canon-ops config set streaming.enabled true",
        "canon-ops config set platforms.canon.extra.turn_verbosity quiet --diff",
    ),
)
@click.argument("key")
@click.argument("value")
@TYPE_OPTION
def set_command(context: Context, key: str, value: str, kind: str, write: WriteOptions) -> Result:
    """Set one value of the Hermes configuration.

    Every byte outside of the value stays as it is. true, false, null and plain numbers are read as such, all else is
    text; --type says it differently. A VALUE that begins with a dash follows --.
    """
    path, new = parse_path(key), parse_value(value, kind)
    _check(context, path, new)
    return _edited(context, path, lambda document: document.set(path, new), f"config set {key}", write, new)


@declare(
    "config add",
    data=ConfigEdited,
    writes=True,
    examples=("canon-ops config add plugins.enabled canon-hermes",),
)
@click.argument("key", metavar="LIST")
@click.argument("value", metavar="ITEM")
@TYPE_OPTION
def add_command(context: Context, key: str, value: str, kind: str, write: WriteOptions) -> Result:
    """Append an item to a list of the Hermes configuration, once.

    An item that is there already is no change. The new one takes the indent, quotes and style of its neighbours.
    """
    path, item = parse_path(key), parse_value(value, kind)
    return _edited(context, path, lambda document: document.add(path, item), f"config add {key}", write, item)


def _check(context: Context, path: KeyPath, value: object) -> None:
    """Hold the value to what is known of the key; unknown keys take anything."""
    known = find_key(format_path(path), KeyFile.CONFIG)
    if known is None:
        _hint_at_typo(context, path)
        return
    if known.secret:
        raise UsageError(f"{known.name} is secret: it would stay in the shell's history.", fix="canon-ops setup canon")
    if problem := known.problem(value):
        raise BadValue(f"{problem}.", fix=f"canon-ops config set {known.name} {_example(known)}")


def _hint_at_typo(context: Context, path: KeyPath) -> None:
    """An unknown key is taken, as Hermes takes it; one that is almost a known one is worth a word."""
    near = near_key(format_path(path), KeyFile.CONFIG)
    if near is not None:
        context.say(f"Hint: {format_path(path)} is not a known key; {near} is.")


def _example(known: KnownKey) -> str:
    return known.allowed[0] if known.allowed else known.type.value.upper()


def _edited(context: Context, path: KeyPath, edit: Edit, label: str, write: WriteOptions, new: object) -> Result:
    def edit_and_learn(document: ConfigDocument) -> ConfigDocument:
        context.redact.learn_tree((), document.value)  # the diff shows lines around the edit as well
        return edit(document)

    context.redact.learn_tree(path, new)
    done = edit_config(
        context.home,
        path,
        edit_and_learn,
        label=label,
        dry_run=write.dry_run,
        expected=write.if_unchanged,
        mask=context.redact.line,
        with_diff=write.diff or context.options.json,
    )
    return Result(done, _report(context, done, write))


def _report(context: Context, done: ConfigEdited, write: WriteOptions) -> list[Block]:
    file = done.files[0] if done.files else context.home.config_file
    view: list[Block] = [Line(f"Hermes profile {context.home.profile_name}: {file}")]
    if not done.changed:
        view.append(Line(f"{done.path} is already {_shown(done.after)}; nothing to change.", Mark.OK))
        return view
    verb = "Would change" if done.dry_run else "Changed"
    view.append(Line(f"{verb} {done.path}: {_shown(done.before)} -> {_shown(done.after)}", Mark.OK))
    if write.diff:
        view.append(Diff(done.diff))
    return view


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)  # dates: YAML knows them, JSON does not
