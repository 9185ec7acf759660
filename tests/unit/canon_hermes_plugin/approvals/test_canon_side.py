"""The calls of many approvals at once: every client has one call on its way, and is used again."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from canon_hermes_plugin.approvals.canon_side import CanonSides
from canon_ops.client.api import CanonApi
from canon_ops.wire.interactions import ApprovalAnswer, ApprovalWord


class Client:
    """Answers when it is told to; more than one call at a time is an error."""

    def __init__(self, may_answer: asyncio.Event) -> None:
        self.may_answer = may_answer
        self.calls = 0
        self.is_busy = self.is_closed = False

    async def consume_approval(self, conversation_id: str, approval_id: str, *, cancel: bool = False) -> ApprovalAnswer:
        assert not self.is_busy
        self.is_busy, self.calls = True, self.calls + 1
        try:
            await self.may_answer.wait()
            if approval_id == "broken":
                raise ConnectionError
            return ApprovalAnswer(ApprovalWord.PENDING)
        finally:
            self.is_busy = False

    async def aclose(self) -> None:
        self.is_closed = True


async def test_as_many_clients_as_calls() -> None:
    """Issue's number: a call never shares its client; one that failed is given back, too, and all are closed."""
    made: list[Client] = []
    may_answer = asyncio.Event()

    def open_one() -> CanonApi:
        made.append(Client(may_answer))
        return cast("CanonApi", made[-1])

    sides = CanonSides(open_one)

    async def ask(*ids: str) -> list[Any]:
        calls = [asyncio.ensure_future(sides.consume("c", one)) for one in ids]
        await asyncio.sleep(0)
        may_answer.set()
        return await asyncio.gather(*calls, return_exceptions=True)

    answers = await ask("a1", "broken", "a2")
    assert [type(answer) for answer in answers] == [ApprovalAnswer, ConnectionError, ApprovalAnswer]
    may_answer.clear()
    await ask("a3", "a4", "a5")

    assert [client.calls for client in made] == [2, 2, 2]
    await sides.aclose()
    assert all(client.is_closed for client in made)
