"""Effects on their way to Canon: order, limits, timers, and what a failure costs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from canon_hermes_plugin.lanes import Job
from canon_hermes_plugin.outbound import effects
from canon_hermes_plugin.outbound.effects import BEATS_WAITING, Outbound
from canon_hermes_plugin.turn.effects import (
    ClearNode,
    DeliverFinal,
    Effect,
    Evidence,
    Final,
    PublishState,
    RetireNode,
    TurnClosed,
    WakeAt,
    Warn,
    WritePreview,
)
from canon_hermes_plugin.turn.events import Due, Outcome, PreviewEnded, TurnEvent
from canon_ops.client.errors import ServiceTrouble
from canon_ops.runtime.clock import ManualClock
from canon_ops.wire.ids import ConversationId, TurnId
from canon_ops.wire.requests import StreamingWrite, TurnPhase, TurnState

TURN, ROOM = TurnId("hermes-turn-1"), ConversationId("c1")


class Canon:
    """Remembers every write in order; a closed gate holds writes up, ``fails`` makes them fail."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.fails = False

    async def write_streaming(self, write: StreamingWrite) -> None:
        await self._take("write", write.body())

    async def clear_streaming(self, conversation_id: str) -> None:
        await self._take("clear", conversation_id)

    async def publish_turn(self, state: TurnState) -> None:
        await self._take("state", state.body())

    async def _take(self, kind: str, body: Any) -> None:
        await self.gate.wait()
        self.calls.append((kind, body))
        if self.fails:
            raise ServiceTrouble(500, None, "no")

    @property
    def kinds(self) -> list[str]:
        return [body["state"] if kind == "state" else kind for kind, body in self.calls]


class Desk:
    """The other end: takes reports, finals and closings, and steers typing."""

    def __init__(self, canon: Canon) -> None:
        self.clock = ManualClock()
        self.reports: list[tuple[TurnId, TurnEvent]] = []
        self.finals: list[str] = []
        self.closed: list[TurnId] = []
        self.typing: list[str] = []
        self.final_gate = asyncio.Event()
        self.depth = 2
        self.steers = False
        self.outbound = Outbound(
            canon,
            self.clock,
            report=lambda turn, event: self.reports.append((turn, event)),
            deliver=self._deliver,
            closed=lambda effect: self.closed.append(effect.turn_id),
            typing=self,
            queue_depth=lambda _turn: self.depth,
            can_steer=lambda: self.steers,
        )

    async def _deliver(self, final: Final, in_lane: Callable[[Job], None]) -> None:
        async def bring() -> None:
            await self.final_gate.wait()
            self.finals.append(final.text)

        in_lane(bring)

    def pause_typing(self, conversation_id: str) -> None:
        self.typing.append("pause")

    def resume_typing(self, conversation_id: str) -> None:
        self.typing.append("resume")


def state(phase: TurnPhase, room: ConversationId = ROOM) -> PublishState:
    return PublishState(TURN, room, phase, 1_000)


async def test_effects_of_a_conversation_keep_their_order() -> None:
    """D39: states and node writes leave in the order in which they were said."""
    canon = Canon()
    desk = Desk(canon)
    said: list[Effect] = [
        state(TurnPhase.THINKING),
        RetireNode(TURN, ROOM),
        WritePreview(TURN, ROOM, "text", None),
        state(TurnPhase.STREAMING),
        ClearNode(TURN, ROOM),
        state(TurnPhase.COMPLETED),
    ]

    desk.outbound.carry(said)
    await desk.outbound.drain()

    assert canon.kinds == ["thinking", "write", "write", "streaming", "clear", "completed"]


async def test_a_state_tells_queue_and_times() -> None:
    """R6.2: depth, opening and time of the update are on every state."""
    canon = Canon()
    desk = Desk(canon)

    desk.outbound.carry([state(TurnPhase.THINKING)])
    await desk.outbound.drain()

    ((_, body),) = canon.calls
    assert (body["queueDepth"], body["openedAt"], body["turnUpdatedAt"]) == (2, 1_000, desk.clock.now_ms())


async def test_a_state_tells_whether_words_can_go_into_the_turn() -> None:
    """S5.19, R5.33: as the host is when the state is sent, and in each state anew."""
    canon = Canon()
    desk = Desk(canon)

    for desk.steers in (True, False, True):
        desk.outbound.carry([state(TurnPhase.THINKING)])
        await desk.outbound.drain()

    assert [body["capabilities"]["supportsInterleave"] for _, body in canon.calls] == [True, False, True]


async def test_what_was_told_of_the_queue_is_what_canon_was_told() -> None:
    """D39: a number that changes while its state waits for a slow server is seen as a change afterwards."""
    canon = Canon()
    canon.gate.clear()
    desk = Desk(canon)

    desk.outbound.carry([state(TurnPhase.THINKING)])
    await asyncio.sleep(0)
    desk.outbound.carry([state(TurnPhase.STREAMING)])
    desk.depth = 3
    canon.gate.set()
    await desk.outbound.drain()

    told = canon.calls[-1][1]["queueDepth"]
    assert (told, desk.outbound.told_depth(TURN)) == (2, 2)


async def test_a_final_does_not_hold_up_states() -> None:
    """A message that needs several attempts waits in a lane of its own."""
    canon = Canon()
    desk = Desk(canon)

    desk.outbound.carry([DeliverFinal(Final(TURN, ROOM, "answer")), state(TurnPhase.THINKING)])
    for _ in range(10):
        await asyncio.sleep(0)

    assert (canon.kinds, desk.finals) == (["thinking"], [])
    desk.final_gate.set()
    await desk.outbound.drain()
    assert desk.finals == ["answer"]


@pytest.mark.parametrize("fails", [False, True])
async def test_a_preview_reports_its_end(fails: bool) -> None:
    """The turn hears whether the node was written; nobody else does."""
    canon = Canon()
    canon.fails = fails
    desk = Desk(canon)

    desk.outbound.carry([WritePreview(TURN, ROOM, "text", ())])
    await desk.outbound.drain()

    assert desk.reports == [(TURN, PreviewEnded(not fails))]


async def test_a_failing_write_stops_nothing() -> None:
    """R6.2: a state that Canon does not take is logged, and the next one is said."""
    canon = Canon()
    canon.fails = True
    desk = Desk(canon)

    desk.outbound.carry([state(TurnPhase.THINKING), state(TurnPhase.STREAMING), state(TurnPhase.TOOL)])
    await desk.outbound.drain()

    assert canon.kinds == ["thinking", "streaming", "tool"]


async def test_what_is_said_last_is_said_until_it_is_heard() -> None:
    """Nothing repairs a lost end: the node's deletion and the closing state are repeated for some seconds, in order."""
    canon = Canon()
    canon.fails = True
    desk = Desk(canon)

    desk.outbound.carry([ClearNode(TURN, ROOM), state(TurnPhase.COMPLETED)])
    await desk.clock.advance(1)
    canon.fails = False
    await desk.clock.advance(5)

    assert canon.kinds == ["clear", "clear", "clear", "clear", "completed"]


async def test_an_end_that_is_never_heard_is_given_up() -> None:
    """Four pauses, and the lane goes on with the next turn."""
    canon = Canon()
    canon.fails = True
    desk = Desk(canon)

    desk.outbound.carry([state(TurnPhase.INTERRUPTED)])
    await desk.clock.advance(20)

    assert canon.kinds == ["interrupted"] * 5


async def test_an_overtaken_end_is_let_go() -> None:
    """Once the next turn has something to say, a closing state of the one before would only mislead."""
    canon = Canon()
    canon.fails = True
    desk = Desk(canon)

    desk.outbound.carry([state(TurnPhase.COMPLETED), state(TurnPhase.THINKING)])
    await desk.outbound.drain()

    assert canon.kinds == ["completed", "thinking"]


async def test_beats_do_not_pile_up_behind_a_slow_server() -> None:
    """D38: while Canon hangs, further beats say nothing new and are left out; the state that closes never is."""
    canon = Canon()
    canon.gate.clear()
    desk = Desk(canon)

    desk.outbound.carry([state(TurnPhase.STREAMING)] * 1_000)
    desk.outbound.carry([state(TurnPhase.COMPLETED)])
    canon.gate.set()
    await desk.outbound.drain()

    assert canon.kinds == ["streaming"] * BEATS_WAITING + ["completed"]


async def test_the_messages_of_a_turn_are_told_however_slow_the_server_is() -> None:
    """R6.2: a state that names the messages it is for is no mere beat; none is left out."""
    canon = Canon()
    canon.gate.clear()
    desk = Desk(canon)

    desk.outbound.carry([state(TurnPhase.STREAMING)] * 100)
    desk.outbound.carry([PublishState(TURN, ROOM, TurnPhase.THINKING, 1_000, ("m1",))])
    canon.gate.set()
    await desk.outbound.drain()

    assert canon.calls[-1][1]["activeMessageIds"] == ["m1"]


async def test_a_preview_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """R6.17, D57: a final message waits for the last preview, so that has a limit of seconds."""
    assert effects.WRITE_LIMIT_S <= 5
    monkeypatch.setattr(effects, "WRITE_LIMIT_S", 0.01)
    canon = Canon()
    canon.gate.clear()
    desk = Desk(canon)

    desk.outbound.carry([WritePreview(TURN, ROOM, "draft", None)])
    await asyncio.wait_for(desk.outbound.drain(), 5)

    assert desk.reports == [(TURN, PreviewEnded(False))]


async def test_a_final_message_is_on_the_disk_while_canon_hangs() -> None:
    """X1: it is taken over at once, however many states wait in front of it."""
    canon = Canon()
    canon.gate.clear()
    desk = Desk(canon)
    desk.final_gate.set()

    desk.outbound.carry([state(TurnPhase.STREAMING), DeliverFinal(Final(TURN, ROOM, "answer"))])
    for _ in range(10):
        await asyncio.sleep(0)
    taken = list(desk.finals)
    canon.gate.set()
    await desk.outbound.drain()

    assert taken == ["answer"]


async def test_a_slow_conversation_holds_up_no_other() -> None:
    """Each conversation has its own lane."""
    canon = Canon()
    canon.gate.clear()
    desk = Desk(canon)
    other = ConversationId("c2")
    desk.outbound.carry([state(TurnPhase.THINKING)])
    await asyncio.sleep(0)
    canon.gate.set()

    desk.outbound.carry([state(TurnPhase.STREAMING, other)])
    await desk.outbound.drain()

    assert sorted(canon.kinds) == ["streaming", "thinking"]


async def test_typing_rests_while_a_person_is_asked() -> None:
    """S6.39: only waiting_input pauses the host's refresh; every other state resumes it."""
    desk = Desk(Canon())

    desk.outbound.carry([state(TurnPhase.THINKING), state(TurnPhase.WAITING_INPUT), state(TurnPhase.TOOL)])
    await desk.outbound.drain()

    assert desk.typing == ["resume", "pause", "resume"]


async def test_a_timer_comes_in_its_time() -> None:
    """WakeAt sends Due to its turn, not before."""
    desk = Desk(Canon())
    desk.outbound.carry([WakeAt(TURN, desk.clock.now_ms() + 750)])

    await desk.clock.advance(0.7)
    early = list(desk.reports)
    await desk.clock.advance(0.1)

    assert (early, desk.reports) == ([], [(TURN, Due())])


async def test_a_closed_turn_needs_no_timer() -> None:
    """TurnClosed ends the turn's timers and is told on; draining does not wait for them."""
    desk = Desk(Canon())
    closed = TurnClosed(TURN, ROOM, Outcome.SUCCESS, Evidence.FINAL)

    desk.outbound.carry([WakeAt(TURN, desk.clock.now_ms() + 60_000), closed])
    await asyncio.wait_for(desk.outbound.drain(), 1)

    assert (desk.closed, desk.reports) == ([TURN], [])


async def test_a_warning_reaches_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """What an operator should see is in the log with its code."""
    desk = Desk(Canon())

    desk.outbound.carry([Warn(TURN, "answer_not_finalised", "The run ended well, but its text was never finished.")])

    assert "answer_not_finalised" in caplog.text


async def test_stopping_leaves_no_task() -> None:
    """Whatever waits or runs is gone afterwards."""
    canon = Canon()
    canon.gate.clear()
    desk = Desk(canon)
    before = asyncio.all_tasks()
    desk.outbound.carry([state(TurnPhase.THINKING), WakeAt(TURN, desk.clock.now_ms() + 1_000)])
    desk.outbound.carry([DeliverFinal(Final(TURN, ROOM, "answer"))])
    await asyncio.sleep(0)

    await desk.outbound.stop()

    assert asyncio.all_tasks() == before
