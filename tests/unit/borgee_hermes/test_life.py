"""Starting, stopping, and everything that ends an adapter. Borgee 9.7."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from borgee_hermes.bpp.errors import (
    AuthFailed,
    BppError,
    ConnectFailed,
    ConnectionLost,
    FrameNotJson,
    HandshakeClosed,
    IdentityInvalid,
    NotOnline,
    PeerProtocolClose,
    PermissionDenied,
    ProtocolCapacity,
    StaleDelivery,
)
from borgee_hermes.bpp.events import AgentToggle
from borgee_hermes.bpp.port import Handlers
from borgee_hermes.bpp.state import Status as Connection
from borgee_hermes.bpp.values import User
from borgee_hermes.control.server import ControlServer
from borgee_hermes.inbox import operator, store
from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.problems import RiskNotConfirmed, SessionNotReset
from borgee_hermes.inbox.records import NewReceipt, Outcome, Status
from borgee_hermes.inbox.schema import SCHEMA
from borgee_hermes.inbox.store import Inserted
from borgee_hermes.locks.identity import CREDENTIAL_SCOPE
from canon_ops.durable import write_once
from canon_ops.durable.problems import DiskFull
from canon_ops.files.lock import FileLock
from canon_ops.runtime.clock import ManualClock
from tests.support.borgee_adapter import GOOD, KEY, NoLocks, SessionStore, rows, staged, until
from tests.support.borgee_receipts import S1, a_receipt, session_of
from tests.support.borgee_session import AGENT, BURST, FakeSession, said

pytestmark = pytest.mark.host


async def answers(event: Any, _adapter: Any) -> str:
    return f"re: {event.text}"


async def never(_event: Any, _adapter: Any) -> None:
    await asyncio.Event().wait()


def left_claimed(home: Path, channel_id: str = "channel-1") -> int:
    """A receipt that a gateway which is gone had claimed."""
    receipt = a_receipt(f"old-{channel_id}", channel_id)
    seq = write_once(inbox_file(home), SCHEMA, store.insert, receipt, now_s=1.0).receipt.ingest_seq
    write_once(inbox_file(home), SCHEMA, store.claim, seq, f"token-{seq}", now_s=1.0)
    return seq


# -- starting ---------------------------------------------------------------------------------------------------------


async def test_what_a_crash_left_is_put_aside_before_the_client_connects(own_home: Path) -> None:
    """A30: the two borgee sessions are suspended first, another platform's is not; nothing is run or sent."""
    seq = await asyncio.to_thread(left_claimed, own_home)
    sessions = SessionStore(S1, resumes=("agent:main:borgee:dm:dm-1", "agent:main:telegram:dm:7"))
    suspended_at_connect: list[list[str]] = []

    def client(handlers: Handlers) -> FakeSession:
        session = FakeSession(handlers=handlers)

        async def connecting() -> None:
            suspended_at_connect.append(list(sessions.suspended))

        session.connecting = connecting
        return session

    async with staged(own_home, answers, sessions=sessions, session=client) as stage:
        await stage.until_row(seq, Status.QUARANTINED, Outcome.QUARANTINED_SUSPENDED)

        assert suspended_at_connect == [[S1, "agent:main:borgee:dm:dm-1"]]
        assert stage.session.names == ["get_me"]
        assert stage.texts == []


async def test_a_session_that_hermes_forgot_is_no_reason_to_forget_a_receipt(own_home: Path) -> None:
    """A31, A47, W1: quarantined, not discarded, however long the adapter is idle with work waiting behind it."""
    seq = await asyncio.to_thread(left_claimed, own_home)
    clock = ManualClock()
    async with staged(own_home, answers, clock=clock) as stage:
        stage.session.deliver(said("behind", message_id="m-2"))
        await stage.until_row(2, Status.PENDING)
        for _ in range(200):
            await clock.advance(0.05)
        await clock.advance(7_200.0)

        row = await stage.row(seq)
        assert (row.status, row.outcome) == (Status.QUARANTINED, Outcome.QUARANTINED_NO_SESSION)
        assert stage.texts == []
    async with staged(own_home, answers) as again:  # nor at the next start
        assert (await again.row(seq)).status is Status.QUARANTINED
        assert again.texts == []


async def test_a_start_asks_who_it_is_once(own_home: Path) -> None:
    """W25: the client keeps what it learned as it connected."""
    me = {"id": "agent-1", "display_name": "Aide", "role": "agent", "permissions": ["message.send:*"]}

    def client(handlers: Handlers) -> FakeSession:
        session = FakeSession(handlers=handlers)
        session.answers["get_me"] = me
        return session

    async with staged(own_home, session=client) as stage:
        assert stage.session.names == ["get_me"]


async def test_a_session_that_cannot_be_suspended_ends_the_start(own_home: Path) -> None:
    """A32: the client never connects."""
    sessions = SessionStore(resumes=(S1,))
    sessions.refuses = True
    async with staged(own_home, sessions=sessions, connect=False) as stage:
        assert not await stage.adapter.connect()

        assert (stage.adapter.fatal_error_code, stage.adapter.fatal_error_retryable) == ("borgee_startup", False)
        assert stage.sessions == []


@pytest.mark.parametrize(
    ("failure", "retryable"),
    [
        (ConnectFailed("refused"), True),
        (HandshakeClosed("The Borgee client was closed before it came online."), True),
        (AuthFailed("the key is refused"), False),
        (IdentityInvalid("no id"), False),
        (TimeoutError(), True),
        (FrameNotJson("a broken frame"), True),
        (ProtocolCapacity("a burst"), True),
        (PeerProtocolClose("1002"), False),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_client_that_does_not_come_online(
    own_home: Path, failure: Exception, retryable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A33, W12: the start fails; another attempt is made only where waiting helps, and nothing is held meanwhile.

    The host disconnects it afterwards; that is no second trouble."""

    def client(handlers: Handlers) -> FakeSession:
        session = FakeSession(handlers=handlers)

        async def connecting() -> None:
            raise failure

        session.connecting = connecting
        return session

    async with staged(own_home, session=client, connect=False) as stage:
        assert not await stage.adapter.connect()

        assert (stage.adapter.fatal_error_code, stage.adapter.fatal_error_retryable) == ("borgee_startup", retryable)
        assert stage.locks.calls[-2:] == [("release", "borgee"), ("release", "borgee-profile")]
        assert not stage.adapter.is_connected
        assert stage.active.live is None
        await stage.adapter.disconnect()
        assert "stopping" not in caplog.text


@pytest.mark.parametrize(
    ("identity", "settings"),
    [
        (User("u-1", "Ada", "member", (), {}), {}),
        (User("agent-1", "Helper", "agent", (), {}), {"agent_id": "agent-2"}),
    ],
)
async def test_another_identity_than_expected_is_refused(
    own_home: Path, identity: User, settings: dict[str, Any]
) -> None:
    """8.1: a person's key, or another agent's than the configured one."""
    async with staged(
        own_home, session=lambda h: FakeSession(identity=identity, handlers=h), connect=False, **settings
    ) as stage:
        assert not await stage.adapter.connect()

        assert stage.adapter.fatal_error_retryable is False


@pytest.mark.parametrize(
    "change",
    [
        {"group_sessions_per_user": True},
        {"_busy_input_mode": "interrupt"},
        {"_refused_keys": ["borgee.api_key"]},
        {"base_url": "http://10.0.0.1"},
        {"max_concurrent_dispatches": 99},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_settings_that_break_a_promise_end_the_start(own_home: Path, change: dict[str, Any]) -> None:
    """2.5: not connected, not retryable, no lock touched, and the sentence names the setting."""
    async with staged(own_home, connect=False, **change) as stage:
        assert not await stage.adapter.connect()

        assert (stage.adapter.fatal_error_code, stage.adapter.fatal_error_retryable) == ("borgee_startup", False)
        assert stage.locks.calls == []
        assert GOOD["base_url"]


@pytest.mark.parametrize("missing", ["set_session_store", "set_message_handler"])
async def test_a_host_that_is_not_ready(own_home: Path, missing: str) -> None:
    """2.5: without a session store or a message handler nothing is begun."""
    async with staged(own_home, connect=False) as stage:
        getattr(stage.adapter, missing)(None)

        assert not await stage.adapter.connect()
        assert "Hermes has given the Borgee adapter no" in stage.adapter.fatal_error_message


async def test_a_cancelled_start_holds_nothing(own_home: Path) -> None:
    """A34: cancelled while the inbox opens; no fatal error, no lock, no thread."""
    reached, go = threading.Event(), threading.Event()

    class Slow(Inbox):
        async def open(self) -> Any:
            reached.set()
            await asyncio.to_thread(go.wait, 10)
            return await super().open()

    async with staged(own_home, connect=False, inbox=lambda folder: Slow(inbox_file(folder))) as stage:
        connecting = asyncio.create_task(stage.adapter.connect())
        await asyncio.to_thread(reached.wait, 10)
        connecting.cancel()
        go.set()

        with pytest.raises(asyncio.CancelledError):
            await connecting
        assert not stage.adapter.has_fatal_error
        assert stage.locks.calls[-2:] == [("release", "borgee"), ("release", "borgee-profile")]


@pytest.mark.parametrize(
    ("identity", "settings", "kept"),
    [
        (AGENT, {}, ["m-1", "m-2"]),
        (None, {}, []),
        (User("u-1", "Ada", "member", (), {}), {}, []),
        (AGENT, {"agent_id": "agent-2"}, []),
    ],
    ids=["the agent", "nobody knows yet", "a person", "another agent"],
)
async def test_what_came_before_a_start_was_cancelled_is_stored(
    own_home: Path, identity: User | None, settings: dict[str, Any], kept: list[str]
) -> None:
    """8.1, decision 0067: between its connection and its intake a start may be cancelled, and nobody sends again what
    came by then. It waits for the next start, unless it may be somebody else's."""

    def client(handlers: Handlers) -> FakeSession:
        session = FakeSession(handlers=handlers)

        async def connecting() -> None:
            session.identity = identity
            session.deliver(said("one"))
            session.deliver(said("two", message_id="m-2"))
            await asyncio.Event().wait()

        session.connecting = connecting
        return session

    async with staged(own_home, answers, session=client, connect=False, **settings) as stage:
        connecting = asyncio.create_task(stage.adapter.connect())
        await until(lambda: stage.sessions and stage.session.state.status is Connection.CONNECTING)
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting

        assert [row.message_id for row in await asyncio.to_thread(rows, own_home)] == kept
        assert (stage.texts, stage.adapter.has_fatal_error) == ([], False)
    if kept:
        async with staged(own_home, answers) as again:
            await again.until_row(2, Status.COMPLETED)
            assert again.texts == ["one", "two"]


def switched_off(session: FakeSession) -> None:
    assert session.handlers.toggle is not None
    session.handlers.toggle(AgentToggle("agent-1", "disable", "owner"))


async def switched_off_while_it_opens(session: FakeSession) -> None:
    switched_off(session)
    await until(lambda: session.state.is_final)
    raise HandshakeClosed("The Borgee client was closed before it came online.")


def cannot_store(session: FakeSession) -> None:
    Failing.where = "insert"
    session.deliver(said())


@pytest.mark.parametrize(
    ("happens", "code"),
    [
        (switched_off, "borgee_agent_disabled"),
        (switched_off_while_it_opens, "borgee_agent_disabled"),
        (cannot_store, "borgee_durable_inbox"),
    ],
)
async def test_a_start_that_has_to_stop_does_not_go_on(
    own_home: Path, happens: Callable[[FakeSession], Any], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """8.1, 8.4, 8.5: what ends an adapter may happen before its start is through. Then it never counts as connected,
    which would also take the reason away, and nothing is left behind."""
    slow = ControlServer.start

    async def start(server: ControlServer) -> None:
        await until(lambda: stage.adapter.has_fatal_error)
        await slow(server)

    def client(handlers: Handlers) -> FakeSession:
        session = FakeSession(handlers=handlers)

        async def connecting() -> None:
            if asyncio.iscoroutine(more := happens(session)):
                await more

        session.connecting = connecting
        return session

    monkeypatch.setattr(ControlServer, "start", start)
    try:
        async with staged(
            own_home, answers, session=client, inbox=lambda folder: Failing(inbox_file(folder)), connect=False
        ) as stage:
            assert not await stage.adapter.connect()
            await until(lambda: stage.fatal)

            assert (stage.adapter.fatal_error_code, stage.fatal) == (code, [(code, False)])
            assert not stage.adapter.is_connected
            assert stage.active.live is None
            assert stage.session.state.status in (Connection.CLOSED, Connection.ERROR)
            assert stage.locks.calls[-2:] == [("release", "borgee"), ("release", "borgee-profile")]
            assert not (own_home / "plugins" / "borgee" / "control.sock").exists()
    finally:
        Failing.where = ""
    async with staged(own_home, answers) as again:
        assert again.adapter.is_connected


async def test_a_stop_ends_a_start(own_home: Path) -> None:
    """8.3: the host may disconnect an adapter that still connects; when that is through, nothing is held."""
    reached, go = threading.Event(), threading.Event()

    class Slow(Inbox):
        async def open(self) -> Any:
            opened = await super().open()
            reached.set()
            await asyncio.to_thread(go.wait, 10)
            return opened

    async with staged(own_home, connect=False, inbox=lambda folder: Slow(inbox_file(folder))) as stage:
        connecting = asyncio.create_task(stage.adapter.connect())
        await asyncio.to_thread(reached.wait, 10)
        stopping = asyncio.create_task(stage.adapter.disconnect())
        go.set()

        await stopping
        assert not await connecting
        assert (stage.sessions, stage.adapter.is_connected, stage.adapter.has_fatal_error) == ([], False, False)
        assert stage.locks.calls[-2:] == [("release", "borgee"), ("release", "borgee-profile")]


async def test_a_start_that_is_cancelled_as_it_comes_through_stops(own_home: Path) -> None:
    """8.1: the host's cancellation may meet a start that is over; what runs by then is stopped like any other."""

    async with staged(own_home, answers, connect=False) as stage:
        marked = stage.adapter._mark_connected

        def cancels() -> None:
            marked()
            connecting.cancel()

        stage.adapter._mark_connected = cancels
        connecting = asyncio.create_task(stage.adapter.connect())
        with pytest.raises(asyncio.CancelledError):
            await connecting

        assert not stage.adapter.is_connected
        assert (stage.session.state.status, stage.active.live) == (Connection.CLOSED, None)
        assert stage.locks.calls[-2:] == [("release", "borgee"), ("release", "borgee-profile")]


async def test_what_a_connection_is_locked_under_is_told_to_nobody(own_home: Path) -> None:
    """2.4: the name of the lock is made of the key, and a host may put it into its errors."""

    class Talkative(NoLocks):
        def acquire(self, scope: str, identity: str, metadata: Any) -> tuple[bool, None]:
            if scope == CREDENTIAL_SCOPE:
                raise OSError(f"cannot write the lock of {identity}")
            return super().acquire(scope, identity, metadata)

    async with staged(own_home, connect=False, locks=Talkative()) as stage:
        assert not await stage.adapter.connect()

        told = stage.adapter.fatal_error_message
        assert "cannot write the lock of [REDACTED]" in told
        assert "|credential:" not in told


async def test_a_second_adapter_of_the_home_is_refused(own_home: Path) -> None:
    """3: Hermes' own lock of the home says so; who comes second is told, and does not try again."""

    class Taken(NoLocks):
        def acquire(self, scope: str, identity: str, metadata: Any) -> Any:
            return False, {"pid": 4711}

    async with staged(own_home, connect=False, locks=Taken()) as second:
        assert not await second.adapter.connect()

        assert second.adapter.fatal_error_retryable is False
        assert "process 4711" in second.adapter.fatal_error_message


async def test_a_start_waits_for_a_command_that_decides(own_home: Path) -> None:
    """Nobody sends again what is said while a start waits to be repeated; a decision is soon over."""
    async with staged(own_home, answers, connect=False) as stage:
        lock = FileLock(inbox_file(own_home).with_name("inbox.lock"), 0)
        lock.__enter__()
        starting = asyncio.ensure_future(stage.adapter.connect())
        await until(lambda: len(stage.locks.calls) == 2)

        lock.__exit__(None, None, None)

        assert await starting
        assert not stage.adapter.has_fatal_error


async def test_a_start_beside_a_command_that_decides_may_be_tried_again(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B2: without a gateway a decision holds the inbox's lock for as long as it takes, and a gateway may start then."""
    monkeypatch.setattr("borgee_hermes.runtime.DECISION_S", 0.0)
    with FileLock(inbox_file(own_home).with_name("inbox.lock"), 0):
        async with staged(own_home, connect=False) as early:
            assert not await early.adapter.connect()

            assert (early.adapter.fatal_error_code, early.adapter.fatal_error_retryable) == ("borgee_startup", True)

    async with staged(own_home, connect=False) as late:
        assert await late.adapter.connect()


# -- stopping ---------------------------------------------------------------------------------------------------------


async def test_a_turn_that_ends_in_time_is_drained(own_home: Path) -> None:
    """8.3: nothing new is taken, the turn says its answer and is settled, and then everything is gone."""
    gate = asyncio.Event()

    async def waits(_event: Any, _adapter: Any) -> str:
        await gate.wait()
        return "at last"

    async with staged(own_home, waits) as stage:
        stage.session.deliver(said())
        await until(lambda: stage.texts == ["hello"])
        stopping = asyncio.create_task(stage.adapter.disconnect())
        await until(lambda: stage.active.live is None)
        gate.set()
        await stopping

        assert stage.sent == ["at last"]
        assert (await stage.row(1)).status is Status.COMPLETED
        assert stage.session.state.status is Connection.CLOSED
        assert stage.locks.calls[-2:] == [("release", "borgee"), ("release", "borgee-profile")]
        assert not [each.name for each in threading.enumerate() if each.name.startswith("durable inbox")]


async def test_what_was_received_is_stored_before_the_end(own_home: Path) -> None:
    """1.8, 8.3, decision 0043: nobody sends it again, so a stop takes over what the client still holds, and begins
    nothing of it; that is for the next start."""
    async with staged(own_home, answers) as stage:
        deliveries = [stage.session.deliver(said(f"text {n}", message_id=f"m-{n}")) for n in range(20)]

        await stage.adapter.disconnect()

        kept = await asyncio.to_thread(rows, own_home)
        assert [row.message_id for row in kept] == [f"m-{n}" for n in range(20)]
        assert {row.status for row in kept} <= {Status.PENDING, Status.COMPLETED}
        assert all(delivery.settled.result() is True for delivery in deliveries)
    async with staged(own_home, answers) as again:
        await again.until_row(20, Status.COMPLETED)
        assert [event.message_id for event in again.events] == [
            row.message_id for row in kept if row.status is Status.PENDING
        ]


async def test_what_comes_while_turns_end_is_stored_and_begins_nothing(own_home: Path) -> None:
    """8.3: a drain may take half a minute, and people talk on."""
    gate = asyncio.Event()

    async def waits(_event: Any, _adapter: Any) -> None:
        await gate.wait()

    async with staged(own_home, waits) as stage:
        stage.session.deliver(said())
        await until(lambda: stage.texts == ["hello"])
        stopping = asyncio.create_task(stage.adapter.disconnect())
        await until(lambda: stage.active.live is None)

        stage.session.deliver(said("while it stops", "channel-2", "m-2"))
        await stage.until_row(2, Status.PENDING)
        gate.set()
        await stopping

        assert stage.texts == ["hello"]
        assert [row.status for row in await asyncio.to_thread(rows, own_home)] == [Status.COMPLETED, Status.PENDING]


@pytest.mark.parametrize("failure", [AuthFailed("refused"), ConnectFailed("gone"), ProtocolCapacity("a burst")])
async def test_what_was_received_before_a_client_gave_up_is_stored(own_home: Path, failure: BppError) -> None:
    """8.4, 8.6: whatever ended the connection, what had come over it before counts, also what no write took yet."""
    count = 3 * BURST
    async with staged(own_home, answers) as stage:
        for n in range(count):
            stage.session.deliver(said(f"text {n}", message_id=f"m-{n}"))

        stage.session.become(Connection.ERROR, failure)
        await until(lambda: stage.fatal)

        assert len(await asyncio.to_thread(rows, own_home)) == count


async def test_a_turn_that_does_not_end_is_in_doubt(own_home: Path) -> None:
    """A41: after the drain time it is cancelled, and nothing that it says then settles it."""
    async with staged(own_home, never, drain_timeout_seconds=0.05) as stage:
        stage.session.deliver(said())
        await until(lambda: stage.texts == ["hello"])

        await stage.adapter.disconnect()

        row = await stage.row(1)
        assert (row.status, row.outcome) == (Status.IN_DOUBT, Outcome.PROCESS_INTERRUPTED)
        assert not stage.adapter.has_fatal_error


async def test_a_cancelled_stop_goes_on_to_its_end(own_home: Path) -> None:
    """8.3: the host gives up waiting; the locks are freed all the same."""
    async with staged(own_home, never, drain_timeout_seconds=0.2) as stage:
        stage.session.deliver(said())
        await until(lambda: stage.texts == ["hello"])
        stopping = asyncio.create_task(stage.adapter.disconnect())
        await asyncio.sleep(0.01)
        stopping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopping

        await until(lambda: ("release", "borgee-profile") in stage.locks.calls)
        assert (await stage.row(1)).status is Status.IN_DOUBT


@pytest.mark.parametrize("hangs", ["claim", "finish", "record_outbound"])
async def test_an_inbox_call_that_hangs_while_stopping(own_home: Path, hangs: str) -> None:
    """A35: the stop takes its time and ends; it is no fault of the inbox."""

    class Hanging(Inbox):
        async def claim(self, *args: Any) -> Any:
            return await self._maybe("claim", super().claim(*args))

        async def finish(self, *args: Any, **more: Any) -> Any:
            return await self._maybe("finish", super().finish(*args, **more))

        async def record_outbound(self, *args: Any) -> Any:
            return await self._maybe("record_outbound", super().record_outbound(*args))

        async def _maybe(self, name: str, call: Any) -> Any:
            if name != hangs:
                return await call
            call.close()
            held.set()
            return await asyncio.Event().wait()

    held = asyncio.Event()
    async with staged(
        own_home, answers, inbox=lambda folder: Hanging(inbox_file(folder)), drain_timeout_seconds=0.05
    ) as stage:
        stage.session.deliver(said())
        await held.wait()

        await stage.adapter.disconnect()

        assert not stage.adapter.has_fatal_error


async def test_a_lock_that_cannot_be_freed_does_not_keep_the_rest(own_home: Path) -> None:
    """W24: the other lock is freed, and the adapter is disconnected."""
    async with staged(own_home, answers) as stage:

        def fails(scope: str, identity: str) -> None:
            stage.locks.calls.append(("release", scope))
            raise OSError("the lock folder is gone")

        stage.locks.release = fails  # type: ignore[method-assign]
        await stage.adapter.disconnect()

        assert stage.locks.calls[-2:] == [("release", "borgee"), ("release", "borgee-profile")]
        assert not stage.adapter.is_connected


# -- faults -----------------------------------------------------------------------------------------------------------


class Failing(Inbox):
    """An inbox that fails where the test says."""

    where = ""

    async def insert(self, new: NewReceipt) -> Inserted:
        self._check("insert")
        return await super().insert(new)

    async def record_outbound(self, message_id: str, channel_id: str) -> None:
        self._check("record_outbound")
        await super().record_outbound(message_id, channel_id)

    def _check(self, name: str) -> None:
        if name == self.where:
            raise DiskFull(f"no room for {KEY.reveal()}")


async def test_a_message_that_cannot_be_stored_is_not_acknowledged(own_home: Path) -> None:
    """A38: the delivery fails, the adapter is down for good, and the key is in no message."""
    async with staged(own_home, answers, inbox=lambda folder: Failing(inbox_file(folder))) as stage:
        Failing.where = "insert"
        delivery = stage.session.deliver(said())

        assert isinstance(await delivery.settled, DiskFull)
        await until(lambda: stage.fatal)
        assert stage.fatal == [("borgee_durable_inbox", False)]
        assert KEY.reveal() not in stage.adapter.fatal_error_message
        assert stage.texts == []
    Failing.where = ""


async def test_a_failing_delivery_is_no_second_fault(own_home: Path) -> None:
    """A36: the stop cancels the intake while it tells the client; nothing more is made of it."""
    clock = ManualClock()
    async with staged(own_home, answers, inbox=lambda folder: Failing(inbox_file(folder)), clock=clock) as stage:
        Failing.where = "insert"
        delivery = stage.session.deliver(said())
        delivery.fail_hangs = True
        await delivery.settled
        stopping = asyncio.create_task(stage.adapter.disconnect())
        while not stopping.done():
            await clock.advance(1.0)
            await asyncio.sleep(0.001)

        await until(lambda: stage.fatal)
        assert stage.fatal == [("borgee_durable_inbox", False)]
    Failing.where = ""


async def test_a_message_whose_id_cannot_be_recorded_counts_as_sent(own_home: Path) -> None:
    """A39: the server has it, so it is not sent again; the adapter is down."""
    async with staged(own_home, inbox=lambda folder: Failing(inbox_file(folder))) as stage:
        Failing.where = "record_outbound"

        sent = await stage.adapter._send_with_retry("channel-1", "hello")

        assert (sent.success, sent.message_id) == (True, "out-1")
        assert stage.sent == ["hello"]
        await until(lambda: stage.fatal)
        assert stage.fatal == [("borgee_durable_inbox", False)]
    Failing.where = ""


@pytest.mark.parametrize(
    "error",
    [ConnectionLost("Broken pipe: network connection reset after write"), OSError("ConnectionResetError network")],
    ids=lambda error: type(error).__name__,
)
async def test_a_send_that_may_have_arrived_is_never_repeated(own_home: Path, error: Exception) -> None:
    """A40, W4: whatever the error is called, Hermes' own retrying sends once."""
    async with staged(own_home) as stage:
        stage.session.answers["send_message"] = error

        sent = await stage.adapter._send_with_retry("channel-1", "hello", base_delay=0.001)

        assert not sent.success
        assert "outcome uncertain; timed out" in sent.error
        assert stage.sent == ["hello"]


async def test_a_send_that_certainly_did_not_arrive_is_repeated_here(own_home: Path) -> None:
    """W4: it never left this process, so it goes again; Hermes sends it once, with its own words."""
    clock = ManualClock()
    async with staged(own_home, clock=clock) as stage:
        outcomes: list[Any] = [NotOnline(), NotOnline(), {"message_id": "out-7"}]

        def next_outcome(_: Any) -> Any:
            outcome = outcomes.pop(0)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        stage.session.answers["send_message"] = next_outcome
        sending = asyncio.create_task(stage.adapter._send_with_retry("channel-1", "hello"))
        while not sending.done():
            await clock.advance(1.0)
            await asyncio.sleep(0.001)

        assert (await sending).message_id == "out-7"
        assert stage.sent == ["hello"] * 3


async def test_definite_refusals_say_what_they_are(own_home: Path) -> None:
    """W26: permission and length are no time-outs; too long a text is not even tried."""
    async with staged(own_home) as stage:
        stage.session.answers["send_message"] = PermissionDenied("send_message", "message.send", "channel-1")

        denied = await stage.adapter.send("channel-1", "hello")
        too_long = await stage.adapter.send("channel-1", "x" * 4097)
        longest = await stage.adapter.edit_message("channel-1", "out-1", "x" * 4097)

        assert (denied.error, denied.retryable) == ("Borgee: not sent: permission_denied", False)
        assert "4096" in too_long.error
        assert "4096" in longest.error
        assert len(stage.sent) == 1


async def test_drafts_edits_and_deletions(own_home: Path) -> None:
    """A43: send a draft, edit it to its end, delete it; failures are results, not exceptions."""
    async with staged(own_home) as stage:
        adapter = stage.adapter
        draft = await adapter.send("channel-1", "dra", metadata={"expect_edits": True})
        edited = await adapter.edit_message("channel-1", draft.message_id, "draft", finalize=True)
        deleted = await adapter.delete_message("channel-1", draft.message_id)

        assert (draft.message_id, edited.success, edited.message_id, deleted) == ("out-1", True, "out-1", True)
        assert stage.session.names == ["get_me", "send_message", "edit_message", "delete_message"]
        stage.session.answers |= {"edit_message": ConnectionLost("x"), "delete_message": ConnectionLost("x")}
        assert not (await adapter.edit_message("channel-1", "out-1", "more")).success
        assert not await adapter.delete_message("channel-1", "out-1")
        assert await adapter.get_chat_info("channel-9") == {"name": "channel-9", "type": "unknown"}


@pytest.mark.parametrize("verb", ["edit_message", "delete_message"])
async def test_a_cancelled_edit_is_a_cancellation(own_home: Path, verb: str) -> None:
    """A37: not a failed result."""
    async with staged(own_home) as stage:
        stage.session.answers[verb] = lambda _: asyncio.Event().wait()
        call = getattr(stage.adapter, verb)
        work = asyncio.create_task(call("channel-1", "out-1", *(["text"] if verb == "edit_message" else [])))
        await until(lambda: verb in stage.session.names)
        work.cancel()

        with pytest.raises(asyncio.CancelledError):
            await work


async def test_a_connection_that_ends_before_the_checkpoint_is_no_fault(own_home: Path) -> None:
    """A44, W2: stored once, run once, and the next message is taken."""
    async with staged(own_home, answers) as stage:
        stage.session.deliver(said(), is_stale=True)
        await stage.until_row(1, Status.COMPLETED)

        stage.session.deliver(said())
        stage.session.deliver(said("next", message_id="m-2"))
        await stage.until_row(2, Status.COMPLETED)

        assert stage.texts == ["hello", "next"]
        assert not stage.adapter.has_fatal_error
        assert StaleDelivery.code == "bpp.stale_delivery"


@pytest.mark.parametrize(
    ("failure", "retryable"),
    [
        (AuthFailed("refused"), False),
        (PeerProtocolClose("1002"), False),
        (ConnectFailed("gone"), True),
        (ProtocolCapacity("a burst"), True),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_client_that_gives_up_is_told_to_hermes(own_home: Path, failure: BppError, retryable: bool) -> None:
    """A45, W3: not connected, the locks free, and Hermes told whether another attempt makes sense."""
    async with staged(own_home, answers) as stage:
        assert stage.active.live is not None
        stage.session.become(Connection.ERROR, failure)

        await until(lambda: stage.fatal)
        assert stage.fatal == [("borgee_connection", retryable)]
        assert not stage.adapter.is_connected
        assert stage.active.live is None
        assert stage.locks.calls[-2:] == [("release", "borgee"), ("release", "borgee-profile")]
        assert (await stage.adapter.send("channel-1", "x")).error == "Borgee: the connection is unavailable"


async def test_a_watch_that_fails_is_not_missed_for_ever(own_home: Path) -> None:
    """Without it a client that gives up would go unnoticed (W3): the adapter goes down instead."""
    async with staged(own_home, answers) as stage:
        stage.adapter._borgee._vitals.see = lambda *_: 1 / 0

        stage.session.become(Connection.RECONNECTING)

        await until(lambda: stage.fatal)
        assert stage.fatal == [("borgee_durable_inbox", False)]
        assert "ZeroDivisionError" in stage.adapter.fatal_error_message


async def test_an_agent_that_is_switched_off_hangs_up_and_lets_its_turn_end(own_home: Path) -> None:
    """A46, W28: the socket is closed, nothing new is taken, the turn is not cancelled, and it is no inbox fault. What
    came before the switch is stored."""
    gate = asyncio.Event()
    ended: list[str] = []

    async def waits(event: Any, _adapter: Any) -> None:
        await gate.wait()
        ended.append(event.text)

    async with staged(own_home, waits) as stage:
        stage.session.deliver(said())
        await until(lambda: stage.texts == ["hello"])
        toggle = stage.session.handlers.toggle
        assert toggle is not None
        toggle(AgentToggle("another", "disable", "owner"))
        toggle(AgentToggle("agent-1", "enable", "owner"))
        assert not stage.adapter.has_fatal_error

        stage.session.deliver(said("before", "channel-2", "m-2"))
        toggle(AgentToggle("agent-1", "disable", "owner"))
        stage.session.deliver(said("after", "channel-2", "m-3"))
        await until(lambda: stage.session.state.status is Connection.CLOSED)
        assert (stage.adapter.is_connected, stage.adapter.fatal_error_code) == (False, "borgee_agent_disabled")
        assert (ended, stage.fatal) == ([], [])
        gate.set()

        await until(lambda: stage.fatal)
        assert ended == ["hello"]
        assert stage.fatal == [("borgee_agent_disabled", False)]
        kept = await asyncio.to_thread(rows, own_home)
        assert [(row.effective_body, row.status) for row in kept] == [
            ("hello", Status.COMPLETED),
            ("before", Status.PENDING),
        ]


# -- a person decides -------------------------------------------------------------------------------------------------


async def test_a_person_discards_and_requeues(own_home: Path) -> None:
    """A42: the session is reset before each, a requeue needs the word, and then the lane goes on by itself."""
    one = await asyncio.to_thread(left_claimed, own_home)
    two = await asyncio.to_thread(left_claimed, own_home, "channel-2")
    sessions = SessionStore(S1, session_of("channel-2"))
    async with staged(own_home, answers, sessions=sessions) as stage:
        adapter = stage.adapter
        stage.session.deliver(said("behind", message_id="m-9"))
        await stage.until_row(3, Status.PENDING)

        with pytest.raises(ValueError, match="discarded or requeued"):
            await adapter.remediate_receipt(one, "forget")
        with pytest.raises(RiskNotConfirmed, match="risk confirmation"):
            await adapter.remediate_receipt(two, "requeue")
        assert await adapter.remediate_receipt(one, "discard")
        assert not await adapter.remediate_receipt(one, "discard")
        assert not await adapter.remediate_receipt(99, "discard")
        assert await adapter.remediate_receipt(two, "requeue", confirm_duplicate_side_effect_risk=True)

        await stage.until_row(two, Status.COMPLETED, Outcome.HERMES_COMPLETED)
        await stage.until_row(3, Status.COMPLETED, Outcome.HERMES_COMPLETED)
        assert (await stage.row(one)).outcome == Outcome.OPERATOR_DISCARDED
        assert sessions.was_reset == [S1, session_of("channel-2")]
        assert await adapter.terminal_watermark() == 3


async def test_a_requeued_receipt_runs_before_what_came_after_it(own_home: Path) -> None:
    """4.5: its place in the order is its number's, also when others of its session have waited for the decision."""
    seq = await asyncio.to_thread(left_claimed, own_home)
    async with staged(own_home, answers) as stage:
        for n in (2, 3):
            stage.session.deliver(said(f"behind {n}", message_id=f"m-{n}"))
        await stage.until_row(3, Status.PENDING)

        assert await stage.adapter.remediate_receipt(seq, "requeue", confirm_duplicate_side_effect_risk=True)

        await stage.until_row(3, Status.COMPLETED)
        assert [event.message_id for event in stage.events] == ["old-channel-1", "m-2", "m-3"]


async def test_a_session_that_is_not_reset_decides_nothing(own_home: Path) -> None:
    """4.10: the receipt stays in quarantine."""
    seq = await asyncio.to_thread(left_claimed, own_home)
    sessions = SessionStore(S1)
    async with staged(own_home, answers, sessions=sessions) as stage:
        sessions.refuses = True

        with pytest.raises(SessionNotReset):
            await stage.adapter.remediate_receipt(seq, "discard")

        assert (await stage.row(seq)).status is Status.QUARANTINED


async def test_a_blocked_idle_session_answers_commands(own_home: Path) -> None:
    """W17: /status runs although a quarantined receipt blocks the session; a plain message waits."""
    await asyncio.to_thread(left_claimed, own_home)
    async with staged(own_home, answers) as stage:
        stage.session.deliver(said("plain", message_id="m-2"))
        stage.session.deliver(said("/status", message_id="m-3"))

        await stage.until_row(3, Status.COMPLETED)
        assert stage.texts == ["/status"]
        assert (await stage.row(2)).status is Status.PENDING


async def test_a_message_that_hermes_holds_until_its_start_is_through_is_not_settled(own_home: Path) -> None:
    """Hermes reports success for a message that it only put aside; the receipt stays claimed until it is run."""
    async with staged(own_home, answers) as stage:
        adapter = stage.adapter
        held: list[Any] = []

        class Runner:
            _startup_restore_queue = held

        adapter.gateway_runner = Runner()
        real = adapter._message_handler

        async def gate(event: Any) -> Any:
            held.append(event)

        adapter._message_handler = gate
        stage.session.deliver(said())
        await until(lambda: held)
        await until(lambda: not adapter._active_sessions)
        assert (await stage.row(1)).status is Status.PROCESSING
        adapter._message_handler = real
        adapter.gateway_runner = None
        await adapter.handle_message(held.pop())

        await stage.until_row(1, Status.COMPLETED, Outcome.HERMES_COMPLETED)
        assert stage.sent == ["re: hello"]


def test_stats_of_a_home_are_readable_without_a_gateway(own_home: Path) -> None:
    """The store's questions work on the file alone."""
    seq = left_claimed(own_home)
    write_once(inbox_file(own_home), SCHEMA, store.recover_processing, now_s=2.0)

    found = write_once(inbox_file(own_home), SCHEMA, operator.stats)

    assert found.blocked == (operator.Blocked(S1, seq, 0),)
