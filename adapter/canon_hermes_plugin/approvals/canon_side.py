"""The two calls of an approval, over one agent's client, or over several of them.

Source: Canon wire 9.2, 9.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from canon_ops.client.api import CanonApi
from canon_ops.wire.interactions import ApprovalAnswer, ApprovalReceipt, ApprovalRequest

__all__ = ["CanonSide", "CanonSides"]


@dataclass(frozen=True, slots=True)
class CanonSide:
    """What :class:`~.ports.CanonPort` asks for."""

    api: CanonApi

    async def create(self, request: ApprovalRequest) -> ApprovalReceipt:
        return await self.api.request_approval(request)

    async def consume(self, conversation_id: str, approval_id: str, *, cancel: bool = False) -> ApprovalAnswer:
        return await self.api.consume_approval(conversation_id, approval_id, cancel=cancel)


class CanonSides:
    """The same for a command that asks much at once: as many clients as calls are on their way, used again and again.

    The network library looks at every connection of a client before and after each call. With sixteen connections that
    is half of what a call costs; with one it is nothing.

    Args:
        open_one: makes a client; :meth:`aclose` closes all of them.
    """

    def __init__(self, open_one: Callable[[], CanonApi]) -> None:
        self._open_one = open_one
        self._all: list[CanonApi] = []
        self._free: list[CanonApi] = []

    async def create(self, request: ApprovalRequest) -> ApprovalReceipt:
        with self.borrowed() as api:
            return await CanonSide(api).create(request)

    async def consume(self, conversation_id: str, approval_id: str, *, cancel: bool = False) -> ApprovalAnswer:
        with self.borrowed() as api:
            return await CanonSide(api).consume(conversation_id, approval_id, cancel=cancel)

    async def aclose(self) -> None:
        """Close every client."""
        while self._all:
            await self._all.pop().aclose()

    @contextmanager
    def borrowed(self) -> Iterator[CanonApi]:
        """A client that nobody else uses meanwhile."""
        if not self._free:
            self._all.append(self._open_one())
            self._free.append(self._all[-1])
        api = self._free.pop()
        try:
            yield api
        finally:
            self._free.append(api)
