"""The rules that a client's run is held against: each finds its breach and lets the proper thing pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from canon_ops.sandbox.audit import RULES, breaches
from canon_ops.sandbox.journal import Journal
from canon_ops.sandbox.state import World
from tests.support.canon_calls import NOW_MS, a_world, call, say


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

    def turn(self, state: str, turn: str = "t1") -> None:
        self.do("POST", "/runtime/turn", {"conversationId": "conv_direct", "state": state, "turnId": turn})

    def silence(self, message_id: str) -> None:
        frame = {
            "wire": "canon.verb-wire.v1",
            "verb": "no_reply",
            "envelope": {"conversationId": "conv_direct", "messageId": message_id},
            "body": {"encoding": "json", "value": {}},
        }
        self.do("POST", "/agent/verbs/no_reply", frame)

    def broken(self) -> list[str]:
        return [breach.rule for breach in breaches(self.world, list(self.journal))]


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


BREAKERS: dict[str, Callable[[Run], None]] = {
    "one final a turn": _two_finals,
    "one answer a message": _two_answers,
    "silence is silent": _broken_silence,
    "nothing salvaged after a normal turn": _early_delete,
    "the key never leaks": _leak,
    "an authority stays in its turn": _two_authorities,
    "order at the end of a turn": _closed_too_early,
    "no null": _null,
    "nothing unexpected": _unexpected,
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_finds_its_breach(rule: str) -> None:
    """Exactly that rule speaks."""
    run = Run()

    BREAKERS[rule](run)

    assert run.broken() == [rule]


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
