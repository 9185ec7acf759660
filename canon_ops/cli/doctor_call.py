"""What one call of ``doctor`` asks for, and the question to the host that it asks before it loads its checks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from canon_ops.cli.context import Context
from canon_ops.cli.doctor_report import Severity
from canon_ops.cli.session import WriteOptions
from canon_ops.hermes.discovery import is_running_host
from canon_ops.hermes.host_call import ImportsAhead
from canon_ops.hermes.platforms import PLATFORMS

__all__ = ["DoctorCall", "asked_ahead"]


@dataclass(frozen=True, slots=True)
class DoctorCall:
    """The options of one call, as they were given."""

    only: tuple[str, ...]
    skip: tuple[str, ...]
    area: tuple[str, ...]
    list_only: bool
    severity_min: Severity | None
    strict: bool
    offline: bool
    fix: bool
    live: bool
    bundle: Path | None
    all_profiles: bool
    python: Path | None
    timeout_s: float
    write: WriteOptions

    @property
    def is_chosen(self) -> bool:
        """The checks were chosen one by one or by area, so one that cannot run is itself a failure."""
        return bool(self.only or self.area)


@contextmanager
def asked_ahead(context: Context, call: DoctorCall) -> Iterator[ImportsAhead | None]:
    """Let the host import the plugin while all checks are loaded here, which takes about as long.

    None where not all checks of one home are asked, or the host has to be found first.
    """
    if call.list_only or call.is_chosen or call.all_profiles or (python := _host(context, call.python)) is None:
        yield None
        return
    home = context.home
    ahead = ImportsAhead(python, [PLATFORMS["canon"].package], environ=home.environ(context.environ))
    try:
        yield ahead
    finally:
        ahead.abandon()


def _host(context: Context, told: Path | None) -> Path | None:
    """The host's interpreter as far as it is plain: told by name, or the one that runs us."""
    if told is not None:
        return told.absolute() if told.is_file() else None
    return Path(sys.executable) if is_running_host(context.home.environ(context.environ)) else None
