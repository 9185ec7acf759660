"""No order of events makes a Borgee client lie: about an action's outcome, about order, or about being alive."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from borgee_hermes.bpp import actions
from borgee_hermes.bpp.deliveries import Handed
from borgee_hermes.bpp.effects import Dial, Hangup
from borgee_hermes.bpp.errors import BppError, StaleDelivery
from borgee_hermes.bpp.state import Status
from tests.support.bpp_sessions import IDENTITY, Played, inbound

CODES = [1000, 1001, 1002, 1006, 1008, 1009, 1011, 1012, 4000, 4004, None]
GENTLE = [1000, 1012, None]


class Life(RuleBasedStateMachine):
    """A client whose server, network, user and clock do whatever they like.

    What has reached the writer counts as having had an effect; the world of this model remembers it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.played = Played(regular_frames=4, reserved_frames=3, pending_actions=6, waiting_events=4)
        self.given: list[str] = []
        self.withdrawn: set[str] = set()
        self.taken_back: set[str] = set()  # withdrawn before they were written
        self.written: Counter[str] = Counter()
        self.answered: set[str] = set()
        self.opened: set[int] = set()
        self.said = 0
        self.taken_in: list[str] = []
        self.handed: list[Handed] = []
        self.open: Handed | None = None

    def _live_connection(self) -> bool:
        return self.played.session.generation in self.opened and not self._is_over()

    def _is_over(self) -> bool:
        return self.played.session.state.is_final

    # The shell ------------------------------------------------------------------------------------------------------

    @initialize()
    def connect(self) -> None:
        self.played.did(self.played.session.connect(self.played.now_s))

    @rule(fate=st.sampled_from(["opened", "opened", "opened", "failed", "refused"]))
    def dialled(self, fate: str) -> None:
        session, now_s = self.played.session, self.played.now_s
        generation = session.generation
        if generation in self.opened or generation == 0:
            return
        if fate == "opened":
            self.opened.add(generation)
            self.played.did(session.opened(generation, now_s))
        elif fate == "failed" and generation > 1:
            self.played.did(session.dial_failed(generation, "refused", now_s))
        elif generation > 1:
            self.played.did(session.dial_refused(generation, 503, now_s))

    @rule(most=st.integers(1, 5))
    def write(self, most: int) -> None:
        for frame in self.played.write(most) if self._live_connection() else []:
            if frame["type"] == "semantic_action":
                self.written[frame["nonce"]] += 1

    @rule(seconds=st.floats(0.001, 40))
    def time_passes(self, seconds: float) -> None:
        self.played.pass_time(seconds)

    @rule()
    def late_reports_of_an_old_connection(self) -> None:
        session, now_s = self.played.session, self.played.now_s
        for generation in list(self.opened)[:-1]:
            if generation != session.generation:
                before = session.state
                assert session.closed(generation, 4004, now_s) == []
                assert session.received(generation, b"{", now_s) == []
                assert session.take(generation) is None
                assert session.state is before

    # The server -----------------------------------------------------------------------------------------------------

    @precondition(_live_connection)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        waiting = sorted(set(self.written) - self.answered)
        if not waiting:
            return
        nonce = data.draw(st.sampled_from(waiting))
        self.answered.add(nonce)
        value = IDENTITY if nonce not in self.given else {"message_id": "m"}
        self.played.result(nonce, value)

    @precondition(_live_connection)
    @rule()
    def speak(self) -> None:
        self.said += 1
        before = len(self.played.session.waiting)
        self.played.hear(inbound(self.said))
        if len(self.played.session.waiting) > before:
            self.taken_in.append(f"text {self.said}")

    @precondition(_live_connection)
    @rule(message=st.sampled_from([b"{", b"[]", b'{"type":"ping"}', b'{"type":"later"}', b'{"type":"request"}']))
    def speak_otherwise(self, message: bytes) -> None:
        self.played.hear(message)

    @precondition(_live_connection)
    @rule(code=st.sampled_from(GENTLE))
    def close(self, code: int | None) -> None:
        self.played.lose(code)

    @precondition(_live_connection)
    @rule(code=st.sampled_from(CODES))
    def close_in_any_way(self, code: int | None) -> None:
        self.played.lose(code)

    @precondition(_live_connection)
    @rule()
    def stall(self) -> None:
        session = self.played.session
        self.played.did(session.stalled(session.generation, self.played.now_s))

    # The user -------------------------------------------------------------------------------------------------------

    @rule()
    def act(self) -> None:
        try:
            nonce = self.played.session.act(actions.send_message("ch-1", "x"), self.played.now_s)
        except BppError as error:
            assert error.had_no_effect
            return
        self.given.append(nonce)

    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        waiting = [nonce for nonce in self.given if nonce not in self.played.settled()]
        if waiting:
            nonce = data.draw(st.sampled_from(waiting))
            self.withdrawn.add(nonce)
            if not self.written[nonce]:
                self.taken_back.add(nonce)
            self.played.session.withdraw(nonce)

    @rule()
    def take(self) -> None:
        handed = self.played.session.hand_over()
        if handed is not None:
            if self.open is not None:  # only one whose connection has ended may still be in somebody's hands
                with pytest.raises(StaleDelivery):
                    self.played.session.waiting.settle(self.open.number)
            self.handed.append(handed)
            self.open = handed

    @rule()
    def checkpoint(self) -> None:
        if self.open is not None:
            with suppress(StaleDelivery):
                self.played.session.waiting.settle(self.open.number)
            self.open = None

    @rule()
    def report(self) -> None:
        try:
            self.played.session.report(json.dumps({"type": "task_started"}).encode())
        except BppError as error:
            assert error.had_no_effect

    # What must hold -------------------------------------------------------------------------------------------------

    @invariant()
    def outcomes_are_true(self) -> None:
        """Settled once; no effect means never written; success means written."""
        for nonce, outcome in self.played.settled().items():
            if outcome.endswith("!") and "refused" not in outcome and "denied" not in outcome:
                assert self.written[nonce] == 0, outcome
            if outcome == "ok":
                assert self.written[nonce] == 1

    @invariant()
    def nothing_is_written_twice_or_after_it_was_taken_back(self) -> None:
        assert all(times <= 1 for times in self.written.values())
        assert not any(self.written[nonce] for nonce in self.taken_back)

    @invariant()
    def what_was_taken_in_is_handed_over_in_order(self) -> None:
        """Without a gap, whatever became of its connection."""
        bodies = [handed.event.body for handed in self.handed]
        assert bodies == self.taken_in[: len(bodies)]

    @invariant()
    def one_connection_at_a_time(self) -> None:
        """Each dial but the newest was hung up before the next one was ordered."""
        alive: set[int] = set()
        for effect in self.played.effects:
            if isinstance(effect, Dial):
                assert not alive
                alive.add(effect.generation)
            elif isinstance(effect, Hangup):
                assert effect.generation in alive
                alive.remove(effect.generation)
        assert not (alive and self._is_over())

    @invariant()
    def it_never_sleeps_for_ever(self) -> None:
        """Unless it is over, there is a moment at which it wants to be woken, and it is not in the past for long."""
        due_s = self.played.session.next_wake_s
        assert (due_s is None) == self._is_over() or self.played.session.state.status is Status.IDLE

    def teardown(self) -> None:
        """At the end everything that waits is settled or was withdrawn."""
        self.played.did(self.played.session.close())
        left = set(self.given) - set(self.played.settled()) - self.withdrawn
        assert not left


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
