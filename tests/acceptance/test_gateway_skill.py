"""The page about cards in a real gateway: the model loads it, writes its card by it, and a person sees the card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from canon_ops.wire.cards.page import EXAMPLES
from tests.support.conversing import answer_to
from tests.support.gateways import Stage, canon_stage

pytestmark = pytest.mark.host


def test_an_agent_reads_the_page_and_shows_its_example(tmp_path: Path) -> None:
    """R1.8, S1.5: skill_view gives the page under the plugin's name, and the example on it is shown on Canon."""
    with canon_stage(tmp_path, config={"platform_toolsets": {"canon": ["skills", "canon"]}}) as stage:
        _say(stage, '[tool skill_view {"name": "canon-hermes:rich-cards"}] [say read]')
        page = _tool_results(stage)[-1]
        card = json.dumps({"action": "send_card", "card": EXAMPLES[0]})

        _say(stage, f"[tool canon_runtime_control {card}] [say shown]")

        shown = json.loads(_tool_results(stage)[-1])
        assert "canon.card.v1" in page and "32,768" in page and "Nightly build" in page
        assert (shown["success"], shown["status"]) == (True, "displayed")


def _say(stage: Stage, text: str) -> None:
    answer_to(stage.box, stage.box.human.say(None, text))


def _tool_results(stage: Stage) -> list[Any]:
    return [
        item["content"]
        for request in stage.model.requests
        for item in request.body["messages"]
        if item["role"] == "tool"
    ]
