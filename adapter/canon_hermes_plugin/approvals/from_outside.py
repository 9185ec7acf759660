"""Reconciling without a gateway: the same machine, the same leases, the entry's own agent; the wake is left to it.

Source: decisions A1, A4; command-line contract, approvals reconcile.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import partial
from typing import Any

from canon_hermes_plugin.approvals.canon_side import CanonSides
from canon_hermes_plugin.approvals.desk import ApprovalDesk
from canon_hermes_plugin.approvals.entry import Entry
from canon_hermes_plugin.approvals.service import ApprovalService
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.state.owner import Owner
from canon_ops.client.api import CanonApi
from canon_ops.client.health import verify_environment
from canon_ops.operate.agent_key import AgentCredential
from canon_ops.runtime.clock import Clock

__all__ = ["Reconciled", "reconcile"]


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What came of one agent's approvals: how many have which status now, and ``error``.

    Attributes:
        failures: what went wrong with each of those that failed, by id; they stay open.
        left: the ids that may be another agent's; they stay as they are.
    """

    owner: Owner
    counts: Counter[str]
    failures: dict[str, Exception]
    left: frozenset[str]


def reconcile(
    store: ApprovalStore,
    credential: AgentCredential,
    owner: Owner,
    only: Container[str],
    *,
    clock: Clock,
    timeout_s: float,
    limit: int,
    done: Callable[[Entry], None],
) -> Reconciled:
    """Ask Canon about the approvals ``only`` of one agent; it runs an event loop of its own.

    The environment is verified before the key is shown to anybody. A lease of another process is waited for by nobody:
    its approval is left to that process, or to the next run.

    Raises:
        EnvironmentMismatch, Unauthorized, Forbidden, RequestFailed, ServiceUnavailable: nothing was asked.
        RegistryDamaged, LockTimeout, DiskError: see :class:`ApprovalStore`.
    """

    failures: dict[str, Exception] = {}

    async def run() -> Reconciled:
        await verify_environment(credential.connection, clock=clock, timeout_s=timeout_s)
        sides = CanonSides(
            partial(CanonApi, credential.connection, credential.api_key, clock=clock, timeout_s=timeout_s)
        )
        async with contextlib.aclosing(sides):
            with sides.borrowed() as api:
                conversations = {conversation.id for conversation in await api.conversations()}
            service = ApprovalService(
                ApprovalDesk(store, _on_a_thread),
                sides,
                None,
                owner,
                clock=clock,
                new_id=lambda digits: secrets.token_hex(digits // 2 + 1)[:digits],
                process="canon-ops approvals reconcile",
                conversations=lambda: conversations,
                trouble=failures.__setitem__,
            )
            counts = (await service.passes.pass_over(only=only, limit=limit, done=done)).counts
            return Reconciled(owner, counts, failures, await service.passes.left_to_others(only))

    return asyncio.run(run())


async def _on_a_thread(function: Callable[..., Any], /, *arguments: Any) -> Any:
    return await asyncio.to_thread(function, *arguments)
