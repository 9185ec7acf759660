"""What the machine asks its shell to do, in order. Pure data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from borgee_hermes.bpp.errors import BppError
from borgee_hermes.bpp.events import AgentToggle, ConfigUpdate, ServerRequest
from borgee_hermes.bpp.state import ConnectionState

__all__ = ["Changed", "Configure", "Dial", "Effect", "Hangup", "Log", "Probe", "Serve", "Settle", "Toggled"]


@dataclass(frozen=True, slots=True)
class Dial:
    """Open a connection; everything that happens on it is reported under this number."""

    generation: int


@dataclass(frozen=True, slots=True)
class Hangup:
    """End a connection: with a close frame, or at once when ``code`` is None. Nothing needs to be reported of it."""

    generation: int
    code: int | None


@dataclass(frozen=True, slots=True)
class Probe:
    """Send a protocol ping: the connection is silent."""

    generation: int


@dataclass(frozen=True, slots=True)
class Settle:
    """An action is over: with a value, or with an error."""

    nonce: str
    value: Any = field(default=None)
    error: BppError | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """The state that others see is a new one."""

    state: ConnectionState


@dataclass(frozen=True, slots=True)
class Configure:
    """Have new settings applied or rejected, and answer on this connection."""

    generation: int
    update: ConfigUpdate
    size: int


@dataclass(frozen=True, slots=True)
class Serve:
    """Answer a server request on this connection."""

    generation: int
    request: ServerRequest


@dataclass(frozen=True, slots=True)
class Toggled:
    """Tell that the agent was switched on or off."""

    toggle: AgentToggle


@dataclass(frozen=True, slots=True)
class Log:
    """Something that an operator may want to know; no secrets, no message texts."""

    text: str
    warning: bool = False


Effect = Dial | Hangup | Probe | Settle | Changed | Configure | Serve | Toggled | Log
