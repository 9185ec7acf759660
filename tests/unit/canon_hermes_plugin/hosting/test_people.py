"""What waits for people in the real host's own modules, and in hosts that name their commands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from canon_hermes_plugin.host import HostIncomplete, HumanModules, load_human_modules
from canon_hermes_plugin.hosting.people import HostApproval, HostPeople, HostQuestion
from tests.support.waiting import wait_until

pytestmark = pytest.mark.host

KEY = "agent:main:canon:dm:c1"


@pytest.fixture
def people() -> HostPeople:
    return HostPeople(load_human_modules)


@contextmanager
def asking(*commands: str, description: str = "recursive delete") -> Iterator[list[Future[Any]]]:
    """Agent threads that wait with commands, in the order of the commands; what the host tells each."""
    approvals = load_human_modules().approvals
    waiting: list[Future[Any]] = []
    with ThreadPoolExecutor(max(1, len(commands))) as pool:
        for number, command in enumerate(commands):
            data = {"command": command, "description": description, "pattern_key": f"p{number}", "pattern_keys": []}
            notified = threading.Event()
            waiting.append(
                pool.submit(approvals._await_gateway_decision, KEY, lambda _, done=notified: done.set(), data)
            )
            assert notified.wait(20)
        try:
            yield waiting
        finally:
            approvals.resolve_gateway_approval(KEY, "deny", resolve_all=True)


def choice(waiting: Future[Any]) -> str | None:
    return str(waiting.result(20)["choice"])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["oldest first", "newest first"])
def test_an_answer_means_its_own_command(people: HostPeople, order: tuple[int, int]) -> None:
    """D16: two commands of a session wait; each is decided by its own answer."""
    with asking("rm a", "rm b") as threads:
        found = [people.approval(KEY, command, "recursive delete") for command in ("rm a", "rm b")]
        choices = ["once", "deny"]

        told = [found[number].resolve(choices[number]) for number in order]

        assert told == [True, True]
        assert [choice(one) for one in threads] == choices
    assert not any(one.is_open() for one in found)


def test_a_command_that_was_answered_in_the_chat(people: HostPeople) -> None:
    """S9.14, D16: A was denied by typing; a yes on A's card does nothing to B, which waits now."""
    approvals = load_human_modules().approvals
    with asking("rm a", "rm b") as (a, b):
        card = people.approval(KEY, "rm a", "recursive delete")

        approvals.resolve_gateway_approval(KEY, "deny")  # what the host does for a typed /deny: the oldest one
        late = card.resolve("once")

        assert (choice(a), late, card.is_open(), b.done()) == ("deny", False, False, False)


def test_nobody_claims_a_command_twice(people: HostPeople) -> None:
    """D16: a second card for the same words is none; a decision about the first leaves every other alone."""
    with asking("rm a", "rm a2") as threads:
        first, second, third = (people.approval(KEY, "rm a", "recursive delete") for _ in range(3))

        assert (first.is_matched, second.is_matched, third.is_matched) == (True, False, False)
        assert first.resolve("once") and not second.resolve("once")
        assert (choice(threads[0]), threads[1].done(), second.is_open()) == ("once", False, True)


def test_a_command_with_a_secret(people: HostPeople) -> None:
    """R9.13: it is found by what the host shows of it."""
    modules = load_human_modules()
    shows = HumanModules(modules.approvals, modules.clarify, lambda text: text.replace("s3", "***"))
    hiding = HostPeople(lambda: shows)
    with asking("curl -H s3") as (thread,):
        assert not people.approval(KEY, "curl -H ***", "recursive delete").is_matched
        assert hiding.approval(KEY, "curl -H ***", "recursive delete").resolve("once")
        assert choice(thread) == "once"


def test_the_reason_tells_commands_apart(people: HostPeople) -> None:
    """R9.13: never by position."""
    with asking("rm a"):
        assert not people.approval(KEY, "rm a", "something else").is_matched
        assert not people.approval("another session", "rm a", "recursive delete").is_matched


def named_host(*rows: dict[str, Any]) -> tuple[HostPeople, list[Any]]:
    """A host that names its commands."""
    calls: list[Any] = []
    waiting = list(rows)

    def resolve(session_key: str, choice: str, *, request_id: str) -> int:
        calls.append((session_key, choice, request_id))
        found = [row for row in waiting if row["request_id"] == request_id]
        waiting[:] = [row for row in waiting if row not in found]
        return len(found)

    approvals = SimpleNamespace(
        list_gateway_approvals=lambda _: [dict(row) for row in waiting],
        resolve_gateway_approval=resolve,
        has_blocking_approval=lambda _: bool(waiting),
    )
    modules = HumanModules(approvals, SimpleNamespace(), str)
    return HostPeople(lambda: modules), calls


def test_a_host_with_names() -> None:
    """D16, H3: on such a host the name is used, and nothing of its inside."""
    rows = [{"command": "rm a", "description": "d", "request_id": name} for name in ("r1", "r2")]
    people, calls = named_host(*rows)

    first, second = (people.approval(KEY, "rm a", "d") for _ in range(2))

    assert (second.resolve("session"), second.resolve("once"), first.is_open()) == (True, False, True)
    assert calls == [(KEY, "session", "r2"), (KEY, "once", "r2")]


def test_a_host_that_shows_nothing() -> None:
    """D16: there a command is not matched, and is open as long as any waits."""
    modules = HumanModules(SimpleNamespace(has_blocking_approval=lambda _: True), SimpleNamespace(), str)

    found = HostPeople(lambda: modules).approval(KEY, "rm a", "d")

    assert (found.is_matched, found.is_open(), found.resolve("once")) == (False, True, False)
    assert HostPeople(lambda: modules).approval_limit_s() is None


# --- questions ----------------------------------------------------------------------------------------------------


@contextmanager
def questioned(clarify_id: str, ask: Callable[[str], HostQuestion]) -> Iterator[tuple[HostQuestion, Future[Any]]]:
    clarify = load_human_modules().clarify
    clarify.register(clarify_id, KEY, "Which?", ["a", "b"])
    question = ask(clarify_id)
    with ThreadPoolExecutor(1) as pool:
        try:
            yield question, pool.submit(clarify.wait_for_response, clarify_id, 20.0)
        finally:
            clarify.clear_session(KEY)


def test_a_question_is_answered_once(people: HostPeople) -> None:
    """R9.6, D16: by our answer, and then no longer open; a second answer changes nothing."""
    with questioned("q1", people.question) as (question, thread):
        told = (question.is_open(), question.resolve("a"), question.resolve("b"))

        assert told == (True, True, False)
        assert thread.result(20) == "a"
    assert not question.is_open()


def test_a_question_is_answered_in_the_chat(people: HostPeople) -> None:
    """S9.15, D16: typed in the chat, it is open no longer."""
    clarify = load_human_modules().clarify
    with questioned("q1", people.question) as (question, thread):
        assert clarify.get_pending_for_session(KEY) is not None  # free words are an answer, too
        clarify.resolve_text_response_for_session(KEY, "2")

        wait_until(lambda: not question.is_open())
        assert (thread.result(20), question.resolve("a")) == ("b", False)


def test_a_session_that_ends(people: HostPeople) -> None:
    """S9.15: the host lets its thread go, and the question is over."""
    with questioned("q1", people.question) as (question, _):
        load_human_modules().clarify.clear_session(KEY)

        assert not question.is_open()


def test_a_host_that_does_not_say_what_is_answered() -> None:
    """H3: there a question counts as open, and the host says itself whether it was."""
    told: list[Any] = []

    def resolve(*answer: str) -> bool:
        told.append(answer)
        return True

    clarify = SimpleNamespace(mark_awaiting_text=told.append, resolve_gateway_clarify=resolve)
    question = HostPeople(lambda: HumanModules(SimpleNamespace(), clarify, str)).question("q1")

    assert (question.is_open(), question.resolve("x")) == (True, True)
    assert told == ["q1", ("q1", "x")]


def test_how_long_the_host_waits(people: HostPeople) -> None:
    """D17: the limits that the installed host uses itself."""
    assert (people.clarify_limit_s() or 0) > 0
    assert (people.approval_limit_s() or 0) > 0


def test_a_program_that_is_no_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """T10: where the modules are missing, that is said."""
    import importlib

    def absent(name: str) -> Any:
        raise ImportError(name)

    load_human_modules.cache_clear()
    monkeypatch.setattr(importlib, "import_module", absent)
    try:
        with pytest.raises(HostIncomplete):
            load_human_modules()
    finally:
        load_human_modules.cache_clear()


def test_an_unmatched_one_is_equal_to_none() -> None:
    """Two claims are two, whatever they hold."""
    modules = HumanModules(SimpleNamespace(), SimpleNamespace(), str)

    assert HostApproval(modules, KEY, None) != HostApproval(modules, KEY, None)
