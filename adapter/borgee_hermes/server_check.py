"""Whose key it is, as Borgee says: asked by connecting as the agent, so only while no gateway is.

Source: Borgee 1.3, 1.16 (10); docs/decisions/0018.
"""

from __future__ import annotations

import asyncio

from borgee_hermes.bpp.errors import AuthFailed, BppError
from borgee_hermes.introduction import holder_of, introduce
from borgee_hermes.state_checks import whom_to_ask
from canon_ops.doctor.check import Answer, Finding, Fix, Place, Status, from_error
from canon_ops.doctor.examination import Examination

__all__ = ["look_at_server"]


async def look_at_server(examination: Examination) -> Answer:
    """``borgee.server``."""
    options, key = await asyncio.to_thread(whom_to_ask, examination)
    owner = await asyncio.to_thread(holder_of, examination.home, examination.environ, options, key)
    if owner is not None:
        return Finding(
            Status.OK, f"The gateway (pid {owner.pid}) has the connection; borgee.gateway tells how it stands."
        )
    try:
        agent = await introduce(options, key, clock=examination.clock, timeout_s=examination.timeout_s)
    except AuthFailed as error:
        again = Fix(examination.command("setup borgee --new-key"))
        return Finding(Status.ERROR, f"{options.origin}: {error.what}", again, data={"code": error.code})
    except BppError as error:
        finding = from_error(Status.UNKNOWN, error)
        return Finding(finding.status, f"{options.origin}: {error.what}", finding.fix, finding.at, finding.data)
    data = {"agent_id": agent.agent_id, "role": agent.role}
    if agent.role != "agent":
        told = f"The key belongs to the {agent.role} {agent.display_name} ({agent.agent_id}), not to an agent."
        return Finding(Status.ERROR, told, Fix(examination.command("setup borgee --new-key")), data=data)
    if options.agent_id and options.agent_id != agent.agent_id:
        told = f"The key belongs to {agent.agent_id}, and borgee.agent_id asks for {options.agent_id}."
        fix = Fix(examination.command(f"setup borgee --keep-key --agent-id {agent.agent_id}"))
        return Finding(Status.ERROR, told, fix, Place(path="borgee.agent_id"), data)
    return Finding(Status.OK, f"Borgee takes the key: it is {agent.display_name or agent.agent_id}.", data=data)
