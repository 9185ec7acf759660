"""The store as a gateway uses it: off the loop, and what comes together is one durable write.

While one write is on its way the events of everybody else gather; the next write takes them all. A caller that is
cancelled waits for what it submitted first: nobody goes on while the disk is still being written on their behalf.

Source: decisions A2; D28; the issue's number "one fsync pair per batch of transitions".
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from canon_hermes_plugin.approvals.batch import Request
from canon_hermes_plugin.approvals.book import Book
from canon_hermes_plugin.approvals.entry import Entry
from canon_hermes_plugin.approvals.events import Event
from canon_hermes_plugin.approvals.machine import Transition, TransitionError
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_ops.durable.settle import settle

__all__ = ["ApprovalDesk", "Runs"]


class Runs(Protocol):
    """Runs a blocking call on a thread (:meth:`canon_hermes_plugin.offload.Offload.run`)."""

    def __call__(self, function: Callable[..., Any], /, *args: Any) -> Awaitable[Any]: ...


class ApprovalDesk:
    """Takes events from the gateway's tasks; each call returns when its change is on the disk.

    Args:
        run: carries a blocking call out on a thread.
    """

    def __init__(self, store: ApprovalStore, run: Runs) -> None:
        self._store = store
        self._run = run
        self._waiting: list[tuple[Request, asyncio.Future[Transition]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def read(self) -> Book:
        """Everything that stands in the registry.

        Raises:
            RegistryDamaged, LockTimeout, DiskError: see :meth:`ApprovalStore.read`.
        """
        book: Book = await self._run(self._store.read)
        return book

    async def find(self) -> None:
        """See that a registry which is known of is there.

        Raises:
            RegistryGone, RegistryDamaged, LockTimeout, DiskError: see :meth:`ApprovalStore.read_kept`.
        """
        await self._run(self._store.read_kept)

    async def get(self, approval_id: str) -> Entry | None:
        """One entry; None when there is none, or what stands there is damaged."""
        return (await self.read()).get(approval_id)

    async def apply(self, approval_id: str, event: Event) -> Transition:
        """Carry an event out, durably.

        Raises:
            TransitionError: the event is not possible.
            RegistryDamaged, LockTimeout, DiskError: nothing was changed.
        """
        done: asyncio.Future[Transition] = asyncio.get_running_loop().create_future()
        self._waiting.append((Request(approval_id, event), done))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
            self._writer.add_done_callback(self._ended)
        return await settle(done)

    def _ended(self, writer: asyncio.Task[None]) -> None:
        """A writer that was cancelled, perhaps before its first step, writes for nobody: none may wait for ever."""
        if writer.cancelled():
            gathered, self._waiting = self._waiting, []
            for _, done in gathered:
                done.cancel()

    async def _write(self) -> None:
        while self._waiting:
            await asyncio.sleep(0)  # whoever was woken together with the first one comes along
            batch, self._waiting = self._waiting, []
            try:
                answers: Sequence[Transition | TransitionError] = await self._run(
                    self._store.apply, [request for request, _ in batch]
                )
            except asyncio.CancelledError:
                for _, done in batch:
                    done.cancel()
                raise
            except BaseException as error:  # every caller's own failure: none may wait for ever
                for _, done in batch:
                    done.set_exception(error)
                continue
            for (_, done), answer in zip(batch, answers, strict=True):
                if isinstance(answer, TransitionError):
                    done.set_exception(answer)
                else:
                    done.set_result(answer)
