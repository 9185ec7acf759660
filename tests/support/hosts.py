"""What an end-to-end scenario may expect of the host it runs on: one row a Hermes version.

A scenario names no version. Where hosts differ in what a person sees, it asks :data:`THIS_HOST`, and the row says what
the difference is and why. What the plugin itself treats differently stands in ``canon_hermes_plugin/host.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from canon_hermes_plugin.host import read_host_facts

__all__ = ["ROWS", "THIS_HOST", "HostRow"]

_NO_CATALOGUE: Final = "gateway.status.session_id"  # the fork's wheel lacks the texts: their keys are shown instead


@dataclass(frozen=True, slots=True)
class HostRow:
    """One Hermes.

    Attributes:
        hermes: ``hermes_cli.__version__``.
        status_text: what the reply to ``/status`` holds.
        inner_home_is_root: a HERMES_HOME inside ``~/.hermes`` is looked for profiles itself, so a sticky choice of
            ``~/.hermes`` is not found there and Hermes refuses to start.
        reads_utf16_env: a ``.env`` with a UTF-16 mark is read as what it is, as ours always does; else it is no text.
        own_faults: beginnings of errors that the host logs about itself, without any plugin.
    """

    hermes: str
    status_text: str = "Session ID"
    inner_home_is_root: bool = False
    reads_utf16_env: bool = True
    own_faults: tuple[str, ...] = ()


ROWS: Final[tuple[HostRow, ...]] = (
    HostRow("0.18.2", reads_utf16_env=False),
    HostRow("0.19.0"),
    HostRow("0.21.0.post1", status_text=_NO_CATALOGUE, inner_home_is_root=True),
    HostRow(
        "0.22.2.post1",
        status_text=_NO_CATALOGUE,
        inner_home_is_root=True,
        own_faults=("Group Chat worker failed to start",),
    ),
)


def _this_host() -> HostRow:
    """The row of the host that is installed here; a host without one is taken as the newest that has one."""
    version = read_host_facts().version
    return next((row for row in ROWS if row.hermes == version), ROWS[-1])


THIS_HOST: Final = _this_host()
