"""Questions and approvals from the host's call to its answer, over real turns and a real state file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.interactions import left_open
from canon_hermes_plugin.interactions.clarify import CANCELLED, LOST, NOT_ASKED, HumanWaits
from canon_hermes_plugin.interactions.gate import ASIDE, PASS, Said, Way
from canon_hermes_plugin.interactions.left_open import Shown
from canon_ops.client.errors import ApiError, TransportFailure
from canon_ops.wire.interactions import InteractionKind
from canon_ops.wire.retry import TransportKind
from tests.support.approving import until
from tests.support.people_stage import KEY, OWNER, ROOM, Scene, people_scene

NO_ANSWER = "[The user did not answer within 5 minutes.]"


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with people_scene(tmp_path) as running:
        yield running


async def pass_time(scene: Scene, seconds: float = 1) -> None:
    """Let time pass a second at a time, and the disk keep up."""
    for _ in range(int(seconds)):
        await scene.clock.advance(1)


async def lost(scene: Scene, *, kind: TransportKind = TransportKind.READ_TIMEOUT) -> TransportFailure:
    return TransportFailure(kind, request="POST /runtime-interaction/consume")


# --- questions ----------------------------------------------------------------------------------------------------


async def test_a_question_is_polled_until_it_is_answered(scene: Scene) -> None:
    """S9.1: pending, then submitted: asked twice, never cancelled, and the turn says that it waits and goes on."""
    turn_id = scene.open_turn()
    reply = await scene.ask()
    await until(lambda: scene.clock.sleepers)
    scene.canon.answers["q1"] = {"status": "submitted", "value": "2026"}

    await pass_time(scene)

    (waiting,) = scene.host.waiting
    assert (reply.success, reply.message_id, waiting.told) == (True, "m1", ["2026"])
    assert scene.canon.consumed == [("q1", False), ("q1", False)]
    assert scene.states == ["thinking", "waiting_input", "tool"]
    assert (scene.canon.request["turnId"], await scene.noted()) == (turn_id, ())


@pytest.mark.parametrize(("answer", "text"), [({"status": "cancelled"}, CANCELLED), ({"status": "timeout"}, NO_ANSWER)])
async def test_a_question_that_is_turned_down(scene: Scene, answer: dict[str, Any], text: str) -> None:
    """D2: cancelled or out of time, the agent is told, and its turn stays open."""
    scene.open_turn()
    await scene.ask()
    scene.canon.answers["q1"] = answer

    await pass_time(scene)

    assert scene.host.waiting[0].told == [text]
    assert "interrupted" not in scene.states
    assert scene.desk.running(KEY) is not None


async def test_the_last_moment_counts(scene: Scene) -> None:
    """D17: at the end of its time the question is cancelled, and an answer that comes with it is adopted."""
    scene.open_turn()
    await scene.ask()
    await pass_time(scene, 299)
    assert scene.canon.cancelled == []
    scene.canon.fails = [await lost(scene)]  # the last look fails, so only the cancellation can bring it
    scene.canon.answers["q1"] = {"status": "submitted", "value": "just in time"}

    await pass_time(scene, 2)

    assert scene.host.waiting[0].told == ["just in time"]


async def test_the_servers_time_is_in_force(scene: Scene) -> None:
    """D17: what Canon echoes, at the start or later, is the time that counts, and that the agent is told of."""
    scene.open_turn()
    scene.canon.receipt = {"expiresAt": scene.clock.now_ms() + 60_000}
    await scene.ask()

    await pass_time(scene, 62)

    assert scene.canon.cancelled == ["q1"]
    assert scene.host.waiting[0].told == ["[The user did not answer within 1 minute.]"]


async def test_the_server_grants_more(scene: Scene) -> None:
    """D17: a pending answer that names a later end moves it."""
    scene.open_turn()
    scene.canon.expires_at_ms = scene.clock.now_ms() + 400_000
    await scene.ask()

    await pass_time(scene, 350)
    assert scene.canon.cancelled == []
    await pass_time(scene, 52)

    assert scene.canon.cancelled == ["q1"]


async def test_the_host_gives_up_first(scene: Scene) -> None:
    """D17: a host that waits a minute is not shown as waiting five."""
    scene.host.limit_s = 60
    scene.open_turn()

    await scene.ask()

    assert scene.canon.request["expiresAt"] == scene.clock.now_ms() + 60_000


async def test_a_question_answered_in_the_chat(scene: Scene) -> None:
    """S9.15, D16: the poller ends and takes the question back; a later turn hears nothing of it or its deadline."""
    scene.open_turn()
    await scene.ask()
    scene.host.waiting[0].is_over = True
    await pass_time(scene)
    at_once = list(scene.canon.cancelled)
    ending = asyncio.ensure_future(scene.desk.complete(KEY, "success"))
    await pass_time(scene)
    await ending
    scene.open_turn()
    before = list(scene.states)

    await pass_time(scene, 400)

    assert scene.host.waiting[0].told == []
    assert (at_once, scene.canon.cancelled) == (["q1"], ["q1"])
    assert scene.states == before
    assert await scene.noted() == ()


async def test_trouble_on_the_way_is_survived(scene: Scene) -> None:
    """R9.3: failing looks count as no answer."""
    scene.open_turn()
    scene.canon.fails = [await lost(scene), ApiError(503, None, "busy"), ApiError(404, None, "who?")]
    scene.canon.answers["q1"] = {"status": "submitted", "value": "x"}
    await scene.ask()

    await pass_time(scene, 3)

    assert scene.host.waiting[0].told == ["x"]


async def test_an_answer_that_was_lost(scene: Scene) -> None:
    """Canon wire 9.6: an input is handed out once; when its answer is lost the agent is told so at once."""
    scene.open_turn()
    await scene.ask()
    scene.canon.gone.add("q1")

    await pass_time(scene, 3)

    assert scene.host.waiting[0].told == [LOST]
    assert scene.states[-1] == "tool"


async def test_a_look_that_hangs(scene: Scene) -> None:
    """R9.3: Canon does not answer a look; the next one does."""

    class Hanging:
        hangs = 1

        def __init__(self, canon: Any) -> None:
            self._canon = canon

        async def request_interaction(self, body: Any) -> Any:
            return await self._canon.request_interaction(body)

        async def consume_interaction(self, *args: Any, **more: Any) -> Any:
            if self.hangs:
                self.hangs -= 1
                await asyncio.Event().wait()
            return await self._canon.consume_interaction(*args, **more)

    scene.open_turn()
    scene.asking._api = Hanging(scene.canon)  # type: ignore[assignment]
    scene.canon.answers["q1"] = {"status": "submitted", "value": "x"}
    await scene.ask()

    await pass_time(scene, 8)

    assert scene.host.waiting[0].told == ["x"]


# --- commands -----------------------------------------------------------------------------------------------------


async def test_a_members_command(scene: Scene) -> None:
    """S9.2, S9.9: the member of the turn is asked, without rules; for sudo nobody is named, with rules."""
    scene.open_turn("member-9")

    await scene.ask()
    await scene.command("rm build.tmp")
    await scene.command("sudo rm build.tmp")

    asked = [(one.get("responseUserId"), one.get("allowSessionRule")) for one in scene.canon.shown]
    assert asked == [("member-9", None), ("member-9", False), (None, True)]
    assert [one["interactionKind"] for one in scene.canon.shown] == ["input", "approval", "approval"]


async def test_after_the_turn(scene: Scene) -> None:
    """S9.3: a command in the background has no human; Canon takes the owner."""
    scene.open_turn("member-9")
    ending = asyncio.ensure_future(scene.desk.complete(KEY, "success"))
    await pass_time(scene)
    await ending

    reply = await scene.command("rm background.tmp")

    assert reply.success
    assert "responseUserId" not in scene.canon.request
    assert scene.canon.request["allowSessionRule"] is True


async def test_the_hosts_session_names_the_human(scene: Scene) -> None:
    """R9.2, S9.8: without a turn the host's session is asked; against the turn it does not count."""
    scene.user = "member-8"
    await scene.command("rm a")
    scene.open_turn("member-9")
    await scene.command("rm b")

    assert [one["responseUserId"] for one in scene.canon.shown] == ["member-8", "member-9"]


@pytest.mark.parametrize(
    ("rule", "receipt", "choice"),
    [
        (True, {}, "session"),
        (True, {"allowSessionRule": False}, "once"),
        (False, {}, "once"),
    ],
)
async def test_a_session_rule(scene: Scene, rule: bool, receipt: dict[str, Any], choice: str) -> None:
    """S9.5, S9.13: a rule counts when the host, the responder and Canon all allow it."""
    scene.open_turn()
    scene.canon.receipt = receipt
    reply = await scene.command(allow_session=rule)
    approval_id = scene.canon.request["approvalId"]
    rule_given = {"type": "approve-all"}
    scene.canon.answers[approval_id] = {"status": "allow", "respondedBy": OWNER, "sessionRule": rule_given}

    await pass_time(scene)

    assert reply.success and scene.host.waiting[0].told == [choice]


async def test_a_refusal_leaves_the_turn_open(scene: Scene) -> None:
    """D2: denied, and the turn goes on: what the model says of it is its answer."""
    scene.open_turn()
    await scene.command()
    scene.canon.answers[scene.canon.request["approvalId"]] = {"status": "deny", "respondedBy": OWNER}

    await pass_time(scene)

    assert scene.host.waiting[0].told == ["deny"]
    assert scene.states == ["thinking", "waiting_input", "tool"]
    assert scene.desk.running(KEY) is not None


async def test_two_commands_at_once(scene: Scene) -> None:
    """D16: each answer means its own command, in whatever order they come; the turn waits until both have one."""
    scene.open_turn()
    await scene.command("rm a")
    await scene.command("rm b")
    first, second = (one["approvalId"] for one in scene.canon.shown)
    scene.canon.answers[second] = {"status": "allow", "respondedBy": OWNER}
    await pass_time(scene)
    between = list(scene.states)
    scene.canon.answers[first] = {"status": "deny", "respondedBy": OWNER}
    await pass_time(scene)

    assert [one.told for one in scene.host.waiting] == [["deny"], ["once"]]
    assert between[-1] == "waiting_input" and scene.states[-1] == "tool"


@pytest.mark.parametrize("sudo", [False, True])
async def test_an_answer_of_somebody_else(scene: Scene, sudo: bool) -> None:
    """R9.10: whatever let it through, a yes of a human who was not asked is no yes."""
    scene.open_turn("member-9")
    await scene.command("sudo rm x" if sudo else "rm x")
    by = "member-9" if sudo else "member-8"
    scene.canon.answers[scene.canon.request["approvalId"]] = {"status": "allow", "respondedBy": by}

    await pass_time(scene)

    assert scene.host.waiting[0].told == ["deny"]


@pytest.mark.parametrize("by", [None, "", "stranger"])
async def test_an_answer_of_nobody_in_particular(scene: Scene, by: str | None) -> None:
    """R9.10: a yes that does not say whose it is allows nothing."""
    scene.open_turn()
    await scene.command()
    scene.canon.answers[scene.canon.request["approvalId"]] = {"status": "allow"} | ({"respondedBy": by} if by else {})

    await pass_time(scene)

    assert scene.host.waiting[0].told == ["deny"]


async def test_canon_asks_somebody_else(scene: Scene) -> None:
    """R9.10: a request that Canon shows to another human is taken back and asked for as text."""
    scene.open_turn("member-9")
    scene.canon.receipt = {"responseUserId": "stranger"}

    reply = await scene.command("sudo rm x")
    other = await scene.command("rm x")
    await pass_time(scene)

    assert (reply.success, other.success) == (False, False)
    assert len(scene.canon.cancelled) == 2 and scene.states == ["thinking"]
    assert await scene.noted() == ()


async def test_the_owner_changed(scene: Scene) -> None:
    """D56: session rules and sudo are those of the owner of now."""
    scene.open_turn("member-9")
    await scene.command("rm a")
    scene.owner_id = "member-9"
    await scene.command("rm b")
    await scene.command("sudo rm c")
    scene.canon.answers[scene.canon.request["approvalId"]] = {"status": "allow", "respondedBy": "member-9"}
    await pass_time(scene)

    assert [one["allowSessionRule"] for one in scene.canon.shown] == [False, True, True]
    assert scene.host.waiting[2].told == ["once"]


async def test_a_command_that_fits_no_card(scene: Scene) -> None:
    """S9.16: it is posted whole, as a control message, before the card."""
    scene.open_turn()
    command = "rm -rf " + "x" * 5_000

    reply = await scene.command(command)

    (text, semantics) = scene.posted[0]
    assert reply.success and command in text and semantics == "control"
    assert len(scene.canon.shown) == 1


async def test_a_long_command_that_cannot_be_posted(scene: Scene) -> None:
    """S9.16: what nobody can see whole is not put on a card; the host's own prompt then shows all of it."""
    scene.open_turn()
    scene.refuses_posts = True
    command = "rm -rf " + "x" * 5_000

    reply = await scene.command(command)
    text, metadata = scene.people.as_prompt(ROOM, f"Run {command[:200]}...? /approve", None, KEY)

    assert not reply.success and scene.canon.shown == []
    assert command in text and metadata == {"is_approval_prompt": True}


async def test_a_command_that_the_host_cannot_tell_from_others(scene: Scene) -> None:
    """D16: without a match there is no card, because its answer could mean another command."""
    scene.host.is_matched = False
    scene.open_turn()

    reply = await scene.command()

    assert not reply.success and scene.canon.shown == []


# --- making a request ---------------------------------------------------------------------------------------------


async def test_canon_is_too_slow(scene: Scene) -> None:
    """R9.8: within the host's patience the call fails; a request that lands later is taken back, and nobody waits."""
    scene.open_turn()
    scene.canon.creating = asyncio.Event()
    asking = asyncio.ensure_future(scene.command())
    await until(lambda: scene.canon.shown)
    await pass_time(scene, 11)
    reply = await asking
    before = list(scene.canon.consumed)

    scene.canon.creating.set()
    await pass_time(scene, 2)

    assert not reply.success and before == []
    assert scene.canon.consumed == [(scene.canon.request["approvalId"], True)]
    assert scene.states == ["thinking"] and await scene.noted() == ()


async def test_the_host_has_its_answer_in_time(scene: Scene) -> None:
    """R9.8: a long command is posted and then asked for, and both are slow: the host waits 15 s and no longer."""
    scene.open_turn()
    scene.canon.creating = asyncio.Event()
    scene.post_takes_s = 3.9
    asking = asyncio.ensure_future(scene.command("rm " + "x" * 4_000))
    await until(lambda: scene.posted)
    await scene.clock.advance(3.9)
    await until(lambda: scene.canon.shown)
    await scene.clock.advance(9.2)
    is_told = asking.done()
    scene.canon.creating.set()
    await pass_time(scene, 3)

    assert is_told and not (await asking).success
    assert scene.canon.cancelled == [scene.canon.request["approvalId"]] and await scene.noted() == ()


async def test_a_disk_that_does_not_answer(scene: Scene) -> None:
    """R9.8: nothing on the way to Canon may keep the host's thread longer than it waits."""
    scene.open_turn()
    scene.offload_hangs = True
    asking = asyncio.ensure_future(scene.ask())
    await pass_time(scene, 13)

    assert asking.done() and not (await asking).success


@pytest.mark.parametrize("asks", ["a question", "a command"])
async def test_canon_is_down_when_the_time_is_over(scene: Scene, asks: str) -> None:
    """D17: nobody can say whether it was answered; the host hears an end within seconds of its time all the same."""
    scene.open_turn()
    await (scene.ask() if asks == "a question" else scene.command())
    scene.canon.hangs = True

    await pass_time(scene, 300 + 7)

    assert scene.host.waiting[0].told == ([NO_ANSWER] if asks == "a question" else ["deny"])


async def test_a_time_without_an_end(scene: Scene) -> None:
    """R9.1: Canon may give people more time, and no more than half an hour in all."""
    scene.canon.receipt = {"expiresAt": scene.clock.now_ms() + 10**12}
    scene.canon.expires_at_ms = scene.clock.now_ms() + 10**12
    scene.open_turn()
    await scene.ask()

    await pass_time(scene, 1_801)

    assert len(scene.host.waiting[0].told) == 1


async def test_a_fault_of_ours_keeps_nobody_waiting(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """D17: an answer that we stumble over is told as lost, and the fault is logged."""
    scene.open_turn()
    await scene.ask()
    scene.canon.answers["q1"] = 7  # type: ignore[assignment]  # no object, which the client never hands on

    await pass_time(scene, 3)

    assert scene.host.waiting[0].told == [LOST]
    assert "could not be followed" in caplog.text


async def test_nobody_knows_whether_it_was_made(scene: Scene) -> None:
    """R9.8: an answer that was lost is a failure for the host; on Canon it is taken back until that is certain."""
    scene.open_turn()
    scene.canon.create_fails = [await lost(scene)]
    scene.canon.fails = [await lost(scene), ApiError(500, None, "no")]

    reply = await scene.ask()
    noted = await scene.noted()
    await pass_time(scene, 8)

    assert not reply.success
    assert [one.request_id for one in noted] == ["q1"]
    assert scene.canon.cancelled == ["q1", "q1", "q1"] and await scene.noted() == ()


async def test_canon_refuses_it(scene: Scene) -> None:
    """R9.4: a request that was certainly not made needs no end."""
    scene.open_turn()
    scene.canon.create_fails = [ApiError(400, None, "no such room")]

    reply = await scene.ask()
    await pass_time(scene)

    assert (reply.success, "no such room" in str(reply.error)) == (False, True)
    assert scene.canon.consumed == [] and await scene.noted() == ()


async def test_the_text_prompt_of_the_host(scene: Scene) -> None:
    """R9.19, D3: after a failure the next unmarked words of that session are the prompt, once, and not for ever."""
    scene.open_turn()
    scene.canon.create_fails = [ApiError(500, None, "no")] * 3
    prompt = {"is_approval_prompt": True}
    await scene.command()

    drafted = scene.people.as_prompt(ROOM, "answer", {"expect_edits": True}, KEY)
    other_room = scene.people.as_prompt("c2", "hm", None, KEY)
    first = scene.people.as_prompt(ROOM, "Run `rm build.tmp`? /approve", None, KEY)
    second = scene.people.as_prompt(ROOM, "still at work", None, KEY)
    await scene.command()
    others = scene.people.as_prompt(ROOM, "still at work", None, "another session")
    await pass_time(scene, 31)
    late = scene.people.as_prompt(ROOM, "still at work", None, KEY)

    assert (drafted[1], other_room[1]) == ({"expect_edits": True}, None)
    assert first == ("Run `rm build.tmp`? /approve", prompt)
    assert (second[1], others[1], late[1]) == (None, None, None)


# --- what is typed ------------------------------------------------------------------------------------------------


def typed(text: str, user_id: str | None, command: str | None = None) -> Said:
    return Said(text, user_id, command)


@pytest.mark.parametrize(
    ("command", "user", "text", "passes"),
    [
        ("rm x", "member-9", "/approve", True),
        ("rm x", OWNER, "yes", True),
        ("rm x", "member-8", "yes", False),
        ("rm x", "member-8", "/approve always", False),
        ("rm x", "member-8", "/deny", False),
        ("rm x", "member-8", "how are you?", True),
        ("rm x", None, "yes", False),
        ("sudo rm x", "member-9", "/approve", False),
        ("sudo rm x", OWNER, "/approve", True),
    ],
)
async def test_a_typed_decision(scene: Scene, command: str, user: str | None, text: str, passes: bool) -> None:
    """R9.10: the host would take one from anybody; it reaches the host only from those whose it is."""
    scene.open_turn("member-9")
    await scene.command(command)

    found = scene.people.judge(typed(text, user), KEY)
    elsewhere = scene.people.judge(typed(text, user), "another session")
    scene.host.waiting[0].is_over = True
    later = scene.people.judge(typed(text, user), KEY)

    assert (found == PASS, elsewhere, later) == (passes, PASS, PASS)


async def test_a_command_that_is_on_its_way_to_us(scene: Scene) -> None:
    """R9.10: the host waits with it already, and nobody has said whose it is: it is the owner's."""
    scene.open_turn("member-9")
    await scene.command("rm x")
    scene.host.commands_waiting = 2

    found = [scene.people.judge(typed("yes", user), KEY).way for user in ("member-9", OWNER)]

    assert found == [Way.REFUSE, Way.LET_IN]


async def test_whose_question_it_is(scene: Scene) -> None:
    """R9.2, D16: who was asked and the owner, also before the host has put it to us, and until it is answered."""
    scene.open_turn("member-9")
    scene.host.question_id = "q1"
    before = [scene.people.judge(typed("2025", user), KEY) for user in ("member-9", "member-8", OWNER)]
    await scene.ask()

    asked = [scene.people.judge(typed("2025", user), KEY) for user in ("member-9", "member-8", OWNER)]
    answered = (scene.people.answer(KEY, "2025"), scene.people.answer(KEY, "2026"))
    scene.host.answered = {"q1"}
    afterwards = scene.people.judge(typed("2026", "member-9"), KEY)

    assert before == asked == [PASS, ASIDE, PASS]
    assert (answered, afterwards) == ((True, False), ASIDE)
    assert scene.host.waiting[0].told == ["2025"]


async def test_whose_confirmation_it_is(scene: Scene) -> None:
    """R9.15: who has typed the command confirms it; what nobody is known to have typed, the owner."""
    scene.people.judge(typed("/reset", "member-9", "new"), KEY)
    scene.host.wants_confirmed = "new"
    typist = [scene.people.judge(typed("/approve", user, "approve"), KEY).way for user in ("member-9", "member-8")]
    scene.host.wants_confirmed = "undo"

    nobody = [scene.people.judge(typed("/approve", user, "approve"), KEY).way for user in ("member-9", OWNER)]

    assert (typist, nobody) == ([Way.LET_IN, Way.REFUSE], [Way.REFUSE, Way.LET_IN])


async def test_a_refusal_is_told(scene: Scene) -> None:
    """R9.10: people hear why nothing came of their words, whatever the turn says; when they cannot, that is known."""
    scene.open_turn("member-9")

    told = await scene.people.refuse(ROOM, "m5", "not yours")
    scene.refuses_posts = True
    untold = await scene.people.refuse(ROOM, "m6", "not yours")

    assert (told, untold) == (True, False)
    assert scene.posted[0] == ("not yours", "control")


@pytest.mark.parametrize(
    ("by", "receipt", "owner_id", "told"),
    [
        ("stranger", {}, OWNER, NOT_ASKED),
        (OWNER, {}, OWNER, "2026"),
        (None, {}, OWNER, "2026"),
        ("stranger", {"responseUserId": "stranger"}, OWNER, "2026"),
    ],
)
async def test_an_answer_to_a_question_that_nobody_is_named_for(
    scene: Scene, by: str | None, receipt: dict[str, Any], owner_id: str | None, told: str
) -> None:
    """R9.2: Canon takes the owner where nobody is named; another's words are no answer."""
    scene.open_turn(None)
    scene.owner_id = owner_id
    scene.canon.receipt = receipt
    await scene.ask()
    scene.canon.answers["q1"] = {"status": "submitted", "value": "2026"} | ({"respondedBy": by} if by else {})

    await pass_time(scene)

    assert scene.host.waiting[0].told == [told]


@pytest.mark.parametrize(("owner_id", "told"), [(None, "deny"), (OWNER, "deny"), ("stranger", "once")])
async def test_a_yes_where_nobody_is_named(scene: Scene, owner_id: str | None, told: str) -> None:
    """R9.10: neither the request nor Canon's receipt names anybody; then only the owner's counts, if there is one."""
    scene.open_turn(None)
    scene.owner_id = owner_id
    await scene.command()
    scene.canon.answers[scene.canon.request["approvalId"]] = {"status": "allow", "respondedBy": "stranger"}

    await pass_time(scene)

    assert scene.host.waiting[0].told == [told]


# --- leaving ------------------------------------------------------------------------------------------------------


async def test_we_leave_while_people_are_asked(scene: Scene) -> None:
    """S9.17, D17: both sides are ended, Canon's requests taken back and the host's threads let go."""
    scene.open_turn()
    await scene.ask()
    await scene.command()

    await scene.people.stop()

    question, command = scene.host.waiting
    assert (question.told, command.told) == ([NO_ANSWER], ["deny"])
    assert sorted(scene.canon.cancelled) == sorted(["q1", scene.canon.request["approvalId"]])
    assert scene.states[-1] == "tool" and await scene.noted() == ()


async def test_an_answer_that_comes_with_the_farewell(scene: Scene) -> None:
    """S9.17, D17: somebody has answered in the last second: that counts."""
    scene.open_turn()
    await scene.ask()
    await until(lambda: scene.clock.sleepers)
    scene.canon.answers["q1"] = {"status": "submitted", "value": "x"}

    await scene.people.stop()

    assert scene.host.waiting[0].told == ["x"]


async def test_canon_does_not_answer_our_farewell(scene: Scene) -> None:
    """S9.17: the host's thread is let go all the same, and in time."""
    scene.open_turn()
    await scene.command()
    await until(lambda: scene.clock.sleepers)
    scene.canon.fails = [await lost(scene)]

    await scene.people.stop()
    await scene.people.stop()

    assert scene.host.waiting[0].told == ["deny"]


async def test_what_a_dead_gateway_asked(scene: Scene) -> None:
    """D17, X1: the requests of a gateway that was killed are taken back by the next, and their answers mean nothing."""
    left = Shown(InteractionKind.INPUT, "q1", ROOM)
    await scene.kept.file.write(left_open.note, scene.kept.owner, left)
    scene.canon.answers["q1"] = {"status": "submitted", "value": "too late"}

    scene.asking.clear_up(await scene.noted())
    await pass_time(scene)

    assert scene.canon.cancelled == ["q1"] and await scene.noted() == ()


@pytest.mark.parametrize(
    ("end", "cancelled"),
    [
        pytest.param(None, [], id="it has its end"),
        pytest.param(asyncio.CancelledError(), ["q1"], id="the call is stopped"),
        pytest.param(ApiError(503, None, "later"), ["q1"], id="nobody knows whether Canon has it"),
        pytest.param(ApiError(400, None, "no"), [], id="Canon refuses it"),
        pytest.param(ApiError(409, None, "taken"), [], id="the id is another question's"),
    ],
)
async def test_a_question_of_a_tool_is_left_to_nobody(
    scene: Scene, end: BaseException | None, cancelled: list[str]
) -> None:
    """D17, X1: it is noted while it may be open, and taken back when whoever waited for it has gone."""
    with suppress(ApiError, asyncio.CancelledError):
        async with scene.asking.shown(Shown(InteractionKind.INPUT, "q1", ROOM)):
            noted = await scene.noted()
            if end is not None:
                raise end
    await pass_time(scene)

    assert [one.request_id for one in noted] == ["q1"]
    assert (scene.canon.cancelled, await scene.noted()) == (cancelled, ())


async def test_a_question_of_a_tool_outlives_our_farewell(scene: Scene) -> None:
    """X1: once we have left, the next gateway finds the note."""
    with suppress(asyncio.CancelledError):
        async with scene.asking.shown(Shown(InteractionKind.INPUT, "q1", ROOM)):
            await scene.asking.stop()
            raise asyncio.CancelledError

    assert [one.request_id for one in await scene.noted()] == ["q1"]


async def test_the_environment_decides_how_long(scene: Scene) -> None:
    """S9.11: both kinds, each with its own setting."""
    scene.with_waits(HumanWaits(clarify_s=10, approval_s=20))
    scene.open_turn()

    await scene.ask()
    await scene.command()

    assert [one["expiresAt"] - scene.clock.now_ms() for one in scene.canon.shown] == [10_000, 20_000]
