"""``config get``, ``set``, ``unset``, ``add`` and ``remove`` without their declarations: what they do with their words.

Nothing here needs click, so that the plain form of a call starts without it (short_call.py); the declarations are in
``commands/config.py``.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

from canon_ops.cli.context import Context
from canon_ops.cli.given_value import refuse_argument
from canon_ops.cli.named_file import named
from canon_ops.cli.output import Block, Diff, Line, Mark, Problem, Raw, Result
from canon_ops.cli.session import WriteOptions
from canon_ops.errors import ExitCode, RefusedError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.reading import read_optional
from canon_ops.files.values import BadValue, parse_value
from canon_ops.files.yaml_path import format_path, parse_path
from canon_ops.files.yaml_reader import same
from canon_ops.hermes.keys import KeyFile, KnownKey, dropped, find_key, near_key
from canon_ops.hints import Any
from canon_ops.lean import dataclass, replace
from canon_ops.operate.edit_config import ConfigEdited, edit_config
from canon_ops.operate.shown_config import shown_value
from canon_ops.settings.secret import SECRET_MARK, Secret
from canon_ops.settings.telling import secret_parts

__all__ = ["ConfigValue", "add_item", "get_value", "remove_item", "set_value", "unset_key"]

KeyPath = tuple[str | int, ...]
Edit = Callable[[ConfigDocument], ConfigDocument]


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


def get_value(context: Context, key: str) -> Result:
    """Look ``key`` up; exit 1 when it is not there, and when it is a secret that would leave the terminal."""
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


def set_value(
    context: Context,
    key: str,
    value: str,
    write: WriteOptions,
    *,
    kind: str = "auto",
    argument: str | None,
    allow_reformat: bool = False,
) -> Result:
    """Give ``key`` the value that ``value`` reads as.

    Args:
        argument: ``value`` where it stood on the command line, which a secret must not; None when it came elsewhere.
    """
    path, new = parse_path(key), parse_value(value, kind)
    command = f"config set {key}"
    _check(context, path, new, argument, command)
    editing = Editing(path, command, write, allow_reformat, argument=argument)
    return _edited(context, editing, lambda document: document.set(path, new), new)


def unset_key(context: Context, key: str, write: WriteOptions, *, allow_reformat: bool = False) -> Result:
    """Remove ``key``."""
    path = parse_path(key)
    editing = Editing(path, f"config unset {key}", write, allow_reformat, removes_key=True, takes_out=True)
    return _edited(context, editing, lambda document: document.unset(path), None)


def add_item(
    context: Context,
    key: str,
    value: str,
    write: WriteOptions,
    *,
    kind: str = "auto",
    convert: bool = False,
    allow_reformat: bool = False,
) -> Result:
    """Append what ``value`` reads as to the list at ``key``, once."""
    path, item = parse_path(key), parse_value(value, kind)
    editing = Editing(path, f"config add {key}", write, allow_reformat, convert, argument=value)
    return _edited(context, editing, lambda document: document.add(path, item), item)


def remove_item(
    context: Context,
    key: str,
    value: str,
    write: WriteOptions,
    *,
    kind: str = "auto",
    convert: bool = False,
    allow_reformat: bool = False,
) -> Result:
    """Take every item that equals what ``value`` reads as out of the list at ``key``."""
    path, item = parse_path(key), parse_value(value, kind)
    editing = Editing(path, f"config remove {key}", write, allow_reformat, convert, takes_out=True)
    return _edited(context, editing, lambda document: document.remove(path, item), item)


def _check(context: Context, path: KeyPath, value: object, argument: str | None, command: str) -> None:
    """Hold the value to what is known of the key; unknown keys take anything."""
    known = find_key(format_path(path), KeyFile.CONFIG)
    if known is not None and known.refused is not None:
        raise _bad_value(context, known, None)
    if argument is not None and ((known is not None and known.secret) or secret_parts(path, value)):
        raise refuse_argument(format_path(path), f"canon-ops {_quoted(command)}")
    if known is None:
        _warn_of_lost(context, path)
        return
    if known.problem(value):
        raise _bad_value(context, known, value)


def _bad_value(context: Context, known: KnownKey, value: object) -> BadValue:
    from canon_ops.operate.advice import way_to_mend  # an edit that is right needs no advice

    return BadValue(f"{known.problem(value)}.", fix=context.home.own_command(way_to_mend(known, value)))


def _quoted(command: str) -> str:
    """``config set KEY`` for a shell: a key may hold quotes, brackets and blanks."""
    group, verb, key = command.split(" ", 2)
    return f"{group} {verb} {shlex.quote(key)}"


def _warn_of_lost(context: Context, path: KeyPath) -> None:
    """An unknown key is taken, as Hermes takes it; one that nobody reads, or is almost a known one, is worth a word."""
    if (lost := dropped(path)) is not None:
        instead = f" {lost.instead} is read." if lost.instead else ""
        context.say(f"Warning: {lost.why}{instead}")
    elif len(path) == 1 and find_key(str(path[0]), KeyFile.DOTENV) is not None:
        context.say(f"Hint: {path[0]} is a variable of .env: {context.home.own_command(f'env set {path[0]}')}")
    elif (near := near_key(format_path(path), KeyFile.CONFIG)) is not None:
        context.say(f"Hint: {format_path(path)} is not a known key; {near} is.")


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
    if done.changed and not done.dry_run and context.home.gateway_state_file.exists():
        from canon_ops.operate.unseen import restart_notice  # here: most homes of a script have no gateway

        done = replace(done, notice=restart_notice(context.home, context.environ))
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
            raise refuse_argument(format_path(here), f"canon-ops {_quoted(editing.label)}")


def _report(context: Context, done: ConfigEdited, editing: Editing) -> list[Block]:
    file = done.files[0] if done.files else context.home.config_file
    view: list[Block] = [Line(f"Hermes profile {context.home.profile_name}: {named(file)}")]
    if not done.changed:
        state = f"already {_shown(done.after)}" if done.is_set and not editing.removes_key else "not set"
        view.append(Line(f"{done.path} is {state}; nothing to change.", Mark.OK))
        return view
    if editing.removes_key:
        verb, what = "Would remove" if done.dry_run else "Removed", f"it was {_shown(done.before)}"
    else:
        verb = "Would change" if done.dry_run else "Changed"
        before, after = (
            _shown(value) if there else "unset"
            for value, there in ((done.before, done.was_set), (done.after, done.is_set))
        )
        what = f"{before} -> {after}"
    view.append(Line(f"{verb} {done.path}: {what}", Mark.OK))
    if done.repeated:
        verb = "would change" if done.dry_run else "changed"
        view.append(Line(f"An alias repeats it, so these {verb} too: {', '.join(done.repeated)}", Mark.WARNING))
    if done.notice:
        view.append(Line(done.notice, Mark.WARNING))
    if editing.write.diff:
        view.append(Diff(done.diff))
    return view


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)  # dates: YAML knows them, JSON does not
