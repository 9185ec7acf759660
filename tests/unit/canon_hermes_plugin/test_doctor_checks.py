"""What the doctor finds in the state file: nothing, a message that waits, a gap, a refused answer, damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_hermes_plugin.doctor_checks import CHECKS
from canon_hermes_plugin.inbox import cursors
from canon_hermes_plugin.inbox import store as inbox
from canon_hermes_plugin.inbox.cursors import GapKind
from canon_hermes_plugin.outbox import store as outbox
from canon_hermes_plugin.outbox.store import State
from canon_hermes_plugin.state.place import state_path
from canon_ops.doctor.check import Finding, Status
from canon_ops.doctor.examination import Examination
from canon_ops.hermes.homes import resolve_home
from canon_ops.runtime.clock import ManualClock
from tests.support.canon_state import NOW, OWNER, Rows, an_operation

INBOX, OUTBOX = (check.run for check in CHECKS if check.area == "canon")
LATER = NOW + 3_600_000


@pytest.fixture
def examination(tmp_path: Path) -> Examination:
    environ = {"HERMES_HOME": str(tmp_path), "HOME": str(tmp_path)}
    return Examination(resolve_home(environ), environ, clock=ManualClock(LATER))


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    return Rows(state_path(tmp_path))


def findings(answer: object) -> tuple[Finding, ...]:
    found = answer if isinstance(answer, tuple) else (answer,)
    assert all(isinstance(each, Finding) for each in found)
    return found


def test_a_home_without_state_is_fine_and_stays_without(examination: Examination, rows: Rows) -> None:
    """Looking makes no file."""
    statuses = [finding.status for run in (INBOX, OUTBOX) for finding in findings(run(examination))]

    assert statuses == [Status.OK, Status.OK]
    assert not rows.path.exists()


def test_a_message_that_nobody_works_on_is_found(examination: Examination, rows: Rows) -> None:
    """canon.inbox: it says how far the oldest came, and that a new gateway takes it up."""
    rows(inbox.record, OWNER, "m1", "c1", {}, step=None, now_ms=NOW)

    (finding,) = findings(INBOX(examination))

    assert (finding.status, finding.data["unfinished"]) == (Status.WARNING, {"recorded": 1})
    assert "1 messages are not finished; the oldest has been recorded since 2026-09-21 14:13 UTC" in finding.message
    assert finding.fix is not None
    assert "gateway restart" in finding.fix.command


def test_messages_that_may_have_been_missed_are_shown(examination: Examination, rows: Rows) -> None:
    """X4: a gap is a warning; the first connection ever is not."""
    rows(cursors.begin_cursor, OWNER, now_ms=NOW)
    rows(cursors.add_gap, OWNER, GapKind.FIRST, now_ms=NOW)
    first = findings(INBOX(examination))
    rows(cursors.add_gap, OWNER, GapKind.EXPIRED, from_event="e1", to_event="e9", now_ms=NOW)
    second = findings(INBOX(examination))

    assert [each.status for each in first] == [Status.INFO]
    assert [(each.status, each.data["from"]) for each in second] == [(Status.WARNING, "e1")]


def test_an_answer_that_canon_refused_is_found(examination: Examination, rows: Rows) -> None:
    """X9: the number, the reason, and the command that shows it."""
    rows(outbox.keep, OWNER, an_operation(), now_ms=NOW)
    (owed,) = findings(OUTBOX(examination))
    rows(outbox.put_aside, OWNER, an_operation(), State.REFUSED, "no such room", now_ms=NOW)
    (refused,) = findings(OUTBOX(examination))

    assert (owed.status, refused.status) == (Status.WARNING, Status.ERROR)
    assert refused.message == "1 answer did not reach Canon; number 1: no such room."
    assert refused.fix is not None
    assert "outbox show 1" in refused.fix.command


def test_a_damaged_file_is_an_error(examination: Examination, rows: Rows) -> None:
    """Nothing is read from a file that contradicts itself; the fix is SQLite's own."""
    rows(cursors.begin_cursor, OWNER, now_ms=NOW)
    data = bytearray(rows.path.read_bytes())
    data[4_096:12_288] = b"\xff" * 8_192
    rows.path.write_bytes(bytes(data))

    assert [each.status for each in findings(INBOX(examination))] == [Status.ERROR]
