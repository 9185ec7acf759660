"""``canon-ops outbox``: whole outputs in an isolated home."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from canon_hermes_plugin.outbox import store
from canon_hermes_plugin.outbox.store import State
from canon_hermes_plugin.state.file import SCHEMA
from canon_hermes_plugin.state.place import state_path
from canon_ops.durable import write_once
from tests.support.canon_state import NOW, OWNER, an_operation
from tests.unit.cli.conftest import Runner


@pytest.fixture
def outbox(home: Path) -> Path:
    """Message 1 refused, 2 on its way."""
    path = state_path(home / ".hermes")
    (home / ".hermes").mkdir()
    refused, pending = an_operation("first\nanswer", turn="t1"), an_operation("second answer", turn="t2")
    for operation in (refused, pending):
        write_once(path, SCHEMA, store.keep, OWNER, operation, now_ms=NOW)
    write_once(path, SCHEMA, store.note_failure, OWNER, refused, "busy", now_ms=NOW)
    write_once(path, SCHEMA, store.put_aside, OWNER, refused, State.REFUSED, "no such room", now_ms=NOW)
    return path


def states(path: Path) -> dict[int, str]:
    return {each.number: each.state.value for each in write_once(path, SCHEMA, store.all_postings)}


def test_a_home_without_an_outbox_has_nothing_to_show(program: Runner, home: Path) -> None:
    """Looking makes no file; a message that is asked for by number is not found."""
    (home / ".hermes").mkdir()

    assert program("outbox", "list").out == ""
    assert program("outbox", "list", terminal=True).out == "Canon has every answer.\n"
    ran = program("outbox", "show", "1")
    assert (ran.code, ran.out) == (1, "")
    assert not any((home / ".hermes").iterdir())


@pytest.mark.parametrize(
    "words", [("show", "1"), ("retry", "1"), ("discard", "1", "--yes")], ids=lambda words: words[0]
)
@pytest.mark.parametrize("number_exists", [False, True], ids=["no outbox", "another number"])
def test_a_number_that_stands_for_nothing_has_one_code(
    program: Runner, home: Path, request: pytest.FixtureRequest, words: tuple[str, ...], number_exists: bool
) -> None:
    """Whether there is no outbox at all or no such message in it, a script reads the same word."""
    if number_exists:
        request.getfixturevalue("outbox")
        words = (words[0], "99", *words[2:])
    else:
        (home / ".hermes").mkdir()

    ran = program("outbox", *words, "--json")

    (error,) = ran.json["errors"]
    assert (ran.code, error["code"]) == (1, "not_found")
    assert error["fix"]


def test_what_is_owed_is_listed_oldest_first(program: Runner, outbox: Path) -> None:
    """One record a message: number, state, conversation, the beginning of its text, failed attempts, reason."""
    assert program("outbox", "list").out == (
        "1\trefused\tc1\tfirst answer\t1\tno such room\n2\tpending\tc1\tsecond answer\t0\t\n"
    )


def test_a_message_is_shown_whole_and_its_capability_is_not(program: Runner, outbox: Path) -> None:
    """The text as people would get it and what stands in the way; the leave to answer is a secret."""
    ran, document = program("outbox", "show", "1"), program("outbox", "show", "1", "--json")

    assert "Canon refused it for good" in ran.out
    assert ran.out.endswith("first\nanswer\n")
    assert document.json["data"]["message"]["error"] == "no such room"
    assert len(document.json["data"]["message_ids"]) == 1
    assert "t" * 40 not in ran.out + document.out


def test_a_file_is_shown_by_its_name(program: Runner, home: Path) -> None:
    """D14: a part that is a file says which; its link may hold a token and is not shown."""
    (home / ".hermes").mkdir()
    whole = an_operation("look", turn="t1")
    attachment = {"kind": "file", "fileName": "report.pdf", "url": "https://files.example/x?token=secret"}
    (message,) = whole.messages
    with_file = replace(whole, messages=(replace(message, attachments=(attachment,)),))
    write_once(state_path(home / ".hermes"), SCHEMA, store.keep, OWNER, with_file, now_ms=NOW)

    shown, document = program("outbox", "show", "1"), program("outbox", "show", "1", "--json")

    assert shown.out.endswith("look\n[file attachment: report.pdf]\n")
    assert "secret" not in shown.out + document.out


def test_a_refused_message_is_sent_again_when_a_person_says_so(program: Runner, outbox: Path) -> None:
    """X9: it is on its way afterwards; what is on its way already is left alone, with another exit code."""
    first, again = program("outbox", "retry", "1"), program("outbox", "retry", "1")

    assert (first.code, again.code) == (0, 1)
    assert "on its way already" in again.out
    assert states(outbox) == {1: "pending", 2: "pending"}


def test_a_message_is_discarded_only_with_consent(program: Runner, outbox: Path) -> None:
    """Without a terminal and without --yes nothing is thrown away."""
    asked, done = program("outbox", "discard", "1"), program("outbox", "discard", "1", "--yes")

    assert (asked.code != 0, done.code) == (True, 0)
    assert states(outbox) == {2: "pending"}


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("retry", "1"), 0, "Would have the gateway send message 1 again."),
        (("retry", "2"), 1, "Message 2 is on its way already."),
        (("discard", "1"), 0, "Would discard message 1: nobody would get it."),
        (("discard", "2"), 0, "Would discard message 2: nobody would get it."),
        (("discard", "9"), 1, ""),
    ],
)
def test_a_rehearsal_changes_nothing(
    program: Runner, outbox: Path, words: tuple[str, ...], code: int, told: str
) -> None:
    """--dry-run asks nothing, tells what would come of it, and ends as the command would."""
    before, rows = outbox.read_bytes(), states(outbox)

    ran, document = program("outbox", *words, "--dry-run"), program("outbox", *words, "--dry-run", "--json")

    assert (ran.code, ran.out.strip()) == (code, told)
    if told:
        assert document.json["data"] == {"number": int(words[1]), "decided": code == 0, "dry_run": True}
    assert (outbox.read_bytes(), states(outbox)) == (before, rows)
