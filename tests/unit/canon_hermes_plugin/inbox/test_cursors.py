"""Gaps of the stream: kept, told once, and one for a stream that never brings anything."""

from __future__ import annotations

from canon_hermes_plugin.inbox import cursors
from canon_hermes_plugin.inbox.cursors import GapKind
from tests.support.canon_state import NOW, OWNER, Rows


def test_gaps_are_kept_and_told_once(rows: Rows) -> None:
    """X4: an expired replay moves the cursor where the server says; the home channel hears of a gap once."""
    rows(cursors.begin_cursor, OWNER, now_ms=NOW)
    rows(cursors.add_gap, OWNER, GapKind.FIRST, now_ms=NOW)
    rows(cursors.add_gap, OWNER, GapKind.EXPIRED, from_event="e1", to_event="e9", now_ms=NOW + 1)
    first, expired = rows(cursors.gaps, OWNER)

    assert (first.kind, first.told) == (GapKind.FIRST, True)
    assert (expired.from_event, expired.to_event, expired.at_ms, expired.told) == ("e1", "e9", NOW + 1, False)
    assert rows(cursors.cursor, OWNER) == "e9"
    assert [rows(cursors.tell_gap, OWNER, expired.number) for _ in range(2)] == [True, False]


def test_a_stream_that_never_brings_anything_has_one_gap(rows: Rows) -> None:
    """X4: opened without a cursor again and again, the stretch grows; the next event ends it."""
    rows(cursors.begin_cursor, OWNER, now_ms=NOW)
    for minute in range(3):
        rows(cursors.add_gap, OWNER, GapKind.NO_CURSOR, now_ms=NOW + minute)
    grown = [(gap.kind, gap.at_ms) for gap in rows(cursors.gaps, OWNER)]

    assert grown == [(GapKind.NO_CURSOR, NOW + 2)]
