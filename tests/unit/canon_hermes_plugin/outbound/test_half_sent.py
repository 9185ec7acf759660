"""A message in parts from a process without a gateway, cut off in the middle: somebody sends the rest."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.outbound.standalone import send_standalone
from canon_hermes_plugin.outbox import operations, store
from canon_hermes_plugin.outbox.store import Posting
from canon_hermes_plugin.state.file import SCHEMA
from canon_hermes_plugin.state.owner import Owner
from canon_hermes_plugin.state.place import state_path
from canon_hermes_plugin.turn.effects import Final
from canon_ops.durable import read_once, write_once
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.wire.ids import ConversationId, TurnId
from canon_ops.wire.splitting import split
from tests.support.hosted_adapter import hosted, platform_config, until

pytestmark = pytest.mark.host

ROOM = "conv_direct"
SEND_TO = {"path": "/agent/verbs/send_to"}
REPORT = "ש" * 3_900
OUTAGE = {**SEND_TO, "status": 503, "times": None, "burst": None}


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


def posted(box: CanonSandbox) -> tuple[str, ...]:
    return tuple(entry["text"] for entry in box.transcript(ROOM) if entry["origin"] == "agent")


def keys(box: CanonSandbox) -> list[str]:
    return [entry["body"]["envelope"]["idempotencyKey"] for entry in box.journal() if entry["path"] == SEND_TO["path"]]


def noted(home: Path) -> list[Posting]:
    return read_once(state_path(home), SCHEMA, store.all_postings)


async def cut_off(box: CanonSandbox, home: Path) -> dict[str, Any]:
    """Send a report of which the first part arrives, and then Canon is down."""
    box.fault("answer", **OUTAGE, skip=1)
    result = await send_standalone(platform_config(box), ROOM, REPORT, home=home)
    box.human.calm()
    return result


async def test_the_next_message_brings_the_rest_of_the_last_one(box: CanonSandbox, tmp_path: Path) -> None:
    """D44: the host hears that one of three parts is sent; the next call first sends the rest under the same ids."""
    result = await cut_off(box, tmp_path)
    (row,) = noted(tmp_path)
    again = await send_standalone(platform_config(box), ROOM, "the next report", home=tmp_path)

    assert "1 of 3 parts are sent" in result["error"] and again["success"]
    assert (row.state, row.operation.confirmed, row.attempts) == (store.State.PENDING, 1, 1)
    assert posted(box) == (*split(REPORT), "the next report")
    assert len({key.rpartition("-part-")[0] for key in keys(box) if "-part-" in key}) == 1
    assert noted(tmp_path) == []


async def test_a_gateway_brings_the_rest(box: CanonSandbox, tmp_path: Path) -> None:
    """D44: the next gateway of the home sends what is left, the way a message goes that nobody asked for."""
    await cut_off(box, tmp_path)

    async with hosted(box, home=tmp_path):
        await until(lambda: posted(box) == split(REPORT))
        await until(lambda: noted(tmp_path) == [])

    assert not [entry for entry in box.journal() if entry["path"] == "/messages/send"]


async def test_a_killed_process_leaves_no_half(box: CanonSandbox, tmp_path: Path) -> None:
    """D44 with SIGKILL: what died between two parts is finished, each part once."""
    box.fault("delay", **SEND_TO, seconds=20.0, skip=1)
    ends = box.endpoints
    program = (
        "import asyncio, sys, pathlib\n"
        "from gateway.config import PlatformConfig\n"
        "from canon_hermes_plugin.outbound.standalone import send_standalone\n"
        f"config = PlatformConfig(enabled=True, extra={platform_config(box).extra!r})\n"
        f"asyncio.run(send_standalone(config, {ROOM!r}, {REPORT!r}, home=pathlib.Path({str(tmp_path)!r})))\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, cwd=Path(__file__).parents[4])
    await until(lambda: len(keys(box)) == 2, timeout_s=60)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    box.human.calm()

    result = await send_standalone(platform_config(box), ends.conversation_id, "after", home=tmp_path)

    assert (result["success"], process.returncode) == (True, -signal.SIGKILL)
    assert posted(box) == (*split(REPORT), "after")


async def test_what_certainly_did_not_arrive_is_not_owed(box: CanonSandbox, tmp_path: Path) -> None:
    """The host was told that it failed, and tells its user; a report of yesterday must not come tomorrow."""
    box.fault("answer", **OUTAGE)

    result = await send_standalone(platform_config(box), ROOM, REPORT, home=tmp_path)

    assert "503" in result["error"] and "parts" not in result["error"]
    assert (noted(tmp_path), posted(box)) == ([], ())


async def test_a_policy_that_closes_in_the_middle_is_a_persons_decision(box: CanonSandbox, tmp_path: Path) -> None:
    """What Canon no longer admits is not tried again; the outbox shows it."""
    blocked = {"encoding": "json", "value": {"status": "blocked", "reason": "outbound-closed"}}
    answer = {"wire": "canon.verb-wire.v1", "verb": "send_to", "result": blocked}
    box.fault("answer", **SEND_TO, status=200, body=answer, skip=1)

    result = await send_standalone(platform_config(box), ROOM, REPORT, home=tmp_path)

    (row,) = noted(tmp_path)
    assert "outbound-closed" in result["error"]
    assert (row.state, row.operation.confirmed) == (store.State.REFUSED, 1)


async def test_a_disk_that_takes_nothing_holds_no_message_up(
    box: CanonSandbox, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is sent without a note, and the log says so."""
    state_path(tmp_path).mkdir(parents=True)

    result = await send_standalone(platform_config(box), ROOM, REPORT, home=tmp_path)

    assert result["success"] and posted(box) == split(REPORT)
    assert "could not be noted" in caplog.text


async def test_a_short_message_leaves_no_note(box: CanonSandbox, tmp_path: Path) -> None:
    """What Canon has is crossed out."""
    result = await send_standalone(platform_config(box), ROOM, "short", home=tmp_path)

    assert result["success"] and posted(box) == ("short",)
    assert noted(tmp_path) == []


@pytest.mark.parametrize("text", ["short", REPORT])
async def test_a_lost_answer_is_asked_for_again(box: CanonSandbox, tmp_path: Path, text: str) -> None:
    """X1, D44: Canon has the message or its first part, and no answer came: the next call repeats it under its id."""
    box.fault("lost-response", **SEND_TO, times=3)

    result = await send_standalone(platform_config(box), ROOM, text, home=tmp_path)
    (row,) = noted(tmp_path)
    again = await send_standalone(platform_config(box), ROOM, "after", home=tmp_path)

    assert "when a gateway runs" in result["error"] and again["success"]
    assert row.state is store.State.PENDING
    assert posted(box) == (*split(text), "after")
    assert noted(tmp_path) == []


@pytest.mark.parametrize(
    ("lost", "status", "is_told"),
    [(0, 400, True), (0, 503, True), (1, 503, False), (1, 400, False)],
    ids=["refused", "down", "lost, then down", "lost, then refused"],
)
async def test_what_may_be_there_is_not_forgotten(
    box: CanonSandbox, tmp_path: Path, lost: int, status: int, is_told: bool
) -> None:
    """R7.19: the host hears of a failure that is certain; one after an answer that was lost is not certain."""
    if lost:
        box.fault("lost-response", **SEND_TO, times=lost)
    box.fault("answer", **{**OUTAGE, "status": status})

    result = await send_standalone(platform_config(box), ROOM, "short", home=tmp_path)

    states = [row.state for row in noted(tmp_path)]
    left = store.State.REFUSED if status == 400 else store.State.PENDING
    assert str(status) in result["error"]
    assert states == ([] if is_told else [left])


@pytest.mark.parametrize(("status", "state"), [(400, store.State.REFUSED), (503, store.State.PENDING)])
async def test_what_was_left_is_not_crossed_out_by_a_failure(
    box: CanonSandbox, tmp_path: Path, status: int, state: store.State
) -> None:
    """Nobody hears when the next call cannot bring it either: it waits on, or for a person when Canon refuses it."""
    box.fault("lost-response", **SEND_TO, times=3)
    await send_standalone(platform_config(box), ROOM, "short", home=tmp_path)
    box.human.calm()
    box.fault("answer", **{**OUTAGE, "status": status})

    await send_standalone(platform_config(box), ROOM, "after", home=tmp_path)

    (row,) = noted(tmp_path)
    assert (row.state, row.operation.messages[0].text) == (state, "short")


async def test_what_cannot_be_read_is_no_refusal(box: CanonSandbox, tmp_path: Path) -> None:
    """R7.19: an answer that is not JSON leaves open what became of the message, so it is sent again under its id."""
    box.fault("send-not-json", **SEND_TO, times=None, burst=None)

    result = await send_standalone(platform_config(box), ROOM, "short", home=tmp_path)

    (row,) = noted(tmp_path)
    assert "is not JSON" in result["error"]
    assert row.state is store.State.PENDING


async def test_what_was_left_and_is_refused_keeps_nothing_back(box: CanonSandbox, tmp_path: Path) -> None:
    """D44: that Canon does not take the earlier message is no failure of the new one."""
    box.fault("lost-response", **SEND_TO, times=3)
    await send_standalone(platform_config(box), ROOM, "short", home=tmp_path)
    box.human.calm()
    box.fault("answer", **SEND_TO, status=400, times=1)

    result = await send_standalone(platform_config(box), ROOM, "after", home=tmp_path)

    assert result["success"] and posted(box)[-1] == "after"


async def test_an_answer_of_the_gateway_is_left_to_it(box: CanonSandbox, tmp_path: Path) -> None:
    """X1: a turn's answer goes with the leave to answer, from the gateway; a cron job sends what is of its kind."""
    owner = Owner(box.endpoints.environment_id, "agent_sandbox")
    answer = Final(TurnId("hermes-turn-1"), ConversationId(ROOM), "the answer")
    operation = operations.reserve(operations.Book(), answer).operation
    write_once(state_path(tmp_path), SCHEMA, store.keep, owner, operation, now_ms=1)

    await send_standalone(platform_config(box), ROOM, "the report", home=tmp_path)

    (row,) = noted(tmp_path)
    assert (posted(box), row.operation) == (("the report",), operation)
