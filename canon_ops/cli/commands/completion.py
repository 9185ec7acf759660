"""``canon-ops completion``: the scripts for bash, zsh and fish, and where they belong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Diff, Item, Line, Mark, Raw, Result
from canon_ops.cli.session import WriteOptions
from canon_ops.errors import ExitCode, UsageError
from canon_ops.operate.completion_place import Place, Shell, State, place_of, state_of
from canon_ops.operate.shell_completion import install_scripts, uninstall_scripts

if TYPE_CHECKING:
    from canon_ops.operate.writing import Written

__all__ = ["CompletionChanged", "CompletionStatus", "install_command", "show_command", "status_command"]

SHELLS = click.Choice([shell.value for shell in Shell])


@dataclass(frozen=True, slots=True)
class CompletionScript:
    """``data`` of ``canon-ops.completion.show/1``."""

    shell: Shell
    script: str


@dataclass(frozen=True, slots=True)
class CompletionChanged:
    """``data`` of ``canon-ops.completion.install/1`` and ``…uninstall/1``.

    Attributes:
        line: what the shell's own configuration lacks to find the scripts; null when it lacks nothing.
    """

    shell: Shell
    changed: bool
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    line: str | None
    dry_run: bool


@dataclass(frozen=True, slots=True)
class ShellStatus:
    """One shell.

    Attributes:
        state: ``current``, ``outdated`` (another version's), ``foreign`` (another program's) or ``absent``.
        loaded: whether a new shell looks there.
    """

    shell: Shell
    folder: Path
    state: State
    loaded: bool


@dataclass(frozen=True, slots=True)
class CompletionStatus:
    """``data`` of ``canon-ops.completion.status/1``."""

    shells: tuple[ShellStatus, ...]


@declare(
    "completion show",
    data=CompletionScript,
    examples=("canon-ops completion show bash > canon-ops.bash", "canon-ops completion show fish | source"),
)
@click.argument("shell", type=SHELLS)
def show_command(context: Context, shell: str) -> Result:
    """Print the completion script of a shell."""
    which = Shell(shell)
    text = next(iter(_scripts()[which].values()))
    return Result(CompletionScript(which, text), (Raw(text),))


@declare(
    "completion install",
    data=CompletionChanged,
    writes=True,
    examples=("canon-ops completion install", "canon-ops completion install zsh --rc --diff"),
)
@click.argument("shell", type=SHELLS, required=False)
@click.option("--rc", "edit_rc", is_flag=True, help="Also edit the shell's own configuration, where it needs a line.")
def install_command(context: Context, write: WriteOptions, shell: str | None, edit_rc: bool) -> Result:
    """Put the completion script where the shell looks for it.

    SHELL is bash, zsh or fish; without it, the login shell ($SHELL). No configuration of the shell is edited unless
    --rc says so; what it would need is printed.
    """
    place, scripts = _chosen(context, shell)
    writing = context.writing(f"completion install {place.shell.value}", write)
    written = install_scripts(writing, place, scripts, edit_rc=edit_rc)
    after = place if write.dry_run else place_of(place.shell, context.environ)
    lacks = None if after.is_loaded or (edit_rc and write.dry_run) else place.line
    name = place.shell.value
    done = f"A new {name} {'would complete' if write.dry_run else 'completes'} canon-ops."
    if not written.changed:
        done = "Nothing to change: the script is there."
    if lacks:
        done = f"The script {'would be' if write.dry_run else 'is'} in its folder."
    view = _view(written, write, done)
    if lacks:
        told = f"{name} does not look into that folder by itself."
        view.append(Item(Mark.WARNING, name, told, f"canon-ops completion install {name} --rc"))
        view.append(Line(f"That adds one line to {place.rc_file}; or add it yourself:"))
        view.append(Line(f"  {lacks}"))
    return Result(_changed(place, written, write, lacks), view)


@declare(
    "completion uninstall",
    data=CompletionChanged,
    writes=True,
    examples=("canon-ops completion uninstall",),
)
@click.argument("shell", type=SHELLS, required=False)
def uninstall_command(context: Context, write: WriteOptions, shell: str | None) -> Result:
    """Remove the completion script of a shell, and what --rc added."""
    place, scripts = _chosen(context, shell)
    written = uninstall_scripts(context.writing(f"completion uninstall {place.shell.value}", write), place, scripts)
    verb = "would be" if write.dry_run else "is"
    done = f"The completion of canon-ops {verb} gone from {place.shell.value}."
    view = _view(written, write, done if written.changed else "Nothing to remove.")
    return Result(_changed(place, written, write, None), view)


@declare("completion status", data=CompletionStatus, examples=("canon-ops completion status",))
def status_command(context: Context) -> Result:
    """Show for each shell whether its completion script is there, current, and found.

    The exit code is 1 when a script that is installed is not of this version.
    """
    shells = []
    for shell, scripts in _scripts().items():
        place = place_of(shell, context.environ)
        shells.append(ShellStatus(shell, place.folder, state_of(place, scripts), place.is_loaded))
    stale = any(each.state in ("outdated", "foreign") for each in shells)
    return Result(
        CompletionStatus(tuple(shells)), [_item(each) for each in shells], ExitCode.FAILED if stale else ExitCode.DONE
    )


def _item(status: ShellStatus) -> Item:
    install = f"canon-ops completion install {status.shell.value}"
    match status.state:
        case "current" if status.loaded:
            return Item(Mark.OK, status.shell.value, f"{status.folder}: current")
        case "current":
            return Item(Mark.WARNING, status.shell.value, f"{status.folder}: current, not looked at", f"{install} --rc")
        case "outdated":
            return Item(Mark.ERROR, status.shell.value, f"{status.folder}: of another version", install)
        case "foreign":
            return Item(Mark.ERROR, status.shell.value, f"{status.folder}: another program's script", "move it away")
        case "absent":
            return Item(Mark.SKIPPED, status.shell.value, "not installed", install)


def _scripts() -> dict[Shell, dict[str, str]]:
    from canon_ops.cli.completion.scripts import scripts

    return {shell: dict(found) for shell, found in scripts().items()}


def _chosen(context: Context, shell: str | None) -> tuple[Place, dict[str, str]]:
    name = shell or Path(context.environ.get("SHELL", "")).name
    if name not in SHELLS.choices:
        raise UsageError(
            f"The login shell {name!r} is none of bash, zsh and fish." if name else "SHELL does not say which shell.",
            fix="name one: canon-ops completion install bash",
        )
    which = Shell(name)
    return place_of(which, context.environ), _scripts()[which]


def _changed(place: Place, written: Written, write: WriteOptions, line: str | None) -> CompletionChanged:
    return CompletionChanged(
        shell=place.shell,
        changed=written.changed,
        files=written.files,
        diff=written.diff,
        history_id=written.history_id,
        line=line,
        dry_run=write.dry_run,
    )


def _view(written: Written, write: WriteOptions, done: str) -> list[Block]:
    files: Sequence[Path] = written.files
    view: list[Block] = [Line(", ".join(str(file) for file in files) or "no file changes"), Line(done, Mark.OK)]
    return [*view, Diff(written.diff)] if write.diff and written.diff else view
