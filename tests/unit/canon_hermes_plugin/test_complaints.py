"""Warnings that would repeat ten times a second."""

from __future__ import annotations

import logging

import pytest

from canon_hermes_plugin.complaints import Complaints
from canon_ops.runtime.clock import ManualClock


async def test_each_kind_is_said_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """D49: the first at once, then silence for a minute, then one line with the number of those left unsaid."""
    clock = ManualClock()
    complaints = Complaints(logging.getLogger("test"), clock)

    for _ in range(5):
        complaints.say("preview", "no preview")
    complaints.say("state", "no state")
    await clock.advance(61)
    complaints.say("preview", "no preview")

    assert [record.getMessage() for record in caplog.records] == [
        "no preview",
        "no state",
        "no preview (and 4 times more since the last warning)",
    ]
    assert {record.levelname for record in caplog.records} == {"WARNING"}
