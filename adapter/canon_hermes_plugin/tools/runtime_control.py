"""``canon_runtime_control``: one tool, one table of actions.

Source: canon-adapter R11.1, R11.2; Canon wire 9.12.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from canon_hermes_plugin import binding
from canon_hermes_plugin.active import ActiveSet
from canon_hermes_plugin.tools.answers import failure, success
from canon_hermes_plugin.tools.approval_actions import check_approval, request_approval
from canon_hermes_plugin.tools.call import Call
from canon_hermes_plugin.tools.card_actions import check_card, request_card, send_card
from canon_hermes_plugin.tools.input_actions import request_input
from canon_hermes_plugin.tools.session import HostSession
from canon_hermes_plugin.tools.silence import no_reply

__all__ = ["ACTIONS", "RuntimeControl"]

logger = logging.getLogger(__name__)

ACTIONS: Final[Mapping[str, Callable[[Call], Awaitable[dict[str, Any]]]]] = MappingProxyType({
    "request_card": request_card,
    "send_card": send_card,
    "check_card": check_card,
    "request_input": request_input,
    "request_approval": request_approval,
    "check_approval": check_approval,
    "no_reply": no_reply,
})  # fmt: skip


class RuntimeControl:
    """The handler.

    Args:
        session: reads the host's session values of the running task.
        in_delegated_child: whether a child of the turn calls.
    """

    def __init__(
        self, session: Callable[[], HostSession], in_delegated_child: Callable[[], bool], active: ActiveSet
    ) -> None:
        self._session = session
        self._in_delegated_child = in_delegated_child
        self._active = active

    async def __call__(self, args: Mapping[str, Any], **_ignored: Any) -> str:
        try:
            action = str(args.get("action") or "").strip()
            act = ACTIONS.get(action)
            if act is None:
                return failure(f"Unknown action; use one of: {', '.join(ACTIONS)}")
            call = Call(args, self._session(), binding.current_mark(), self._in_delegated_child(), self._active)
            return success(await act(call))
        except Exception as error:  # the outermost edge of a tool: the model is told, the turn goes on
            logger.info("Canon: the tool failed: %s", error)
            return failure(error)
