"""A command decides through the gateway that owns the inbox, or by itself when none does. Decisions B2."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from borgee_hermes.control.client import GatewaySilent, Where, decide
from borgee_hermes.control.protocol import Answer, BadLine, Declined, Request, read_answer
from borgee_hermes.control.server import ControlServer
from borgee_hermes.inbox import store
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.problems import RiskNotConfirmed
from borgee_hermes.inbox.records import Outcome, Status
from borgee_hermes.inbox.schema import SCHEMA
from canon_ops.durable import read_once, write_once
from canon_ops.durable.problems import NoDatabase
from canon_ops.files.lock import FileLock
from tests.support.borgee_adapter import SessionStore, staged
from tests.support.borgee_receipts import S1, a_receipt


def quarantined(home: Path) -> int:
    """A receipt that waits for a person."""
    path = inbox_file(home)
    seq = write_once(path, SCHEMA, store.insert, a_receipt(), now_s=1.0).receipt.ingest_seq
    write_once(path, SCHEMA, store.claim, seq, "t", now_s=1.0)
    write_once(path, SCHEMA, store.recover_processing, now_s=1.0)
    write_once(path, SCHEMA, store.quarantine_in_doubt, (), now_s=1.0)
    return seq


def row(home: Path, seq: int) -> Any:
    return read_once(inbox_file(home), SCHEMA, store.get, seq)


async def talk(path: Path, line: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(line)
    await writer.drain()
    answer = await reader.readline()
    writer.close()
    return answer


@pytest.mark.host
async def test_the_running_gateway_decides(own_home: Path) -> None:
    """Through its socket: the session is reset there, the receipt runs, and the command hears who did it."""
    seq = await asyncio.to_thread(quarantined, own_home)
    sessions = SessionStore(S1)

    async def answers(event: Any, _adapter: Any) -> str:
        return f"re: {event.text}"

    async with staged(own_home, answers, sessions=sessions) as stage:
        done = await asyncio.to_thread(decide, own_home, Request("requeue", seq, True), reset_session=pytest.fail)
        again = await asyncio.to_thread(decide, own_home, Request("discard", 99), reset_session=pytest.fail)

        await stage.until_row(seq, Status.COMPLETED, Outcome.HERMES_COMPLETED)
        assert done == (True, Where.GATEWAY)
        assert again == (False, Where.GATEWAY)
        assert sessions.was_reset == [S1]
    assert not inbox_file(own_home).with_name("control.sock").exists()


@pytest.mark.host
async def test_the_gateways_refusal_reaches_the_command(own_home: Path) -> None:
    """Hermes keeps the session: nothing is decided, and the command says why."""
    seq = await asyncio.to_thread(quarantined, own_home)
    sessions = SessionStore(S1)
    async with staged(own_home, sessions=sessions):
        sessions.refuses = True

        with pytest.raises(Declined, match="did not reset the session"):
            await asyncio.to_thread(decide, own_home, Request("discard", seq), reset_session=pytest.fail)

    assert row(own_home, seq).status is Status.QUARANTINED


def test_without_a_gateway_it_is_decided_here(own_home: Path) -> None:
    """The session is reset first; the receipt moves; a requeue needs the word before anything is touched."""
    seq = quarantined(own_home)
    was_reset: list[str] = []

    with pytest.raises(RiskNotConfirmed):
        decide(own_home, Request("requeue", seq), reset_session=was_reset.append)
    assert was_reset == []
    assert decide(own_home, Request("requeue", seq, True), reset_session=was_reset.append) == (True, Where.HERE)
    assert decide(own_home, Request("discard", seq), reset_session=was_reset.append) == (False, Where.HERE)

    assert was_reset == [S1]
    assert row(own_home, seq).status is Status.PENDING


def test_a_session_that_cannot_be_reset_decides_nothing(own_home: Path) -> None:
    """What the host says travels up, and the receipt stays."""
    seq = quarantined(own_home)

    def refuses(_key: str) -> None:
        raise OSError("no host")

    with pytest.raises(OSError, match="no host"):
        decide(own_home, Request("discard", seq), reset_session=refuses)

    assert row(own_home, seq).status is Status.QUARANTINED


def test_an_owner_that_does_not_answer_is_named(own_home: Path) -> None:
    """The lock is held, the socket is missing or dead: after a while the command says whose lock it is, and decides
    nothing."""
    seq = quarantined(own_home)
    beside = inbox_file(own_home).parent
    pauses_s: list[float] = []
    with FileLock(beside / "inbox.lock", 0):
        with pytest.raises(GatewaySilent, match=r"process .*holds .* does not answer"):
            decide(own_home, Request("discard", seq), reset_session=pytest.fail, pause=pauses_s.append)
        dead = socket.socket(socket.AF_UNIX)
        dead.bind(str(beside / "control.sock"))
        dead.close()
        with pytest.raises(GatewaySilent):
            decide(own_home, Request("discard", seq), reset_session=pytest.fail, pause=pauses_s.append)

    assert sum(pauses_s) == pytest.approx(60)
    assert row(own_home, seq).status is Status.QUARANTINED


def test_a_command_waits_for_another_one(own_home: Path) -> None:
    """Of two people at the same time one decides, and the other is told; none hears of a gateway that there is not."""
    seq = quarantined(own_home)
    other = FileLock(inbox_file(own_home).parent / "inbox.lock", 0)
    other.__enter__()

    def is_done(_pause_s: float) -> None:
        other.__exit__(None, None, None)

    assert decide(own_home, Request("discard", seq), reset_session=bool, pause=is_done) == (True, Where.HERE)


@pytest.mark.parametrize("is_known", [True, False], ids=["its process is told", "its lock is taken"])
async def test_a_command_waits_for_a_gateway_that_starts(own_home: Path, is_known: bool) -> None:
    """It runs before it has the inbox's lock, and has that before it listens."""
    seq = await asyncio.to_thread(quarantined, own_home)
    folder, loop = inbox_file(own_home).parent, asyncio.get_running_loop()

    async def carry_out(_request: Request) -> Answer:
        return Answer(True)

    server = ControlServer(folder, carry_out)

    lock = FileLock(folder / "inbox.lock", 0)

    def listens(_pause_s: float) -> None:
        if is_known:
            lock.__enter__()
        asyncio.run_coroutine_threadsafe(server.start(), loop).result()

    def asked() -> tuple[bool, Where]:
        pid = os.getpid() if is_known else None
        request = Request("discard", seq)
        return decide(own_home, request, reset_session=pytest.fail, gateway=lambda: pid, pause=listens)

    if not is_known:
        lock.__enter__()
    assert await asyncio.to_thread(asked) == (True, Where.GATEWAY)
    lock.__exit__(None, None, None)
    await server.stop()


async def test_a_gateway_that_starts_during_the_reset_decides_itself(own_home: Path) -> None:
    """It may have read the session before it was reset, and would write it back: it is waited for and asked."""
    seq = await asyncio.to_thread(quarantined, own_home)
    folder, loop = inbox_file(own_home).parent, asyncio.get_running_loop()
    running: list[int] = []

    async def carry_out(_request: Request) -> Answer:
        return Answer(True)

    server = ControlServer(folder, carry_out)
    lock = FileLock(folder / "inbox.lock", 0)

    def resets(_key: str) -> bool:
        running.append(4711)
        return True

    def listens(_pause_s: float) -> None:
        lock.__enter__()
        asyncio.run_coroutine_threadsafe(server.start(), loop).result()

    def asked() -> tuple[bool, Where]:
        return decide(
            own_home,
            Request("discard", seq),
            reset_session=resets,
            gateway=lambda: running[0] if running else None,
            pause=listens,
        )

    assert await asyncio.to_thread(asked) == (True, Where.GATEWAY)
    lock.__exit__(None, None, None)
    await server.stop()
    assert await asyncio.to_thread(lambda: row(own_home, seq).status) is Status.QUARANTINED


async def test_what_may_have_been_carried_out_is_not_asked_twice(own_home: Path) -> None:
    """The gateway goes down while it is asked: the command names the way to find out, and does not come upon its own
    decision as if it were somebody else's."""
    seq = await asyncio.to_thread(quarantined, own_home)
    folder, asked = inbox_file(own_home).parent, []

    async def goes_down(request: Request) -> Answer:
        asked.append(request)
        raise asyncio.CancelledError

    server = ControlServer(folder, goes_down)
    await server.start()
    with FileLock(folder / "inbox.lock", 0), pytest.raises(GatewaySilent) as caught:
        await asyncio.to_thread(decide, own_home, Request("discard", seq), reset_session=pytest.fail)
    await server.stop()

    assert len(asked) == 1
    assert caught.value.fix == f"canon-ops inbox show {seq}"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a socket somebody else's")
def test_a_socket_of_somebody_else_is_not_asked(own_home: Path) -> None:
    """Nothing is sent to it, and nothing it says is believed."""
    seq = quarantined(own_home)
    beside = inbox_file(own_home).parent
    foreign = socket.socket(socket.AF_UNIX)
    foreign.bind(str(beside / "control.sock"))
    foreign.listen()
    os.chown(beside / "control.sock", 12345, 12345)

    with FileLock(beside / "inbox.lock", 0), pytest.raises(GatewaySilent):
        decide(own_home, Request("discard", seq), reset_session=pytest.fail)

    foreign.setblocking(False)
    with pytest.raises(BlockingIOError):
        foreign.accept()
    foreign.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root acts in somebody else's home")
async def test_root_asks_the_gateway_of_the_homes_owner(own_home: Path) -> None:
    """An operator in a container, or with sudo, reaches the gateway that runs as a service user."""
    seq = await asyncio.to_thread(quarantined, own_home)
    folder = inbox_file(own_home).parent

    async def carry_out(_request: Request) -> Answer:
        return Answer(True)

    server = ControlServer(folder, carry_out)
    await server.start()
    for each in (folder, inbox_file(own_home), server.path):
        await asyncio.to_thread(os.chown, each, 65534, 65534)

    with FileLock(folder / "inbox.lock", 0):
        done = await asyncio.to_thread(decide, own_home, Request("discard", seq), reset_session=pytest.fail)
    await server.stop()

    assert done == (True, Where.GATEWAY)


def test_where_there_is_no_inbox_nothing_is_made(own_home: Path) -> None:
    """A question about a home without Borgee leaves no file behind."""
    with pytest.raises(NoDatabase):
        decide(own_home, Request("discard", 1), reset_session=pytest.fail)

    assert list(own_home.iterdir()) == []


async def test_the_socket_is_private_and_a_dead_one_is_replaced(tmp_path: Path) -> None:
    """Mode 0600 from its first moment; what a killed gateway left does not stand in the way."""
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(tmp_path / "control.sock"))
    dead.close()

    async def carry_out(request: Request) -> Answer:
        return Answer(changed=request.ingest_seq == 1)

    server = ControlServer(tmp_path, carry_out)
    await server.start()
    mode = await asyncio.to_thread(lambda: stat.S_IMODE(server.path.stat().st_mode))

    answer = await talk(server.path, b'{"v":1,"op":"discard","ingest_seq":1,"confirm":false}\n')
    assert (mode, read_answer(answer)) == (0o600, Answer(True))
    await server.stop()
    await server.stop()
    assert not await asyncio.to_thread(server.path.exists)


@pytest.mark.parametrize("line", [b"nonsense\n", b"{}\n", b"\n", b'{"v":9,"op":"ping"}\n', b"x" * 200_000 + b"\n"])
async def test_nonsense_gets_an_answer_and_harms_nobody(tmp_path: Path, line: bytes) -> None:
    """The next question is answered as ever."""

    async def carry_out(_request: Request) -> Answer:
        return Answer(False)

    server = ControlServer(tmp_path, carry_out)
    await server.start()

    with pytest.raises((Declined, BadLine)):
        read_answer(await talk(server.path, line))
    assert read_answer(await talk(server.path, b'{"v":1,"op":"ping"}\n')) == Answer(False)
    await server.stop()


@pytest.fixture
def runtime_folder() -> Iterator[Path]:
    """A runtime folder as systemd makes it: its path is short."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


async def test_a_path_that_is_too_long_is_noted_where_the_command_looks(tmp_path: Path, runtime_folder: Path) -> None:
    """The socket stands in the runtime folder, and control.json beside the inbox names it."""
    home = tmp_path / ("long" * 25)
    home.mkdir()
    seq = await asyncio.to_thread(quarantined, home)
    folder = inbox_file(home).parent

    async def carry_out(_request: Request) -> Answer:
        return Answer(True)

    server = ControlServer(folder, carry_out, environ={"XDG_RUNTIME_DIR": str(runtime_folder)})
    await server.start()
    with FileLock(folder / "inbox.lock", 0):
        done = await asyncio.to_thread(decide, home, Request("discard", seq), reset_session=pytest.fail, environ={})
    await server.stop()

    assert server.path.parent == runtime_folder
    assert done == (True, Where.GATEWAY)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_another_user_is_refused_also_where_the_mode_lets_them_in(runtime_folder: Path) -> None:
    """Who is at the other end is asked of the system: the mode of the socket is the first door, not the only one."""
    decided: list[Request] = []

    async def carry_out(request: Request) -> Answer:
        decided.append(request)
        return Answer(True)

    server = ControlServer(runtime_folder, carry_out)
    await server.start()
    await asyncio.to_thread(runtime_folder.chmod, 0o755)
    await asyncio.to_thread(server.path.chmod, 0o666)
    ask = (
        "import os, socket, sys\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "talk = socket.socket(socket.AF_UNIX); talk.connect(sys.argv[1])\n"
        "sys.stdout.write(talk.makefile().readline())\n"
    )

    child = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", ask, str(server.path), stdout=asyncio.subprocess.PIPE
    )
    answer, _ = await child.communicate()
    await server.stop()

    with pytest.raises(Declined, match="for its own user"):
        read_answer(answer)
    assert not decided


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
async def test_a_squatter_in_the_runtime_folder_is_left_alone(tmp_path: Path, kind: str) -> None:
    """Something else of the socket's name: the gateway gets no socket, and touches neither it nor what it leads to."""
    other = tmp_path / "other"
    other.write_text("as it was")
    squat = tmp_path / "control.sock"
    match kind:
        case "file":
            squat.write_text("squat")
        case "folder":
            squat.mkdir()
        case _:
            squat.symlink_to(other)

    async def carry_out(_request: Request) -> Answer:
        return Answer(True)

    with pytest.raises(OSError, match="in use"):
        await ControlServer(tmp_path, carry_out).start()

    assert await asyncio.to_thread(os.path.lexists, squat)
    assert other.read_text() == "as it was"
