"""The example plugin in a real gateway: an invoice is filed after a human's yes, once, whatever happens meanwhile."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.approvals.store import ApprovalStore
from tests.support.asking import call_of, wakes
from tests.support.conversing import answer_to
from tests.support.gateways import Stage, canon_stage
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.host, pytest.mark.checkout, pytest.mark.timeout(240)]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "invoices"
INVOICE = {"number": "12345", "supplier": "Acme", "amount": "8,200"}


def filings(stage: Stage) -> list[tuple[str, str]]:
    """What was filed, by its key."""
    with closing(sqlite3.connect(stage.home.path / "invoices" / "ledger.sqlite3")) as db:
        return [(str(key), str(amount)) for key, amount in db.execute("SELECT key, amount FROM filings")]


def results(stage: Stage, tool: str) -> list[dict[str, Any]]:
    """What a tool of the example told the model."""
    messages = [message for request in stage.model.requests for message in request.body["messages"]]
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    told = {
        message["tool_call_id"]: json.loads(message["content"])
        for message in messages
        if message["role"] == "tool" and names.get(message["tool_call_id"]) == tool
    }
    return list(told.values())


@pytest.mark.parametrize("decision", ["allow", pytest.param("deny", marks=[pytest.mark.long, pytest.mark.everywhere])])
def test_an_invoice_is_filed_after_the_decision(tmp_path: Path, decision: str) -> None:
    """S13.9, S13.10 in a gateway: asked of the human of the turn, killed, decided, woken, settled twice, filed once."""
    shutil.copytree(EXAMPLE, tmp_path / "hermes" / "plugins" / "invoices", ignore=shutil.ignore_patterns("__pycache__"))
    config = {
        "plugins": {"enabled": ["canon-hermes", "invoices"]},
        "platform_toolsets": {"canon": ["canon", "invoices"]},
        "gateway": {"restart_loop_guard": {"max_restarts": 0}},
    }
    with canon_stage(tmp_path, config=config) as stage:
        for _ in range(2):
            answer_to(stage.box, stage.box.human.say(None, call_of("file_invoice", **INVOICE)))
        (entry,) = ApprovalStore(stage.home.canon_folder / "detached-approvals.json").read()

        stage.gateway.kill()
        stage.box.human.answer(entry.approval_id, decision=decision)
        stage.model.answers(call_of("settle_invoices", said="settled"))
        stage.start_again()
        wait_until(lambda: wakes(stage, entry.approval_id), timeout_s=60)
        wait_until(lambda: results(stage, "settle_invoices"), timeout_s=60)
        answer_to(stage.box, stage.box.human.say(None, call_of("settle_invoices")))

        asked, settled = results(stage, "file_invoice"), results(stage, "settle_invoices")
        state = "filed" if decision == "allow" else "refused"
        assert [result["state"] for result in asked] == ["waiting", "waiting"]
        assert entry.response_user_id == stage.box.endpoints.owner_id
        assert [one["state"] for one in settled[0]["settled"]] == [state]
        assert settled[-1]["settled"] == []
        assert filings(stage) == ([("invoice:Acme:12345", "8,200")] if decision == "allow" else [])
        assert stage.box.breaches() == []
