"""A BPP session without a socket: a test plays the server and the clock."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from typing import Any

from borgee_hermes.bpp.effects import Dial, Effect, Hangup, Settle
from borgee_hermes.bpp.limits import Limits
from borgee_hermes.bpp.session import Session

__all__ = ["IDENTITY", "Played", "inbound"]

IDENTITY = {"id": "agent-1", "display_name": "Aide", "role": "agent", "permissions": ["message.send:*"]}


def inbound(number: int = 1, **members: Any) -> dict[str, Any]:
    """An inbound message."""
    return {
        "type": "inbound_message",
        "channel_id": "ch-1",
        "channel_type": "channel",
        "kind": "message",
        "message_id": f"m-{number}",
        "author_id": "u-1",
        "author_name": "Ada",
        "body": f"text {number}",
        "created_at": 1_700_000_000_000 + number,
        **members,
    }


class Played:
    """A session, the time, and everything that it has ordered so far."""

    def __init__(self, *, agent_id: str = "", **limits: Any) -> None:
        self.now_s = 100.0
        self.limits = Limits(**limits)
        self.session = Session(
            plugin_id="hermes-borgee", agent_id=agent_id, limits=self.limits, rng=random.Random(7)
        )  # fmt: skip
        self.effects: list[Effect] = []
        self.sent: list[dict[str, Any]] = []

    # Moves --------------------------------------------------------------------------------------------------------

    def did(self, effects: Iterable[Effect]) -> list[Effect]:
        """Note what a step ordered, and give it back."""
        new = list(effects)
        self.effects += new
        return new

    def pass_time(self, seconds: float) -> list[Effect]:
        """Let time pass, waking the session whenever it wants to be."""
        end, new = self.now_s + seconds, []
        while (due := self.session.next_wake_s) is not None and due <= end:
            self.now_s = max(self.now_s, due)
            new += self.did(self.session.tick(self.now_s, round(self.now_s * 1000)))
        self.now_s = end
        return new

    def write(self, most: int = 1_000) -> list[dict[str, Any]]:
        """Be the writer: take frames as long as there are some."""
        written = []
        for _ in range(most):
            taken = self.session.take(self.session.generation)
            if taken is None:
                break
            key, data = taken
            written.append(json.loads(data))
            self.did(self.session.wrote(self.session.generation, key, self.now_s))
        self.sent += written
        return written

    def hear(self, frame: dict[str, Any] | bytes | str) -> list[Effect]:
        """Let a message of the server come in."""
        message = json.dumps(frame) if isinstance(frame, dict) else frame
        self.session.heard(self.session.generation, self.now_s)
        return self.did(self.session.received(self.session.generation, message, self.now_s))

    def result(self, nonce: str, value: Any = None, **members: Any) -> list[Effect]:
        """Answer an action."""
        payload = "" if value is None else json.dumps(value)
        frame = {"type": "semantic_action_result", "nonce": nonce, "status": "ok", "payload": payload, "error": ""}
        return self.hear({**frame, **members})

    # Whole scenes ---------------------------------------------------------------------------------------------------

    def open(self) -> Played:
        """The upgrade of the connection that was ordered last, and its opening."""
        self.did(self.session.opened(self.session.generation, self.now_s))
        for frame in self.write():
            if frame.get("action") == "get_me":
                self.result(frame["nonce"], IDENTITY)
        return self

    def online(self) -> Played:
        """The first connection, up to its end."""
        self.did(self.session.connect(self.now_s))
        return self.open()

    def lose(self, code: int | None = 1012) -> list[Effect]:
        """The server closes."""
        return self.did(self.session.closed(self.session.generation, code, self.now_s))

    def back(self) -> Played:
        """Wait until the next connection is dialled, and open it."""
        generation = self.session.generation
        while self.session.generation == generation:
            assert self.session.next_wake_s is not None
            self.pass_time(max(0.001, self.session.next_wake_s - self.now_s))
        return self.open()

    # Looking --------------------------------------------------------------------------------------------------------

    @property
    def status(self) -> str:
        return self.session.state.status.value

    def settled(self) -> dict[str, str]:
        """What became of the actions: ``ok``, or the code of the error, with ``!`` when it had no effect."""
        outcome = {}
        for effect in self.effects:
            if isinstance(effect, Settle):
                assert effect.nonce not in outcome, "settled twice"
                error = effect.error
                outcome[effect.nonce] = "ok" if error is None else error.code + ("!" if error.had_no_effect else "")
        return outcome

    def of(self, kind: type[Effect]) -> list[Any]:
        """The effects of one kind so far."""
        return [effect for effect in self.effects if isinstance(effect, kind)]

    @property
    def dials(self) -> int:
        return len(self.of(Dial))

    @property
    def hangups(self) -> list[int | None]:
        return [effect.code for effect in self.of(Hangup)]
