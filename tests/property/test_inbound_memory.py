"""Dedupe and cursor under any order of events."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from canon_hermes_plugin.inbound.cursor import Cursor, Ticket
from canon_hermes_plugin.inbound.dedupe import Seen

IDS = st.integers(min_value=0, max_value=2_000).map(lambda number: f"m{number}")


@given(st.lists(IDS, max_size=3_000))
def test_the_memory_is_the_newest_ids(message_ids: list[str]) -> None:
    """Of all settled ids the last 1,024 distinct ones in order of first admission since forgotten are remembered."""
    seen, model = Seen(), dict[str, None]()
    for message_id in message_ids:
        is_new = seen.admit(message_id)
        assert is_new == (message_id not in model)
        if is_new:
            seen.settle(message_id)
            model[message_id] = None
            if len(model) > 1_024:  # R2.14
                del model[next(iter(model))]

    assert seen.settled == tuple(model)


class Stream(RuleBasedStateMachine):
    """A server with numbered events, breaks at any moment, and work that ends in any order, well or badly."""

    def __init__(self) -> None:
        super().__init__()
        self.cursor = Cursor()
        self.sent = 0  # the last event the server has put on the open stream
        self.working: dict[Ticket, int] = {}
        self.finished: set[int] = set()

    @rule(count=st.integers(min_value=1, max_value=4))
    def arrive(self, count: int) -> None:
        for _ in range(count):
            self.sent += 1
            admitted = self.cursor.admit(str(self.sent))
            if admitted.is_running:
                continue
            if self.sent in self.finished:  # dedupe would say so
                self.cursor.handled(admitted.ticket)
            else:
                self.working[admitted.ticket] = self.sent

    @precondition(lambda self: self.working)
    @rule(data=st.data(), well=st.booleans())
    def finish(self, data: st.DataObject, well: bool) -> None:
        ticket = data.draw(st.sampled_from(sorted(self.working)))
        number = self.working.pop(ticket)
        if well:
            self.finished.add(number)
            self.cursor.handled(ticket)
        else:
            self.cursor.failed(ticket)

    @rule()
    def break_off(self) -> None:
        self.cursor.rewind()
        self.sent = int(self.cursor.position or 0)

    @invariant()
    def never_passes_an_unfinished_event(self) -> None:
        position = int(self.cursor.position or 0)
        assert set(range(1, position + 1)) <= self.finished

    @invariant()
    def keeps_nothing_that_is_done(self) -> None:
        arrived, distinct, done = self.cursor.weight
        assert done <= distinct == arrived <= self.sent
        assert len(self.cursor.running) == len(self.working)
        assert all(ticket in self.cursor.running for ticket in self.working)

    def teardown(self) -> None:
        """Once all that was sent is finished, the position is the last event."""
        for _ in range(2):
            for ticket, number in list(self.working.items()):
                self.finished.add(number)
                self.cursor.handled(ticket)
                del self.working[ticket]
            last, self.sent = self.sent, int(self.cursor.position or 0)
            self.cursor.rewind()
            if last > self.sent:
                self.arrive(last - self.sent)
        assert int(self.cursor.position or 0) == self.sent


TestStream = Stream.TestCase


@dataclass
class PlainCursor:
    """The rule as one would say it, with lists that are gone through from end to end."""

    position: str | None = None
    arrived: list[str] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    running: set[str] = field(default_factory=set)

    def admit(self, ticket: str) -> bool:
        is_running = ticket in self.running
        self.arrived.append(ticket)
        self.running.add(ticket)
        return is_running

    def ended(self, ticket: str, *, well: bool) -> None:
        self.running.discard(ticket)
        if well and ticket in self.arrived:
            self.done.add(ticket)
        while self.arrived and self.arrived[0] in self.done:
            kind, _, event_id = self.arrived.pop(0).partition(":")
            self.position = event_id if kind == "id" else self.position
        self.done &= set(self.arrived)

    def rewind(self) -> None:
        self.arrived, self.done = [], set()


EVENTS = st.sampled_from(["e1", "e2", "e3", "e4", "", None])
STEPS = st.one_of(
    st.tuples(st.just("arrive"), EVENTS),
    st.tuples(st.just("arrive"), EVENTS),
    st.tuples(st.sampled_from(["well", "badly"]), st.integers(min_value=0, max_value=60)),
    st.tuples(st.just("break"), st.none()),
    st.tuples(st.just("jump"), EVENTS),
)


@given(st.lists(STEPS, max_size=60))
def test_the_cursor_keeps_the_plain_rule(steps: list[tuple[str, str | int | None]]) -> None:
    """Events that come twice, have no id, end twice, late or never: in each step it is where the plain rule is."""
    cursor, plain, tickets = Cursor(), PlainCursor(), ["id:never"]
    for step, what in steps:
        if step == "arrive":
            assert not isinstance(what, int)
            admitted = cursor.admit(what)
            assert admitted.is_running == plain.admit(admitted.ticket)
            assert what or admitted.ticket not in tickets
            tickets.append(admitted.ticket)
        elif step in ("well", "badly"):
            assert isinstance(what, int)
            ticket = tickets[what % len(tickets)]
            (cursor.handled if step == "well" else cursor.failed)(ticket)
            plain.ended(ticket, well=step == "well")
        else:
            assert not isinstance(what, int)
            cursor.rewind() if step == "break" else cursor.jump(what)
            plain.rewind()
            plain.position = plain.position if step == "break" else what or None

        assert cursor.position == plain.position
        assert cursor.running == plain.running
        assert cursor.weight == (len(plain.arrived), len(set(plain.arrived)), len(plain.done))
