"""click reads the arguments and calls the command that they name."""

from __future__ import annotations

import click

from canon_ops.cli.command import OperatorCommand
from canon_ops.cli.lazy import root_group
from canon_ops.cli.output import Result
from canon_ops.cli.session import Session

__all__ = ["parse_and_invoke"]


def parse_and_invoke(session: Session) -> Result | None:
    """Carry out one command line; None when a page of help was asked for, and has been written.

    Raises:
        click.ClickException: the call is wrong.
        CanonOpsError: whatever the command raises.
    """
    root = root_group()
    try:
        with root.make_context(session.program.name, list(session.arguments), obj=session) as ctx:
            result: Result = root.invoke(ctx)
            return result
    except click.exceptions.Exit as exc:
        if exc.exit_code:
            raise click.UsageError("Nothing was asked for.") from exc
        return None
    except click.UsageError as exc:
        if exc.ctx is not None and not isinstance(exc.ctx.command, OperatorCommand):
            session.words = tuple(exc.ctx.command_path.removeprefix(session.program.name).split())
        raise
