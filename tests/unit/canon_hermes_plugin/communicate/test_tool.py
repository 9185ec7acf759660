"""The tool on a real adapter and a Canon sandbox: who may, and what Canon's refusals become."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from canon_hermes_plugin.active import ActiveSet
from canon_hermes_plugin.tools.session import HostSession
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.hosted_adapter import hosted, until
from tests.support.tool_calls import Turn, canon_turn

pytestmark = pytest.mark.host

SAY = {"action": "start_direct", "principalId": "user_dana", "text": "hello"}


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


@pytest.fixture
async def turn(box: CanonSandbox) -> AsyncIterator[Turn]:
    async with canon_turn(box) as running:
        yield running


def verbs(box: CanonSandbox) -> list[str]:
    return [row["path"].rpartition("/")[2] for row in box.journal() if row["path"].startswith("/agent/verbs/")]


async def test_a_message_is_sent(box: CanonSandbox, turn: Turn) -> None:
    """S11.4, D51: through the adapter that owns the turn, once."""
    result = await turn.communicate(**SAY)

    assert (result["success"], result["status"], verbs(box)) == (True, "messaged", ["send_to"])


async def test_the_policy_of_now_decides(box: CanonSandbox, turn: Turn) -> None:
    """S11.5: offered while open or approval-required; closed, unknown or absent it is withheld, and refused unasked."""
    offered: list[bool] = []
    closed: dict[str, object] = {}
    for policy in ("open", "approval-required", "closed", "sometimes", None):
        box.human.set_policy(policy)
        stage = turn.stage
        assert stage is not None

        def is_known(wanted: str | None = policy) -> bool:
            authority = turn.active.live_authority()
            return authority is not None and authority.outbound_policy == wanted

        await until(is_known)
        offered.append(turn.may_communicate())
        if policy == "closed":
            closed = await turn.communicate(**SAY)

    assert offered == [True, True, False, False, False]
    assert closed["success"] is False and "communication is closed" in str(closed["error"])
    assert verbs(box) == []


async def test_the_server_has_the_last_word(box: CanonSandbox, turn: Turn) -> None:
    """S11.12, S11.13, R11.31: an approval that is needed is a result, a policy that was closed meanwhile a failure."""
    box.fault("verb-approval-required")
    asked = await turn.communicate(**SAY)
    box.fault("verb-closed")
    closed = await turn.communicate(**SAY)

    assert (asked["success"], asked["status"], "approve" in asked["reason"]) == (True, "approval_required", True)
    assert closed["success"] is False and "OUTBOUND_COMMUNICATION_CLOSED" in closed["error"]


@pytest.mark.parametrize(
    "fault", ["verb-wrong-wire", "verb-wrong-verb", "verb-no-result", "verb-missing-keys", "verb-unknown-status"]
)
async def test_a_malformed_answer_is_no_success(box: CanonSandbox, turn: Turn, fault: str) -> None:
    """R11.34: what is not as agreed fails, and nothing is repeated."""
    armed = box.fault(fault)

    result = await turn.communicate(**SAY)

    assert (armed.fired, result["success"], verbs(box)) == (1, False, ["send_to"])


async def test_a_stream_that_does_not_tell_the_policy(box: CanonSandbox) -> None:
    """R2.13, R11.30: what the own identity said at the connect is in force no more; nothing goes out."""
    armed, active = box.fault("stream-no-policy"), ActiveSet()

    async with canon_turn(box, active=active) as turn:
        await until(lambda: (own := active.live_authority()) is not None and own.outbound_policy is None)
        withheld = (turn.may_communicate(), (await turn.communicate(**SAY))["success"], verbs(box))

    assert (armed.fired, withheld) == (1, (False, False, []))


async def test_each_agent_acts_in_its_own_turn(box: CanonSandbox) -> None:
    """S11.6: two agents of one process, the policy of one is open and of the other closed: each turn has the policy and
    the key of its own agent, and a conversation in which both have a turn has neither."""
    active = ActiveSet()
    with CanonSandbox(CanonOptions()) as other:
        room = other.human.open_conversation(["user_owner", "agent_sandbox"], kind="direct")
        other.human.set_policy("closed")
        async with canon_turn(box, active=active) as ours, canon_turn(other, active=active, room=room) as theirs:
            stage = theirs.stage
            assert stage is not None

            def has_policy(policy: str) -> bool:
                authority = active.live_authority(room)
                return authority is not None and authority.outbound_policy == policy

            await until(lambda: has_policy("closed"))
            closed = (theirs.may_communicate(), await theirs.communicate(**SAY))
            opened = (ours.may_communicate(), await ours.communicate(**SAY))
            of_each = (verbs(box), verbs(other))
            other.human.set_policy("approval-required")
            await until(lambda: has_policy("approval-required"))
            asking = (theirs.may_communicate(), await theirs.communicate(**SAY))
            of_each_then = (verbs(box), verbs(other))
            async with canon_turn(other, active=active):
                both = (ours.may_communicate(), await ours.communicate(**SAY))

    assert closed[0] is False and "closed" in closed[1]["error"]
    assert (opened[0], opened[1]["success"], of_each) == (True, True, (["send_to"], []))
    assert (asking[0], asking[1]["success"], of_each_then) == (True, True, (["send_to"], ["send_to"]))
    assert both[0] is False and "unambiguous" in both[1]["error"]


async def test_nobody_acts_for_two(box: CanonSandbox) -> None:
    """R2.15, R11.30: outside of a turn two connected adapters, or none, are as good as no authority."""
    active = ActiveSet()
    session = HostSession("conv_direct", "user_owner")
    none = Turn(active, session)
    before = (none.may_communicate(), await none.communicate(**SAY))
    async with hosted(box, active=active) as one, hosted(box, active=active) as two:
        outside = Turn(active, HostSession(), one)
        both = (outside.may_communicate(), await outside.communicate(**SAY))
        await two.adapter.disconnect()
        single = (outside.may_communicate(), await outside.communicate(**SAY))

    assert before[0] is False and "No unambiguous" in before[1]["error"]
    assert both[0] is False and "unambiguous" in both[1]["error"]
    assert (single[0], single[1]["status"]) == (True, "messaged")
