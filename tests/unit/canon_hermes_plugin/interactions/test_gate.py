"""Who may answer what: each row of the table, and that nobody gets past it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_hermes_plugin.interactions.command_approval import Asked
from canon_hermes_plugin.interactions.gate import (
    ASIDE,
    CONFIRMING,
    FOR_GOOD,
    NOT_YOURS,
    OWNERS,
    OWNERS_ALONE,
    PASS,
    SPLIT,
    Confirmation,
    Open,
    Question,
    Said,
    Verdict,
    Way,
    judge,
)

OWNER, ASKED, OTHER = "owner-1", "member-9", "member-8"
ORDINARY = Asked(ASKED, owner_only=False, allows_rule=False)
PRIVILEGED = Asked(None, owner_only=True, allows_rule=True)


def refused(sentence: str) -> Verdict:
    return Verdict(Way.REFUSE, sentence)


def verdict(said: Said, waits: Open) -> Verdict:
    return judge(said, waits, owner_id=OWNER)


# --- questions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("author", [ASKED, OWNER])
def test_the_words_of_the_right_people_are_the_answer(author: str) -> None:
    """R5.19: the host takes them; with files, the words are the answer and the message keeps its files."""
    waits = Open(Question(ASKED))

    assert verdict(Said("2025", author), waits) == PASS
    assert verdict(Said("2025", author, has_files=True), waits) == SPLIT


@pytest.mark.parametrize("author", [OTHER, None])
@pytest.mark.parametrize("has_files", [False, True])
def test_a_bystanders_words_are_no_answer(author: str | None, has_files: bool) -> None:
    """R9.2: nor are another agent's, nor anybody's files; they are ordinary messages."""
    assert verdict(Said("2025", author, has_files=has_files), Open(Question(ASKED))) == ASIDE


@pytest.mark.parametrize("responder", [None, ASKED])
def test_an_answer_counts_once(responder: str | None) -> None:
    """D16: until its thread has taken it, another text would take its place."""
    waits = Open(Question(responder, is_answered=True))

    assert [verdict(Said("again", author), waits) for author in (ASKED, OWNER)] == [ASIDE, ASIDE]


def test_where_nobody_is_named_it_is_the_owners() -> None:
    """R9.2: and where the owner is not known either, nobody's."""
    waits = Open(Question(None))

    assert (verdict(Said("x", ASKED), waits), verdict(Said("x", OWNER), waits)) == (ASIDE, PASS)
    assert judge(Said("x", OWNER), waits, owner_id=None) == ASIDE
    assert judge(Said("x", None), waits, owner_id=None) == ASIDE


def test_what_is_ours_is_no_answer() -> None:
    """A5, D27: a wake that comes while somebody is asked keeps its own turn; a command of Canon's passes."""
    waits = Open(Question(ASKED), (ORDINARY,))

    assert verdict(Said("Canon approval a1 resolved: allow", ASKED, is_said=False), waits) == ASIDE
    assert verdict(Said("/stop", OTHER, "stop", is_said=False), waits) == PASS


def test_a_command_is_no_answer_to_a_question() -> None:
    """R5.19: a bystander may still stop the turn, or look at its state."""
    assert verdict(Said("/stop", OTHER, "stop"), Open(Question(ASKED))) == PASS


# --- commands that somebody has to allow ---------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["yes", "no", "approve session", "👎"])
def test_a_decision_is_whose_it_is(text: str) -> None:
    """R9.10: a yes and a no count from the person who was asked and from the owner, and from nobody else."""
    waits = Open(commands=(ORDINARY,))

    assert [verdict(Said(text, who), waits) for who in (ASKED, OWNER)] == [PASS, PASS]
    assert [verdict(Said(text, who), waits) for who in (OTHER, None)] == [refused(NOT_YOURS)] * 2
    assert [verdict(Said(text, who), Open(commands=(PRIVILEGED,))) for who in (ASKED, OWNER)] == [
        refused(OWNERS),
        PASS,
    ]


def test_a_decision_about_all_is_about_each() -> None:
    """R9.10: what the host would apply to several is everybody's whose it is."""
    said = Said("/approve all", ASKED, "approve", "all")

    assert verdict(said, Open(commands=(ORDINARY,))) == PASS
    assert verdict(said, Open(commands=(ORDINARY, PRIVILEGED))) == refused(OWNERS)


@pytest.mark.parametrize("who", [OTHER, ASKED, OWNER, None])
def test_a_sentence_decides_nothing(who: str | None) -> None:
    """S5.13: it is the message that it is."""
    assert verdict(Said("yes, but look at the logs first", who), Open(commands=(ORDINARY,))) == PASS


def test_a_question_and_a_command_at_once() -> None:
    """R9.10: who may answer the question answers it; who may not is no way around the command either."""
    waits = Open(Question(ASKED), (PRIVILEGED,))

    assert verdict(Said("yes", ASKED), waits) == PASS
    assert verdict(Said("yes", OTHER), waits) == refused(OWNERS)
    assert verdict(Said("/approve", ASKED, "approve"), waits) == refused(OWNERS)


# --- what changes the asking ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("waits", [Open(), Open(Question(ASKED), (ORDINARY,))], ids=["idle", "asked"])
@pytest.mark.parametrize(
    ("command", "arguments"),
    [("yolo", ""), ("approvals", "OFF"), ("memory", "approval off"), ("skills", "approve all")],
)
def test_the_owners_switches(waits: Open, command: str, arguments: str) -> None:
    """R9.10: whoever was asked about one command has not been made owner of them all."""
    said = Said(f"/{command} {arguments}", ASKED, command, arguments)

    assert verdict(said, waits) == refused(OWNERS_ALONE)
    assert verdict(replace(said, author=None), waits) == refused(OWNERS_ALONE)
    assert verdict(replace(said, author=OWNER), waits) == PASS
    assert judge(replace(said, author=OWNER), waits, owner_id=None) == refused(OWNERS_ALONE)


def test_a_command_that_wants_to_be_confirmed() -> None:
    """R9.15: by who typed it, or the owner; for good by the owner alone."""
    waits = Open(confirmation=Confirmation(ASKED))

    assert [verdict(Said("/approve", who, "approve"), waits) for who in (ASKED, OWNER)] == [PASS, PASS]
    assert [verdict(Said("/cancel", who, "cancel"), waits) for who in (OTHER, None)] == [refused(CONFIRMING)] * 2
    assert [verdict(Said("always", who), waits) for who in (ASKED, OWNER)] == [refused(FOR_GOOD), PASS]
    assert verdict(Said("once", OTHER), Open(confirmation=Confirmation(None))) == refused(CONFIRMING)
    assert verdict(Said("anything else", OTHER), waits) == PASS


TEXTS = st.sampled_from(["yes", "no", "hello", "/approve", "/deny all", "2", "always", "/yolo", "/status"])
PEOPLE = st.sampled_from([OTHER, None])


@given(
    text=TEXTS,
    who=PEOPLE,
    has_files=st.booleans(),
    has_question=st.booleans(),
    commands=st.lists(st.sampled_from([ORDINARY, PRIVILEGED]), max_size=3),
    owner_id=st.sampled_from([OWNER, None]),
)
def test_nobody_else_ever_answers(
    text: str, who: str | None, has_files: bool, has_question: bool, commands: list[Asked], owner_id: str | None
) -> None:
    """R9.2, R9.10: whatever waits together, nothing of a bystander's reaches a question or decides about a command."""
    command = text[1:].split()[0] if text.startswith("/") else None
    waits = Open(Question(ASKED) if has_question else None, tuple(commands))

    found = judge(Said(text, who, command, has_files=has_files), waits, owner_id=owner_id)

    if has_question and command is None:
        assert found.way in (Way.ASIDE, Way.REFUSE)
    if commands and text not in ("hello", "2", "/status"):
        assert found.way is Way.REFUSE
