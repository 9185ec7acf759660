"""A Canon that keeps approvals as the server does, without a network: for tests of who asks, when, and how often.

It is deliberately strict: ids are single use for ever, the first answer is a tombstone that only the same agent in the
same conversation reads again, and every call is written down.

Source: Canon wire 9.2, 9.3, 9.6.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from canon_hermes_plugin.approvals.desk import ApprovalDesk
from canon_hermes_plugin.approvals.ports import Wake, WakeRefused
from canon_hermes_plugin.approvals.service import ApprovalService
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.state.owner import Owner
from canon_ops.client.errors import ApiError, TransportFailure
from canon_ops.runtime.clock import ManualClock
from canon_ops.wire.interactions import ApprovalAnswer, ApprovalReceipt, ApprovalRequest
from canon_ops.wire.retry import TransportKind

__all__ = ["OWNER", "Approving", "CanonApprovals", "Inbox", "broken", "refused", "until"]

OWNER = Owner("env", "agent_1")


async def until(condition: Callable[[], object]) -> None:
    """Let the other tasks run until ``condition`` holds; fail when they have nothing more to do."""
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came true")


def refused(status: int, message: str = "no", code: str | None = None) -> ApiError:
    return ApiError(status, code, message)


def broken(kind: TransportKind = TransportKind.READ_TIMEOUT) -> TransportFailure:
    """Nobody knows whether the server acted."""
    return TransportFailure(kind, request="POST /runtime-interaction/consume")


@dataclass
class Held:
    """One approval at the server."""

    request: ApprovalRequest
    responder: str | None
    answer: tuple[str, str | None] | None = None  # the word, and by whom
    is_cancelled: bool = False


@dataclass
class CanonApprovals:
    """The server's side of one agent.

    Attributes:
        responder: whom the server takes when none is asked for; None: it does not say.
        names: whom the server takes whoever is asked for.
        fails: for each next create or consume, what is raised instead, before or after the server acted.
    """

    clock: ManualClock
    responder: str | None = "owner-1"
    held: dict[str, Held] = field(default_factory=dict)
    creates: list[ApprovalRequest] = field(default_factory=list)
    consumes: list[tuple[str, str, bool]] = field(default_factory=list)
    fails_before: list[BaseException] = field(default_factory=list)
    fails_after: list[BaseException] = field(default_factory=list)
    caps_expiry: str | None = None  # "reject" or "clamp"
    names: str | None = None
    pause: asyncio.Event | None = None
    pause_after: asyncio.Event | None = None  # the server has acted, and its reply is on its way

    def answer(self, approval_id: str, word: str, by: str | None = "owner-1") -> None:
        """The human answers; a second answer does not count."""
        held = self.held[approval_id]
        if held.answer is None and not held.is_cancelled:
            held.answer = (word, by)

    async def create(self, request: ApprovalRequest) -> ApprovalReceipt:
        self.creates.append(request)
        await self._before()
        cap_ms = self.clock.now_ms() + 1_800_000
        if self.caps_expiry == "reject" and request.expires_at_ms > cap_ms:
            raise refused(400, "expiresAt must be at most 30 minutes in the future", "INVALID_EXPIRES_AT")
        if request.approval_id in self.held:
            raise refused(409, "used before")
        expires_at_ms = min(request.expires_at_ms, cap_ms) if self.caps_expiry == "clamp" else request.expires_at_ms
        responder = self.names or request.responder or self.responder
        self.held[request.approval_id] = Held(replace(request, expires_at_ms=expires_at_ms), responder)
        await self._after()
        return ApprovalReceipt(expires_at_ms, responder, "msg_1")

    async def consume(self, conversation_id: str, approval_id: str, *, cancel: bool = False) -> ApprovalAnswer:
        self.consumes.append((conversation_id, approval_id, cancel))
        await self._before()
        held = self.held.get(approval_id)
        if held is None or held.request.conversation_id != conversation_id or held.is_cancelled:
            raise refused(404, "Runtime request is no longer pending", "RUNTIME_APPROVAL_NOT_FOUND")
        if cancel and held.answer is None:
            held.is_cancelled = True
        answer = self._word(held)
        await self._after()
        return answer

    def _word(self, held: Held) -> ApprovalAnswer:
        if held.answer is not None:
            word, by = held.answer
            return ApprovalAnswer.parse({"status": word, "respondedBy": by})
        if held.request.expires_at_ms <= self.clock.now_ms():
            return ApprovalAnswer.parse({"status": "timeout"})
        return ApprovalAnswer.parse({"status": "pending", "expiresAt": held.request.expires_at_ms})

    async def _before(self) -> None:
        if self.pause is not None:
            await self.pause.wait()
        if self.fails_before:
            raise self.fails_before.pop(0)

    async def _after(self) -> None:
        if self.pause_after is not None:
            await self.pause_after.wait()
        if self.fails_after:
            raise self.fails_after.pop(0)


@dataclass
class Inbox:
    """Where wakes arrive; a key is taken once, as the durable inbox does."""

    wakes: dict[str, Wake] = field(default_factory=dict)
    attempts: int = 0
    fails: list[BaseException] = field(default_factory=list)

    looks: int = 0
    pause: asyncio.Event | None = None
    refusal: WakeRefused | None = None

    async def look(self, conversation_id: str) -> None:
        self.looks += 1
        if self.refusal is not None:
            raise self.refusal

    async def wake(self, wake: Wake) -> None:
        self.attempts += 1
        if self.pause is not None:
            await self.pause.wait()
        if self.fails:
            raise self.fails.pop(0)
        self.wakes.setdefault(wake.key, wake)


class Approving:
    """A gateway's approvals over a real file, with a Canon and an inbox that tests can look into."""

    def __init__(self, folder: Path, *, clock: ManualClock | None = None, canon: CanonApprovals | None = None) -> None:
        self.clock = clock or ManualClock()
        self.file = folder / "detached-approvals.json"
        self.canon = canon or CanonApprovals(self.clock)
        self.inbox = Inbox()
        self.conversations = {"convo-1", "convo-9"}
        self.refuses: list[tuple[str, Exception]] = []  # the next write about that id fails
        self.after_write: list[tuple[str, Callable[[], None]]] = []  # done once that event is on the disk
        self.store = ApprovalStore(self.file, clock=self.clock)
        self.service = self.gateway("gw")

    def gateway(self, process: str, owner: Owner = OWNER, canon: CanonApprovals | None = None) -> ApprovalService:
        """Another gateway over the same file."""
        numbers = itertools.count()

        async def run(function: Callable[..., Any], *arguments: Any) -> Any:
            await asyncio.sleep(0)
            for request in arguments[0] if arguments else ():
                for refusal in [one for one in self.refuses if one[0] == request.approval_id]:
                    self.refuses.remove(refusal)
                    raise refusal[1]
            result = function(*arguments)
            for request in arguments[0] if arguments else ():
                for then in [one for one in self.after_write if one[0] == type(request.event).__name__]:
                    self.after_write.remove(then)
                    then[1]()
            return result

        return ApprovalService(
            ApprovalDesk(ApprovalStore(self.file, clock=self.clock), run),
            canon or self.canon,
            self.inbox,
            owner,
            clock=self.clock,
            new_id=lambda digits: process + str(next(numbers)).rjust(digits - len(process), "0"),
            process=process,
            conversations=lambda: self.conversations,
        )

    def entry(self, approval_id: str) -> Any:
        """The fields of an entry, as they lie on the disk."""
        return self.store.read().entries[approval_id].fields
