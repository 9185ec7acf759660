"""Our Borgee adapter on the real host's base class, with a client of the test's and an agent that is a function."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from borgee_hermes import probe
from borgee_hermes.adapter import build_adapter_class
from borgee_hermes.bpp.port import Handlers
from borgee_hermes.host import load_host
from borgee_hermes.inbox import store
from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.records import Receipt, Status
from borgee_hermes.inbox.rows import receipt_of
from borgee_hermes.inbox.schema import SCHEMA
from borgee_hermes.locks.ownership import Ownership
from borgee_hermes.parts import Parts
from borgee_hermes.tools.bridge import Active
from canon_ops.durable import Snapshot, read_once
from canon_ops.runtime.clock import Clock, SystemClock
from canon_ops.settings.borgee import BorgeeOptions, read_borgee, startup_refusal
from canon_ops.settings.secret import Secret
from tests.support.attended import Agent, attended
from tests.support.borgee_session import FakeSession

__all__ = ["GOOD", "KEY", "NoLocks", "SessionStore", "Stage", "rows", "staged", "until"]

KEY = Secret("bgr_" + "5" * 64)
GOOD: dict[str, object] = {
    "base_url": "https://chat.example.com",
    "group_sessions_per_user": False,
    "_busy_input_mode": "queue",
}


async def until(holds: Callable[[], object], *, timeout_s: float = 10) -> None:
    """Return once ``holds()`` is true, letting the loop run meanwhile."""
    async with asyncio.timeout(timeout_s):
        while not holds():  # noqa: ASYNC110  # what it asks lies on a disk or in a host that sets no event of ours
            await asyncio.sleep(0.002)


class NoLocks:
    """Locks between processes that nobody else wants."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def acquire(self, scope: str, identity: str, metadata: Any) -> tuple[bool, None]:
        self.calls.append(("acquire", scope))
        return True, None

    def release(self, scope: str, identity: str) -> None:
        self.calls.append(("release", scope))


class SessionStore:
    """The host's sessions: what is known, what is suspended and reset, and what is refused."""

    def __init__(self, *known: str, resumes: tuple[str, ...] = ()) -> None:
        self.known = set(known) | set(resumes)
        self.resumes = set(resumes)
        self.suspended: list[str] = []
        self.was_reset: list[str] = []
        self.refuses = False

    def list_sessions(self, active_minutes: int | None = None) -> list[Any]:
        return [SimpleNamespace(session_key=key, resume_pending=key in self.resumes) for key in sorted(self.known)]

    def peek_session_id(self, session_key: str) -> str | None:
        return "id" if session_key in self.known else None

    def suspend_session(self, session_key: str) -> bool:
        if self.refuses:
            return False
        self.suspended.append(session_key)
        return True

    def reset_session(self, session_key: str, display_name: str | None = None) -> Any:
        if self.refuses:
            return None
        self.was_reset.append(session_key)
        return object()


@dataclass
class Stage:
    """An adapter and everything around it."""

    adapter: Any
    home: Path
    sessions: list[FakeSession]
    store: SessionStore
    inboxes: list[Inbox]
    locks: NoLocks
    active: Active
    events: list[Any] = field(default_factory=list)
    fatal: list[tuple[str, bool]] = field(default_factory=list)

    @property
    def session(self) -> FakeSession:
        """The client of the adapter."""
        return self.sessions[-1]

    @property
    def texts(self) -> list[str]:
        """What the agent was given, in order."""
        return [event.text for event in self.events]

    @property
    def sent(self) -> list[str]:
        """What went to Borgee as messages, in order."""
        return [payload["content"] for payload in self.session.payloads("send_message")]

    async def row(self, seq: int) -> Receipt:
        """A receipt as it is on disk."""
        found = await asyncio.to_thread(row, self.home, seq)
        assert found is not None
        return found

    async def until_row(self, seq: int, status: Status, outcome: str | None = None) -> Receipt:
        """Wait until a receipt is in a state."""
        async with asyncio.timeout(10):
            while True:
                found = await asyncio.to_thread(row, self.home, seq)
                if found is not None and found.status is status:
                    assert outcome is None or found.outcome == outcome, found
                    return found
                await asyncio.sleep(0.005)


def rows(home: Path) -> list[Receipt]:
    """Every receipt of a home's inbox."""

    def all_of(snapshot: Snapshot) -> list[Receipt]:
        return [receipt_of(row) for row in snapshot.all("SELECT * FROM receipts ORDER BY ingest_seq")]

    return read_once(inbox_file(home), SCHEMA, all_of) if inbox_file(home).exists() else []


def row(home: Path, seq: int) -> Receipt | None:
    """One receipt of a home's inbox."""
    return read_once(inbox_file(home), SCHEMA, store.get, seq) if inbox_file(home).exists() else None


@asynccontextmanager
async def staged(
    home: Path,
    agent: Agent | None = None,
    *,
    connect: bool = True,
    sessions: SessionStore | None = None,
    clock: Clock | None = None,
    inbox: Callable[[Path], Inbox] | None = None,
    session: Callable[[Handlers], FakeSession] | None = None,
    locks: NoLocks | None = None,
    **settings: Any,
) -> AsyncIterator[Stage]:
    """An adapter whose messages go to ``agent(event, adapter)``; disconnected at the end.

    Args:
        inbox: makes the inbox of a home.
        session: makes the client.
        locks: those between processes.
        settings: Borgee's own, beside good ones.
    """
    from gateway.config import PlatformConfig

    time = clock or SystemClock()
    store_ = sessions or SessionStore()
    config = PlatformConfig(enabled=True, extra={**GOOD, **settings})
    made: list[FakeSession] = []
    inboxes: list[Inbox] = []
    locks, active = locks or NoLocks(), Active()

    def open_session(_options: BorgeeOptions, _key: Secret, handlers: Handlers) -> FakeSession:
        made.append(session(handlers) if session is not None else FakeSession(handlers=handlers))
        return made[-1]

    def make_inbox(folder: Path) -> Inbox:
        inboxes.append(inbox(folder) if inbox is not None else Inbox(inbox_file(folder), clock=time))
        return inboxes[-1]

    def check() -> BorgeeOptions:
        extra = probe.extra_of(config)
        probe.refuse_key_in(config)
        if refusal := startup_refusal(extra):
            raise refusal
        return read_borgee(extra)

    def parts(_config: Any) -> Parts:
        return Parts(
            home=home,
            check=check,
            find_key=lambda: KEY,
            open_session=open_session,
            inbox=make_inbox,
            locks=locks,
            ownership=Ownership(),
            active=active,
        )

    adapter = build_adapter_class(load_host(), parts_for=parts, clock=time)(config)
    stage = Stage(adapter, home, made, store_, inboxes, locks, active)

    adapter.set_session_store(store_)
    async with attended(stage, agent, connect=connect):
        yield stage
