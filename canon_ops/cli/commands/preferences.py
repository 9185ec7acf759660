"""``canon-ops preferences``: this tool's own settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Diff, Line, Mark, Result, Table
from canon_ops.cli.session import WriteOptions
from canon_ops.hermes.home_need import HomeNeed
from canon_ops.operate.edit_preferences import PreferenceEdited, edit_preference
from canon_ops.operate.preferences import PREFERENCES, PreferenceInForce, find_preference

__all__ = ["list_command", "set_command", "unset_command"]

_NAMES = click.Choice([preference.name for preference in PREFERENCES])


@dataclass(frozen=True, slots=True)
class PreferenceList:
    """``data`` of ``canon-ops.preferences.list/1``.

    Attributes:
        unknown: names in the file that this version does not know; they stay there.
    """

    file: Path
    preferences: tuple[PreferenceInForce, ...]
    unknown: tuple[str, ...]


@declare("preferences list", data=PreferenceList, examples=("canon-ops preferences list",))
def list_command(context: Context) -> Result:
    """List this tool's own settings, and where each comes from."""
    found = context.preferences
    rows = [(each.name, _shown(each.value), each.source, each.help) for each in found.in_force]
    view = (Line(f"{found.file}", for_people_only=True), Table(("preference", "value", "from", "meaning"), rows))
    return Result(PreferenceList(found.file, found.in_force, found.unknown), view)


@declare(
    "preferences set",
    home=HomeNeed.ANY,
    data=PreferenceEdited,
    writes=True,
    examples=("canon-ops preferences set keyring.store keyring",),
)
@click.argument("name", type=_NAMES)
@click.argument("value")
def set_command(context: Context, write: WriteOptions, name: str, value: str) -> Result:
    """Set one of this tool's own settings; comments and everything else in the file stay."""
    preference = find_preference(name)
    context.session.preferences(mending=True)
    writing = context.writing(f"preferences set {name}", write)
    done = edit_preference(writing, preference, preference.parse(value))
    return Result(done, _view(done, write))


@declare(
    "preferences unset",
    home=HomeNeed.ANY,
    data=PreferenceEdited,
    writes=True,
    examples=("canon-ops preferences unset keyring.store",),
)
@click.argument("name", type=_NAMES)
def unset_command(context: Context, write: WriteOptions, name: str) -> Result:
    """Drop one of this tool's own settings, so that its default counts."""
    context.session.preferences(mending=True)
    done = edit_preference(context.writing(f"preferences unset {name}", write), find_preference(name), None)
    return Result(done, _view(done, write))


def _view(done: PreferenceEdited, write: WriteOptions) -> list[Block]:
    files = ", ".join(str(file) for file in done.files) or "no file changes"
    verb = "Would change" if write.dry_run else "Changed"
    what = f"{verb} {done.name}: {_shown(done.before)} -> {_shown(done.after)}"
    view: list[Block] = [Line(files), Line(what if done.changed else f"{done.name} is that already.", Mark.OK)]
    if done.beaten_by:
        view.append(Line(f"{done.beaten_by} is set and beats the file.", Mark.WARNING))
    return [*view, Diff(done.diff)] if write.diff and done.diff else view


def _shown(value: str | int | float | bool | None) -> str:
    return "unset" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
