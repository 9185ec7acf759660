"""``canon-ops version``: which canon-ops, which Hermes, which Python."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from pathlib import Path

from canon_ops import __version__
from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Fields, Result
from canon_ops.hermes.discovery import HostNotFound, find_host
from canon_ops.hermes.host_call import HostUnusable

__all__ = ["HermesVersion", "Versions", "command"]


@dataclass(frozen=True, slots=True)
class HermesVersion:
    """The host that other commands would act on.

    Attributes:
        version: ``hermes_cli.__version__``; null when its source does not say.
        python: the version of the interpreter that runs it.
        found: which way led to it.
    """

    version: str | None
    python: str
    executable: Path
    found: str


@dataclass(frozen=True, slots=True)
class Versions:
    """``data`` of ``canon-ops.version/1``.

    Attributes:
        python: the version of the interpreter that runs canon-ops.
        executable: that interpreter.
        location: the folder that canon-ops was imported from.
        hermes: null when no host was found.
    """

    canon_ops: str
    python: str
    executable: Path
    location: Path
    hermes: HermesVersion | None


@declare("version", data=Versions, examples=("canon-ops version", "canon-ops version --json"))
def command(context: Context) -> Result:
    """Show the versions of canon-ops, of Hermes and of Python."""
    versions = Versions(
        canon_ops=__version__,
        python=platform.python_version(),
        executable=Path(sys.executable),
        location=Path(__file__).parents[2],
        hermes=_hermes(context),
    )
    host = versions.hermes
    pairs = [
        ("canon-ops", f"{versions.canon_ops} ({versions.location})"),
        ("python", f"{versions.python} ({versions.executable})"),
        ("hermes", f"{host.version or 'unknown'} (Python {host.python}, {host.executable})" if host else "not found"),
    ]
    return Result(versions, (Fields(pairs),))


def _hermes(context: Context) -> HermesVersion | None:
    """The host; a broken or missing one is no failure of this command, and ``--verbose`` says why."""
    try:
        host = find_host(context.environ)
    except (HostNotFound, HostUnusable) as exc:
        context.detail(exc.what)
        return None
    return HermesVersion(host.version, host.facts.python, host.python, host.how.value)
