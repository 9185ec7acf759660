"""``canon-ops config``: read and edit the Hermes configuration of a profile, every other byte kept.

The declarations; what the commands do is in :mod:`canon_ops.cli.config_edits`.
"""

from __future__ import annotations

from pathlib import Path

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.config_edits import ConfigValue, add_item, get_value, remove_item, set_value, unset_key
from canon_ops.cli.context import Context
from canon_ops.cli.output import Result
from canon_ops.cli.session import WriteOptions
from canon_ops.cli.value_options import ask_value, value_elsewhere, value_sources
from canon_ops.files.values import TYPES
from canon_ops.files.yaml_path import parse_path
from canon_ops.operate.edit_config import ConfigEdited
from canon_ops.settings.telling import secret_parts

__all__ = ["add_command", "get_command", "remove_command", "set_command", "unset_command"]

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
    return get_value(context, key)


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
    is_secret = bool(secret_parts(parse_path(key), "x"))
    given = value_elsewhere(context, value, from_stdin=from_stdin, file=file, variable=variable)
    text = value if value is not None else given if given is not None else ask_value(context, key, is_secret=is_secret)
    if value is None and is_secret:
        text = text.strip()
        kind = "str" if kind == "auto" else kind  # a password of digits is text
    return set_value(context, key, text, write, kind=kind, argument=value, allow_reformat=allow_reformat)


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
    need be, but for those that config set or add made on its way. Taking out what the last edit put in gives back the
    very text from before it. Both hold as long as nobody else wrote since. A key that is not there is no change.
    """
    return unset_key(context, key, write, allow_reformat=allow_reformat)


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
    return add_item(context, key, value, write, kind=kind, convert=convert, allow_reformat=allow_reformat)


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
    return remove_item(context, key, value, write, kind=kind, convert=convert, allow_reformat=allow_reformat)
