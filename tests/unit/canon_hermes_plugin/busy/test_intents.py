"""The table of what a message does to a running turn, row by row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from canon_hermes_plugin.busy.intents import Busy, Deed, deed_of, steering_words
from canon_hermes_plugin.interactions.typed import APPROVAL_WORDS
from canon_ops.wire.messages import DeliveryIntent

INTERLEAVE = Busy("words", intent=DeliveryIntent.INTERLEAVE)


@pytest.mark.parametrize(
    ("busy", "deed"),
    [
        pytest.param(Busy("hi"), Deed.QUEUE, id="says nothing"),
        pytest.param(Busy("hi", intent=DeliveryIntent.QUEUE), Deed.QUEUE, id="queue"),
        pytest.param(Busy("hi", intent=DeliveryIntent.INTERRUPT), Deed.INTERRUPT, id="interrupt"),
        pytest.param(Busy("hi", intent=DeliveryIntent.STOP), Deed.STOP, id="stop"),
        pytest.param(INTERLEAVE, Deed.STEER, id="interleave"),
        pytest.param(replace(INTERLEAVE, has_media=True), Deed.QUEUE, id="interleave with a picture"),
        pytest.param(replace(INTERLEAVE, is_live=False), Deed.QUEUE, id="interleave into nothing"),
        pytest.param(replace(INTERLEAVE, can_steer=False), Deed.QUEUE, id="interleave without a way"),
        pytest.param(replace(INTERLEAVE, text="  "), Deed.QUEUE, id="interleave without words"),
    ],
)
def test_each_intent(busy: Busy, deed: Deed) -> None:
    """S5.2, S5.3, S5.8, D12: what is asked for is done, and what would lose something is done later."""
    assert deed_of(busy) is deed


@pytest.mark.parametrize("intent", [None, *DeliveryIntent])
@pytest.mark.parametrize(
    "hosts",
    [
        {"can_route": False},
        {"is_internal": True},
        {"is_command": True},
        {"is_draining": True},
        {"is_authorized": False},
        {"has_blocking_approval": True, "text": " YES "},
    ],
    ids=lambda hosts: next(iter(hosts)),
)
def test_what_is_the_hosts_stays_the_hosts(intent: DeliveryIntent | None, hosts: dict[str, object]) -> None:
    """S5.11, S5.12, S5.16: whatever the message asks for."""
    assert deed_of(replace(Busy("words", intent=intent), **hosts)) is Deed.LEAVE  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "intent", "deed"),
    [
        ("also check the attachment", DeliveryIntent.QUEUE, Deed.QUEUE),
        ("change course", DeliveryIntent.INTERRUPT, Deed.INTERRUPT),
    ],
)
def test_other_words_than_an_answer_are_messages(text: str, intent: DeliveryIntent, deed: Deed) -> None:
    """S5.13, S5.14: an approval that waits does not swallow what is no answer to it."""
    assert deed_of(Busy(text, intent=intent, has_blocking_approval=True)) is deed


def test_the_words_that_answer_an_approval() -> None:
    """R5.4: exactly the host's own words, whole and in any case."""
    answers = [
        word
        for word in ("Approve", "👍", " n ", "always approve")
        if Busy(word, has_blocking_approval=True).answers_approval
    ]

    assert len(APPROVAL_WORDS) == 19 and len(answers) == 4
    assert not Busy("yes please", has_blocking_approval=True).answers_approval
    assert not Busy("yes").answers_approval


@pytest.mark.parametrize(
    ("context", "speaker", "words"),
    [
        (None, None, "also check the logs"),
        (None, "Ben", "[Ben] also check the logs"),
        ("said before", None, "said before\n\nalso check the logs"),
        ("said before", "Ben", "said before\n\n[Ben] also check the logs"),
    ],
)
def test_words_take_along_what_belongs_to_them(context: str | None, speaker: str | None, words: str) -> None:
    """D12: the background that was taken for the message, and who speaks where that is not clear."""
    assert steering_words(" also check the logs ", context=context, speaker=speaker) == words
