"""Which of our tools a turn is offered in a real gateway, when that changes while the gateway runs.

A host asks once whether a tool can be used and goes by the answer for a while; some ask before any platform is
connected. What a turn is offered has to follow the connection and Canon's policy all the same. R11.30, W11.

==================================================  ====================================================
the server is slow while the gateway starts         test_a_slow_start_costs_the_model_no_tool
Canon lets the agent reach out, or does so no more  test_what_canon_allows_is_offered_from_the_next_session
==================================================  ====================================================
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from borgee_hermes.loopback.options import BorgeeOptions
from canon_ops.sandbox.options import CanonOptions
from tests.support.borgee_gateways import BorgeeStage, borgee_stage
from tests.support.conversing import answer_to
from tests.support.gateways import Stage, canon_stage

pytestmark = pytest.mark.host

SLOW_S = 3  # longer than a host needs to ask every tool, its libraries being loaded


def slow_canon(folder: Path) -> AbstractContextManager[Stage]:
    return canon_stage(folder, options=CanonOptions(faults=(f"delay:method=GET,path=/agents/me,seconds={SLOW_S}",)))


def slow_borgee(folder: Path) -> AbstractContextManager[BorgeeStage]:
    return borgee_stage(
        folder, options=BorgeeOptions(require_mention=False, faults=(f"identity-late:seconds={SLOW_S}",))
    )


def offered(stage: Stage | BorgeeStage) -> tuple[str, ...]:
    """The tools that the newest turn's model was offered."""
    return next(request.tools for request in reversed(stage.model.requests) if request.tools)


@pytest.mark.parametrize(
    ("slow", "tool"),
    [
        pytest.param(slow_canon, "canon_communicate", id="canon"),
        pytest.param(slow_borgee, "borgee_channel_create", id="borgee"),
    ],
)
def test_a_slow_start_costs_the_model_no_tool(
    tmp_path: Path, slow: Callable[[Path], AbstractContextManager[Stage | BorgeeStage]], tool: str
) -> None:
    """W11, R11.30: the first turn has every tool, also where the host asked for them before we were connected."""
    with slow(tmp_path) as stage:
        message = stage.box.human.say(None, "[say hello]")
        if isinstance(stage, BorgeeStage):
            stage.answer(message)
        else:
            answer_to(stage.box, message)

        assert tool in offered(stage)


def test_what_canon_allows_is_offered_from_the_next_session(tmp_path: Path) -> None:
    """S11.5: a policy that Canon changes is what the next session's agent sees, in both directions."""
    with canon_stage(tmp_path) as stage:
        box, seen = stage.box, []
        for policy in ("closed", "open", "closed"):
            box.human.set_policy(policy)
            room = box.human.open_conversation([box.endpoints.owner_id, "user_dana", "agent_sandbox"], name=policy)
            answer_to(box, box.human.say(room, "[say hello]"))
            seen.append("canon_communicate" in offered(stage))

        assert seen == [False, True, False]
