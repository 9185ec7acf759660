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
from collections.abc import Sequence
from typing import Final

from canon_ops.hermes.offering import Subcommand

__all__ = ["SUBCOMMAND", "main"]


def main() -> int:
    """Run the program as ``canon-hermes`` would."""
    from canon_ops.cli.main import canon_hermes

    return canon_hermes()


def _run(words: Sequence[str]) -> int:
    from canon_ops.cli.main import run_as

    return run_as("hermes canon", "canon", words)


SUBCOMMAND: Final = Subcommand("canon", "Set up, check and repair the Canon platform (canon-ops)", _run)


if __name__ == "__main__":
    sys.exit(main())
