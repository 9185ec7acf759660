"""``canon-ops inbox``: whole outputs in an isolated home."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from borgee_hermes.control.client import Where
from borgee_hermes.inbox import operator, store
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.records import Outcome, Status
from borgee_hermes.inbox.schema import SCHEMA
from borgee_hermes.locks.identity import PROFILE_SCOPE, profile_identity
from canon_ops.durable import write_once
from tests.support.borgee_receipts import S1, a_receipt
from tests.support.held_locks import hold_lock
from tests.unit.cli.conftest import Runner


@pytest.fixture
def inbox(home: Path) -> Path:
    """Receipt 1 quarantined, 2 waiting behind it, 3 completed in another channel."""
    path = inbox_file(home / ".hermes")
    (home / ".hermes").mkdir()
    for n, channel in ((1, "channel-1"), (2, "channel-1"), (3, "channel-2")):
        write_once(path, SCHEMA, store.insert, a_receipt(f"m-{n}", channel, f"text\n{n}"), now_s=1.8e9)
    for n in (1, 3):
        write_once(path, SCHEMA, store.claim, n, f"t-{n}", now_s=1.8e9)
    write_once(path, SCHEMA, store.finish, 3, "t-3", Status.COMPLETED, Outcome.HERMES_COMPLETED, now_s=1.8e9)
    write_once(path, SCHEMA, store.recover_processing, now_s=1.8e9)
    write_once(path, SCHEMA, store.quarantine_in_doubt, (), now_s=1.8e9)
    return path


def test_a_home_without_an_inbox_has_nothing_to_show(program: Runner, home: Path) -> None:
    """Looking makes no file; a receipt that is asked for by number is not found."""
    (home / ".hermes").mkdir()

    assert program("inbox", "list").out == ""
    assert program("inbox", "list", terminal=True).out == "There are no unsettled receipts.\n"
    assert program("inbox", "list", "--session", "x", terminal=True).out == "There are no such receipts.\n"
    assert program("inbox", "stats", "--json").json["data"]["exists"] is False
    ran = program("inbox", "show", "1")
    assert (ran.code, ran.out) == (1, "")
    assert "no Borgee message has been stored yet" in ran.err
    assert not any((home / ".hermes").iterdir())


def test_what_is_unsettled_comes_first(program: Runner, inbox: Path) -> None:
    """The newest first; --status and --session choose."""
    assert program("inbox", "list").out == (
        f"2\tpending\t{S1}\tAda\ttext 2\t2027-01-15T08:00:00Z\n"
        f"1\tquarantined\t{S1}\tAda\ttext 1\t2027-01-15T08:00:00Z\n"
    )
    assert program("inbox", "list", "--status", "completed").out.startswith("3\tcompleted\t")
    assert program("inbox", "list", "--session", "nobody").out == ""
    rows = program("inbox", "list", "-n", "1", "--json").json["data"]["receipts"]
    assert [(row["seq"], row["text"]) for row in rows] == [(2, "text\n2")]


def test_a_receipt_says_how_far_it_came(program: Runner, inbox: Path) -> None:
    """Its state, who waits behind it, and the commands that settle it."""
    data = program("inbox", "show", "1", "--json").json["data"]
    ran = program("inbox", "show", "1")

    assert data["receipt"]["outcome"] == "quarantined_without_existing_session"
    assert (data["waiting_behind"], data["source_text"]) == (1, "text\n1")
    assert "\tcanon-ops inbox discard 1\n" in ran.out
    assert "\tcanon-ops inbox requeue 1 --confirm-duplicate-side-effect-risk\n" in ran.out
    assert "author\tAda (u-1)\n" in ran.out
    assert "1 later message of its session waits" in ran.out
    assert program("inbox", "show", "9").code == 1


def test_both_commands_that_settle_a_receipt_reach_the_home_that_was_asked(program: Runner, inbox: Path) -> None:
    """Pasted, each decides about the receipt that was shown, and not about one of that number in another home."""
    there = f"--hermes-home {inbox.parents[2]}"

    assert program(*f"inbox show 1 {there}".split()).out.count(there) == 2


@pytest.mark.parametrize(
    ("name", "author_id", "told"),
    [
        ("", "u-1", "u-1"),
        ("Ada", "u-1", "Ada (u-1)"),
        ("u-1", "u-1", "u-1"),
        ("", "", "nobody"),
        ("x" * 9_000, "u-1", "x" * 95 + "…"),
        ("A\nda\u202e\x1b[2J", "u-1", "A da [2J (u-1)"),
    ],
)
def test_an_author_is_told_by_what_is_known(name: str, author_id: str, told: str, program: Runner, inbox: Path) -> None:
    """Borgee 1.5: a name may be empty; a deleted message says no author at all. However long a name is, and whatever is
    in it, it takes its line."""
    receipt = replace(a_receipt("m-5", "channel-9"), author_name=name, author_id=author_id)
    write_once(inbox, SCHEMA, store.insert, receipt, now_s=1.8e9)

    assert f"author\t{told}\n" in program("inbox", "show", "4").out


def test_a_list_says_what_to_do_about_what_waits_for_a_person(program: Runner, inbox: Path) -> None:
    """The oldest first; in records it is left out, and there is nothing to say where nothing waits for a decision."""
    shown = " ".join(program("inbox", "list", "--color", "never", terminal=True).out.split())

    assert shown.endswith(
        "! 1 receipt waits for a decision: nobody knows how far the turn came. Next: canon-ops inbox show 1"
    )
    assert "decision" not in program("inbox", "list", "--status", "pending", terminal=True).out


def test_what_was_in_work_when_the_gateway_ended_is_not_at_work(program: Runner, inbox: Path) -> None:
    """A kill leaves it as processing: without a gateway it waits for a person, as after the next start."""
    for n in (4, 5):
        write_once(inbox, SCHEMA, store.insert, a_receipt(f"m-{n}", "channel-4"), now_s=1.8e9)
    write_once(inbox, SCHEMA, store.claim, 4, "t-4", now_s=1.8e9)

    listed = " ".join(program("inbox", "list", terminal=True).out.split())
    assert "2 receipts wait for a decision: nobody knows how far the turn came." in listed
    assert "No gateway runs, so what is processing was interrupted." in listed
    shown = program("inbox", "show", "4").out
    assert "warning\tinterrupted\tnobody knows how far its turn came; 1 later message of its session waits" in shown
    assert "\tcanon-ops inbox discard 4\n" in shown
    assert [one["by_seq"] for one in program("inbox", "stats", "--json").json["data"]["blocked"]] == [1, 4]


@pytest.mark.parametrize("is_readable", [True, False], ids=["runs", "nobody knows"])
def test_what_a_gateway_has_in_work_is_not_told_as_interrupted(program: Runner, inbox: Path, is_readable: bool) -> None:
    """While one runs, or may."""
    write_once(inbox, SCHEMA, store.insert, a_receipt("m-4", "channel-4"), now_s=1.8e9)
    write_once(inbox, SCHEMA, store.claim, 4, "t-4", now_s=1.8e9)
    state = {"pid": os.getpid(), "gateway_state": "running"}
    inbox.parents[2].joinpath("gateway_state.json").write_text(json.dumps(state) if is_readable else "{")

    assert "1 receipt waits" in program("inbox", "list", terminal=True).out
    assert "interrupted" not in program("inbox", "show", "4").out
    assert [one["by_seq"] for one in program("inbox", "stats", "--json").json["data"]["blocked"]] == [1]


def test_stats_name_the_session_that_waits(program: Runner, inbox: Path) -> None:
    """Counts by state, and what blocks."""
    data = program("inbox", "stats", "--json").json["data"]

    assert data["by_status"]["quarantined"] == 1
    assert data["blocked"] == [{"session_key": S1, "by_seq": 1, "waiting": 1}]
    assert data["oldest_pending_at"] == "2027-01-15T08:00:00Z"
    assert "waits for a decision about receipt 1; 1 message behind it" in program("inbox", "stats").out
    write_once(inbox, SCHEMA, store.insert, a_receipt("m-4", "channel-1"), now_s=1.8e9)
    assert "receipt 1; 2 messages behind it" in program("inbox", "stats").out
    assert "2 later messages of its session wait" in program("inbox", "show", "1").out


def test_only_a_quarantined_receipt_can_be_decided_about(program: Runner, inbox: Path) -> None:
    """Anything else changes nothing, and says what it is."""
    ran = program("inbox", "discard", "2", "--yes")

    assert (ran.code, ran.out) == (1, "Receipt 2 is pending, not quarantined: there is nothing to decide.\n")


def test_a_decision_has_to_be_meant(program: Runner, inbox: Path) -> None:
    """Without consent nothing is discarded; without the word nothing is requeued."""
    discard, requeue = program("inbox", "discard", "1"), program("inbox", "requeue", "1")

    assert (discard.code, requeue.code) == (2, 2)
    assert "--yes" in discard.err
    assert "--confirm-duplicate-side-effect-risk" in requeue.err
    assert program("inbox", "list", "--status", "quarantined", "--json").json["data"]["receipts"]


@pytest.mark.host
def test_a_receipt_is_discarded_with_the_hosts_own_store(
    program: Runner, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No gateway runs: the host is asked to reset the session, which it does not know, and the receipt is given up."""
    monkeypatch.setenv("HERMES_STATE_DB_GUARD_BYPASS", "1")  # some hosts guard a user's own home from test runners

    ran = program("inbox", "discard", "1", "--yes", "--json")

    assert ran.json["data"] == {"seq": 1, "decided": True, "carried_out_by": "here", "dry_run": False}
    assert program("inbox", "show", "1", "--json").json["data"]["receipt"]["status"] == "failed"


@pytest.mark.parametrize("is_in_doubt", [False, True], ids=["processing", "in_doubt"])
@pytest.mark.parametrize("op", ["discard", "requeue"])
def test_what_a_gateway_that_is_gone_had_in_work_is_decided_without_one(
    program: Runner, inbox: Path, monkeypatch: pytest.MonkeyPatch, op: str, is_in_doubt: bool
) -> None:
    """A killed gateway leaves a claim and a lock that the system has freed; a stopped one a receipt in doubt.

    Nobody has to start another gateway only to decide about it; what else was in work waits for the next start.
    """
    path = inbox
    for n in (4, 5):
        write_once(path, SCHEMA, store.insert, a_receipt(f"m-{n}", f"channel-{n}"), now_s=1.8e9)
        write_once(path, SCHEMA, store.claim, n, f"t-{n}", now_s=1.8e9)
    if is_in_doubt:
        write_once(path, SCHEMA, store.recover_processing, now_s=1.8e9)
    reset: list[str] = []

    def resets(_context: object, session_key: str) -> bool:
        reset.append(session_key)
        return True

    monkeypatch.setattr("canon_ops.cli.commands.inbox._reset", resets)
    flags = ["--yes"] if op == "discard" else ["--confirm-duplicate-side-effect-risk"]

    ran = program("inbox", op, "4", *flags, "--json")

    assert ran.json["data"] == {"seq": 4, "decided": True, "carried_out_by": "here", "dry_run": False}
    rows = {row["seq"]: row for row in program("inbox", "list", "--json").json["data"]["receipts"]}
    settled = program("inbox", "show", "4", "--json").json["data"]["receipt"]
    expected = ("failed", "operator_discarded") if op == "discard" else ("pending", "operator_risk_confirmed_requeue")
    assert (settled["status"], settled["outcome"]) == expected
    assert rows[5]["status"] == ("in_doubt" if is_in_doubt else "processing")
    assert reset == [a_receipt("m-4", "channel-4").session_key]


@pytest.mark.parametrize("beside", ["a gateway without Borgee", "the published plugin"])
@pytest.mark.parametrize("state", ["processing", "in_doubt", "quarantined"])
def test_beside_a_gateway_that_does_not_offer_it_nothing_is_decided(
    program: Runner, inbox: Path, monkeypatch: pytest.MonkeyPatch, state: str, beside: str
) -> None:
    """A gateway keeps its sessions in memory and writes all of them: a reset from outside would not last, and could
    undo what other platforms have written."""
    write_once(inbox, SCHEMA, store.insert, a_receipt("m-4", "channel-4"), now_s=1.8e9)
    write_once(inbox, SCHEMA, store.claim, 4, "t-4", now_s=1.8e9)
    if state != "processing":
        write_once(inbox, SCHEMA, store.recover_processing, now_s=1.8e9)
    if state == "quarantined":
        write_once(inbox, SCHEMA, store.quarantine_in_doubt, (), now_s=1.8e9)
    if beside == "the published plugin":
        hold_lock(PROFILE_SCOPE, profile_identity(inbox.parents[2]), os.environ)
    else:
        written = {"pid": os.getpid(), "gateway_state": "running", "platforms": {"borgee": {"state": "fatal"}}}
        inbox.parents[2].joinpath("gateway_state.json").write_text(json.dumps(written))
    monkeypatch.setattr("canon_ops.cli.commands.inbox._reset", pytest.fail)
    monkeypatch.setattr("borgee_hermes.control.client.LOOK_S", 0.0)

    ran = program("inbox", "discard", "4", "--yes")

    assert ran.code == 5
    assert f"process {os.getpid()}" in ran.err
    assert "gateway" in ran.err.partition("fix:")[2]
    assert program("inbox", "show", "4", "--json").json["data"]["receipt"]["status"] == state


@pytest.mark.parametrize(
    ("meanwhile", "told"),
    [
        (store.claim, "is processing: the running gateway is at work on it."),
        (operator.discard, "is failed: somebody else has decided."),
        (operator.requeue, "is pending: somebody else has decided."),
        (store.finish, "is completed: there is nothing to decide any more."),
    ],
)
def test_a_decision_that_came_too_late_says_what_the_receipt_is_by_now(
    program: Runner, inbox: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: Any, told: str
) -> None:
    """Between the look and the decision another person, or the gateway, was faster."""
    given: dict[Any, dict[str, Any]] = {operator.requeue: {"risk_confirmed": True}}

    def late(*_: object, **__: object) -> tuple[bool, Where]:
        if meanwhile in (store.claim, store.finish):
            write_once(inbox, SCHEMA, operator.requeue, 1, risk_confirmed=True, now_s=1.8e9)
            write_once(inbox, SCHEMA, store.claim, 1, "t-late", now_s=1.8e9)
        if meanwhile is store.finish:
            write_once(
                inbox, SCHEMA, store.finish, 1, "t-late", Status.COMPLETED, Outcome.HERMES_COMPLETED, now_s=1.8e9
            )
        elif meanwhile is not store.claim:
            write_once(inbox, SCHEMA, meanwhile, 1, now_s=1.8e9, **given.get(meanwhile, {}))
        return False, Where.GATEWAY

    monkeypatch.setattr("canon_ops.cli.commands.inbox.decide", late)

    ran = program("inbox", "discard", "1", "--yes")

    assert (ran.code, ran.out) == (1, f"Receipt 1 {told}\n")


RISK = "--confirm-duplicate-side-effect-risk"


@pytest.mark.parametrize("is_owned", [False, True], ids=["no gateway", "a gateway"])
@pytest.mark.parametrize(
    ("words", "alone", "beside"),
    [
        (("discard", "1"), "Would discard receipt 1", "Would discard receipt 1"),
        (("requeue", "1", RISK), "Would requeue receipt 1", "Would requeue receipt 1"),
        (("requeue", "1"), None, None),
        (("discard", "2"), "Receipt 2 is pending", "Receipt 2 is pending"),
        (("discard", "4"), "Would discard receipt 4", "Receipt 4 is processing: the running gateway is at work on it"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_a_rehearsal_decides_nothing(
    program: Runner, inbox: Path, is_owned: bool, words: tuple[str, ...], alone: str | None, beside: str | None
) -> None:
    """--dry-run asks nobody, tells what would come of it, and ends as the command would."""
    write_once(inbox, SCHEMA, store.insert, a_receipt("m-4", "channel-4"), now_s=1.8e9)
    write_once(inbox, SCHEMA, store.claim, 4, "t-4", now_s=1.8e9)
    if is_owned:
        state = {"pid": os.getpid(), "gateway_state": "running"}
        inbox.parents[2].joinpath("gateway_state.json").write_text(json.dumps(state))
    before, told = inbox.read_bytes(), beside if is_owned else alone

    ran, document = program("inbox", *words, "--dry-run"), program("inbox", *words, "--dry-run", "--json")

    if told is None:
        assert (ran.code, RISK in ran.err) == (2, True)
    else:
        decided = told.startswith("Would")
        assert (ran.code, ran.out.startswith(told)) == (0 if decided else 1, True)
        seq = int(words[1])
        assert document.json["data"] == {"seq": seq, "decided": decided, "carried_out_by": None, "dry_run": True}
    assert inbox.read_bytes() == before
