"""A gateway that was killed and started again on the same home: what it answers, and how often."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.conversing import answer_to
from tests.support.gateways import canon_stage

pytestmark = pytest.mark.host


def test_a_killed_gateway_answers_again(tmp_path: Path) -> None:
    """After SIGKILL and a new start on the same home the next message is answered once, and the last one not again.

    The host itself may take up a recent session and say so; that is its own message.
    """
    with canon_stage(tmp_path) as stage:
        answer_to(stage.box, stage.box.human.say(None, "[say before]"))

        stage.gateway.kill()
        stage.start_again()
        answer_to(stage.box, stage.box.human.say(None, "[say after]"))

        heard = [entry["text"] for entry in stage.box.transcript() if entry["origin"] == "agent"]
        assert [heard.count(answer) for answer in ("before", "after")] == [1, 1]
