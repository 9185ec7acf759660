"""``canon-ops version``: which canon-ops, which Python."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from pathlib import Path

from canon_ops import __version__
from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Fields, Result

__all__ = ["Versions", "command"]


@dataclass(frozen=True, slots=True)
class Versions:
    """``data`` of ``canon-ops.version/1``.

    Attributes:
        python: the version of the interpreter that runs canon-ops.
        executable: that interpreter.
        location: the folder that canon-ops was imported from.
    """

    canon_ops: str
    python: str
    executable: Path
    location: Path


@declare("version", data=Versions, examples=("canon-ops version", "canon-ops version --json"))
def command(context: Context) -> Result:
    """Show the versions of canon-ops, of Hermes and of Python."""
    versions = Versions(
        canon_ops=__version__,
        python=platform.python_version(),
        executable=Path(sys.executable),
        location=Path(__file__).parents[2],
    )
    pairs = [
        ("canon-ops", f"{versions.canon_ops} ({versions.location})"),
        ("python", f"{versions.python} ({versions.executable})"),
    ]
    return Result(versions, (Fields(pairs),))
