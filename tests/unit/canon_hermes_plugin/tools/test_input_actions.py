"""The end of a question's time: what comes with the cancellation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from canon_hermes_plugin.tools.input_actions import _answer
from canon_ops.client.errors import ApiError, TransportFailure
from canon_ops.runtime.clock import ManualClock
from canon_ops.wire.interactions import InteractionKind
from canon_ops.wire.retry import TransportKind

ANSWER = {"status": "submitted", "inputId": "in-1", "value": "2026"}
OVER = {"status": "timeout", "inputId": "in-1"}


class Canon:
    """Nobody answers, until the question is taken back."""

    def __init__(self, last: dict[str, Any] | Exception) -> None:
        self.last = last
        self.calls: list[tuple[InteractionKind, str, str, bool]] = []

    async def consume_interaction(
        self, kind: InteractionKind, conversation_id: str, input_id: str, *, cancel: bool = False
    ) -> dict[str, Any]:
        self.calls.append((kind, conversation_id, input_id, cancel))
        if not cancel:
            return {"status": "pending", "inputId": input_id}
        if isinstance(self.last, Exception):
            raise self.last
        return self.last


@pytest.mark.parametrize(
    ("last", "result"),
    [
        pytest.param(ANSWER, ANSWER, id="answered"),
        pytest.param({"status": "cancelled", "inputId": "in-1"}, OVER, id="cancelled"),
        pytest.param({"status": "pending"}, OVER, id="pending"),
        pytest.param({}, OVER, id="empty"),
        pytest.param(ApiError(404, None, "no longer pending"), OVER, id="gone"),
        pytest.param(TransportFailure(TransportKind.READ_TIMEOUT, request="consume"), OVER, id="unreachable"),
    ],
)
async def test_an_answer_of_the_last_moment_is_an_answer(
    last: dict[str, Any] | Exception, result: dict[str, Any]
) -> None:
    """D17, R9.3: when its time is over a question is taken back once, and an answer that comes with that counts."""
    canon, clock = Canon(last), ManualClock()
    acting = SimpleNamespace(api=canon, clock=clock)

    told = await _answer(acting, "c1", "in-1", clock.now_ms())  # type: ignore[arg-type]  # the two are all it uses

    asked = (InteractionKind.INPUT, "c1", "in-1")
    assert (told, canon.calls) == (result, [(*asked, False), (*asked, True)])
