"""A real round trip, against a Canon that streams an agent's own messages back and one that does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.doctor.check import Finding
from canon_ops.doctor.registry import LIVE_CHECKS
from canon_ops.runtime.clock import SystemClock
from tests.support.clinic import Clinic, open_clinic
from tests.support.sandboxes import canon_box


class Hasty(SystemClock):
    """A clock on which waiting for an echo takes a tenth of a second."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(min(seconds, 0.1) if seconds <= 5 else seconds)


def ask(clinic: Clinic) -> Finding:
    (verdict,) = clinic.examine(LIVE_CHECKS).verdicts
    return verdict.finding


@pytest.mark.parametrize(("echoes", "status"), [(True, "ok"), (False, "info")])
def test_a_message_reaches_canon_while_the_stream_is_open(echoes: bool, status: str, tmp_path: Path) -> None:
    """It stands in the conversation; whether it comes back over the stream is told."""
    with canon_box(echo_to_author=echoes, emit_suppressed=echoes) as box:
        clinic = open_clinic(tmp_path, box)
        room = box.endpoints.conversation_id
        clinic.write_env(f"CANON_ALLOW_ALL_USERS=true\nCANON_HOME_CHANNEL={room}\n")
        clinic.clock = SystemClock() if echoes else Hasty()

        found = ask(clinic)

        texts = [message["text"] for message in box.transcript(room)]
    assert (found.status.value, found.data["echo"]) == (status, echoes)
    assert sum("canon-ops doctor --live" in text for text in texts) == 1


def test_a_room_that_the_agent_may_not_write_to_is_an_error(tmp_path: Path) -> None:
    """Canon's own words are told."""
    with canon_box() as box:
        clinic = open_clinic(tmp_path, box)
        clinic.write_env("CANON_HOME_CHANNEL=conv_nowhere\n")

        found = ask(clinic)

    assert found.status.value == "error"
    assert "status 404" in found.message or "status 403" in found.message


def test_without_a_home_channel_nothing_is_said(tmp_path: Path) -> None:
    """The question has no answer then, and the cure is its variable."""
    with canon_box() as box:
        clinic = open_clinic(tmp_path, box)

        found = ask(clinic)

        assert box.transcript(box.endpoints.conversation_id) == []
    assert found.status.value == "unknown"
    assert found.fix is not None and "CANON_HOME_CHANNEL" in found.fix.command
