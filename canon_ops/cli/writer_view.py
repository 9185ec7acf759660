"""What every writer's report begins and ends with. Source: command-line contract, section 3."""

from __future__ import annotations

from pathlib import Path

from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Diff, Line
from canon_ops.cli.session import WriteOptions
from canon_ops.operate.writing import Written

__all__ = ["diff_of", "first_line", "named"]


def first_line(context: Context, written: Written) -> Line:
    """The Hermes profile, and the files that change."""
    files = ", ".join(map(named, written.files)) or "no file changes"
    return Line(f"Hermes profile {context.home.profile_name}: {files}")


def named(file: Path) -> str:
    """A file as a report names it: with the real one behind a link, which is the one that is written."""
    return f"{file} -> {file.resolve()}" if file.is_symlink() else str(file)


def diff_of(written: Written, write: WriteOptions) -> list[Block]:
    """The change line by line, where it was asked for and there is one."""
    return [Diff(written.diff)] if write.diff and written.diff else []
