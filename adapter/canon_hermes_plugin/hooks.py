"""The host's tool hooks, turned into activity of the Canon turn they belong to.

The host calls these on its agent threads, never awaits them, and blocks a tool whose ``pre_tool_call`` callback is
slow. So they only read the task's session values, hand an event to every connected adapter and return; the adapter
takes it over on its own loop. They never raise and return nothing: a return value would be a verdict.

Source: Canon adapter R1.10, R6.26.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from canon_hermes_plugin import host
from canon_hermes_plugin.active import ACTIVE, ActiveSet
from canon_hermes_plugin.turn.events import (
    ModelCalled,
    ModelFailed,
    RunCut,
    SubagentStopped,
    ToolFinished,
    ToolStarted,
    TurnEvent,
)

__all__ = [
    "HOOK_NAMES",
    "ActivityHooks",
    "activity_hooks",
    "model_called",
    "model_failed",
    "run_cut",
    "subagent_stopped",
    "tool_finished",
    "tool_started",
]

logger = logging.getLogger(__name__)

HOOK_NAMES = (
    "pre_tool_call",
    "post_tool_call",
    "subagent_stop",
    "post_api_request",
    "api_request_error",
    "on_session_end",
)


def activity_hooks() -> ActivityHooks:
    """The hooks of this process, over the host's session values and the connected adapters."""
    return ActivityHooks(host.session_value, host.in_delegated_child)


class ActivityHooks:
    """The callbacks.

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
        self._note(tool_started, call)

    def post_tool_call(self, **call: Any) -> None:
        self._note(tool_finished, call)

    def subagent_stop(self, **call: Any) -> None:
        self._note(subagent_stopped, call)

    def post_api_request(self, **call: Any) -> None:
        self._note(model_called, call)

    def api_request_error(self, **call: Any) -> None:
        self._note(model_failed, call)

    def on_session_end(self, *, interrupted: object = False, **_call: Any) -> None:
        """The host calls this at the end of every run; only of one that it interrupted there is something to say."""
        if interrupted and not self._in_delegated_child():
            self._note(run_cut, {})

    def _note(self, read: Callable[[Mapping[str, Any]], TurnEvent], call: dict[str, Any]) -> None:
        try:
            members = self._active.members()
            conversation_id = self._session_value("HERMES_SESSION_CHAT_ID") if members else ""
            if not conversation_id or self._session_value("HERMES_SESSION_PLATFORM") != self._platform:
                return
            event = read({**call, "delegated": self._in_delegated_child()})
            session_key = self._session_value("HERMES_SESSION_KEY")
            for adapter in members:
                adapter.note(conversation_id, session_key, event)
        except Exception:  # a hook that raises would be logged by the host once per tool call, and help nobody
            logger.warning("Canon activity hook failed", exc_info=True)


def model_called(call: Mapping[str, Any]) -> ModelCalled:
    """What ``post_api_request`` says: that it happened."""
    return ModelCalled()


def model_failed(call: Mapping[str, Any]) -> ModelFailed:
    """What ``api_request_error`` says: that it happened, to whom. The host may still ask again."""
    return ModelFailed(delegated=bool(call.get("delegated")))


def run_cut(call: Mapping[str, Any]) -> RunCut:
    """What ``on_session_end`` says of a run that was interrupted."""
    return RunCut()


def tool_started(call: Mapping[str, Any]) -> ToolStarted:
    """What ``pre_tool_call`` says; keys that are absent or of another kind read as unknown."""
    return ToolStarted(
        _text(call, "tool_name"),
        call_id=_text(call, "tool_call_id") or None,
        args=call.get("args"),
        delegated=bool(call.get("delegated")),
        request=_text(call, "api_request_id") or None,
    )


def tool_finished(call: Mapping[str, Any]) -> ToolFinished:
    """What ``post_tool_call`` says."""
    return ToolFinished(
        _text(call, "tool_name"),
        call_id=_text(call, "tool_call_id") or None,
        args=call.get("args"),
        result=call.get("result"),
        status=_text(call, "status") or "ok",
        duration_ms=call.get("duration_ms"),
    )


def subagent_stopped(call: Mapping[str, Any]) -> SubagentStopped:
    """What ``subagent_stop`` says."""
    return SubagentStopped(
        _text(call, "child_role"),
        child_session_id=_text(call, "child_session_id") or None,
        summary=call.get("child_summary"),
        status=_text(call, "child_status") or "ok",
        duration_ms=call.get("duration_ms"),
    )


def _text(call: Mapping[str, Any], key: str) -> str:
    value = call.get(key)
    return value if isinstance(value, str) else ""
