"""The tool: may the agent reach out, and if so, let the adapter that owns the turn do it, once.

Canon is the authority; what is looked at here only spares the model a refusal. Nothing is repeated, polled or kept:
an approval that somebody has to give is Canon's business.

Source: canon-adapter R11.30, R11.31, R11.35; Canon wire 5.4, 5.6; D51.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from canon_hermes_plugin.acting import Acting
from canon_hermes_plugin.active import ActiveAdapter, ActiveSet
from canon_hermes_plugin.communicate import results
from canon_hermes_plugin.communicate.acts import Act, Perform, read_act
from canon_hermes_plugin.tools.answers import failure, success
from canon_hermes_plugin.tools.call import NoOwner
from canon_hermes_plugin.tools.session import HostSession
from canon_ops.client.errors import ApiError
from canon_ops.wire.agents import AgentIdentity
from canon_ops.wire.verbs import checked_value

__all__ = ["Closed", "Communicate", "perform"]

logger = logging.getLogger(__name__)

APPROVAL_CODE: Final = "OUTBOUND_APPROVAL_REQUIRED"


class Closed(RuntimeError):
    """The deployer does not let the agent reach out."""


class Communicate:
    """The handler, and whether the tool is offered.

    Args:
        session: reads the host's session values of the running task.
    """

    def __init__(self, session: Callable[[], HostSession], active: ActiveSet) -> None:
        self._session = session
        self._active = active

    def is_available(self) -> bool:
        """Whether the one adapter that may be meant lets its agent reach out."""
        owner = self._active.turn_owner(self._session().conversation_id)
        return owner is not None and _may_communicate(owner)

    async def __call__(self, args: Mapping[str, Any], **_ignored: Any) -> str:
        try:
            act = read_act(args)
            return success(await self._allowed_owner().act(lambda acting: perform(acting, act)))
        except Exception as error:  # the outermost edge of a tool: the model is told, the turn goes on
            logger.info("Canon: communicating failed: %s", error)
            return failure(error)

    def _allowed_owner(self) -> ActiveAdapter:
        owner = self._active.turn_owner(self._session().conversation_id)
        if owner is None:
            raise NoOwner("No unambiguous connected Canon adapter owns this turn")
        if not _may_communicate(owner):
            raise Closed("Proactive communication is closed for this agent")
        return owner


async def perform(acting: Acting, act: Act) -> dict[str, Any]:
    """Do it, once.

    Raises:
        ApiError, RequestFailed: Canon refused, or nobody knows.
        MalformedVerbAnswer, MalformedDirectory, ValueError: what Canon answered is not as agreed.
    """
    try:
        if isinstance(act, Perform):
            value = await acting.api.verb(act.verb, act.envelope, act.value)
            return act.read(checked_value(act.verb, value))
        return results.of_directory(await acting.api.discover(act))
    except ApiError as error:
        if error.api_code != APPROVAL_CODE:
            raise
        return dict(results.NEEDS_APPROVAL)


def _may_communicate(owner: ActiveAdapter) -> bool:
    authority = owner.live_authority()
    return authority is not None and AgentIdentity(outbound_policy=authority.outbound_policy).may_communicate
