"""How a command line names platforms: every command that takes some has its words from one table."""

from __future__ import annotations

import click

from canon_ops.hermes.platforms import PLATFORMS

__all__ = ["PLATFORM_CHOICE", "platforms_argument"]

PLATFORM_CHOICE = click.Choice(tuple(PLATFORMS))
platforms_argument = click.argument("platforms", metavar=f"[{'|'.join(PLATFORMS)}]…", nargs=-1, type=PLATFORM_CHOICE)
