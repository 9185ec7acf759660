"""The tools as the host registers them.

Source: canon-adapter R1.7.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from canon_hermes_plugin import host, probe
from canon_hermes_plugin.active import ACTIVE, ActiveSet
from canon_hermes_plugin.communicate.schema import COMMUNICATE
from canon_hermes_plugin.communicate.tool import Communicate
from canon_hermes_plugin.tools import schema
from canon_hermes_plugin.tools.runtime_control import RuntimeControl
from canon_hermes_plugin.tools.session import HostSession, read_session

__all__ = ["ALIAS", "TOOLSET", "OfferedTool", "offered_tools"]

TOOLSET: Final = "canon"
ALIAS: Final = "canon_runtime"


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """One tool.

    Attributes:
        handler: ``(args, **ignored) -> JSON text``; it never raises.
        is_available: whether the agent is offered it now; called often, cheap.
    """

    schema: dict[str, Any]
    handler: Callable[..., Awaitable[str]]
    is_available: Callable[[], bool]

    @property
    def name(self) -> str:
        return str(self.schema["name"])


def offered_tools(active: ActiveSet = ACTIVE) -> tuple[OfferedTool, ...]:
    """Every tool, in the order in which they are registered."""

    def session() -> HostSession:
        return read_session(host.session_value)

    communicate = Communicate(session, active)
    return (
        OfferedTool(schema.RUNTIME_CONTROL, RuntimeControl(session, host.in_delegated_child, active), probe.is_ready),
        OfferedTool(COMMUNICATE, communicate, communicate.is_available),
    )
