"""What the live preview of a long answer costs: 59 kB that the host edits for a minute, over 20 ms of latency.

Run ``python -m tests.benchmarks.bench_canon_preview``. The turn's core and the shell that carries its effects out run
on a clock that is moved by hand, so the minute takes a moment and the numbers are the same everywhere. The peer is a
plugin that writes each of the host's edits.

Promises: the writes post at most thirty times the answer, never two at once, and the last text stands on the node
before the final message is sent. The exit status is 1 when one is broken.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from dataclasses import dataclass, field
from typing import Any

from canon_hermes_plugin.desk import TurnDesk
from canon_hermes_plugin.outbound.effects import Outbound
from canon_hermes_plugin.ports import Arrival
from canon_hermes_plugin.turn.effects import Final
from canon_hermes_plugin.turn.events import FinalSettled
from canon_ops.runtime.clock import ManualClock
from canon_ops.wire.requests import StreamingWrite, TurnState

ANSWER = "An answer with some words in it, שלום and 🙂. " * 1_135
MINUTE_MS, LATENCY_MS = 60_000, 20
EDITS_A_SECOND = (5, 10, 20)
MOST_TIMES = 30.0


@dataclass
class Canon:
    """A server with a latency, which counts."""

    clock: ManualClock
    posted: int = 0
    writes: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    states: int = 0
    text: str = ""
    text_at_final: str | None = None
    waiting: list[float] = field(default_factory=list)

    async def write_streaming(self, write: StreamingWrite) -> None:
        body = write.body()
        self.posted += len(json.dumps(body, ensure_ascii=False).encode())
        self.writes += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await self.clock.sleep(LATENCY_MS / 1_000)
        self.text = body.get("text", self.text)
        self.in_flight -= 1

    async def clear_streaming(self, conversation_id: str) -> None:
        await self.clock.sleep(LATENCY_MS / 1_000)

    async def publish_turn(self, state: TurnState) -> None:
        self.states += 1
        await self.clock.sleep(LATENCY_MS / 1_000)


class Still:
    """A host whose dots nobody looks at."""

    def pause_typing(self, conversation_id: str) -> None: ...
    def resume_typing(self, conversation_id: str) -> None: ...


async def play(edits_a_second: int) -> tuple[Canon, int]:
    """One answer from its first word to its final message; also what writing each edit would have posted."""
    clock = ManualClock()
    canon = Canon(clock)

    async def deliver(final: Final, _in_lane: Any) -> None:
        canon.text_at_final = canon.text
        assert final.text == ANSWER  # what is measured is the real answer
        desk.apply(final.turn_id, FinalSettled())

    async def attempt(_final: Final) -> Any:
        raise AssertionError("nothing is sent outside of the turn")

    desk = TurnDesk(
        clock,
        carry=lambda effects: outbound.carry(effects),
        attempt=attempt,
        post=attempt,
        is_quiet=lambda _room: False,
        draft_text=lambda text: text,
    )
    outbound = Outbound(
        canon,
        clock,
        report=desk.apply,
        deliver=deliver,
        closed=desk.closed,
        typing=Still(),
        queue_depth=lambda _turn: 0,
        can_steer=lambda: False,
    )
    desk.start(Arrival("c1", "m1"), "s1")
    draft = await desk.send("c1", "", reply_to=None, metadata={"expect_edits": True})
    assert draft.message_id is not None  # the host would stop editing
    eager, step_ms = 0, 1_000 // edits_a_second
    for elapsed_ms in range(step_ms, MINUTE_MS + 1, step_ms):
        await clock.advance(step_ms / 1_000)
        text = ANSWER[: len(ANSWER) * elapsed_ms // MINUTE_MS]
        eager += len(json.dumps({"text": text}, ensure_ascii=False).encode())
        await desk.edit("c1", draft.message_id, text, finalize=elapsed_ms == MINUTE_MS, metadata=None)
    completing = asyncio.ensure_future(desk.complete("s1", "success"))
    await clock.advance(2)
    await completing
    await outbound.stop()
    return canon, eager


def main() -> int:
    """Print a line for each pace of the host; 1 when a promise is broken."""
    size = len(ANSWER.encode())
    digest = hashlib.sha256(ANSWER.encode()).hexdigest()[:12]
    print(f"answer of {size:,} bytes ({digest}), {MINUTE_MS // 1_000} s, {LATENCY_MS} ms a write")
    broken = False
    for pace in EDITS_A_SECOND:
        canon, eager = asyncio.run(play(pace))
        times, peer = canon.posted / size, eager / size
        is_last = canon.text_at_final == ANSWER
        broken |= times > MOST_TIMES or canon.most_in_flight > 1 or not is_last
        print(
            f"{pace:3} edits a second: {times:5.1f}x its bytes in {canon.writes} writes (each edit: {peer:6.1f}x), "
            f"{canon.most_in_flight} in flight, last text before the final: {'yes' if is_last else 'NO'}"
        )
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
