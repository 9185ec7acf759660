"""Every row of the state file belongs to an owner, and every statement about one says to whom.

A home may have had several agents, and their rows stay apart: what another agent is owed is shown, never sent.
"""

from __future__ import annotations

from typing import Final

from canon_hermes_plugin.state.owner import Owner

__all__ = ["OF_OWNER", "columns"]

OF_OWNER: Final = "environment_id = :environment_id AND agent_id = :agent_id"
"""The condition of a statement whose values come from :func:`columns`."""


def columns(owner: Owner) -> dict[str, str]:
    """The owner as the named values of a statement."""
    return {"environment_id": owner.environment_id, "agent_id": owner.agent_id}
