"""Schedules of faults: which meetings fire, and what the two counters say."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.sandbox.fault_actions import Answer, Reshape
from canon_ops.sandbox.fault_kinds import KINDS
from canon_ops.sandbox.faults import FaultBook, Meeting, UnknownFault, parse_fault
from canon_ops.sandbox.frames import RESHAPINGS


def send(occasion: str = "m1", **body: Any) -> Meeting:
    return Meeting(point="request", occasion=occasion, method="POST", path="/messages/send", listener="api", body=body)


@pytest.mark.parametrize(
    ("settings", "occasions", "fires"),
    [
        pytest.param({}, "abc", "1..", id="once by default"),
        pytest.param({"times": 2}, "abc", "11.", id="times"),
        pytest.param({"times": None}, "aabb", "1.1.", id="one a message without end"),
        pytest.param({"times": None, "burst": 2}, "aaabbb", "11.11.", id="two attempts of each message"),
        pytest.param({"times": None, "burst": 2}, "ababab", "1111..", id="attempts may interleave"),
        pytest.param({"times": None, "skip": 1}, "aabc", "..11", id="skip counts messages"),
        pytest.param({"times": None, "every": 2}, "abcd", "1.1.", id="every second message"),
        pytest.param({"times": None, "every": 2, "skip": 1}, "abcd", ".1.1", id="every second after the first"),
        pytest.param({"times": 3, "burst": None}, "aaaa", "111.", id="all attempts, three at most"),
    ],
)
def test_schedules(settings: dict[str, Any], occasions: str, fires: str) -> None:
    """A schedule counts occasions; its limits are on firings."""
    book = FaultBook()
    fault = book.arm("send-503", **settings)

    fired = "".join("1" if book.meet(send(occasion)) else "." for occasion in occasions)

    assert fired == fires
    assert (fault.met, fault.fired) == (len(occasions), fires.count("1"))


def test_a_fault_meets_only_what_it_matches() -> None:
    """Another path, another listener, another body: not met, not counted."""
    book = FaultBook()
    fault = book.arm("send-503", listener="api", conversationId="c1", **{"metadata.turnId": "t1"})

    book.meet(Meeting(point="request", occasion="x", method="POST", path="/typing", listener="api"))
    book.meet(send("x", conversationId="c2", metadata={"turnId": "t1"}))
    book.meet(send("x", conversationId="c1", metadata={"turnId": "t2"}))
    book.meet(send("x", conversationId="c1", metadata="nothing"))
    assert (fault.met, fault.fired) == (0, 0)

    assert book.meet(send("x", conversationId="c1", metadata={"turnId": "t1"})) is fault


def test_the_first_that_fires_wins_and_the_others_have_met_it() -> None:
    """One request is spoiled by one fault; the second waits for its own."""
    book = FaultBook()
    first, second = book.arm("send-429"), book.arm("send-503")

    spoilers = [book.meet(send()), book.meet(send()), book.meet(send())]

    assert spoilers == [first, second, None]
    assert [(fault.met, fault.fired) for fault in (first, second)] == [(3, 1), (3, 1)]


def test_all_faults_together_leave_a_message_its_last_attempt() -> None:
    """With a limit of two, a client that tries three times always gets through."""
    book = FaultBook(limit_per_occasion=2)
    for name in ("send-429", "send-503", "send-500-after-commit"):
        book.arm(name, times=None, burst=None)

    fired = [book.meet(send(occasion)) is not None for occasion in "aaaabbbb"]

    assert fired == [True, True, False, False] * 2


def test_a_disarmed_fault_keeps_its_counters() -> None:
    """Off duty it meets nothing more, and the report still tells what it did."""
    book = FaultBook()
    book.arm("send-503")
    book.meet(send())

    book.disarm()

    assert book.meet(send("m2")) is None
    assert book.report() == [{"number": 1, "name": "send-503", "met": 1, "fired": 1}]


def test_the_action_can_be_adjusted() -> None:
    """Status and path of the general fault are settings."""
    book = FaultBook()
    fault = book.arm("answer", method="POST", path="/typing", status=418)

    assert isinstance(fault.kind.action, Answer)
    assert (fault.kind.action.status, fault.kind.path) == (418, "/typing")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("send-429", ("send-429", {})),
        ("send-429:every=5,burst=2", ("send-429", {"every": 5, "burst": 2})),
        ("delay:seconds=0.5,path=/typing,times=none", ("delay", {"seconds": 0.5, "path": "/typing", "times": None})),
    ],
)
def test_a_fault_is_read_from_one_word(text: str, read: tuple[str, dict[str, Any]]) -> None:
    """The form that the command line takes."""
    assert parse_fault(text) == read


@pytest.mark.parametrize("text", ["sned-429", "send-429:every", ""])
def test_what_cannot_be_read_names_what_can(text: str) -> None:
    """An unknown name lists the known ones; a setting needs a value."""
    with pytest.raises(UnknownFault, match="send-429"):
        parse_fault(text or "nothing")


@pytest.mark.parametrize(("name", "settings"), [("sned-429", {}), ("send-429", {"every": 0})])
def test_arming_refuses_nonsense(name: str, settings: dict[str, Any]) -> None:
    """A fault that could never fire is an error at once."""
    with pytest.raises(UnknownFault):
        FaultBook().arm(name, **settings)


def test_every_row_says_what_it_does() -> None:
    """Names are in the wire's words, sentences exist, and each way to write an event is known."""
    assert len(KINDS) > 80
    for name, kind in KINDS.items():
        assert name == kind.name
        assert name.replace("-", "").isalnum()
        assert kind.says
        if isinstance(kind.action, Reshape) and kind.action.how != "swap":
            assert kind.action.how in RESHAPINGS
