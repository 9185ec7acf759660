"""A signal that has been taken off Canon is acted on in every session that it means: nobody else will see it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from canon_hermes_plugin.inbound.gate import Request
from canon_hermes_plugin.inbound.signals import Signals
from canon_ops.runtime.clock import ManualClock
from canon_ops.wire.requests import Signal, SignalKind
from tests.unit.canon_hermes_plugin.inbound.test_controls import running


class Host:
    """What is done, in order; a session in ``refuses`` does not take its command."""

    def __init__(self, *refuses: str) -> None:
        self.done: list[str] = []
        self.raw: list[Any] = []
        self._refuses = refuses

    async def hand_over(self, request: Request) -> None:
        session = session_of(request)
        self.raw.append(request.raw)
        self.done.append(f"{request.text} {session}")
        if session in self._refuses:
            raise RuntimeError(f"{session} does not take it")


def session_of(request: Request) -> str:
    return f"s-{request.user_id}"


def signals(host: Host, kind: SignalKind) -> Signals:
    async def consume(_conversation_id: str) -> Signal | None:
        return Signal(kind, "owner-1")

    desk = SimpleNamespace(
        turns=running(("s-ben", "ben"), ("s-eve", "eve")), interrupted=lambda _room: host.done.append("interrupted")
    )
    return Signals(
        consume,
        desk,  # type: ignore[arg-type]  # these two are all that a signal asks of it
        hand_over=host.hand_over,
        waiting_in=lambda _room: [],
        session_of=session_of,
        drop_queue=lambda session: host.done.append(f"drop {session}"),
        drop_arriving=lambda _room: host.done.append("drop what arrives"),
        is_group=lambda _room: True,
        agent_id="agent-1",
        clock=ManualClock(),
    )


async def test_a_cleared_queue_is_cleared_again_behind_the_stop() -> None:
    """R5.31: what comes while the host is stopping is dropped as well, in each session."""
    host = Host()

    await signals(host, SignalKind.STOP_AND_DROP).consume("c1")

    assert host.done == [
        "interrupted", "drop what arrives",
        "drop s-ben", "/stop s-ben", "drop s-ben",
        "drop s-eve", "/stop s-eve", "drop s-eve",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "command"), [(SignalKind.INTERRUPT, "/stop"), (SignalKind.NEW_SESSION, "/new")], ids=str
)
async def test_any_other_signal_drops_nothing(kind: SignalKind, command: str) -> None:
    """R5.30, R5.31: only who asks for a cleared queue gets one; the host's event says which signal it was."""
    host = Host()

    await signals(host, kind).consume("c1")

    assert host.done == ["interrupted", f"{command} s-ben", f"{command} s-eve"]
    assert host.raw == [{"canonSignal": kind.value}] * 2


@pytest.mark.parametrize("refuses", [("s-ben",), ("s-eve",), ("s-ben", "s-eve")], ids=str)
async def test_a_session_that_does_not_take_it_hides_it_from_no_other(refuses: tuple[str, ...]) -> None:
    """R5.32, D10: the signal is consumed; each session gets its command and loses its queue, and the error is told."""
    host = Host(*refuses)

    with pytest.raises(RuntimeError, match=refuses[0]):
        await signals(host, SignalKind.STOP_AND_DROP).consume("c1")

    assert host.done[2:] == [
        "drop s-ben", "/stop s-ben", "drop s-ben",
        "drop s-eve", "/stop s-eve", "drop s-eve",
    ]  # fmt: skip
