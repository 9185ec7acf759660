"""The two calls of an approval, over one agent's client.

Source: Canon wire 9.2, 9.3.
"""

from __future__ import annotations

from dataclasses import dataclass

from canon_ops.client.api import CanonApi
from canon_ops.wire.interactions import ApprovalAnswer, ApprovalReceipt, ApprovalRequest

__all__ = ["CanonSide"]


@dataclass(frozen=True, slots=True)
class CanonSide:
    """What :class:`~.ports.CanonPort` asks for."""

    api: CanonApi

    async def create(self, request: ApprovalRequest) -> ApprovalReceipt:
        return await self.api.request_approval(request)

    async def consume(self, conversation_id: str, approval_id: str, *, cancel: bool = False) -> ApprovalAnswer:
        return await self.api.consume_approval(conversation_id, approval_id, cancel=cancel)
