"""Dedupe and cursor under any order of events."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from canon_hermes_plugin import cursor as cursors
from canon_hermes_plugin.cursor import Cursor, Ticket
from canon_hermes_plugin.dedupe import Seen

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
            admitted = cursors.admit(self.cursor, str(self.sent))
            self.cursor = admitted.cursor
            if admitted.is_running:
                continue
            if self.sent in self.finished:  # dedupe would say so
                self.cursor = cursors.handled(self.cursor, admitted.ticket)
            else:
                self.working[admitted.ticket] = self.sent

    @precondition(lambda self: self.working)
    @rule(data=st.data(), well=st.booleans())
    def finish(self, data: st.DataObject, well: bool) -> None:
        ticket = data.draw(st.sampled_from(sorted(self.working)))
        number = self.working.pop(ticket)
        if well:
            self.finished.add(number)
            self.cursor = cursors.handled(self.cursor, ticket)
        else:
            self.cursor = cursors.failed(self.cursor, ticket)

    @rule()
    def break_off(self) -> None:
        self.cursor = cursors.rewind(self.cursor)
        self.sent = int(self.cursor.position or 0)

    @invariant()
    def never_passes_an_unfinished_event(self) -> None:
        position = int(self.cursor.position or 0)
        assert set(range(1, position + 1)) <= self.finished

    @invariant()
    def keeps_nothing_that_is_done(self) -> None:
        assert len(self.cursor.arrived) <= self.sent
        assert self.cursor.done <= set(self.cursor.arrived)
        assert self.cursor.running == set(self.working)

    def teardown(self) -> None:
        """Once all that was sent is finished, the position is the last event."""
        for _ in range(2):
            for ticket, number in list(self.working.items()):
                self.finished.add(number)
                self.cursor = cursors.handled(self.cursor, ticket)
                del self.working[ticket]
            last, self.sent = self.sent, int(self.cursor.position or 0)
            self.cursor = cursors.rewind(self.cursor)
            if last > self.sent:
                self.arrive(last - self.sent)
        assert int(self.cursor.position or 0) == self.sent


TestStream = Stream.TestCase
