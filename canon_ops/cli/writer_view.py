"""What every writer's report begins and ends with. Source: command-line contract, section 3."""

from __future__ import annotations

from canon_ops.cli.context import Context
from canon_ops.cli.named_file import named
from canon_ops.cli.output import Block, Diff, Line, Mark
from canon_ops.cli.session import WriteOptions
from canon_ops.operate.writing import Written

__all__ = ["diff_of", "first_line", "restart_line"]


def first_line(context: Context, written: Written) -> Line:
    """The Hermes profile, and the files that change."""
    files = ", ".join(map(named, written.files)) or "no file changes"
    return Line(f"Hermes profile {context.home.profile_name}: {files}")


def restart_line(context: Context, written: Written, write: WriteOptions) -> list[Block]:
    """The notice about a gateway that has not seen the change (BR-31)."""
    if not written.changed or write.dry_run or not context.home.gateway_state_file.exists():
        return []
    from canon_ops.operate.unseen import restart_notice

    notice = restart_notice(context.home, context.environ)
    return [Line(notice, Mark.WARNING)] if notice else []


def diff_of(written: Written, write: WriteOptions) -> list[Block]:
    """The change line by line, where it was asked for and there is one."""
    return [Diff(written.diff)] if write.diff and written.diff else []
