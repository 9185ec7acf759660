"""A signal as commands: which sessions get one, and under whose name."""

from __future__ import annotations

from canon_hermes_plugin.inbound.controls import control_requests
from canon_hermes_plugin.inbound.gate import Request
from canon_hermes_plugin.turn import registry
from canon_hermes_plugin.turn.events import Opening
from canon_hermes_plugin.turn.registry import Turns
from canon_ops.wire.ids import ConversationId, SessionKey, TurnId
from canon_ops.wire.requests import Signal, SignalKind

ROOM = ConversationId("c1")
DROP = Signal(SignalKind.STOP_AND_DROP, "owner-1")


def running(*whose: tuple[str, str | None], room: ConversationId = ROOM) -> Turns:
    """Open turns: (session, responder)."""
    turns = Turns()
    for number, (session, responder) in enumerate(whose):
        opening = Opening(TurnId(f"t{number}"), room, True, SessionKey(session), responder_id=responder)
        turns = registry.open_turn(turns, opening, now_ms=1).turns
    return turns


def requests(
    turns: Turns, *waiting: tuple[str, str | None], signal: Signal = DROP, agent_id: str | None = "agent-1"
) -> tuple[Request, ...]:
    return control_requests(signal, ROOM, turns, waiting=waiting, is_group=True, agent_id=agent_id, now_ms=7)


def test_each_busy_session_gets_the_command_once() -> None:
    """S5.36, D10: what runs and what only waits, each under its own member's name; another room is not meant."""
    turns = running(("s-ben", "ben"), ("s-agent", None))

    made = requests(turns, ("s-ben", "eve"), ("s-eve", "eve"))

    assert [request.user_id for request in made] == ["ben", None, "eve"]
    assert {request.text for request in made} == {"/stop"}
    assert len({request.message_id for request in made}) == 3


def test_a_session_that_members_share_gets_it_once() -> None:
    """D10: one session, one command, whoever waits in it."""
    made = requests(running(("s-all", "ben")), ("s-all", "eve"))

    assert [request.user_id for request in made] == ["ben"]


def test_where_nothing_is_busy_the_person_is_meant() -> None:
    """R5.30: who pressed the button; else the agent, else nobody by name."""
    elsewhere = running(("s-ben", "ben"), room=ConversationId("c2"))
    unsigned = Signal(SignalKind.NEW_SESSION, None)

    made = [
        requests(elsewhere),
        requests(Turns(), signal=unsigned),
        requests(Turns(), signal=unsigned, agent_id=None),
    ]

    assert [(one.user_id, one.text) for (one,) in made] == [
        ("owner-1", "/stop"), ("agent-1", "/new"), ("canon-runtime-control", "/new"),
    ]  # fmt: skip
