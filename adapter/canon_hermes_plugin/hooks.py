"""The host's tool hooks, turned into activity of the Canon turn they belong to.

The host calls these on its agent threads, never awaits them, and blocks a tool whose ``pre_tool_call`` callback is
slow. So they only read the task's session values, hand a plain mapping to every connected adapter and return; the
adapter takes it over on its own loop. They never raise and return nothing: a return value would be a verdict.

Source: Canon adapter R1.10, R6.26.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from canon_hermes_plugin import host
from canon_hermes_plugin.active import ACTIVE, ActiveAdapter, ActiveSet

__all__ = ["HOOK_NAMES", "ActivityHooks", "activity_hooks"]

logger = logging.getLogger(__name__)

HOOK_NAMES = ("pre_tool_call", "post_tool_call", "subagent_stop")


def activity_hooks() -> ActivityHooks:
    """The hooks of this process, over the host's session values and the connected adapters."""
    return ActivityHooks(host.session_value, host.in_delegated_child)


class ActivityHooks:
    """The three callbacks.

    Args:
        session_value: the host's reader of a session value of the running task (``HERMES_SESSION_…``).
        in_delegated_child: the host's test whether the running task is a delegated child of a turn.
        platform: the platform name that the session must carry.
        active: the connected adapters; each ignores conversations that are not its own.
    """

    def __init__(
        self,
        session_value: Callable[[str], str],
        in_delegated_child: Callable[[], bool],
        *,
        platform: str = "canon",
        active: ActiveSet = ACTIVE,
    ) -> None:
        self._session_value = session_value
        self._in_delegated_child = in_delegated_child
        self._platform = platform
        self._active = active

    def pre_tool_call(self, **call: Any) -> None:
        self._fan_out(lambda adapter, facts: adapter.note_tool_started(facts), call)

    def post_tool_call(self, **call: Any) -> None:
        self._fan_out(lambda adapter, facts: adapter.note_tool_finished(facts), call)

    def subagent_stop(self, **call: Any) -> None:
        self._fan_out(lambda adapter, facts: adapter.note_subagent_stopped(facts), call)

    def _fan_out(self, note: Callable[[ActiveAdapter, dict[str, Any]], None], call: dict[str, Any]) -> None:
        try:
            members = self._active.members()
            conversation_id = self._session_value("HERMES_SESSION_CHAT_ID") if members else ""
            if not conversation_id or self._session_value("HERMES_SESSION_PLATFORM") != self._platform:
                return
            facts = {
                **call,
                "conversation_id": conversation_id,
                "session_key": self._session_value("HERMES_SESSION_KEY"),
                "delegated": self._in_delegated_child(),
            }
            for adapter in members:
                note(adapter, facts)
        except Exception:  # a hook that raises would be logged by the host once per tool call, and help nobody
            logger.warning("Canon activity hook failed", exc_info=True)
