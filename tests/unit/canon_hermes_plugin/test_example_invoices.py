"""The example plugin over an invented Canon: what is asked again, and that a yes files the amount that was shown."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import examples.invoices as example
from canon_hermes_plugin import CanonTurnContext


class Canon:
    """Remembers what was asked; ``answers`` holds what a check finds, by approval."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.questions: list[str] = []
        self.answers: dict[str, dict[str, Any]] = {}

    async def request(self, *, question: str, **_more: Any) -> dict[str, Any]:
        self.questions.append(question)
        return {"status": "pending", "approvalId": f"approval-{len(self.questions)}"}

    async def check(self, approval_id: str) -> dict[str, Any]:
        answer = self.answers.get(approval_id, {"status": "pending"})
        if answer["status"] == "elsewhere":
            raise PermissionError
        return answer

    async def file(self, amount: str) -> Any:
        args = {"number": "7", "supplier": "Acme", "amount": amount}
        return json.loads(await example.file_invoice(args))

    async def settle(self) -> Any:
        return json.loads(await example.settle_invoices({}))["settled"]

    def filed(self) -> list[str]:
        with closing(sqlite3.connect(self.home / "invoices" / "ledger.sqlite3")) as db:
            return [str(amount) for (amount,) in db.execute("SELECT amount FROM filings")]


@pytest.fixture
def canon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Canon:
    canon = Canon(tmp_path)
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    monkeypatch.setattr(example, "request_detached_approval_for_current_human", canon.request)
    monkeypatch.setattr(example, "check_detached_approval", canon.check)
    turn = CanonTurnContext("conversation-1", "member-9")
    monkeypatch.setattr(example, "current_canon_turn", lambda *, require_human: turn)
    return canon


@pytest.mark.parametrize("end", ["expired", "unknown"])
async def test_what_came_to_nothing_is_asked_again(canon: Canon, end: str) -> None:
    """Nobody may be left with an invoice that can neither be filed nor asked about; the late yes to the first question
    files nothing, and the second yes files what it was asked for."""
    await canon.file("100")
    canon.answers["approval-1"] = {"status": end}
    assert (await canon.settle())[0]["state"] == end

    again = await canon.file("120")

    assert again["approvalId"] == "approval-2"
    assert canon.questions[1].endswith("for 120?")
    canon.answers["approval-1"] = {"status": "resolved", "decision": "allow"}
    assert (await canon.settle())[0]["state"] == "pending"
    assert canon.filed() == []
    canon.answers["approval-2"] = {"status": "resolved", "decision": "allow"}
    await canon.settle()
    assert canon.filed() == ["120"]


@pytest.mark.parametrize("status", ["pending", "resolved", "elsewhere"])
async def test_what_is_open_or_decided_is_asked_once(canon: Canon, status: str) -> None:
    """Another amount changes nothing either: the answer names the one that the human was shown."""
    await canon.file("100")
    canon.answers["approval-1"] = {"status": status, "decision": "allow"}

    known = await canon.file("120")

    assert (known["state"], known["amount"]) == ("waiting", "100")
    assert len(canon.questions) == 1


@pytest.mark.parametrize("decision", ["allow", "deny"])
async def test_a_decision_is_final(canon: Canon, decision: str) -> None:
    """Filed once and refused for good, however often it is settled or asked for again."""
    await canon.file("100")
    canon.answers["approval-1"] = {"status": "resolved", "decision": decision}

    for _ in range(2):
        await canon.settle()
        await canon.file("120")

    assert canon.filed() == (["100"] if decision == "allow" else [])
    assert len(canon.questions) == 1
