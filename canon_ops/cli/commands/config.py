"""``canon-ops config``: read and edit the Hermes configuration of a profile, every other byte kept."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.named_file import named
from canon_ops.cli.output import Block, Diff, Line, Mark, Problem, Raw, Result
from canon_ops.cli.redaction import SECRET_MARK
from canon_ops.cli.session import WriteOptions
from canon_ops.cli.value_options import ask_value, refuse_argument, value_elsewhere, value_sources
from canon_ops.errors import ExitCode, RefusedError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.reading import read_optional
from canon_ops.files.values import TYPES, BadValue, parse_value
from canon_ops.files.yaml_path import format_path, parse_path
from canon_ops.files.yaml_reader import same
from canon_ops.hermes.keys import KeyFile, KnownKey, dropped, find_key, near_key
from canon_ops.operate.edit_config import ConfigEdited, edit_config
from canon_ops.operate.shown_config import shown_value
from canon_ops.settings.secret import Secret
from canon_ops.settings.telling import secret_parts

__all__ = ["ConfigValue", "add_command", "get_command", "remove_command", "set_command", "unset_command"]

KeyPath = tuple[str | int, ...]
Edit = Callable[[ConfigDocument], ConfigDocument]

TYPE_OPTION = click.option(
    "--type", "kind", type=click.Choice(list(TYPES)), default="auto", show_default=True, help="How to read the value."
)
CONVERT_OPTION = click.option(
    "--convert", is_flag=True, help="Turn a text in the list's place (a, b) into a list of its words first."
)
REFORMAT_OPTION = click.option(
    "--allow-reformat",
    is_flag=True,
    help="Where the edit cannot keep every other byte, offer the whole file written anew.",
)


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """``data`` of ``canon-ops.config.get/1``.

    Attributes:
        value: as Hermes reads it, its secrets masked; null also when it is absent.
        masked: something in it is a secret.
        line: where the value begins, from 1.
    """

    path: str
    found: bool
    value: Any
    file: Path
    line: int | None
    masked: bool = False


@declare(
    "config get",
    data=ConfigValue,
    examples=("canon-ops config get plugins.enabled", "canon-ops config get 'platforms.canon.extra' --json"),
)
@click.argument("key")
def get_command(context: Context, key: str) -> Result:
    """Print one value of the Hermes configuration.

    KEY is a path: a.b.c, list[0].x, and keys with dots or brackets in quotes. Text is printed as it is, everything
    else as JSON; secrets are masked, by their names and places. The exit code is 1 when the key is not there, and when
    it is a secret that would leave the terminal.
    """
    context.home.require_existing()
    path, file = parse_path(key), context.home.config_file
    document = ConfigDocument.parse(read_optional(file) or b"", str(file))
    found = document.find(path)
    if found is None:
        problem = _absent(context, path, file)
        return Result(ConfigValue(format_path(path), False, None, file, None), (), ExitCode.FAILED, (problem,))
    value = shown_value(document, path, context.redact.tree)
    masked = not same(value, found.value)
    if masked and isinstance(found.value, str):
        if not context.session.for_people and not context.options.json:
            raise RefusedError(
                f"{format_path(path)} is secret, and this is no terminal.",
                fix=f"read it in the file: {file}:{found.line}",
                file=str(file),
                line=found.line,
            )
        text = Secret(found.value).hint() if value == SECRET_MARK else value
    else:
        text = value if isinstance(value, str) else _shown(value)
    report = ConfigValue(format_path(path), True, value, file, found.line, masked)
    return Result(report, (Raw(f"{text}\n"),))


def _absent(context: Context, path: KeyPath, file: Path) -> Problem:
    what = f"{format_path(path)} is not set in {file}"
    if file.is_symlink() and not file.exists():
        what += f", a link to {file.readlink()}, which does not exist"
    fix = context.home.own_command(f"config set {shlex.quote(format_path(path))} VALUE")
    return Problem("config_absent", f"{what}.", fix, file=str(file))


@declare(
    "config set",
    data=ConfigEdited,
    writes=True,
    examples=(
        "canon-ops config set streaming.enabled true",
        "canon-ops config set platforms.canon.extra.turn_verbosity quiet --diff",
        "pass show openai | canon-ops config set auxiliary.vision.api_key --stdin",
    ),
)
@click.argument("key")
@click.argument("value", required=False)
@value_sources
@TYPE_OPTION
@REFORMAT_OPTION
def set_command(
    context: Context,
    key: str,
    value: str | None,
    from_stdin: bool,
    file: Path | None,
    variable: str | None,
    kind: str,
    allow_reformat: bool,
    write: WriteOptions,
) -> Result:
    """Set one value of the Hermes configuration.

    Every byte outside of the value stays as it is. true, false, null and plain numbers are read as such, all else is
    text; --type says it differently. A VALUE that begins with a dash follows --. A secret is never an argument: it
    comes from a hidden prompt, from stdin, from a file or from a variable; ${NAME} in its place is none.
    """
    path = parse_path(key)
    given = value_elsewhere(context, value, from_stdin=from_stdin, file=file, variable=variable)
    is_secret = bool(secret_parts(path, "x"))
    text = value if value is not None else given if given is not None else ask_value(context, key, is_secret=is_secret)
    if value is None and is_secret:
        text = text.strip()
        kind = "str" if kind == "auto" else kind  # a password of digits is text
    new = parse_value(text, kind)
    command = f"config set {key}"
    _check(context, path, new, value, command)
    editing = Editing(path, command, write, allow_reformat, argument=value)
    return _edited(context, editing, lambda document: document.set(path, new), new)


@declare(
    "config unset",
    data=ConfigEdited,
    writes=True,
    examples=("canon-ops config unset platforms.canon.extra.base_url",),
)
@click.argument("key")
@REFORMAT_OPTION
def unset_command(context: Context, key: str, allow_reformat: bool, write: WriteOptions) -> Result:
    """Remove one key from the Hermes configuration.

    The comment lines directly above the key go with it, every other comment stays; mappings around it stay, empty if
    need be. Taking out what the last edit put in gives back the very text from before it, as long as nobody wrote
    since. A key that is not there is no change.
    """
    path = parse_path(key)
    editing = Editing(path, f"config unset {key}", write, allow_reformat, removes_key=True, takes_out=True)
    return _edited(context, editing, lambda document: document.unset(path), None)


@declare(
    "config add",
    data=ConfigEdited,
    writes=True,
    examples=("canon-ops config add plugins.enabled canon-hermes",),
)
@click.argument("key", metavar="LIST")
@click.argument("value", metavar="ITEM")
@TYPE_OPTION
@CONVERT_OPTION
@REFORMAT_OPTION
def add_command(
    context: Context, key: str, value: str, kind: str, convert: bool, allow_reformat: bool, write: WriteOptions
) -> Result:
    """Append an item to a list of the Hermes configuration, once.

    An item that is there already is no change. The new one takes the indent, quotes and style of its neighbours.
    """
    path, item = parse_path(key), parse_value(value, kind)
    editing = Editing(path, f"config add {key}", write, allow_reformat, convert, argument=value)
    return _edited(context, editing, lambda document: document.add(path, item), item)


@declare(
    "config remove",
    data=ConfigEdited,
    writes=True,
    examples=("canon-ops config remove plugins.disabled canon-hermes",),
)
@click.argument("key", metavar="LIST")
@click.argument("value", metavar="ITEM")
@TYPE_OPTION
@CONVERT_OPTION
@REFORMAT_OPTION
def remove_command(
    context: Context, key: str, value: str, kind: str, convert: bool, allow_reformat: bool, write: WriteOptions
) -> Result:
    """Remove an item from a list of the Hermes configuration.

    Every item of that value goes, each with the comment lines directly above it. An item that is not there is no
    change.
    """
    path, item = parse_path(key), parse_value(value, kind)
    editing = Editing(path, f"config remove {key}", write, allow_reformat, convert, takes_out=True)
    return _edited(context, editing, lambda document: document.remove(path, item), item)


def _check(context: Context, path: KeyPath, value: object, argument: str | None, command: str) -> None:
    """Hold the value to what is known of the key; unknown keys take anything."""
    known = find_key(format_path(path), KeyFile.CONFIG)
    if argument is not None and ((known is not None and known.secret) or secret_parts(path, value)):
        raise refuse_argument(format_path(path), f"canon-ops {command}")
    if known is None:
        _warn_of_lost(context, path)
        return
    if problem := known.problem(value):
        raise BadValue(f"{problem}.", fix=f"canon-ops config set {known.name} {_example(known)}")


def _warn_of_lost(context: Context, path: KeyPath) -> None:
    """An unknown key is taken, as Hermes takes it; one that nobody reads, or is almost a known one, is worth a word."""
    if (lost := dropped(path)) is not None:
        instead = f" {lost.instead} is read." if lost.instead else ""
        context.say(f"Warning: {lost.why}{instead}")
    elif (near := near_key(format_path(path), KeyFile.CONFIG)) is not None:
        context.say(f"Hint: {format_path(path)} is not a known key; {near} is.")


def _example(known: KnownKey) -> str:
    return known.allowed[0] if known.allowed else known.type.value.upper()


@dataclass(frozen=True, slots=True)
class Editing:
    """One edit as it was asked for.

    Attributes:
        label: the command as the history shows it; never with the value, which may be a secret.
        convert: turn a text at ``path`` into a list of its comma-separated words first.
        removes_key: the key itself goes.
        takes_out: that, or items of the list there.
        argument: the value as it stood on the command line; it must not turn out to be a secret.
    """

    path: KeyPath
    label: str
    write: WriteOptions
    allow_reformat: bool
    convert: bool = False
    removes_key: bool = False
    takes_out: bool = False
    argument: str | None = None


def _edited(context: Context, editing: Editing, edit: Edit, new: object) -> Result:
    reformatted = False

    def edit_and_learn(document: ConfigDocument) -> ConfigDocument:
        nonlocal reformatted
        context.redact.learn_tree((), document.value)  # the diff shows lines around the edit as well
        if editing.allow_reformat:
            document = ConfigDocument.parse(document.data, document.file, allow_reformat=True)
        edited = edit(document.text_to_list(editing.path) if editing.convert else document)
        _refuse_new_secret(editing, document, edited)
        reformatted = edited.reformatted
        return edited

    def run(*, dry_run: bool, with_diff: bool = True) -> ConfigEdited:
        return edit_config(
            context.home,
            editing.path,
            edit_and_learn,
            label=editing.label,
            dry_run=dry_run,
            expected=editing.write.if_unchanged,
            mask=context.redact.line,
            mask_tree=context.redact.tree,
            lock_timeout_s=context.preferences.lock_timeout_s,
            retention=context.preferences.retention,
            with_diff=with_diff,
            takes_out=editing.takes_out,
        )

    context.redact.learn_tree(editing.path, new)
    if editing.allow_reformat and not editing.write.dry_run:
        plan = run(dry_run=True)
        if reformatted:
            from canon_ops.operate.writing import require_consent  # here: an ordinary edit starts without it

            context.prompts.note(plan.diff)
            require_consent(context.prompts, "Write the whole file anew, as shown?")
    done = run(dry_run=editing.write.dry_run, with_diff=editing.write.diff or context.options.json)
    return Result(done, _report(context, done, editing))


def _refuse_new_secret(editing: Editing, old: ConfigDocument, new: ConfigDocument) -> None:
    """An argument that its place in the file makes a secret: behind ``--token`` in a list, say."""
    if editing.argument is None:
        return
    here, place = editing.path, editing.path[:-1] if str(editing.path[-1]).isdecimal() else editing.path
    before, after = old.find(place), new.find(place)
    known = secret_parts(place, before.value) if before else []
    for part in secret_parts(place, after.value) if after else []:
        if part in known:
            known.remove(part)
        elif part in editing.argument:
            raise refuse_argument(format_path(here), f"canon-ops {editing.label}")


def _report(context: Context, done: ConfigEdited, editing: Editing) -> list[Block]:
    file = done.files[0] if done.files else context.home.config_file
    view: list[Block] = [Line(f"Hermes profile {context.home.profile_name}: {named(file)}")]
    if not done.changed:
        state = "not set" if editing.removes_key else f"already {_shown(done.after)}"
        view.append(Line(f"{done.path} is {state}; nothing to change.", Mark.OK))
        return view
    if editing.removes_key:
        verb, what = "Would remove" if done.dry_run else "Removed", f"it was {_shown(done.before)}"
    else:
        verb = "Would change" if done.dry_run else "Changed"
        what = f"{_shown(done.before) if done.was_set else 'unset'} -> {_shown(done.after)}"
    view.append(Line(f"{verb} {done.path}: {what}", Mark.OK))
    if done.repeated:
        verb = "would change" if done.dry_run else "changed"
        view.append(Line(f"An alias repeats it, so these {verb} too: {', '.join(done.repeated)}", Mark.WARNING))
    if editing.write.diff:
        view.append(Diff(done.diff))
    return view


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)  # dates: YAML knows them, JSON does not
