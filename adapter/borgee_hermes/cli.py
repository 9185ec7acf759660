"""The command line as the plugin offers it: ``hermes borgee …`` is canon-ops, with Borgee where no platform is named.

The command line is imported inside the function only, so that a gateway that loads the plugin never loads it; with its
twin of the Canon plugin the one exception to the floors.

Source: hermes-host 7; decisions L9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from canon_ops.hermes.offering import Subcommand

__all__ = ["SUBCOMMAND"]


def _run(words: Sequence[str]) -> int:
    from canon_ops.cli.main import run_as

    return run_as("hermes borgee", "borgee", words)


SUBCOMMAND: Final = Subcommand("borgee", "Set up, check and repair the Borgee platform (canon-ops)", _run)
