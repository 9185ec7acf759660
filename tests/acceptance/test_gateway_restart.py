"""A gateway that was killed and started again on the same home: what it answers, and how often."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.conversing import answer_to
from tests.support.gateways import canon_stage
from tests.support.waiting import wait_until

pytestmark = pytest.mark.host


@pytest.mark.long
@pytest.mark.everywhere
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


def test_a_refused_key_ends_the_gateway_and_a_mended_one_starts_it(tmp_path: Path) -> None:
    """D22 in a gateway: the only platform is refused for good, so the process ends; the next one is ready and answers.

    The file in which a gateway tells its state still says ``fatal`` when the next one begins.
    """
    with canon_stage(tmp_path) as stage:
        refused = stage.box.fault("stream-401")
        stage.box.human.drop_streams()
        wait_until(lambda: not stage.gateway.is_running, timeout_s=60)

        stage.start_again()
        answer = answer_to(stage.box, stage.box.human.say(None, "[say mended]"))

    assert (refused.fired, answer["text"]) == (1, "mended")
    assert "auth_failed" in stage.home.gateway_log
