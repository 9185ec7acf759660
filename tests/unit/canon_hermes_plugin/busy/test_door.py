"""The way into the real host's message handling while a session waits for a person: who gets through, and as what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from canon_hermes_plugin.busy.door import FILES_FOLLOW, LATER
from canon_hermes_plugin.host import load_human_modules
from canon_hermes_plugin.hosting.people import HostPeople
from canon_hermes_plugin.inbound.gate import Request
from canon_hermes_plugin.inbound.own_messages import OWN_FIELD
from canon_hermes_plugin.interactions.command_approval import Asked
from canon_hermes_plugin.interactions.gate import NOT_YOURS, OWNERS_ALONE, Open, Question, Said, Verdict, judge
from tests.support.busy_host import KEY, Busy, a_busy_session, a_request

pytestmark = pytest.mark.host

ASKED, OWNER, OTHER = "user-1", "owner-1", "user-8"


@dataclass
class Gatekeeper:
    """Judges by what the host's own modules say, and by whom we asked."""

    commands: tuple[Asked, ...] = ()
    refused: list[tuple[str, str]] = field(default_factory=list)
    host: HostPeople = field(default_factory=lambda: HostPeople(load_human_modules))

    def judge(self, said: Said, session_key: str) -> Verdict:
        clarify_id = self.host.oldest_question(session_key)
        question = None if clarify_id is None else Question(ASKED, self.host.is_answered(clarify_id))
        return judge(said, Open(question, self.commands), owner_id=OWNER)

    def answer(self, session_key: str, text: str) -> bool:
        clarify_id = self.host.oldest_question(session_key)
        return clarify_id is not None and self.host.question(clarify_id).resolve(text)

    async def refuse(self, conversation_id: str, message_id: str | None, sentence: str) -> bool:
        self.refused.append((str(message_id), sentence))
        return True


@dataclass
class Waiting:
    """A session that waits, and what the host's handler was given."""

    busy: Busy
    gate: Gatekeeper
    handled: list[str] = field(default_factory=list)

    async def receive(self, request: Request, **more: Any) -> Any:
        event = self.busy.event(request)
        for name, value in more.items():
            setattr(event, name, value)
        await self.busy.sessions.hand_over(event, KEY)
        return event


@contextmanager
def a_session_that_waits(*, question: str | None = None, commands: tuple[Asked, ...] = ()) -> Iterator[Waiting]:
    busy, gate = a_busy_session(), Gatekeeper(commands)
    busy.adapter._canon.busy._people = gate
    waiting = Waiting(busy, gate)

    async def handler(event: Any) -> None:
        waiting.handled.append(event.text)

    busy.adapter.set_message_handler(handler)
    clarify = load_human_modules().clarify
    if question is not None:
        clarify.register(question, KEY, "Which?", ["2025", "2026"])
    try:
        yield waiting
    finally:
        clarify.clear_session(KEY)


async def test_the_asked_persons_words_reach_the_host() -> None:
    """R5.19: the host gets them before its busy handler, which is where it takes them for the answer."""
    with a_session_that_waits(question="q1") as waits:
        await waits.receive(a_request("2025", user=ASKED))

    assert (waits.handled, waits.busy.waiting) == (["2025"], [])
    assert waits.busy.notes.accepted == ["m2"]


@pytest.mark.parametrize("media", [(), ("/cache/cat.png",)], ids=["words", "a picture"])
@pytest.mark.parametrize("intent", [None, "queue", "interrupt"])
async def test_a_bystanders_message_waits(media: tuple[str, ...], intent: str | None) -> None:
    """R9.2: in a session that members share another's message is a message, whatever is asked there."""
    with a_session_that_waits(question="q1") as waits:
        await waits.receive(a_request("2025", intent, user=OTHER, media=media))

        assert not waits.gate.host.is_answered("q1")
    assert (waits.handled, waits.busy.waiting) == ([], ["2025"])
    assert (waits.gate.refused, waits.busy.notes.accepted) == ([], [])


async def test_a_bystanders_words_go_into_the_turn() -> None:
    """D12: they may still be put into the turn that asks; they are not its answer."""
    with a_session_that_waits(question="q1") as waits:
        await waits.receive(a_request("it is in the blue folder", "interleave", user=OTHER, name="Ben"))

        assert not waits.gate.host.is_answered("q1")
    assert waits.busy.agent.steered == ["[Ben] it is in the blue folder"]


@pytest.mark.parametrize("user", [ASKED, OTHER])
async def test_what_may_be_an_answer_stops_nothing_before_its_files(user: str) -> None:
    """R5.19: while a question waits no intent applies to what the host may take for its answer."""
    with a_session_that_waits(question="q1") as waits:
        assert not waits.busy.adapter._port.stop_now(a_request("2025", "stop", user=user))

    assert (waits.busy.agent.interrupts, waits.busy.turn.interrupted) == ([], False)


async def test_a_wake_is_no_answer() -> None:
    """A5, D27: what we hand over ourselves while somebody is asked waits for its own turn."""
    with a_session_that_waits(question="q1") as waits:
        request = a_request("Canon approval a1 resolved: allow", user=ASKED)
        await waits.receive(replace(request, raw={**request.raw, OWN_FIELD: "a1"}))

    assert (waits.handled, waits.busy.waiting) == ([], ["Canon approval a1 resolved: allow"])


async def test_an_answer_with_a_file() -> None:
    """R5.19, D12: its words are the answer, once; the message keeps its file and gets a turn of its own."""
    with a_session_that_waits(question="q1") as waits:
        await waits.receive(a_request("the blue one", user=ASKED, media=("/cache/cat.png",)))
        entry = load_human_modules().clarify.get_pending_for_session(KEY, include_choice_prompts=True)

        assert entry.response == f"the blue one\n\n{FILES_FOLLOW}"
    assert (waits.handled, waits.busy.waiting) == ([], ["the blue one"])
    assert waits.busy.slot.media_urls == ["/cache/cat.png"]
    assert waits.busy.notes.accepted == []  # its turn will say so


async def test_a_file_alone_is_an_answer() -> None:
    """R5.19: asked for a picture, people send one without a word; the turn goes on and hears that it comes."""
    with a_session_that_waits(question="q1") as waits:
        await waits.receive(a_request("", user=ASKED, media=("/cache/cat.png",)))
        entry = load_human_modules().clarify.get_pending_for_session(KEY, include_choice_prompts=True)

        assert entry.response == FILES_FOLLOW
    assert waits.busy.slot.media_urls == ["/cache/cat.png"]


async def test_an_answer_counts_once() -> None:
    """D16: the card was answered, and its thread has not woken up yet; what is typed then is a message."""
    with a_session_that_waits(question="q1") as waits:
        waits.gate.host.question("q1").resolve("2026")
        await waits.receive(a_request("2025", user=ASKED))
        entry = load_human_modules().clarify.get_pending_for_session(KEY, include_choice_prompts=True)

        assert entry.response == "2026"
    assert (waits.handled, waits.busy.waiting) == ([], ["2025"])


async def test_where_nothing_runs_a_bystander_is_told() -> None:
    """R9.2: a question of a task beside the session has no turn behind which a message could wait."""
    with a_session_that_waits(question="q1") as waits:
        waits.busy.adapter._active_sessions.clear()
        await waits.receive(a_request("2025", user=OTHER))

    assert (waits.handled, waits.gate.refused) == ([], [("m2", LATER)])


ORDINARY = Asked(ASKED, owner_only=False, allows_rule=False)


@pytest.mark.parametrize("text", ["/approve", "/deny", "/approve all always", "yes", "no"])
async def test_a_bystander_decides_nothing(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """R9.10: neither allowed nor denied; the author is told, and the message is over."""
    monkeypatch.setattr("canon_hermes_plugin.host._resolve", _blocking(monkeypatch))
    with a_session_that_waits(commands=(ORDINARY,)) as waits:
        await waits.receive(a_request(text, user=OTHER))

    assert (waits.handled, waits.busy.runner.left, waits.busy.waiting) == ([], [], [])
    assert waits.gate.refused == [("m2", NOT_YOURS)]
    assert (waits.busy.notes.refused, waits.busy.notes.accepted) == (["m2"], ["m2"])


def _blocking(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The host's modules, with an approval that waits in each session."""
    from canon_hermes_plugin import host

    original = host._resolve
    return lambda helper: (lambda _key: True) if helper.name == "has_blocking_approval" else original(helper)


async def test_a_yes_with_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """R5.4, D12: the word decides, and the host that changes its text does not change what waits with the file."""
    monkeypatch.setattr("canon_hermes_plugin.host._resolve", _blocking(monkeypatch))
    with a_session_that_waits(commands=(ORDINARY,)) as waits:
        await waits.receive(a_request("yes", user=ASKED, media=("/cache/cat.png",)))
        (decided,) = waits.busy.runner.left
        decided.text = "/approve"

    assert decided.media_urls == []
    assert (waits.busy.waiting, waits.busy.slot.media_urls) == (["yes"], ["/cache/cat.png"])


@pytest.mark.parametrize("user", [ASKED, OTHER, None])
async def test_yolo_is_the_owners(user: str | None) -> None:
    """R9.10: in a session that is busy or not, whether somebody is asked or not; also under a short name."""
    quick = {"mine": {"type": "alias", "target": "/yolo"}}
    with a_session_that_waits() as waits:
        waits.busy.runner.config = SimpleNamespace(quick_commands=quick)
        for text in ("/yolo", "/YOLO on", "/mine"):
            await waits.receive(a_request(text, user=user))
        waits.busy.adapter._active_sessions.clear()
        await waits.receive(a_request("/yolo", user=user))

    assert waits.handled == []
    assert waits.gate.refused == [("m2", OWNERS_ALONE)] * 4


async def test_yolo_of_the_owner() -> None:
    """R9.10: the owner's own switch is the host's business."""
    with a_session_that_waits(question="q1", commands=(ORDINARY,)) as waits:
        await waits.receive(a_request("/yolo", user=OWNER))

    assert (waits.handled, waits.gate.refused) == (["/yolo"], [])


async def test_a_waiting_message_does_not_become_a_switch() -> None:
    """D59: a message that waits is corrected, but into nothing that would have been refused."""
    with a_session_that_waits() as waits:
        await waits.busy.adapter._port.hand_over(a_request("hello", "queue", user=OTHER))
        words = waits.busy.adapter._port.amend_waiting("m2", "hello there")
        waiting = list(waits.busy.waiting)
        switch = waits.busy.adapter._port.amend_waiting("m2", "/yolo")

    assert (words, switch) == (True, True)
    assert (waiting, waits.busy.waiting) == (["hello there"], [])


async def test_what_the_host_brings_itself_passes_here_too() -> None:
    """Hermes-host 9.3: while it starts it queues messages, and gives them to ``handle_message`` without asking us."""
    with a_session_that_waits(question="q1") as waits:
        event = waits.busy.event(a_request("2025", user=OTHER))
        await waits.busy.adapter.handle_message(event)

    assert (waits.handled, waits.busy.waiting) == ([], ["2025"])


async def test_while_nothing_is_connected() -> None:
    """Nobody is asked then; and nobody is known as the owner."""
    with a_session_that_waits() as waits:
        waits.busy.adapter._canon.busy._people = None
        await waits.receive(a_request("/yolo", user=OWNER))
        await waits.receive(a_request("hello", user=OTHER))

    assert (waits.handled, waits.busy.waiting) == ([], ["hello"])
