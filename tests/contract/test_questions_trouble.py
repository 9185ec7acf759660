"""Cards, questions and the directory through the agent's tools, while Canon misbehaves.

The tools, the adapter, the client and the server are real. An answer that Canon did not give is never made up, one that
somebody else gave does not count, and a card whose creation got lost can be asked about.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from canon_ops.sandbox.server import CanonSandbox
from tests.support.cards import QUESTION
from tests.support.hosted_adapter import until
from tests.support.sandboxes import canon_box
from tests.support.tool_calls import Turn, canon_turn

pytestmark = pytest.mark.host


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with canon_box() as running:
        yield running


@pytest_asyncio.fixture
async def turn(box: CanonSandbox) -> AsyncIterator[Turn]:
    async with canon_turn(box) as running:
        yield running


def no_answer(result: dict[str, Any]) -> bool:
    """Whether a result authorises nothing and tells no value."""
    return result.get("status") not in ("submitted", "allow") and not {"value", "values", "actionId"} & result.keys()


ASKING = {
    # whether Canon has the question afterwards
    "interaction-500": False,
    "interaction-lost": False,
    "interaction-500-after-commit": True,
    "interaction-lost-response": True,
}


@pytest.mark.parametrize("name", ASKING)
async def test_a_card_whose_creation_got_lost(name: str, box: CanonSandbox, turn: Turn) -> None:
    """D32: the call fails; check_card gets the answer if Canon has the card, and says unknown if it has not."""
    box.fault(name)

    sent = await turn.control(action="send_card", card=QUESTION, cardId="c1")
    if ASKING[name]:
        box.human.answer("c1", actionId="file", values={"note": "now"})
    checks = [await turn.control(action="check_card", cardId="c1") for _ in range(2)]

    assert (sent["success"], no_answer(sent)) == (False, True)
    assert [check["status"] for check in checks] == ["submitted" if ASKING[name] else "unknown"] * 2
    assert [check.get("values") for check in checks] == [{"note": "now"} if ASKING[name] else None] * 2
    assert len(box.human.interactions()) == int(ASKING[name])


@pytest.mark.parametrize("name", ASKING)
async def test_a_question_whose_creation_got_lost(name: str, box: CanonSandbox, turn: Turn) -> None:
    """R9.3: the tool fails at once, and nothing is waited for."""
    box.fault(name)

    result = await turn.control(action="request_input", inputId="i1", prompt="Which?")

    assert (result["success"], no_answer(result)) == (False, True)
    assert len(box.human.interactions()) == int(ASKING[name])


async def test_a_card_for_somebody_else(box: CanonSandbox, turn: Turn) -> None:
    """R11.8: Canon would let another human answer, so the card is withdrawn and the tool says why."""
    box.fault("interaction-other-responder")

    result = await turn.control(action="send_card", card=QUESTION, cardId="c1")

    (asked,) = box.human.interactions()
    assert (result["success"], no_answer(result), asked["state"]) == (False, True, "gone")


@pytest.mark.parametrize("name", ["consume-wrong-responder", "consume-no-responder", "consume-404", "consume-409"])
async def test_an_answer_that_does_not_count(name: str, box: CanonSandbox, turn: Turn) -> None:
    """R11.8, D32: forged, nameless or gone: unknown, with nothing of the answer in it, and so it stays."""
    await turn.control(action="send_card", card=QUESTION, cardId="c1")
    box.human.answer("c1", actionId="file", values={"note": "now"})
    fault = box.fault(name)

    checks = [await turn.control(action="check_card", cardId="c1") for _ in range(2)]

    assert fault.fired == 1
    assert [(check["status"], no_answer(check)) for check in checks] == [("unknown", True)] * 2


@pytest.mark.parametrize(("name", "times"), [("consume-500", 1), ("consume-503", 3)])
async def test_an_answer_that_could_not_be_taken(name: str, times: int, box: CanonSandbox, turn: Turn) -> None:
    """R9.3: the check fails, and the next one gets the answer."""
    await turn.control(action="send_card", card=QUESTION, cardId="c1")
    box.human.answer("c1", actionId="file", values={"note": "now"})
    fault = box.fault(name, times=times, burst=times)

    failed = await turn.control(action="check_card", cardId="c1")
    found = await turn.control(action="check_card", cardId="c1")

    assert fault.fired == times
    assert (failed["success"], no_answer(failed)) == (False, True)
    assert (found["status"], found["values"]) == ("submitted", {"note": "now"})


async def test_an_answer_that_was_taken_and_lost(box: CanonSandbox, turn: Turn) -> None:
    """Canon wire 9.3: a card's answer is handed out once; when it got lost, it is unknown and not guessed."""
    await turn.control(action="send_card", card=QUESTION, cardId="c1")
    box.human.answer("c1", actionId="file", values={"note": "now"})
    box.fault("consume-lost-response")

    checks = [await turn.control(action="check_card", cardId="c1") for _ in range(2)]

    assert [check["success"] for check in checks][:1] == [False]
    assert checks[1]["status"] == "unknown"
    assert all(no_answer(check) for check in checks)


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("consume-404", 1), ("consume-409", 1), ("consume-500", 1), ("consume-503", 3), ("consume-lost-response", 1),
    ],
)  # fmt: skip
async def test_a_question_that_cannot_be_asked_about(name: str, times: int, box: CanonSandbox, turn: Turn) -> None:
    """R9.3: in a tool call the trouble is told; a value is never invented."""
    waiting = asyncio.create_task(turn.control(action="request_input", inputId="i1", prompt="Which?"))
    await until(lambda: box.human.interactions())
    fault = box.fault(name, times=times, burst=times)

    result = await asyncio.wait_for(waiting, 20)

    assert fault.fired == times
    assert (result["success"], no_answer(result)) == (False, True)


async def test_the_directory_with_a_broken_entry(box: CanonSandbox, turn: Turn) -> None:
    """Canon wire 4.3: an entry without its owner spoils the page, not the next call."""
    box.human.add_agent("Sandcastle")
    fault = box.fault("discover-no-owner")

    spoiled = await turn.communicate(action="discover_agents", query="sand")
    proper = await turn.communicate(action="discover_agents", query="sand")

    assert fault.fired == 1
    assert (spoiled["success"], "agents" in spoiled) == (False, False)
    assert [entry["displayName"] for entry in proper["agents"]] == ["Sandcastle"]
