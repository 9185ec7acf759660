"""The command line as the plugin offers it: ``python -m canon_hermes_plugin.cli``, and ``hermes canon …``.

The first is the module name that Canon's documentation uses. The second is the same program inside Hermes' own: every
word behind ``canon`` reaches it unchanged, and the process ends with its exit code. Hermes takes ``--profile`` and
``-p`` out of the line wherever they stand, and sets HERMES_HOME, which the command line then follows.

The command line is imported inside the functions only, so that a gateway that loads the plugin never loads it: the one
exception to the floors.

Source: hermes-host 7; decisions L9.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    import argparse

__all__ = ["COMMAND", "HELP", "main", "prepare_parser", "run_command"]

COMMAND: Final = "canon"
HELP: Final = "Set up, check and repair the Canon platform (canon-ops)"

_NO_OPTION = "\0"  # no argument can begin with it
_WORDS = "canon_words"


def main() -> int:
    """Run the program as ``canon-hermes`` would."""
    from canon_ops.cli.main import canon_hermes

    return canon_hermes()


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Make Hermes' parser of the subcommand hand over everything, options and ``--help`` included."""
    parser.prefix_chars = _NO_OPTION
    parser.add_argument(_WORDS, nargs="...", metavar="COMMAND", help="see: hermes canon --help")


def run_command(arguments: argparse.Namespace) -> NoReturn:
    """Run the program with the words behind ``hermes canon``; Hermes does not look at what a handler returns."""
    from canon_ops.cli.main import run_as

    sys.exit(run_as(f"hermes {COMMAND}", COMMAND, getattr(arguments, _WORDS)))


if __name__ == "__main__":
    sys.exit(main())
