"""The rules that a client's run is held against: each finds its breach and lets the proper thing pass."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from canon_ops.sandbox.audit import RULES, RULES_IN_PEACE, breaches
from canon_ops.sandbox.journal import Journal
from canon_ops.sandbox.state import World
from tests.support.canon_calls import NOW_MS, a_world, call, say

NODE_ORDER = "a node is deleted after the answer and before the close"
SILENT_NODE = "a silence leaves no text on its node"


class Run:
    """A client's requests, decided and noted as the server would."""

    def __init__(self) -> None:
        self.world: World = a_world()
        self.journal = Journal(100)

    def do(self, method: str, path: str, body: dict[str, Any] | None = None, **headers: str) -> None:
        entry = self.journal.add(
            at_ms=NOW_MS, listener="api", method=method, path=path, query={}, headers=headers, body=body
        )
        entry.agent_id = "agent_sandbox"
        entry.status = call(self.world, method, path, body).status

    def send(self, text: str = "x", turn: str = "t1", **body: Any) -> None:
        metadata = {"turnSemantics": "turn_complete", "turnId": turn}
        self.do("POST", "/messages/send", {"conversationId": "conv_direct", "text": text, "metadata": metadata, **body})

    def node(self, turn: str = "t1", **body: Any) -> None:
        body = body or {"status": "streaming", "text": "so far", "turnId": turn}
        self.do("POST", "/streaming", {"conversationId": "conv_direct", **body})

    def turn(self, state: str, turn: str = "t1", *active: str) -> None:
        body = {"conversationId": "conv_direct", "state": state, "turnId": turn}
        self.do("POST", "/runtime/turn", {**body, "activeMessageIds": [*active]} if active else body)

    def blank(self, turn: str = "t1") -> None:
        self.node(status="thinking", text="", turnId=turn, blocks=[])

    def delete(self) -> None:
        self.node(streaming=False)

    def silence(self, message_id: str) -> None:
        frame = {
            "wire": "canon.verb-wire.v1",
            "verb": "no_reply",
            "envelope": {"conversationId": "conv_direct", "messageId": message_id},
            "body": {"encoding": "json", "value": {}},
        }
        self.do("POST", "/agent/verbs/no_reply", frame)

    def broken(self) -> list[str]:
        return [breach.rule for breach in breaches(self.world, list(self.journal), in_peace=True)]


def test_a_proper_turn_breaks_nothing() -> None:
    """Narrate, answer, delete, close; a file and a progress part beside it."""
    run = Run()
    question = say(run.world)
    run.turn("thinking")
    run.node()
    run.send(messageId="m0", metadata={"turnSemantics": "progress", "turnId": "t1"})
    run.send(messageId="m1", replyTo=question.message_id)
    run.node(streaming=False)
    run.turn("completed")

    assert run.broken() == []


def test_words_in_a_turn_lift_its_silence() -> None:
    """Whoever says something into a turn that chose silence may be answered."""
    run = Run()
    question = say(run.world)
    run.silence(question.message_id)
    say(run.world, "please do", metadata={"deliveryIntent": "interleave"})
    run.send(messageId="m1", replyTo=question.message_id)

    assert run.broken() == []


def _two_finals(run: Run) -> None:
    run.send(messageId="m1")
    run.send(messageId="m2")


def _two_answers(run: Run) -> None:
    run.send(turn="t1", replyTo="msg_000001")
    run.send(turn="t2", replyTo="msg_000001")


def _broken_silence(run: Run) -> None:
    run.silence("msg_000001")
    run.send(replyTo="msg_000001")


def _early_delete(run: Run) -> None:
    run.node()
    run.node(streaming=False)
    run.send()


def _leak(run: Run) -> None:
    run.do("GET", "/healthz/", None, authorization="Bearer …abcd")


def _two_authorities(run: Run) -> None:
    for text in ("one", "two"):
        question = say(run.world, text)
        authority = run.world.reply_authority(run.world.agents["agent_sandbox"], question)
        run.send(
            text,
            metadata={"turnSemantics": "progress", "turnId": "t1"},
            replyAuthority=authority,
            messageId=f"m-{text}",
        )


def _closed_too_early(run: Run) -> None:
    run.turn("thinking")
    run.turn("completed")
    run.send()


def _null(run: Run) -> None:
    run.send(replyTo=None)


def _unexpected(run: Run) -> None:
    entry = run.journal.add(at_ms=0, listener="stream", method="GET", path="/x", query={}, headers={}, body=None)
    entry.unexpected = True


def _closed_before_its_node(run: Run) -> None:
    run.turn("thinking")
    run.node()
    run.send()
    run.turn("completed")
    run.delete()


def _deleted_with_its_text(run: Run) -> None:
    run.turn("thinking", "t1", "msg_000001")
    run.node()
    run.silence("msg_000001")
    run.delete()
    run.turn("completed")


BREAKERS: dict[str, Callable[[Run], None]] = {
    "one final a turn": _two_finals,
    "one answer a message": _two_answers,
    "silence is silent": _broken_silence,
    "nothing salvaged after a normal turn": _early_delete,
    "the key never leaks": _leak,
    "an authority stays in its turn": _two_authorities,
    "order at the end of a turn": _closed_too_early,
    NODE_ORDER: _closed_before_its_node,
    SILENT_NODE: _deleted_with_its_text,
    "no null": _null,
    "nothing unexpected": _unexpected,
}


@pytest.mark.parametrize("rule", [*RULES, *RULES_IN_PEACE])
def test_each_rule_finds_its_breach(rule: str) -> None:
    """Exactly that rule speaks; what was salvaged had been deleted too early."""
    run = Run()

    BREAKERS[rule](run)

    assert run.broken() == [rule, *([NODE_ORDER] if rule == "nothing salvaged after a normal turn" else [])]


@pytest.mark.parametrize(
    ("moves", "told"),
    [
        pytest.param(["thinking", "write", "blank", "delete", "send", "completed"],
                     ["turn t1 was answered by request 5 after its node was deleted"], id="deleted before the answer"),
        pytest.param(["thinking", "write", "send", "completed", "delete"],
                     ["turn t1 was closed by request 4, its node deleted by 5"], id="closed before the deletion"),
        pytest.param(["thinking", "write", "send", "completed"],
                     ["turn t1 was closed by request 4, its node never deleted"], id="never deleted"),
        pytest.param(["thinking", "write", "delete", "write", "send", "completed", "delete"],
                     ["turn t1 was closed by request 6, its node deleted by 7"], id="written again"),
        pytest.param(["thinking", "write", "interrupted", "delete"],
                     ["turn t1 was closed by request 3, its node deleted by 4"], id="interrupted"),
        pytest.param(["thinking", "write", "send", "delete", "completed"], [], id="as it should be"),
        pytest.param(["thinking", "write", "blank", "delete", "thinking", "send", "completed"],
                     ["turn t1 was answered by request 6 after its node was deleted"], id="a sign of life between"),
        pytest.param(["thinking", "write", "blank", "delete", "interrupted", "opens", "send", "completed"], [],
                     id="run again after a crash"),
        pytest.param(["thinking", "send", "completed"], [], id="without a node"),
        pytest.param(["thinking", "write", "completed", "other writes", "delete"], [], id="another turn has taken it"),
    ],
)  # fmt: skip
def test_the_order_at_a_node(moves: list[str], told: list[str]) -> None:
    """Canon wire 11.9: send, delete, close; each way round of it is found and named with its requests."""
    run = Run()
    steps: dict[str, Callable[[], None]] = {
        "write": run.node,
        "blank": run.blank,
        "delete": run.delete,
        "send": run.send,
        "opens": lambda: run.turn("thinking", "t1", "msg_000001"),
        "other writes": lambda: run.node(status="streaming", text="mine", turnId="t2"),
    }

    for move in moves:
        steps.get(move, partial(run.turn, move))()

    assert [
        each.what for each in breaches(run.world, list(run.journal), in_peace=True) if each.rule == NODE_ORDER
    ] == told


def test_a_deletion_that_the_server_refused_was_made_in_its_place() -> None:
    """A client that tried in time, and again after the close, keeps the order."""
    run = Run()
    run.turn("thinking")
    run.node()
    run.send()
    run.delete()
    list(run.journal)[-1].status = 500
    run.turn("completed")
    run.delete()

    assert run.broken() == []


@pytest.mark.parametrize(
    ("moves", "is_broken"),
    [
        pytest.param(["write", "blank", "delete"], False, id="emptied first"),
        pytest.param(["write", "delete"], True, id="with its text"),
        pytest.param(["write", "blank", "write", "delete"], True, id="written again"),
        pytest.param(["delete"], False, id="never written"),
        pytest.param(["write", "send", "delete"], False, id="answered all the same"),
    ],
)
@pytest.mark.parametrize("reported", ["before", "after"])
def test_a_silent_turns_node_is_emptied_before_it_is_deleted(moves: list[str], is_broken: bool, reported: str) -> None:
    """Canon wire 11.9: a silence whose draft became a message would not be one, whenever it was reported."""
    run = Run()
    steps = {"write": run.node, "blank": run.blank, "delete": run.delete, "send": run.send}
    run.turn("thinking", "t1", "msg_000001")
    if reported == "before":
        run.silence("msg_000001")

    for move in moves:
        steps[move]()
    if reported == "after":
        run.silence("msg_000001")

    assert (SILENT_NODE in run.broken()) == is_broken


def test_repeated_attempts_are_no_breach() -> None:
    """The same message sent again after trouble is one message."""
    run = Run()
    run.send(messageId="m1", replyTo="msg_000001")
    run.send(messageId="m1", replyTo="msg_000001")

    assert run.broken() == []


def test_a_silence_leaves_other_answers_alone() -> None:
    """Only the silenced message stays unanswered."""
    run = Run()
    run.send(replyTo="msg_000001")
    run.silence("msg_000002")
    run.send(turn="t2", replyTo="msg_000003")

    assert run.broken() == []
